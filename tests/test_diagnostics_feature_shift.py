"""Tests of single features: laws under no shift, known distances, corrections."""

import json
import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from weighbridge.diagnostics import feature_shift


def number(rng, n):
    return rng.normal(size=n)


def counts(rng, n):
    return rng.poisson(1.5, n).astype(float)


def category(rng, n):
    return rng.choice(["a", "b", "c", "d"], n, p=[0.6, 0.3, 0.09, 0.01]).astype(object)


@pytest.mark.parametrize("draw", [number, counts, category])
@pytest.mark.parametrize("sizes", [(120, 150), pytest.param((600, 350), marks=pytest.mark.more)])
def test_p_values_are_uniform_without_shift(draw, sizes):
    p_values = []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        X, X_target = (draw(rng, n)[:, None] for n in sizes)
        p_values.append(feature_shift(X, X_target)[0].p_value)
    # the chi-squared law and the steps of a discrete distance leave a little
    assert stats.kstest(p_values, "uniform").statistic < 1.63 / math.sqrt(400) + 0.02
    assert 0.02 <= np.mean(np.array(p_values) < 0.05) <= 0.095  # four binomial standard errors


def test_ties_make_the_test_careful_and_never_careless():
    rejected = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X, X_target = (rng.normal(40, 10, (n, 1)).round() for n in (500, 400))
        rejected.append(feature_shift(X, X_target)[0].p_value < 0.05)
    assert np.mean(rejected) < 0.05 + 2 * math.sqrt(0.05 * 0.95 / 300)


@pytest.mark.more
def test_any_feature_is_named_wrongly_as_rarely_as_the_correction_says():
    wrong = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        shifts = feature_shift(rng.normal(size=(310, 6)), rng.normal(size=(320, 6)))
        wrong.append(min(shift.p_adjusted for shift in shifts) < 0.05)
    assert np.mean(wrong) < 0.05 + 4 * math.sqrt(0.05 * 0.95 / 200)


def test_the_distance_of_numbers_is_that_of_the_distribution_functions():
    # N(0, 1) and N(1, 1) differ most at 1/2: 2 Phi(1/2) - 1
    rng = np.random.default_rng(0)
    shift = feature_shift(rng.normal(size=(20_000, 1)), rng.normal(1, size=(20_000, 1)))[0]
    assert shift.test == "kolmogorov-smirnov"
    assert shift.distance == pytest.approx(2 * stats.norm.cdf(0.5) - 1, abs=0.02)


def test_the_distance_of_categories_is_total_variation():
    X = np.array(["a"] * 50 + ["b"] * 30 + ["c"] * 20, dtype=object)[:, None]
    X_target = np.array(["a"] * 20 + ["b"] * 30 + ["c"] * 50, dtype=object)[:, None]
    shift = feature_shift(X, X_target)[0]
    assert shift.test == "chi-squared"
    assert shift.distance == pytest.approx(0.3)
    expected = stats.chi2_contingency([[50, 30, 20], [20, 30, 50]], correction=False)
    assert shift.p_value == pytest.approx(expected.pvalue)


def test_numbers_of_few_values_are_compared_value_by_value():
    # a change of spread about the same median, small for distribution functions
    X = np.repeat([0.0, 1, 2], [100, 800, 100])[:, None]
    X_target = np.repeat([0.0, 1, 2], [200, 600, 200])[:, None]
    shift = feature_shift(X, X_target)[0]
    assert (shift.test, shift.distance) == ("chi-squared", pytest.approx(0.2))
    # few values among the first rows, many in all
    many = np.r_[np.zeros(2000), np.arange(1000)][:, None]
    assert feature_shift(many, many)[0].test == "kolmogorov-smirnov"


def test_small_samples_get_the_exact_law():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(30, 1)), rng.normal(0.8, size=(25, 1))
    expected = stats.ks_2samp(X[:, 0], X_target[:, 0], method="exact")
    assert feature_shift(X, X_target)[0].p_value == pytest.approx(expected.pvalue)


def test_two_rare_levels_get_fisher_s_test():
    X = np.array([0.0] * 198 + [1.0] * 2)[:, None]
    X_target = np.array([0.0] * 44 + [1.0] * 6)[:, None]
    shift = feature_shift(X, X_target)[0]
    assert shift.test == "fisher"
    assert shift.p_value == pytest.approx(stats.fisher_exact([[198, 2], [44, 6]])[1])


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        # expected rows of the smaller sample: 45, 45, 5, 2.5, 2.5; the last two are enough together
        ((90, 90, 10, 5, 5), (45, 45, 5, 2, 3), [[90, 90, 10, 10], [45, 45, 5, 5]]),
        # one rare level joins the rarest of the others
        ((90, 90, 20, 2), (45, 45, 10, 1), [[90, 90, 22], [45, 45, 11]]),
        # all but one are rare
        ((100, 1, 1, 2), (100, 1, 1, 1), [[100, 4], [100, 3]]),
    ],
)
def test_rare_levels_are_pooled(source, target, expected):
    X, X_target = (
        np.repeat([f"level {k}" for k in range(len(n))], n).astype(object)[:, None]
        for n in (source, target)
    )
    shift = feature_shift(X, X_target)[0]
    expected = np.array(expected)
    if shift.test == "chi-squared":
        p_value = stats.chi2_contingency(expected, correction=False).pvalue
    else:
        p_value = stats.fisher_exact(expected)[1]
    assert shift.p_value == pytest.approx(p_value)


@pytest.mark.parametrize("rows_of_level", [1, 2, 4])
def test_levels_without_overlap_have_the_distance_1_however_rare(rows_of_level):
    levels = [f"{sample}{j}" for sample in "st" for j in range(120 // rows_of_level)]
    values = np.repeat(levels, rows_of_level)
    (found,) = feature_shift(*(pd.DataFrame({"zip": half}) for half in np.split(values, 2)))
    if rows_of_level == 1:  # names: nothing can be said
        assert math.isnan(found.distance)
        assert (found.test, found.p_value) == ("none", 1.0)
        assert "not compared" in str(found)
    else:
        assert found.distance == pytest.approx(1, abs=1e-12)
        assert (found.test, found.p_value) == ("permutation", 0.001)


def test_rare_levels_without_shift_are_seldom_evidence():
    """Under permutations P(p <= 0.05) <= 0.05; the bound is exceeded by chance once in 1,000."""
    rng = np.random.default_rng(0)
    p_values = []
    for _ in range(100):
        values = rng.integers(0, 60, 150).astype(str)
        halves = (pd.DataFrame({"zip": part}) for part in np.split(values, [90]))
        (found,) = feature_shift(*halves)
        assert found.test == "permutation"
        p_values.append(found.p_value)
    assert np.sum(np.array(p_values) <= 0.05) <= stats.binom(100, 0.05).ppf(0.999)


def test_the_permutations_of_levels_are_those_of_rows():
    """The share of permuted rows whose chi-squared statistic is as large, within 4 errors."""
    rng = np.random.default_rng(1)
    source, target = rng.integers(0, 12, 30), rng.integers(2, 14, 20)
    (found,) = feature_shift(
        *(pd.DataFrame({"zip": part.astype(str)}) for part in (source, target))
    )
    rows = np.concatenate([source, target])

    def statistic(rows):
        table = np.array([np.bincount(part, minlength=14) for part in np.split(rows, [30])])
        return stats.chi2_contingency(table[:, table.any(axis=0)], correction=False).statistic

    given = statistic(rows)
    share = np.mean([statistic(rng.permutation(rows)) >= given - 1e-9 for _ in range(2000)])
    error = math.sqrt(share * (1 - share) * (1 / 2000 + 1 / 999))
    assert found.p_value == pytest.approx(share, abs=4 * error + 0.001)


def test_a_column_called_like_the_gaps_of_another_keeps_its_name():
    X = pd.DataFrame({"age": [1.0, np.nan, 2.0] * 10, "age missing": np.arange(30.0)})
    names = [each.name for each in feature_shift(X, X)]
    assert sorted(names) == ["age", "age is missing", "age missing"]


def test_missing_values_are_a_feature_of_their_own():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(500, 2)), rng.normal(size=(400, 2))
    X_target[:100, 1] = np.nan
    shifts = {shift.name: shift for shift in feature_shift(X, X_target)}
    assert set(shifts) == {"0", "1", "1 missing"}
    assert shifts["1 missing"].distance == pytest.approx(0.25)
    assert shifts["1 missing"].p_adjusted < 1e-20
    assert shifts["1"].p_adjusted > 0.05


def test_a_feature_without_values_in_one_sample_is_not_compared():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [None, None, None]})
    other = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]})
    last = feature_shift(frame, other)[-1]
    assert (last.name, last.test, last.p_value) == ("b", "none", 1)
    assert last.to_dict()["distance"] is None
    assert "not compared" in str(last)


def test_a_constant_feature_has_not_moved_and_one_that_jumps_has():
    X, X_target = np.tile([1.0, 1.0], (100, 1)), np.tile([1.0, 2.0], (90, 1))
    jump, same = feature_shift(X, X_target)
    assert (jump.name, jump.distance) == ("1", 1)
    assert (same.name, same.distance, same.p_value) == ("0", 0, 1)


def test_a_p_value_is_never_0():
    X, X_target = np.arange(50_000.0)[:, None], np.arange(50_000.0)[:, None] + 1e6
    shift = feature_shift(X, X_target)[0]
    assert 0 < shift.p_value <= shift.p_adjusted < 1e-300


def test_the_largest_comes_first():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(800, 4)), rng.normal([0, 0.5, 2, 1], size=(800, 4))
    assert [shift.name for shift in feature_shift(X, X_target)] == ["2", "3", "1", "0"]


def test_sparse_matrices_are_read_as_their_arrays():
    rng = np.random.default_rng(0)
    X, X_target = rng.poisson(0.3, (200, 5)) * 1.0, rng.poisson(0.6, (150, 5)) * 1.0
    assert feature_shift(sp.csr_array(X), sp.csr_array(X_target)) == feature_shift(X, X_target)


@settings(max_examples=60)
@given(st.lists(st.floats(0.3, 3), min_size=1, max_size=8), st.integers(0, 2**32 - 1))
def test_corrections_against_plain_definitions(scales, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, len(scales)))
    X_target = rng.normal(scale=scales, size=(30, len(scales)))
    holm = {shift.name: shift for shift in feature_shift(X, X_target)}
    fdr = {shift.name: shift for shift in feature_shift(X, X_target, correction="fdr")}
    names = sorted(holm)
    p = np.array([holm[name].p_value for name in names])
    # Holm: the smallest level at which the feature and all with smaller p-values are rejected
    for name, value in zip(names, p, strict=True):
        steps = [q * np.sum(p >= q) for q in p if q <= value]
        assert holm[name].p_adjusted == pytest.approx(min(1, max(steps)))
        # Benjamini and Hochberg: the smallest rate at which it, or one of a larger p-value, passes
        rates = [q * p.size / np.sum(p <= q) for q in p if q >= value]
        assert fdr[name].p_adjusted == pytest.approx(min(1, *rates))


def test_json():
    for shift in feature_shift([[1.0], [2.0]], [[np.nan], [np.nan]]):
        json.dumps(shift.to_dict(), allow_nan=False)


def test_errors():
    with pytest.raises(ValueError, match="correction='bonferroni', but expected 'holm' or 'fdr'"):
        feature_shift([[1.0], [2.0]], [[1.0], [2.0]], correction="bonferroni")
    with pytest.raises(ValueError, match="infinite values in column '0'"):
        feature_shift([[1.0], [np.inf]], [[1.0], [2.0]])
