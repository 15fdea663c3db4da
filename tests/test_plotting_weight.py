"""WeightDisplay: a histogram of weights, and how few rows carry them."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from pictures import faults
from weighbridge import Geodesic, ImportanceWeighted, ImportanceWeightedCV
from weighbridge.datasets import make_gaussian_shift
from weighbridge.diagnosis import summarize_weights
from weighbridge.plotting import WeightDisplay, compute_lorenz, compute_weight_histogram

_SIZES = st.one_of(st.just(0.0), st.floats(1e-12, 1e12))
_WEIGHTS = st.lists(_SIZES, min_size=1, max_size=60).filter(any)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@given(_WEIGHTS)
def test_every_row_is_counted_once(weights):
    histogram = compute_weight_histogram(weights)
    assert histogram.counts.sum() == len(weights)
    assert histogram.counts.size + 1 == histogram.edges.size <= 32
    assert (np.diff(histogram.edges) > 0).all()
    assert 0 <= histogram.n_below <= histogram.counts[0]


def test_counts_are_those_of_a_loop():
    weights = np.random.default_rng(0).lognormal(0, 2, 500)
    histogram = compute_weight_histogram(7 * weights)
    scaled = weights / weights.mean()
    for low, high, count in zip(
        histogram.edges[:-1], histogram.edges[1:], histogram.counts, strict=True
    ):
        expected = sum(low <= each < high for each in scaled)
        if low == histogram.edges[0]:
            expected += sum(each < low for each in scaled)
        assert count == expected


@given(_WEIGHTS, st.sampled_from([2.0**-40, 0.5, 2.0**40]))
def test_the_scale_of_weights_does_not_matter(weights, factor):
    # powers of 2, which scale exactly
    one, other = (compute_weight_histogram(np.array(weights) * each) for each in (1, factor))
    np.testing.assert_array_equal(one.counts, other.counts)
    one, other = (compute_lorenz(np.array(weights) * each) for each in (1, factor))
    np.testing.assert_array_equal(one.weight, other.weight)


def test_bins_are_equally_wide_in_logarithms_and_1_is_in_the_middle_of_one():
    histogram = compute_weight_histogram(np.random.default_rng(0).lognormal(size=100))
    octaves = np.log2(histogram.edges)
    np.testing.assert_allclose(np.diff(octaves), octaves[1] - octaves[0], rtol=1e-9)
    middles = (octaves[:-1] + octaves[1:]) / 2
    assert np.abs(middles).min() < 1e-9
    even = compute_weight_histogram(np.full(7, 0.3))
    assert even.counts.tolist() == [7]
    assert even.edges[0] * even.edges[1] == pytest.approx(1, rel=1e-12)


def test_weights_of_zero_are_in_the_first_bin_and_said_to_be_below_it():
    histogram = compute_weight_histogram([0, 0, 1, 1, 1, 1e-9])
    assert histogram.n_below == 3
    assert histogram.counts[0] == 3


@given(_WEIGHTS)
def test_lorenz_curve_rises_from_corner_to_corner_above_the_diagonal_and_bends_down(weights):
    curve = compute_lorenz(weights)
    assert (curve.rows[0], curve.weight[0], curve.rows[-1]) == (0, 0, 1)
    assert curve.weight[-1] == 1
    # sums of up to 60 numbers are exact to some 1e-14
    assert (np.diff(curve.weight) >= 0).all()
    assert (curve.weight >= curve.rows - 1e-12).all()
    slopes = np.diff(curve.weight) / np.diff(curve.rows)
    assert (np.diff(slopes) <= 1e-9 * slopes.max()).all()


def test_lorenz_curve_against_a_loop_and_the_summary():
    weights = np.random.default_rng(0).pareto(1.5, 4321)
    curve = compute_lorenz(weights)
    assert curve.rows.size < 450  # it does not grow with the rows
    for rows, weight in zip(curve.rows, curve.weight, strict=True):
        largest = sorted(weights, reverse=True)[: round(rows * weights.size)]
        assert weight == pytest.approx(sum(largest) / weights.sum(), rel=1e-12)
    assert curve.half == summarize_weights(weights).rows_for_half / weights.size
    assert curve.half in curve.rows


def test_cap_is_the_weight_of_an_infinite_ratio():
    data = make_gaussian_shift(300, 100, random_state=0)
    own = np.random.default_rng(0).uniform(0.5, 2, 300)
    model = ImportanceWeighted(LinearRegression(), data.ratio, weighting=Geodesic(0.8, 3))
    model.fit(data.X, data.y, sample_weight=own)
    # the relative ratio is at most 1 / (1 - lam), before weights are scaled to mean 1
    scale = np.exp(Geodesic(0.8, 3)(model.log_ratio_)) / model.weights_
    display = WeightDisplay.from_estimator(model)
    assert display.cap == pytest.approx(5 / scale[0] / model.weights_.mean(), rel=1e-10)
    np.testing.assert_array_equal(
        display.histogram.counts, compute_weight_histogram(model.weights_).counts
    )
    for weighting in (Geodesic(0.8, 1), Geodesic(0.0), None):
        model = ImportanceWeighted(LinearRegression(), data.ratio, weighting=weighting)
        assert WeightDisplay.from_estimator(model.fit(data.X, data.y)).cap is None
    tuned = ImportanceWeightedCV(LinearRegression(), data.ratio).fit(data.X, data.y)
    counts = WeightDisplay.from_estimator(tuned).histogram.counts
    np.testing.assert_array_equal(counts, compute_weight_histogram(tuned.weights_).counts)


_HEAVY = np.append(np.random.default_rng(0).pareto(0.6, 2000), np.zeros(500))
_CASES = {
    "usual": (np.random.default_rng(0).lognormal(size=1000), None),
    "constant": (np.ones(30), None),
    "one row": ([2.0], None),
    "heavy": (_HEAVY, None),
    "near cap": (np.random.default_rng(0).uniform(size=99), 1.5),
    "far cap": (np.random.default_rng(0).uniform(size=99), 1e6),
}


@pytest.mark.parametrize("kind", ["histogram", "lorenz"])
@pytest.mark.parametrize("case", _CASES)
def test_draws_readable_pictures(kind, case):
    weights, cap = _CASES[case]
    display = WeightDisplay.from_weights(weights, cap=cap)
    assert display.plot(kind) is display
    assert display.figure_ is display.ax_.figure
    assert faults(display) == []


def test_what_is_drawn_is_the_table():
    _, ax = plt.subplots()
    display = WeightDisplay.from_weights(_HEAVY, cap=2 * _HEAVY.max()).plot(ax=ax)
    assert display.ax_ is ax
    drawn = display.bars_.get_data()
    table = display.table()
    np.testing.assert_array_equal(drawn.values, table["count"])
    np.testing.assert_array_equal(drawn.edges, [*table["low"], table["high"][-1]])
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words[0] == "mean 1"
    assert words[1].startswith("cap ")
    assert f"{display.histogram.n_below:,} rows below" in words[2]
    assert ax.lines[0].get_xdata() == [1, 1]
    assert ax.lines[1].get_xdata()[0] == display.cap

    display.plot("lorenz")
    table = display.table("lorenz")
    np.testing.assert_array_equal(display.line_.get_xydata(), np.column_stack([*table.values()]))
    diagonal = display.ax_.lines[1]
    assert (diagonal.get_linestyle(), diagonal.get_label()) == ("--", "all rows alike")
    mark = display.ax_.lines[-1]
    assert mark.get_xdata()[0] == display.lorenz.half
    assert mark.get_ydata()[0] >= 0.5


def test_errors():
    display = WeightDisplay.from_weights([1, 2])
    for method in (display.plot, display.table):
        with pytest.raises(ValueError, match="Got kind='pie', but expected 'histogram'"):
            method("pie")
    with pytest.raises(ValueError, match="Got cap=1, but the largest weight is 2"):
        WeightDisplay.from_weights([1, 2], cap=1)
    with pytest.raises(ValueError, match="Got cap='x', but expected one number"):
        WeightDisplay.from_weights([1, 2], cap="x")
    for wrong in (1, 2.5, "3"):
        with pytest.raises(ValueError, match=r"Got n_points=.*, but expected a whole number >= 2"):
            compute_lorenz([1, 2], n_points=wrong)
    parts = display.histogram, display.lorenz, display.summary
    for place, name in enumerate(("histogram", "lorenz", "summary")):
        wrong = [*parts]
        wrong[place] = [1, 2]
        with pytest.raises(TypeError, match=f"Got {name} of type list, but expected a"):
            WeightDisplay(*wrong)
    for function in (WeightDisplay.from_weights, compute_lorenz, compute_weight_histogram):
        with pytest.raises(ValueError, match="negative value"):
            function([1.0, -1.0])
    with pytest.raises(TypeError, match="Got LinearRegression, which has no weights"):
        WeightDisplay.from_estimator(LinearRegression().fit([[0], [1]], [0, 1]))
    with pytest.raises(NotFittedError):
        WeightDisplay.from_estimator(ImportanceWeighted(LinearRegression()))
