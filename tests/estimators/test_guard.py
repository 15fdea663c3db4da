"""When the best weighting is used, and when none is."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from weighbridge import ImportanceWeightedCV
from weighbridge._estimators import choose
from weighbridge.model_selection import Evaluation, HoldOut, Point, SearchResult
from weighbridge.ratios import KnownRatio
from weighbridge.target_risk import compare_risks


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
    X = np.random.default_rng(0).normal(size=(80, 2))
    y, ratio = (X[:, 1] > 0).astype(int), KnownRatio(lambda X: X[:, 0])
    criterion = HoldOut(scoring="roc_auc")
    model = ImportanceWeightedCV(LogisticRegression(), ratio, criterion=criterion, random_state=0)
    with pytest.raises(ValueError, match=r"no standard error.*CrossValidation.*argmin"):
        model.fit(X, y)
    assert model.set_params(answer="argmin").fit(X, y).search_result_ is not None


def test_search_without_the_unweighted_model_cannot_be_guarded():
    full = Evaluation(Point(1.0, 1.0), np.ones(2))
    with pytest.raises(ValueError, match=r"did not try lam = 0 among 1 candidates.*argmin"):
        choose(SearchResult((full,), np.ones(2)), "guard")


def test_sample_weights_that_undo_the_ratio_do_not_hide_a_shift():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] ** 2 + rng.normal(size=300)
    ratio = KnownRatio(lambda X: 0.8 * X[:, 0])
    model = ImportanceWeightedCV(LinearRegression(), ratio, random_state=0)
    model.fit(X, y, np.exp(-0.8 * X[:, 0]))
    assert model.best_weighting_.lam > 0


@pytest.mark.filterwarnings("ignore::weighbridge.exceptions.OverlapWarning")
def test_the_repeated_procedure_counts_the_rows_outside_as_the_fit_does():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(2, 600, 2))
    X_target[:, 0] += 0.9
    X_target[:80, 1] += 9
    y = X[:, 0] ** 2 + rng.normal(size=600)
    model = ImportanceWeightedCV(LinearRegression(), random_state=0)
    assert model.fit(X, y, X_target=X_target).overlap_ == "thin"
    both = compare_risks(LinearRegression(), model, X, y, X_target, random_state=0)
    assert both.change.value == 0


@pytest.mark.parametrize(
    ("losses", "reason"),
    [
        ((None, np.ones(2)), "without weights failed"),
        ((np.ones(2),), "no other candidate was tried"),
    ],
)
def test_nothing_to_compare_with_means_no_weights(losses, reason):
    weighting, words = choose(_result(*losses), "guard")
    assert weighting.lam == 0
    assert reason in words
