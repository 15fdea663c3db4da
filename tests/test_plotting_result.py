"""The numbers of pictures: from a run to JSON, back again, and to both drawers."""

import json
import re
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from pictures import faults
from weighbridge._svg import bridge, love
from weighbridge.adaptation import adapt
from weighbridge.pictures import Pictures, WeightCurves, read_forest
from weighbridge.plotting import (
    BalanceDisplay,
    BridgeDisplay,
    OverlapDisplay,
    ReliabilityDisplay,
    RiskDisplay,
    ShiftDisplay,
    WeightDisplay,
    compute_forest,
)

NUMBERS = {
    BalanceDisplay: lambda pictures: pictures.love("tuned"),
    BridgeDisplay: lambda pictures: pictures.bridge,
    OverlapDisplay: lambda pictures: pictures.overlap,
    ReliabilityDisplay: lambda pictures: pictures.reliability,
    ShiftDisplay: lambda pictures: pictures.histograms("tuned"),
    WeightDisplay: lambda pictures: pictures.weights["tuned"],
}
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


@pytest.fixture(scope="module")
def read(result):
    """The pictures of a result as they come back from its file."""
    return Pictures.from_dict(json.loads(json.dumps(result.to_dict()))["pictures"])


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def _same(one, two):
    assert one.keys() == two.keys()
    for name, column in one.items():
        if column.dtype == object:
            assert column.tolist() == two[name].tolist()
        else:
            np.testing.assert_allclose(two[name], column, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("display", NUMBERS, ids=lambda each: each.__name__)
def test_a_result_and_its_file_are_alike(result, read, display):
    made, again = (display.from_numbers(NUMBERS[display](each)) for each in (result.pictures, read))
    _same(made.table(), again.table())


def test_what_is_read_is_written_alike(result, read):
    written = json.dumps(result.to_dict()["pictures"], allow_nan=False)
    assert json.dumps(read.to_dict(), allow_nan=False) == written
    assert Pictures.from_dict(json.loads(written)).to_dict() == read.to_dict()


def test_a_result_has_the_numbers_of_its_verdict(result):
    forest = compute_forest(result.verdict)
    numbers = result.to_dict()
    again = read_forest(numbers["expect"], numbers["verdict"]["use"])
    _same(RiskDisplay.from_numbers(forest).table(), RiskDisplay.from_numbers(again).table())
    weights = WeightDisplay.from_weights(result.weights).table()
    used = result.verdict.use
    _same(weights, WeightDisplay.from_numbers(result.pictures.weights[used]).table())
    balance = BalanceDisplay.from_report(result.verdict.report).table()
    _same(balance, BalanceDisplay.from_numbers(result.pictures.love(used)).table())
    model = next(each for each in result.verdict.candidates if each.name == "tuned").model
    tried = BridgeDisplay.from_estimator(model).table()
    _same(tried, BridgeDisplay.from_numbers(result.pictures.bridge).table())


@pytest.mark.parametrize("display", NUMBERS, ids=lambda each: each.__name__)
def test_displays_draw_what_was_read(read, display):
    made = display.from_numbers(NUMBERS[display](read))
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


def test_both_drawers_have_the_same_data(read):
    # coordinates in an SVG have one digit after the point
    numbers = read.love("tuned")
    drawn = love(numbers, "tuned", id="love")
    marks = _circles(drawn.svg, "wb-training-fill")[: numbers.before.size]
    shown = BalanceDisplay.from_numbers(numbers).plot().before_.get_xdata()
    assert _is_affine(marks[:, 0], shown, 0.06)
    ends = _circles(bridge(read.bridge, id="bridge").svg, "wb-other-fill")
    assert _is_affine(ends[:, 0], [place[0] for place in read.bridge.ends.values()], 0.06)
    reliability = ReliabilityDisplay.from_numbers(read.reliability).plot()
    np.testing.assert_array_equal(reliability.line_.get_ydata(), read.reliability.observed)
    assert not re.search(r"\b(nan|inf|None)\b", drawn.svg)


def test_weightings_are_named(result):
    full = result.pictures.love("full", max_rows=2)
    rows = result.to_dict()["pictures"]["balance"]
    kept = [abs(row["after"]["full"]) for row in rows[:2]]
    np.testing.assert_allclose(full.after, kept, rtol=1e-4)
    assert full.n_left_out == len(rows) - 2
    assert result.pictures.love(None).after is None
    assert all(each.weighted is None for each in result.pictures.histograms(None))
    for numbers in (result.pictures.love, result.pictures.histograms):
        with pytest.raises(ValueError, match=r"Got weighting='best', but the pictures have 'full'"):
            numbers("best")


def test_differences_that_are_no_numbers(result):
    # None between known means is infinite, between unknown ones unknown
    numbers = json.loads(json.dumps(result.to_dict()["pictures"]))
    first, second = numbers["balance"][:2]
    first["before"] = first["after"]["tuned"] = None
    second |= {"before": None, "mean_target": None}
    found = Pictures.from_dict(numbers).love("tuned")
    assert found.before[0] == found.after[0] == np.inf
    assert np.isnan(found.before[1])
    assert "∞" in love(found, "tuned", id="love").svg


def test_weights_come_with_what_is_known_of_them(read):
    curves = read.weights["tuned"]
    display = WeightDisplay.from_numbers(curves)
    assert isinstance(curves, WeightCurves)
    assert display.summary.n_rows == 400
    assert display.summary.ess == curves.worth
    assert display.cap == curves.bound
    assert np.isnan(display.summary.pareto_k)
    assert display.plot("lorenz").ax_.get_title().startswith("Half of the weight")


def test_text_and_whole_numbers_come_back_as_they_were(read):
    site = next(each for each in read.features if each.name == "site")
    assert site.values.tolist() == ["north", "south"]
    assert read.weights["tuned"].counts.dtype == int
    digits = {**site.to_dict(), "values": ["1", "2"]}
    assert type(site).from_dict(digits).values.tolist() == ["1", "2"]


def test_errors(read):
    with pytest.raises(TypeError, match="Got surface of type dict, but expected a BridgeSurface"):
        BridgeDisplay.from_numbers(read.bridge.to_dict())
    with pytest.raises(TypeError, match="Got numbers of type WeightHistogram, but expected"):
        WeightDisplay.from_numbers(WeightDisplay.from_weights([1, 2]).histogram)
    with pytest.raises(ValueError, match="max_rows"):
        read.love("tuned", max_rows=0)
