"""When the best weighting is used, and when none is."""

import numpy as np
import pytest

from weighbridge._estimators import choose
from weighbridge.model_selection import Evaluation, Point, SearchResult


def _result(*losses):
    """Return a search of no weights and the full ratio with these losses; None is a failure."""
    points = [Point(0.0, 1.0), Point(1.0, 1.0)]
    evaluations = tuple(
        Evaluation(point, each, error="no" if each is None else None)
        for point, each in zip(points, losses, strict=False)
    )
    return SearchResult(evaluations, np.ones(next(x.size for x in losses if x is not None)))


@pytest.mark.parametrize("before", [1.0, -10.0])  # A likelihood may be below 0.
@pytest.mark.parametrize(("gain", "used"), [(0.6, True), (0.4, False), (-1.0, False)])
def test_weights_must_gain_half_a_standard_error(before, gain, used):
    noise = np.linspace(-1, 1, 20)
    error = noise.std(ddof=1) / np.sqrt(20)
    result = _result(before + noise, np.full(20, before - gain * error))
    assert choose(result, "guard")[0].lam == used


def test_one_number_has_no_standard_error():
    result = _result(np.array([2.0]), np.array([1.0]))
    with pytest.raises(ValueError, match=r"no standard error.*CrossValidation.*argmin"):
        choose(result, "guard")
    assert choose(result, "argmin")[0].lam == 1


@pytest.mark.parametrize(
    ("losses", "reason"),
    [((None, np.ones(2)), "without weights failed"), ((np.ones(2),), "no other candidate")],
)
def test_nothing_to_compare_with_means_no_weights(losses, reason):
    weighting, words = choose(_result(*losses), "guard")
    assert weighting.lam == 0
    assert reason in words
