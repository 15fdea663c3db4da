"""Effective sample size and tail of weights, against closed forms and known tails."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.ratios import effective_sample_size, pareto_k

WEIGHTS = st.lists(st.floats(0, 1e6), min_size=1, max_size=40).filter(lambda w: max(w) > 1e-3)


@given(WEIGHTS)
def test_effective_sample_size_equals_rational_arithmetic(weights):
    exact = [Fraction(w) for w in weights]
    expected = float(sum(exact) ** 2 / sum(w * w for w in exact))
    assert effective_sample_size(weights) == pytest.approx(expected, rel=1e-13)
    assert 1 - 1e-12 <= expected <= len(weights)


@pytest.mark.parametrize("scale", [1e300, 1e-300, 5e-324])
@pytest.mark.parametrize("measure", [effective_sample_size, pareto_k])
def test_scale_of_the_weights_does_not_matter(measure, scale):
    # Integer multiples of the smallest double are exact.
    weights = np.arange(1.0, 121.0)
    assert measure(weights * scale) == pytest.approx(measure(weights), rel=1e-12, nan_ok=True)


def test_tail_index_of_powers_bounded_and_even_weights():
    # At alpha = 1 the weights are r**lam, whose tail index is lam k, up to the fit and the ten
    # pseudo-observations at 1/2 among 671.
    log_ratio = 0.9 * np.random.default_rng(0).exponential(size=50_000)
    k = pareto_k(np.exp(log_ratio))
    assert pareto_k(np.exp(0.7 / k * log_ratio)) == pytest.approx(0.7, abs=0.03)
    assert pareto_k(np.random.default_rng(0).uniform(size=5000)) < 0
    assert np.isnan([pareto_k(np.ones(1000)), pareto_k(np.zeros(1000)), pareto_k([1, 2, 3])]).all()


@pytest.mark.parametrize("measure", [effective_sample_size, pareto_k])
def test_bad_weights_raise(measure):
    for weights, error, message in (
        ([1.0, np.nan], ValueError, "NaN or infinite values in 1 of 2 rows"),
        ([1.0, -2.0], ValueError, r"negative value \(-2\)"),
        ([], ValueError, r"shape \(0,\)"),
        ([[1.0, 2.0]], ValueError, r"shape \(1, 2\), but expected one number for each row"),
        (["a", "b"], TypeError, "expected numbers"),
    ):
        with pytest.raises(error, match=message):
            measure(weights)
    with pytest.raises(ValueError, match="zero for every row"):
        effective_sample_size([0.0, 0.0])
