"""Effective rows of weights, against closed forms, brute force and known tails."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.diagnostics import effective_sample_size, pareto_k, summarize_weights

MEASURES = [effective_sample_size, pareto_k, summarize_weights]
WEIGHTS = st.lists(st.floats(0, 1e6), min_size=1, max_size=40).filter(lambda w: max(w) > 1e-3)


def test_effective_sample_size_of_small_examples():
    assert effective_sample_size([0, 1, 2, 3]) == pytest.approx(36 / 14, rel=1e-15)
    assert effective_sample_size(np.ones(7)) == 7
    assert effective_sample_size([0, 0, 5]) == 1


@given(WEIGHTS)
def test_effective_sample_size_is_that_of_rational_arithmetic(weights):
    exact = [Fraction(w) for w in weights]
    expected = float(sum(exact) ** 2 / sum(w * w for w in exact))
    assert effective_sample_size(weights) == pytest.approx(expected, rel=1e-13)
    assert 1 - 1e-12 <= expected <= len(weights)


@given(WEIGHTS)
def test_rows_for_a_share_are_the_fewest_that_carry_it(weights):
    summary = summarize_weights(weights)
    largest_first = sorted(weights, reverse=True)
    total = math.fsum(weights)
    for rows, share in ((summary.rows_for_half, 0.5), (summary.rows_for_ninety, 0.9)):
        assert math.fsum(largest_first[:rows]) >= share * total * (1 - 1e-12)
        assert math.fsum(largest_first[: rows - 1]) <= share * total * (1 + 1e-12)


@pytest.mark.parametrize("scale", [1e300, 1e-300, 5e-324])
def test_no_scale_of_the_weights_matters(scale):
    # whole multiples of the smallest double are exact
    weights = np.array([1.0, 2.0, 3.0, 7.0] * 30)
    plain, scaled = summarize_weights(weights), summarize_weights(weights * scale)
    for name, value in plain.to_dict().items():
        found = scaled.to_dict()[name]
        assert found == (None if value is None else pytest.approx(value, rel=1e-12)), name


@pytest.mark.parametrize("b", [0.9, 0.7, 0.5, 0.3])
def test_tail_index_of_exponentials(b):
    # source Exp(1), target Exp(b): the ratio is a Pareto variable with shape 1 - b
    found = [
        pareto_k(np.exp((1 - b) * np.random.default_rng(seed).exponential(size=20_000)))
        for seed in range(20)
    ]
    assert abs(np.mean(found) - (1 - b)) < 0.1


def test_the_cap_on_lam_brings_the_tail_to_its_limit():
    # at alpha = 1 the weights are r**lam, whose tail index is lam k
    log_ratio = 0.9 * np.random.default_rng(0).exponential(size=50_000)
    summary = summarize_weights(np.exp(log_ratio))
    assert summary.pareto_k > summary.pareto_limit == 0.7
    assert summary.lam_cap == pytest.approx(0.7 / summary.pareto_k)
    # up to the ten pseudo-observations at 1/2 among 671, and the fit
    assert pareto_k(np.exp(summary.lam_cap * log_ratio)) == pytest.approx(0.7, abs=0.03)


def test_a_light_tail_or_none_needs_no_cap():
    light = summarize_weights(np.random.default_rng(0).uniform(size=5000))
    assert light.pareto_k < 0
    assert light.lam_cap == 1
    even = summarize_weights(np.ones(1000))
    assert math.isnan(even.pareto_k)
    assert even.lam_cap == 1


def test_even_weights():
    summary = summarize_weights(np.ones(1000))
    assert (summary.n_rows, summary.rows_for_half, summary.rows_for_ninety) == (1000, 500, 900)
    assert summary.ess == pytest.approx(1000)
    assert summary.largest_share == pytest.approx(0.001)


def test_one_row_is_worth_one_row():
    summary = summarize_weights([3.0])
    assert (summary.ess, summary.rows_for_half, summary.rows_for_ninety) == (1, 1, 1)


def test_the_summary_goes_to_json_without_nan():
    fields = summarize_weights(np.ones(3)).to_dict()
    assert fields["pareto_k"] is None
    assert json.loads(json.dumps(fields, allow_nan=False)) == fields


def test_the_summary_says_what_to_do_about_a_heavy_tail():
    text = str(summarize_weights(np.exp(0.9 * np.random.default_rng(0).exponential(size=5000))))
    assert "effective rows of 5,000" in text
    assert "use lam <= 0." in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, np.nan], "NaN or infinite values in 1 of 2 rows"),
        ([1.0, np.inf], "NaN or infinite"),
        ([1.0, -2.0], r"negative value \(-2\)"),
        ([0.0, 0.0], "zero for every row"),
        ([], r"shape \(0,\)"),
        ([[1.0, 2.0]], r"shape \(1, 2\), but expected one number for each row"),
        (3.0, r"shape \(\)"),
    ],
)
def test_what_are_no_weights_is_refused(measure, weights, message):
    with pytest.raises(ValueError, match=message):
        measure(weights)


@pytest.mark.parametrize("measure", MEASURES)
def test_text_is_refused(measure):
    with pytest.raises(TypeError, match="expected numbers"):
        measure(["a", "b"])
