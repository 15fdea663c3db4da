"""Effective sample size and tail of weights, against closed forms and known tails."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.diagnosis import effective_sample_size, pareto_k, summarize_weights

MEASURES = [effective_sample_size, pareto_k, summarize_weights]
WEIGHTS = st.lists(st.floats(0, 1e6), min_size=1, max_size=40).filter(lambda w: max(w) > 1e-3)


@given(WEIGHTS)
def test_effective_sample_size_equals_rational_arithmetic(weights):
    exact = [Fraction(w) for w in weights]
    expected = float(sum(exact) ** 2 / sum(w * w for w in exact))
    assert effective_sample_size(weights) == pytest.approx(expected, rel=1e-13)
    assert 1 - 1e-12 <= expected <= len(weights)


@given(WEIGHTS)
def test_rows_for_half_are_the_fewest_that_carry_half_of_the_weight(weights):
    summary = summarize_weights(weights)
    largest_first = sorted(weights, reverse=True)
    total, rows = math.fsum(weights), summary.rows_for_half
    assert math.fsum(largest_first[:rows]) >= total / 2 * (1 - 1e-12)
    assert math.fsum(largest_first[: rows - 1]) <= total / 2 * (1 + 1e-12)
    assert summary.largest_share == pytest.approx(largest_first[0] / total)


@pytest.mark.parametrize("scale", [1e300, 1e-300, 5e-324])
def test_scale_of_the_weights_does_not_matter(scale):
    # Integer multiples of the smallest double are exact.
    weights = np.array([1.0, 2.0, 3.0, 7.0] * 30)
    plain, scaled = (vars(summarize_weights(w)) for w in (weights, weights * scale))
    assert scaled == pytest.approx(plain, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("b", [0.9, 0.7, 0.5, 0.3])
def test_tail_index_of_exponentials(b):
    # Source Exp(1), target Exp(b): the ratio is a Pareto variable with shape 1 - b.
    tail_indices = [
        pareto_k(np.exp((1 - b) * np.random.default_rng(seed).exponential(size=20_000)))
        for seed in range(20)
    ]
    assert abs(np.mean(tail_indices) - (1 - b)) < 0.1


def test_text_of_a_summary():
    even = summarize_weights(np.ones(1000))
    assert (even.ess, even.rows_for_half) == (1000, 500)
    assert even.to_dict()["pareto_k"] is None
    assert str(even).startswith("1,000 effective rows of 1,000, half of the weight on 500")


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ([1.0, np.nan], ValueError, "NaN or infinite values in 1 of 2 rows"),
        ([1.0, np.inf], ValueError, "NaN or infinite"),
        ([1.0, -2.0], ValueError, r"negative value \(-2\)"),
        ([0.0, 0.0], ValueError, "zero for every row"),
        ([], ValueError, r"shape \(0,\)"),
        ([[1.0, 2.0]], ValueError, r"shape \(1, 2\), but expected one number for each row"),
        (3.0, ValueError, r"shape \(\)"),
        (["a", "b"], TypeError, "expected numbers"),
    ],
)
def test_bad_weights_raise(measure, weights, error, message):
    with pytest.raises(error, match=message):
        measure(weights)
