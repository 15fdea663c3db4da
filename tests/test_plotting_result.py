"""Displays read a result, and both drawers of a display show the same numbers."""

import json
import re
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from pictures import faults
from weighbridge.adaptation import adapt
from weighbridge.plotting import (
    BalanceDisplay,
    BridgeDisplay,
    GeodesicDisplay,
    OverlapDisplay,
    ReliabilityDisplay,
    RiskDisplay,
    ShiftDisplay,
    WeightDisplay,
    compute_forest,
)
from weighbridge.plotting._plain import plain

DISPLAYS = (
    BalanceDisplay,
    BridgeDisplay,
    OverlapDisplay,
    ReliabilityDisplay,
    RiskDisplay,
    ShiftDisplay,
    WeightDisplay,
)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)

    def table(n, shift):
        age = rng.normal(40 + 8 * shift, 10, n)
        site = np.where(rng.uniform(size=n) < 0.5 + 0.2 * shift, "north", "south")
        return pd.DataFrame({"age": age, "bmi": rng.normal(25, 4, n), "site": site})

    train, deploy = table(400, 0), table(300, 1)
    train["cost"] = np.sin(train["age"] / 8) + 0.1 * rng.normal(size=400)
    return adapt(train, deploy, label="cost")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def _copied(result):
    """Return the numbers of a result, to be changed."""
    return json.loads(json.dumps(result.to_dict()))


def _same(one, two):
    assert one.keys() == two.keys()
    for name, column in one.items():
        if column.dtype == object:
            assert column.tolist() == two[name].tolist()
        else:
            np.testing.assert_allclose(two[name], column, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda each: each.__name__)
def test_a_result_its_dict_and_its_file_are_alike(result, display):
    tables = [
        display.from_result(each).table() for each in (result, result.to_dict(), _copied(result))
    ]
    for table in tables[1:]:
        _same(tables[0], table)


def test_a_result_has_the_numbers_of_its_verdict(result):
    # rounded to what a picture can show
    _same(
        RiskDisplay(compute_forest(result.verdict)).table(), RiskDisplay.from_result(result).table()
    )
    weights = WeightDisplay.from_weights(result.weights).table()
    _same(weights, WeightDisplay.from_result(result).table())
    balance = BalanceDisplay.from_report(result.verdict.report).table()
    _same(balance, BalanceDisplay.from_result(result).table())
    model = next(each for each in result.verdict.candidates if each.name == "tuned").model
    bridge = BridgeDisplay.from_estimator(model).table()
    _same(bridge, BridgeDisplay.from_result(result).table())


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda each: each.__name__)
def test_both_drawers_draw(result, display):
    made = display.from_result(result)
    root = ElementTree.fromstring(made.svg())
    assert root.tag == f"{SVG}svg"
    assert "--wb-page" in root.find(f"{SVG}style").text
    assert not re.search(r"\b(nan|inf|None)\b", made.svg().split("</style>")[1])
    assert made.svg() == made.svg()
    assert made.plot() is made
    assert not faults(made)


def _circles(svg, cls):
    """Return the places of circles in a group of a class, or of a class of their own."""
    root = ElementTree.fromstring(svg)
    groups = [each for each in root.iter(f"{SVG}g") if each.get("class") == cls]
    found = [circle for group in groups for circle in group.iter(f"{SVG}circle")]
    found += [each for each in root.iter(f"{SVG}circle") if each.get("class") == cls]
    return np.array([(float(each.get("cx")), float(each.get("cy"))) for each in found])


def _is_affine(drawn, numbers, unit):
    """Whether drawn places are the numbers, moved and scaled, to half a unit of what is written."""
    slope, start = np.polyfit(numbers, drawn, 1)
    return np.abs(start + slope * np.asarray(numbers) - drawn).max() < unit


def test_both_drawers_have_the_same_data(result):
    # coordinates in an SVG have one digit after the point
    balance = BalanceDisplay.from_result(result).plot()
    marks = _circles(balance.svg(), "wb-training-fill")[: balance.love.before.size]
    assert _is_affine(marks[:, 0], balance.before_.get_xdata(), 0.06)
    bridge = BridgeDisplay.from_result(result)
    ends = _circles(bridge.svg(), "wb-other-fill")
    assert _is_affine(ends[:, 0], [place[0] for place in bridge.surface.ends.values()], 0.06)
    reliability = ReliabilityDisplay.from_result(result).plot()
    np.testing.assert_array_equal(reliability.line_.get_ydata(), reliability.table()["observed"])


def test_every_svg_of_a_display_with_choices(result):
    bridge, weight = BridgeDisplay.from_result(result), WeightDisplay.from_result(result)
    drawn = [
        bridge.svg(),
        bridge.svg(chart="rectangle"),
        bridge.svg(path=True),
        weight.svg(),
        weight.svg("lorenz"),
        GeodesicDisplay.from_normals((0, 1), (1, 1), n_points=5).svg(),
        BalanceDisplay.from_samples([[1.0], [2.0]], [[3.0], [4.0]]).svg(),
        ShiftDisplay.from_samples([[1.0], [2.0]], [[3.0], [4.0]]).svg(),
    ]
    titles = {ElementTree.fromstring(svg).find(f".//{SVG}title").text for svg in drawn}
    assert len(titles) == len(drawn)


def test_weightings_can_be_named(result):
    full = BalanceDisplay.from_result(result, weighting="full", max_rows=2)
    rows = result.to_dict()["pictures"]["balance"]
    np.testing.assert_allclose(full.love.after, [abs(row["after"]["full"]) for row in rows[:2]])
    assert full.love.n_left_out == len(rows) - 2
    assert "after (full)" in full.svg()
    assert "(relative)" in ShiftDisplay.from_result(result, weighting="relative").svg()
    # one to use, else tuned, else whatever there is
    numbers = _copied(result)
    numbers["verdict"]["use"] = "none"
    assert BalanceDisplay.from_result(numbers).weighting == "tuned"
    for row in numbers["pictures"]["balance"]:
        row["after"] = {}
    assert BalanceDisplay.from_result(numbers).love.after is None
    with pytest.raises(ValueError, match=r"Got weighting='best', but the result has 'full'"):
        WeightDisplay.from_result(result, weighting="best")


def test_differences_that_are_no_numbers(result):
    # None between known means is infinite, between unknown ones unknown
    numbers = _copied(result)
    first, second = numbers["pictures"]["balance"][:2]
    first["before"] = first["after"]["tuned"] = None
    second |= {"before": None, "mean_target": None}
    love = BalanceDisplay.from_result(numbers).love
    assert love.before[0] == np.inf
    assert np.isnan(love.before[1])
    assert "∞" in BalanceDisplay(love).svg()


def test_withheld_losses_are_drawn_as_words(result):
    numbers = _copied(result)
    for each in numbers["expect"]["candidates"]:
        each |= {"error": None, "change": None, "state": "withheld"}
    display = RiskDisplay.from_result(numbers)
    assert np.isnan(display.forest.value).all()
    assert "withheld" in display.svg()


def test_lists_for_arrays():
    assert plain({"a": np.array([1.0, np.nan]), "b": (np.int64(2), np.inf)}) == {
        "a": [1.0, None],
        "b": [2, None],
    }


def test_drawings_side_by_side(result):
    svg = RiskDisplay.from_result(result).svg()
    root = ElementTree.fromstring(svg)
    left, right = (each for each in root if each.tag == f"{SVG}svg")
    width = float(root.get("viewBox").split()[2])
    assert float(left.get("x")) == 0
    assert float(right.get("x")) + float(right.get("width")) == width
    assert svg.count("<style>") == 1
    ids = re.findall(r'id="([^"]+)"', svg)
    assert len(ids) == len(set(ids))


def test_errors(result):
    with pytest.raises(TypeError, match="Got result of type list, but expected what weighbridge"):
        BridgeDisplay.from_result([])
    with pytest.raises(TypeError, match="Got result of type dict"):
        BridgeDisplay.from_result({"pictures": {}})
    short = {**result.to_dict(), "pictures": None}
    with pytest.raises(ValueError, match="without the numbers of its pictures"):
        OverlapDisplay.from_result(short)
    bare = {**result.to_dict(), "pictures": {"bridge": None, "overlap": {"edges": []}}}
    with pytest.raises(ValueError, match=r"without numbers for 'bridge'.* It has 'overlap'"):
        BridgeDisplay.from_result(bare)
    with pytest.raises(ValueError, match="without expected losses"):
        RiskDisplay.from_result({**result.to_dict(), "expect": None})
    with pytest.raises(ValueError, match="Got chart='map'"):
        BridgeDisplay.from_result(result).svg(chart="map")
    with pytest.raises(ValueError, match="Got kind='pie'"):
        WeightDisplay.from_result(result).svg("pie")
