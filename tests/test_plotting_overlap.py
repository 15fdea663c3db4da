"""OverlapDisplay: the log ratio in both samples."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from pictures import faults
from weighbridge.datasets import make_gaussian_shift
from weighbridge.plotting import OverlapDisplay, compute_overlap
from weighbridge.ratios import GaussianRatio, KnownRatio, fit_ratio

_LOGS = st.lists(st.floats(-50, 50), min_size=1, max_size=60)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@given(_LOGS, _LOGS)
def test_every_row_is_counted_and_the_limit_is_the_end_of_a_bin(source, target):
    overlap = compute_overlap(source, target)
    assert overlap.training.sum() == pytest.approx(1, abs=1e-12)
    assert overlap.deployment.sum() == pytest.approx(1, abs=1e-12)
    assert (np.diff(overlap.edges) > 0).all()
    assert overlap.edges.size <= 45
    assert overlap.limit == max(source)
    beyond = [each > max(source) for each in target]
    assert overlap.n_beyond == sum(beyond)
    assert overlap.beyond == sum(beyond) / len(target)


@given(_LOGS, _LOGS)
def test_beyond_the_limit_there_are_deployment_rows_only(source, target):
    overlap = compute_overlap(source, target)
    if overlap.n_beyond:
        right = overlap.edges[:-1] >= overlap.limit
        assert right.any()
        assert not overlap.training[right].any()
        assert overlap.deployment[right].sum() == pytest.approx(overlap.beyond, abs=1e-12)


def test_shares_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    source, target = rng.normal(-1, 1.5, 400), rng.normal(1, 1.5, 300)
    overlap = compute_overlap(source, target)
    inner = zip(overlap.edges[1:-2], overlap.edges[2:-1], overlap.training[1:-1], strict=True)
    for low, high, share in inner:
        assert share == pytest.approx(np.mean([low < each <= high for each in source]), abs=1e-12)


def test_ratios_of_zero_and_of_infinity():
    overlap = compute_overlap([-np.inf, -1.0, 0.0, 1.0], [-np.inf, 0.0, 1.0, np.inf])
    assert np.isfinite(overlap.edges).all()
    assert overlap.training[0] == 0.5  # with the row at -1
    assert overlap.beyond == 0.25
    assert overlap.deployment[-1] == 0.25
    # no source row can be where any target row is
    apart = compute_overlap([0.0, 0.0], [np.inf, np.inf])
    assert apart.beyond == 1
    assert apart.deployment[-1] == 1


def test_the_same_ratio_everywhere():
    overlap = compute_overlap(np.zeros(5), np.zeros(3))
    assert overlap.n_beyond == 0
    assert overlap.edges[0] < 0 < overlap.edges[-1]
    assert overlap.training.tolist() == overlap.deployment.tolist() == [1.0]
    display = OverlapDisplay(overlap).plot()
    assert display.beyond_ is None
    assert display.ax_.get_title() == "No deployment row lies beyond the training rows"
    assert faults(display) == []


def test_ratio_known_fitted_or_not():
    data = make_gaussian_shift(200, 150, shift=1.5, random_state=0)
    known = OverlapDisplay.from_ratio(data.ratio, data.X, data.X_target).overlap
    source, target = data.ratio.score_samples(data.X), data.ratio.score_samples(data.X_target)
    assert known.limit == source.max()
    assert known.beyond == np.mean(target > source.max())
    fitted = fit_ratio(data.X, data.X_target, GaussianRatio())
    tables = [
        OverlapDisplay.from_ratio(ratio, data.X, data.X_target).table()
        for ratio in (fitted, GaussianRatio())
    ]
    np.testing.assert_array_equal(tables[0]["deployment"], tables[1]["deployment"])


@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas])
def test_columns_are_matched_by_name(convert):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    X_target = pd.DataFrame(rng.normal([0, 1], size=(150, 2)), columns=["a", "b"])
    source, target = convert(X), convert(X_target[["b", "a"]])
    for ratio in (GaussianRatio(), fit_ratio(source, target, GaussianRatio())):
        turned = OverlapDisplay.from_ratio(ratio, source, target).table()
        straight = OverlapDisplay.from_ratio(ratio, source, convert(X_target)).table()
        np.testing.assert_array_equal(turned["deployment"], straight["deployment"])


def test_what_is_drawn_is_the_table():
    rng = np.random.default_rng(0)
    _, ax = plt.subplots()
    display = OverlapDisplay(compute_overlap(rng.normal(-2, 1, 200), rng.normal(1, 1, 200)))
    assert display.plot(ax=ax) is display
    assert display.ax_ is ax
    table = display.table()
    np.testing.assert_array_equal(display.training_.get_data().values, table["training"])
    np.testing.assert_array_equal(display.deployment_.get_data().values, -table["deployment"])
    assert display.training_.get_linestyle() == "--"
    assert display.deployment_.get_fill()
    assert display.beyond_.get_hatch() == "///"
    share = f"{100 * display.overlap.beyond:.0f} %"
    assert ax.get_title() == f"{share} of deployment rows lie beyond all training rows"
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert not any("-" in label or "−" in label for label in labels)


@pytest.mark.parametrize("shift", [0.0, 1.0, 20.0])
def test_readable(shift):
    rng = np.random.default_rng(0)
    ratio = KnownRatio(lambda X: shift * X[:, 0])
    X, X_target = rng.normal(size=(300, 1)), rng.normal(shift, 1, size=(200, 1))
    assert faults(OverlapDisplay.from_ratio(ratio, X, X_target).plot()) == []


def test_errors():
    with pytest.raises(ValueError, match="Got NaN in log_ratio_target in 1 of 2 rows"):
        compute_overlap([0.0], [0.0, np.nan])
    with pytest.raises(ValueError, match=r"Got log_ratio of shape \(0,\)"):
        compute_overlap([], [0.0])
    with pytest.raises(ValueError, match="infinite ratio at a source row"):
        compute_overlap([0.0, np.inf], [0.0])
    with pytest.raises(ValueError, match="ratio of 0 at every source row"):
        compute_overlap([-np.inf], [0.0])
    with pytest.raises(TypeError, match="expected a density ratio"):
        OverlapDisplay.from_ratio(np.ones(3), np.ones((3, 1)), np.ones((3, 1)))
    with pytest.raises(TypeError, match=r"Got the model LinearRegression, .* model\.ratio_"):
        OverlapDisplay.from_ratio(LinearRegression(), np.ones((3, 1)), np.ones((3, 1)))
    with pytest.raises(TypeError, match=r"Got overlap of type list, .* compute_overlap"):
        OverlapDisplay([0.0])
    with pytest.raises(TypeError, match="Got log_ratio of type str that is not numbers"):
        compute_overlap("x", [0.0])
