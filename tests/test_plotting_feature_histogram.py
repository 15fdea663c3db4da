"""compute_feature_histogram: one feature in two samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.plotting import compute_feature_histogram

_FEW = st.lists(st.integers(0, 5), min_size=2, max_size=50)


def test_densities_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    x, x_target, weights = rng.normal(size=700), rng.normal(1, 2, 300), rng.uniform(size=700)
    found = compute_feature_histogram(x, x_target, weights, name="x")
    assert found.name == "x"
    assert found.values is None
    assert found.edges.size <= 31
    ends = np.quantile(x, 0.005), np.quantile(x_target, 0.995)
    # to the nearest value of the sample
    assert found.edges[-1] == pytest.approx(ends[1], abs=0.5)
    assert found.edges[0] == pytest.approx(np.quantile(x_target, 0.005), abs=0.5)
    for place in range(found.edges.size - 2):
        low, high = found.edges[place : place + 2]
        here = (low <= x) & (x < high)
        width = high - low
        assert found.training[place] == pytest.approx(here.mean() / width, rel=1e-12)
        expected = weights[here].sum() / weights.sum() / width
        assert found.weighted[place] == pytest.approx(expected, rel=1e-12)
        there = (low <= x_target) & (x_target < high)
        assert found.deployment[place] == pytest.approx(there.mean() / width, rel=1e-12)


@given(_FEW, _FEW)
def test_few_values_get_a_bar_each_and_shares_sum_to_1(x, x_target):
    found = compute_feature_histogram(x, x_target)
    assert found.edges is None
    assert found.weighted is None
    # with so few rows the ends are the extreme values
    assert found.values.tolist() == sorted({*x, *x_target})
    for values, shares in ((x, found.training), (x_target, found.deployment)):
        expected = [values.count(value) / len(values) for value in found.values]
        np.testing.assert_allclose(shares, expected, rtol=1e-12)


@given(_FEW, _FEW, st.sampled_from([1e-200, 3.0, 1e200]))
def test_even_weights_change_nothing(x, x_target, weight):
    found = compute_feature_histogram(x, x_target, np.full(len(x), weight))
    np.testing.assert_allclose(found.weighted, found.training, rtol=1e-12)


def test_missing_values_are_counted_apart():
    x, x_target = [1.0, 2.0, np.nan, np.nan], [1.0, 1.0, 2.0, np.nan]
    found = compute_feature_histogram(x, x_target, [1, 1, 1, 5])
    assert found.missing == {"training": 0.5, "deployment": 0.25, "weighted": 0.75}
    np.testing.assert_allclose(found.training, [1 / 2, 1 / 2])
    np.testing.assert_allclose(found.deployment, [2 / 3, 1 / 3])
    np.testing.assert_allclose(found.weighted, [1 / 2, 1 / 2])


def test_a_sample_without_values_is_drawn_as_nothing():
    found = compute_feature_histogram(np.arange(100.0), np.full(50, np.nan))
    assert found.missing["deployment"] == 1
    assert not found.deployment.any()
    assert found.training.any()
    nothing = compute_feature_histogram([np.nan, np.nan], [np.nan, np.nan])
    assert nothing.training.size == 0


def test_rare_levels_share_a_bar():
    x = ["a"] * 20 + ["b"] * 9 + ["c"] * 6
    x_target = ["a"] * 10 + ["c"] * 4 + ["d"]
    found = compute_feature_histogram(x, x_target)
    assert found.values.tolist() == ["a", "c", "other"]
    np.testing.assert_allclose(found.training, np.array([20, 6, 9]) / 35)
    np.testing.assert_allclose(found.deployment, np.array([10, 4, 1]) / 15)
    # a level may itself be called so
    named = compute_feature_histogram(["other"] * 20 + ["b"], ["other"] * 20)
    assert named.values.tolist() == ["other", "all other"]


def test_at_most_thirty_bars_for_text():
    levels = [f"level {number:02}" for number in range(40)]
    x = np.repeat(levels, np.arange(50, 10, -1))
    found = compute_feature_histogram(x, x)
    assert found.values.tolist() == [*levels[:29], "other"]
    assert found.training.sum() == pytest.approx(1, rel=1e-12)
    thirty = np.repeat(levels[:30], 10)
    assert compute_feature_histogram(thirty, thirty).values.tolist() == levels[:30]


def test_axes_end_at_quantiles_not_at_extreme_values():
    rng = np.random.default_rng(0)
    x, x_target = rng.normal(size=2000), rng.normal(size=1000)
    x[0], x_target[0] = 1e9, -1e9
    found = compute_feature_histogram(x, x_target)
    assert -4 < found.edges[0] < found.edges[-1] < 4
    counts = np.append(rng.poisson(2.0, 2000), 29)
    assert compute_feature_histogram(counts, counts).values.max() < 10
    # next to nothing but one value
    x[:] = 0
    x[:9] = np.arange(9)
    assert compute_feature_histogram(x, np.append(x, np.arange(40.5))).values is None
    constant = compute_feature_histogram(x, x)
    assert constant.values.tolist() == [0]


@pytest.mark.parametrize("step", [1.0, 0.1, 0.5])
def test_bins_of_rounded_numbers_hold_equally_many_of_them(step):
    # equally frequent numbers have the same density in every bin
    x = np.tile(np.arange(97) * step, 40)
    found = compute_feature_histogram(x, x)
    assert found.edges is not None
    np.testing.assert_allclose(found.training[1:-1], found.training[1], rtol=1e-9)


def test_numbers_near_the_ends_of_doubles():
    for scale in (1e-300, 1e300):
        x = np.random.default_rng(0).uniform(size=500) * scale
        found = compute_feature_histogram(x, x)
        assert found.training @ np.diff(found.edges) == pytest.approx(0.99, abs=0.01)


def test_errors():
    with pytest.raises(ValueError, match=r"Got x of shape \(2, 1\), but expected one feature"):
        compute_feature_histogram([[1], [2]], [1, 2])
    with pytest.raises(ValueError, match=r"Got weights of shape \(1,\)"):
        compute_feature_histogram([1, 2], [1, 2], [1])
    with pytest.raises(ValueError, match="infinite values"):
        compute_feature_histogram([1, np.inf], [1, 2])
