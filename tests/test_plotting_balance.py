"""BalanceDisplay: the love plot."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from pictures import faults
from weighbridge.diagnosis import BalanceTable, balance_table, diagnose
from weighbridge.plotting import BalanceDisplay, compute_love


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def _samples(n_features=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, n_features))
    X_target = rng.normal(rng.normal(0, 0.5, n_features), 1, size=(200, n_features))
    return X, X_target, np.exp(0.5 * X[:, 0])


def test_rows_are_the_largest_of_the_balance_table():
    X, X_target, weights = _samples()
    table = balance_table(X, X_target, weights)
    love = compute_love(table)
    by_name = {row.name: row for row in table.rows}
    assert len(love.names) == 15
    assert love.n_left_out == 5
    assert (np.diff(love.before) <= 0).all()
    left_out = set(by_name) - set(love.names)
    assert max(abs(by_name[name].before) for name in left_out) <= love.before[-1]
    for name, before, after in zip(love.names, love.before, love.after, strict=True):
        assert (before, after) == (abs(by_name[name].before), abs(by_name[name].after))


def test_what_is_drawn_is_the_table():
    X, X_target, weights = _samples()
    _, ax = plt.subplots()
    display = BalanceDisplay.from_samples(X, X_target, weights, max_rows=4)
    assert display.plot(ax=ax) is display
    assert display.ax_ is ax
    table = display.table()
    np.testing.assert_array_equal(display.before_.get_xdata(), table["before"])
    np.testing.assert_array_equal(display.after_.get_xdata(), table["after"])
    ends = [segment[:, 0] for segment in display.stems_.get_segments()]
    np.testing.assert_array_equal(ends, np.column_stack([table["before"], table["after"]]))
    assert [label.get_text() for label in ax.get_yticklabels()] == list(table["name"])
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the largest is on top
    assert "not shown: 16 rows that differ less" in ax.get_xlabel()


def test_marks_are_told_apart_without_colour():
    display = BalanceDisplay.from_samples(*_samples(3)).plot()
    assert (display.before_.get_marker(), display.after_.get_marker()) == ("o", "s")
    page = display.ax_.get_facecolor()
    assert display.before_.get_markerfacecolor() == page
    assert display.after_.get_markerfacecolor() == display.after_.get_color()


def test_without_weights_there_is_no_after():
    X, X_target, _ = _samples(3)
    display = BalanceDisplay.from_samples(X, X_target).plot()
    assert display.after_ is display.stems_ is None
    assert sorted(display.table()) == ["before", "name"]
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert words == ["below 0.1", "before"]


def test_report_gives_its_own_table():
    X, X_target, _ = _samples(2)
    report = diagnose(X, X_target)
    display = BalanceDisplay.from_report(report, max_rows=1)
    assert display.table()["before"][0] == abs(report.balance.largest(1)[0].before)
    assert display.love.n_left_out == 1


def test_infinite_and_unknown_differences():
    X, X_target, weights = _samples(2)
    X, X_target = (pd.DataFrame(part, columns=["a", "b"]) for part in (X, X_target))
    X["constant"], X_target["constant"] = 1.0, 2.0
    X["gone"], X_target["gone"] = 1.0, np.nan
    display = BalanceDisplay.from_samples(X, X_target, weights).plot()
    assert display.love.names[:2] == ("constant", "gone missing")
    assert np.isinf(display.love.before[:2]).all()
    assert np.isnan(display.love.before[-1])
    words = [text.get_text() for text in display.ax_.texts]
    assert words[0] == "∞ → ∞"
    assert words[-1] == "– → –"
    assert np.isfinite(display.ax_.get_xlim()).all()
    assert ">" in [line.get_marker() for line in display.ax_.lines]
    assert faults(display) == []


@pytest.mark.parametrize("n_features", [1, 20])
def test_readable(n_features):
    assert faults(BalanceDisplay.from_samples(*_samples(n_features)).plot()) == []
    _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    assert faults(BalanceDisplay.from_samples(*_samples(n_features)).plot(ax=ax)) == []


def test_names_from_the_data_are_neither_formulas_nor_too_long():
    X, X_target, weights = _samples(3)
    names = ["x" * 200, "$\\frac{", "line\nbreak <script>"]
    X, X_target = (pd.DataFrame(part, columns=names) for part in (X, X_target))
    display = BalanceDisplay.from_samples(X, X_target, weights).plot()
    assert set(display.table()["name"]) == set(names)
    labels = {label.get_text() for label in display.ax_.get_yticklabels()}
    assert labels == {"x" * 12 + "…" + "x" * 11, "\\$\\frac{", "line break <script>"}
    assert faults(display) == []


def test_no_difference_at_all():
    X, _, _ = _samples(2)
    display = BalanceDisplay.from_samples(X, X, np.ones(300)).plot()
    assert display.ax_.get_xlim()[1] > 0.1
    assert faults(display) == []


def test_errors():
    X, X_target, _ = _samples(2)
    for wrong in (0, 2.5, "3", True):
        with pytest.raises(ValueError, match=r"Got max_rows=.*, but expected a whole number >= 1"):
            BalanceDisplay.from_samples(X, X_target, max_rows=wrong)
    table = balance_table(X, X_target)
    with pytest.raises(TypeError, match=r"Got table of type str, .* comes from .*balance_table"):
        compute_love("x")
    with pytest.raises(
        TypeError, match=r"Got report of type BalanceTable, .*weighbridge\.diagnose"
    ):
        BalanceDisplay.from_report(table)
    with pytest.raises(TypeError, match=r"Got love of type BalanceTable, .* compute_love"):
        BalanceDisplay(table)
    with pytest.raises(ValueError, match="Got an empty balance table"):
        compute_love(BalanceTable(()))
