"""ShiftDisplay: features one by one, before and after weighting."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from pictures import faults
from weighbridge.diagnosis import balance_table
from weighbridge.plotting import ShiftDisplay, compute_feature_histogram


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def _frames(seed=0):
    rng = np.random.default_rng(seed)

    def draw(n, shift):
        return pd.DataFrame(
            {
                "age": rng.normal(40 + 15 * shift, 12, n).round(1),
                "site": rng.choice(
                    ["north", "south", "east"], n, p=[0.5 - 0.3 * shift, 0.3, 0.2 + 0.3 * shift]
                ),
                "visits": rng.poisson(2 + shift, n),
                "bmi": np.where(rng.uniform(size=n) < 0.1 * shift, np.nan, rng.normal(26, 4, n)),
                "income": rng.lognormal(11, 0.5, n),
                "idle": rng.normal(size=n),
                "constant": 3.0,
            }
        )

    X, X_target = draw(400, 0), draw(300, 1)
    return X, X_target, np.exp(0.03 * (X["age"].to_numpy() - 40))


def test_default_features_are_those_that_moved_most():
    X, X_target, _ = _frames()
    display = ShiftDisplay.from_samples(X, X_target)
    names = [each.name for each in display.histograms]
    largest = {}
    for row in balance_table(X, X_target).rows:
        largest[row.feature] = max(largest.get(row.feature, 0), abs(row.before))
    assert names == sorted(largest, key=lambda name: -largest[name])[:6]
    assert "constant" not in names


def test_numbers_are_those_of_single_features():
    X, X_target, weights = _frames()
    display = ShiftDisplay.from_samples(X, X_target, weights, features=["site", "age"])
    table = display.table()
    for name in ("site", "age"):
        alone = compute_feature_histogram(X[name], X_target[name], weights, name=name)
        here = table["feature"] == name
        np.testing.assert_array_equal(table["training"][here], alone.training)
        np.testing.assert_array_equal(table["deployment"][here], alone.deployment)
        np.testing.assert_array_equal(table["weighted"][here], alone.weighted)
    assert set(table["value"][table["feature"] == "site"]) == {"north", "south", "east"}
    assert np.isnan(table["low"][table["feature"] == "site"]).all()
    assert (table["low"] < table["high"])[table["feature"] == "age"].all()


def test_what_is_drawn_is_the_table():
    X, X_target, weights = _frames()
    display = ShiftDisplay.from_samples(X, X_target, weights, features=["age", "site"])
    assert display.plot() is display
    age, site = display.axes_
    histogram = display.histograms[0]
    deployment, training, weighted = (patch.get_data() for patch in age.patches)
    np.testing.assert_array_equal(deployment.values, histogram.deployment)
    np.testing.assert_array_equal(training.values, histogram.training)
    np.testing.assert_array_equal(weighted.values, histogram.weighted)
    assert age.patches[1].get_linestyle() == "--"
    assert age.patches[2].get_linestyle() == "-"
    assert age.patches[0].get_fill()
    assert [bar.get_height() for bar in site.patches] == list(display.histograms[1].deployment)
    np.testing.assert_array_equal(site.lines[0].get_ydata(), display.histograms[1].training)
    assert [line.get_marker() for line in site.lines] == ["o", "s"]
    words = [text.get_text() for text in display.legend_.get_texts()]
    assert words == ["deployment", "training", "weighted training"]


def test_missing_shares_are_shown():
    X, X_target, weights = _frames()
    display = ShiftDisplay.from_samples(X, X_target, weights, features="bmi").plot()
    (words,) = [text.get_text() for text in display.axes_[0].texts]
    share = X_target["bmi"].isna().mean()
    assert words == f"missing 0 % → {100 * share:.0f} %, weighted 0 %"
    assert faults(display) == []


def test_readable():
    X, X_target, weights = _frames()
    assert faults(ShiftDisplay.from_samples(X, X_target, weights).plot()) == []
    everything = ShiftDisplay.from_samples(X, X_target, features=list(X)).plot()
    assert len(everything.axes_) == len(everything.figure_.axes) == 7
    assert faults(everything) == []
    _, axes = plt.subplots(2, 3, figsize=(6, 4), layout="constrained")
    assert faults(ShiftDisplay.from_samples(X, X_target, weights).plot(ax=axes)) == []


def test_own_axes_without_a_layout_get_a_legend_inside():
    X, X_target, weights = _frames()
    _, ax = plt.subplots()
    display = ShiftDisplay.from_samples(X, X_target, weights, features=["age"]).plot(ax=ax)
    assert display.axes_ == (ax,)
    assert ax.get_legend() is display.legend_
    assert faults(display) == []


def test_odd_features():
    rng = np.random.default_rng(0)
    n = 400
    names = ["x" * 200, "$\\frac{", "many", "small", "large", "nothing"]
    X = pd.DataFrame(
        {
            names[0]: rng.integers(1990, 2018, n),
            names[1]: rng.normal(0, 1e-7, n),
            "many": rng.choice([f"a long level, number {number}" for number in range(35)], n),
            "small": rng.normal(size=n),
            "large": rng.normal(5e6, 1e6, n),
            "nothing": np.nan,
        }
    )
    display = ShiftDisplay.from_samples(X, X, features=names).plot()
    assert display.axes_[-1].texts[-1].get_text() == "no values"
    assert display.axes_[2].get_xticklabels()[-1].get_text() == "other"
    assert faults(display) == []


def test_arrays_and_sparse_tables_are_named_by_position():
    X, X_target, _ = _frames()
    columns = ["age", "visits"]
    dense = X[columns].to_numpy(), X_target[columns].to_numpy()
    by_name = ShiftDisplay.from_samples(X, X_target, features=["visits"]).table()
    for parts in (dense, [sp.csr_array(part) for part in dense]):
        for features in (["1"], [1], 1):
            table = ShiftDisplay.from_samples(*parts, features=features).table()
            np.testing.assert_array_equal(table["training"], by_name["training"])
    by_position = ShiftDisplay.from_samples(X, X_target, features=[2])
    assert by_position.histograms[0].name == "visits"


def test_errors():
    X, X_target, weights = _frames()
    with pytest.raises(ValueError, match=r"Got features=\['aeg'\], but expected .* age, site"):
        ShiftDisplay.from_samples(X, X_target, features=["aeg"])
    with pytest.raises(ValueError, match=r"Got features=\[\]"):
        ShiftDisplay.from_samples(X, X_target, features=[])
    for wrong in (1.0, [None]):
        with pytest.raises(ValueError, match=r"Got features=.*, but expected a list of columns"):
            ShiftDisplay.from_samples(X, X_target, features=wrong)
    with pytest.raises(ValueError, match="Got no histograms, but expected at least one"):
        ShiftDisplay([])
    with pytest.raises(TypeError, match=r"Got a histogram of type str, .*feature_histogram"):
        ShiftDisplay(["age"])
    with pytest.raises(ValueError, match="Got weights of shape"):
        ShiftDisplay.from_samples(X, X_target, weights[1:])
    display = ShiftDisplay.from_samples(X, X_target, features=["age", "site"])
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match="Got 1 axes for 2 features; pass one for each"):
        display.plot(ax=ax)


def test_one_histogram_needs_no_list():
    histogram = compute_feature_histogram([0, 0, 1, 1], [0, 1, 1, 1], name="visits")
    assert ShiftDisplay(histogram).histograms == (histogram,)
