"""RiskDisplay: the forest plot of expected losses."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from sklearn.linear_model import LinearRegression, LogisticRegression

from pictures import faults
from weighbridge import ImportanceWeightedCV
from weighbridge.datasets import make_gaussian_shift, make_quadratic
from weighbridge.model_selection import GridSearch
from weighbridge.plotting import RiskDisplay, compute_forest
from weighbridge.plotting._display import GREY, WEIGHTED
from weighbridge.verdict import assess


@pytest.fixture(scope="module")
def verdict():
    data = make_quadratic(random_state=0)
    tuned = ImportanceWeightedCV(LinearRegression(), search=GridSearch(), random_state=0)
    return assess(tuned, data.X, data.y, data.X_target, random_state=0)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def _withheld(candidate):
    risk = replace(candidate.risk, estimate=None, state="withheld")
    return replace(candidate, risk=risk, change=None)


def _words(ax):
    return [text.get_text() for text in ax.texts]


def test_forest_lists_what_the_verdict_says(verdict):
    forest = compute_forest(verdict)
    assert forest.names == ("none", "full", "power", "relative", "tuned")
    assert forest.literature[:4] == ("ERM", "IWERM", "AIWERM", "RIWERM")
    assert forest.names[forest.use] == verdict.use
    for place, candidate in enumerate(verdict.candidates):
        risk = candidate.risk.estimate
        shown = forest.value[place], forest.low[place], forest.high[place]
        assert shown == (risk.value, risk.low, risk.high)
        assert forest.rough[place] == (candidate.risk.state == "flagged")
        if candidate.change is None:
            assert np.isnan(forest.change[place])
        else:
            assert forest.change_low[place] == candidate.change.low


def test_what_a_reader_can_subtract_subtracts(verdict):
    table = RiskDisplay.from_verdict(verdict).table()
    differences = table["value"][1:] - table["value"][0]
    # both are computed from the same losses of the same rows
    np.testing.assert_allclose(table["change"][1:], differences, rtol=1e-9)


def test_what_is_drawn_is_the_table(verdict):
    display = RiskDisplay.from_verdict(verdict)
    assert display.plot() is display
    table = display.table()
    left, right = display.axes_
    bars, marks = left.lines[::2], left.lines[1::2]
    np.testing.assert_array_equal([line.get_xdata()[0] for line in bars], table["low"])
    np.testing.assert_array_equal([line.get_xdata()[1] for line in bars], table["high"])
    np.testing.assert_array_equal([line.get_xdata()[0] for line in marks], table["value"])
    changes = [line.get_xdata()[0] for line in right.lines[1:-1:2]]
    np.testing.assert_array_equal(changes, table["change"][1:])
    zero = right.lines[-1]
    assert zero.get_linestyle() == "--"
    assert list(zero.get_xdata()) == [0, 0]
    assert right.get_xlabel() == "← left is better"


def test_the_used_weighting_is_told_apart_by_colour_mark_and_weight(verdict):
    left, _ = RiskDisplay.from_verdict(verdict).plot().axes_
    marks = left.lines[1::2]
    assert [mark.get_marker() for mark in marks] == ["o"] * 4 + ["s"]
    colours = [to_hex(mark.get_color()) for mark in marks]
    assert colours == [GREY] * 4 + [WEIGHTED.color]
    labels = left.get_yticklabels()
    assert [label.get_text() for label in labels][:2] == ["none (ERM)", "full (IWERM)"]
    assert [label.get_fontweight() for label in labels] == ["normal"] * 4 + ["bold"]


def test_rough_intervals_are_dotted(verdict):
    shown = replace(
        verdict,
        candidates=tuple(
            replace(each, risk=replace(each.risk, state="flagged" if rough else "good"))
            for each, rough in zip(verdict.candidates, [0, 0, 0, 0, 1], strict=True)
        ),
    )
    display = RiskDisplay.from_verdict(shown).plot()
    left, _ = display.axes_
    assert [line.get_linestyle() for line in left.lines[::2]] == ["-"] * 4 + [":"]
    assert "dotted: rough" in left.get_xlabel()
    assert faults(display) == []


def test_withheld_is_a_word_and_no_error(verdict):
    nothing = replace(verdict, use="none", candidates=(_withheld(verdict.candidates[0]),))
    display = RiskDisplay.from_verdict(nothing).plot()
    for ax in display.axes_:
        assert _words(ax) == ["withheld"]
        assert not ax.lines
    assert faults(display) == []
    some = (_withheld(each) if each.name == "full" else each for each in verdict.candidates)
    display = RiskDisplay.from_verdict(replace(verdict, candidates=tuple(some))).plot()
    assert [_words(ax) for ax in display.axes_] == [["withheld"], ["withheld"]]
    assert faults(display) == []


def test_one_weighting_has_nothing_to_compare(verdict):
    alone = replace(verdict, use="none", candidates=verdict.candidates[:1])
    display = RiskDisplay.from_verdict(alone).plot()
    assert _words(display.axes_[1]) == ["no other weighting to compare"]
    assert faults(display) == []


@pytest.mark.more
def test_samples_far_apart_are_withheld():
    X = np.random.default_rng(0).normal(size=(200, 2))
    verdict = assess(LinearRegression(), X, X[:, 0], X + 10, random_state=0)
    display = RiskDisplay.from_verdict(verdict).plot()
    assert [_words(ax) for ax in display.axes_] == [["withheld"], ["withheld"]]


def test_errors_are_shown_in_per_cent_and_changes_in_points(verdict):
    data = make_gaussian_shift(400, 300, shift=1.0, random_state=0)
    y = (data.y > np.median(data.y)).astype(int)
    names = ["none", "full", "tuned"]
    verdict = assess(
        LogisticRegression(), data.X, y, data.X_target, candidates=names, random_state=0
    )
    display = RiskDisplay.from_verdict(verdict).plot()
    left, right = display.axes_
    assert left.get_title() == "Expected error, 95 %"
    assert right.get_title() == "Change against none, points"
    display.figure_.canvas.draw()
    assert all(label.get_text().endswith(" %") for label in left.get_xticklabels())
    assert faults(display) == []


def test_own_axes(verdict):
    _, axes = plt.subplots(1, 2, figsize=(6, 4), layout="constrained")
    display = RiskDisplay.from_verdict(verdict).plot(ax=axes)
    assert display.axes_ == tuple(axes)
    assert faults(display) == []
    assert faults(RiskDisplay.from_verdict(verdict).plot()) == []
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match="Got 1 axes, but there are two panels"):
        RiskDisplay.from_verdict(verdict).plot(ax=ax)


def test_what_is_no_verdict(verdict):
    for wrong in ("x", verdict.report):
        with pytest.raises(TypeError, match=r"Got verdict of type .*, but expected a Verdict"):
            RiskDisplay.from_verdict(wrong)
    with pytest.raises(TypeError, match=r"Got forest of type Verdict, .* compute_forest"):
        RiskDisplay(verdict)
