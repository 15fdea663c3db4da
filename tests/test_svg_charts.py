"""Charts of reports: every chart parses, says what it shows, and keeps its words inside."""

import itertools
import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weighbridge import _svg
from weighbridge._svg import Chart, style_sheet
from weighbridge._svg._draw import is_bold, text_width
from weighbridge.pictures import (
    LorenzCurve,
    OverlapHistogram,
    Pictures,
    ReliabilityCurve,
    WeightCurves,
    WeightedFeature,
    read_forest,
)

SPACE = "{http://www.w3.org/2000/svg}"
HOSTILE = (
    "<script>alert('x')</script>",
    'a"b&c',
    "\u202eabc",
    "日本語🙂" * 9,
    "x" * 200,
    "\x00\n",
    "",
)
NAMES = ("none", "full", "power", "relative", "tuned")


# --- charts, drawn from JSON as those of a report -------------------------------------------------


def expected_error(expect, *, use, id):
    return _svg.expected_error(read_forest(expect, use), actual=expect.get("actual"), id=id)


def paired_change(expect, *, use, id):
    return _svg.paired_change(read_forest(expect, use), id=id)


def love(rows, after, *, id):
    pictures = Pictures.from_dict({"balance": rows, "weights": {}})
    pictures.weights[after] = None
    return _svg.love(pictures.love(after, max_rows=len(rows) + 1), after, id=id)


def feature(histogram, after, *, id):
    return _svg.feature(WeightedFeature.from_dict(histogram).after(after), after, id=id)


def overlap(numbers, *, id):
    return _svg.overlap(OverlapHistogram.from_dict(numbers), id=id)


def reliability(numbers, *, id):
    return _svg.reliability(ReliabilityCurve.from_dict(numbers), id=id)


def weights(numbers, *, id):
    return _svg.weights(WeightCurves.from_dict(numbers), id=id)


def concentration(numbers, *, id):
    return _svg.concentration(LorenzCurve.from_dict(numbers), id=id)


# --- samples --------------------------------------------------------------------------------------


def estimate(value, half):
    return {"value": value, "low": value - half, "high": value + half}


def sample_expect(factor=1.0, measure="error"):
    errors = (0.401, 0.341, 0.366, 0.366, 0.353)
    candidates = [
        {
            "name": name,
            "literature": "ERM",
            "error": estimate(factor * error, factor * 0.04),
            "change": None
            if name == "none"
            else estimate(factor * (error - 0.401), factor * 0.043),
            "state": "good",
        }
        for name, error in zip(NAMES, errors, strict=True)
    ]
    return {"measure": measure, "confidence": 0.95, "training": 0.35, "candidates": candidates}


def withheld_expect():
    expect = sample_expect()
    for each in expect["candidates"]:
        each |= {"error": None, "change": None, "state": "withheld"}
    return expect


def sample_rows(n=15, name="feature"):
    return [
        {
            "name": f"{name} {k}",
            "kind": "number",
            "mean_source": 38.0,
            "mean_target": 49.2,
            "before": 0.87 / (k + 1) * (-1) ** k,
            "after": {"tuned": 0.13 / (k + 1), "full": 0.02},
        }
        for k in range(n)
    ]


def bell(n, middle):
    heights = [math.exp(-(((k + 0.5) / n - middle) ** 2) * 20) for k in range(n)]
    return [height / sum(heights) for height in heights]


def sample_densities(n=25):
    edges = [18 + 67 * k / n for k in range(n + 1)]
    width = edges[1] - edges[0]
    sides = [[share / width for share in bell(n, middle)] for middle in (0.3, 0.6, 0.55)]
    return {
        "name": "age",
        "values": None,
        "edges": edges,
        "training": sides[0],
        "deployment": sides[1],
        "weighted": {"tuned": sides[2], "full": sides[1]},
        "missing": {
            "training": 0.03,
            "deployment": 0.08,
            "weighted": {"tuned": 0.07, "full": 0.08},
        },
    }


def sample_values(values):
    n = len(values)
    return {
        "name": "site",
        "values": list(values),
        "edges": None,
        "training": bell(n, 0.2),
        "deployment": bell(n, 0.7),
        "weighted": {"tuned": bell(n, 0.6)},
        "missing": {"training": 0.0, "deployment": 0.0, "weighted": {"tuned": 0.0}},
    }


def sample_overlap(n_beyond=40, n=40):
    return {
        "edges": [-3 + 8 * k / n for k in range(n + 1)],
        "training": bell(n, 0.3),
        "deployment": bell(n, 0.6),
        "limit": 4.0,
        "beyond": n_beyond / 2000,
        "n_beyond": n_beyond,
    }


def sample_weights(bound=6.2):
    rows = [k / 100 for k in range(101)]
    return {
        "edges": [2.0 ** ((k - 12) / 4) for k in range(24)],
        "counts": [round(4000 * share) for share in bell(23, 0.5)],
        "n_below": 12,
        "rows": rows,
        "weight": [1 - (1 - row) ** 3 for row in rows],
        "half": 0.21,
        "largest": 5.1,
        "bound": bound,
        "worth": 1557.0,
    }


def sample_reliability(n=12):
    places = [(k + 0.5) / n for k in range(n)]
    return {
        "predicted": places,
        "observed": [place**1.05 for place in places],
        "low": [max(0, place - 0.05) for place in places],
        "high": [min(1, place + 0.05) for place in places],
        "largest_gap": 0.03,
    }


def sample_charts():
    """One of each chart as reports usually have it."""
    return {
        "expected_error": expected_error(sample_expect(), use="tuned", id="a"),
        "paired_change": paired_change(sample_expect(), use="tuned", id="a"),
        "love": love(sample_rows(), "tuned", id="a"),
        "feature_key": _svg.feature_key("tuned", id="a"),
        "overlap": overlap(sample_overlap(), id="a"),
        "worth": _svg.effective_rows(1557, 712, 4000, id="a"),
        "concentration": concentration(sample_weights(), id="a"),
        "weights": weights(sample_weights(), id="a"),
        "reliability": reliability(sample_reliability(), id="a"),
        "densities": feature(sample_densities(), "tuned", id="a"),
        "values": feature(sample_values([float(k) for k in range(9)]), "tuned", id="a"),
        "levels": feature(sample_values(["north", "east", "west", "south"]), "tuned", id="a"),
    }


# --- laws of every chart --------------------------------------------------------------------------


def text_boxes(svg):
    """Return the box of each text of a drawing, by the bound of its width."""
    root = ElementTree.fromstring(svg)
    boxes = []

    def walk(node, cls, anchor, size):
        cls = f"{cls} {node.get('class', '')}"
        anchor = node.get("text-anchor", anchor)
        size = float(node.get("font-size", size))
        if node.tag == f"{SPACE}text":
            wide = text_width(node.text or "", size, bold=is_bold(cls))
            left = float(node.get("x")) - {"start": 0, "middle": 0.5, "end": 1}[anchor] * wide
            y = float(node.get("y"))
            boxes.append((left, y - 0.8 * size, left + wide, y + 0.2 * size, node.text))
        for child in node:
            walk(child, cls, anchor, size)

    walk(root, "", "start", 16)
    return boxes


def check_chart(chart):
    """What holds for every chart, whatever its numbers."""
    assert isinstance(chart, Chart)
    root = ElementTree.fromstring(chart.svg)
    assert root.find(f"{SPACE}title").text == chart.title
    assert root.find(f"{SPACE}desc").text == chart.desc
    assert chart.desc.endswith(".")
    assert not re.search(r'="[^"]*(nan|inf|None)', chart.svg)
    assert not list(root.iter("script"))
    wide, high = map(float, root.get("viewBox").split()[2:])
    boxes = text_boxes(chart.svg)
    for left, top, right, bottom, words in boxes:
        # coordinates are rounded to a tenth
        assert left >= -0.1, words
        assert right <= wide + 0.1, words
        assert top >= -0.1, words
        assert bottom <= high + 0.1, words
    for one, two in itertools.combinations(boxes, 2):
        apart = one[2] <= two[0] or two[2] <= one[0] or one[3] <= two[1] or two[3] <= one[1]
        assert apart, (one, two)
    heads, rows = chart.table
    assert all(len(row) == len(heads) for row in rows)
    assert all(isinstance(cell, str) for row in rows for cell in row)


SAMPLES = sample_charts()


@pytest.mark.parametrize("name", SAMPLES)
def test_a_usual_chart_keeps_all_laws(name):
    check_chart(SAMPLES[name])


@pytest.mark.parametrize("name", SAMPLES)
def test_a_usual_chart_is_small(name):
    small_multiple = name in ("densities", "values", "levels")
    assert len(SAMPLES[name].svg.encode()) < (2500 if small_multiple else 4000)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_class_of_a_chart_has_a_rule(name):
    used = set(" ".join(re.findall(r'class="([^"]*)"', SAMPLES[name].svg)).split())
    assert used <= set(re.findall(r"\.(wb[\w-]*)", style_sheet()))


@pytest.mark.parametrize("name", SAMPLES)
def test_no_chart_has_a_colour_of_its_own(name):
    assert not re.search(r'fill=|stroke=|style=|#[0-9a-f]{6}"', SAMPLES[name].svg)


# --- forests --------------------------------------------------------------------------------------


def test_the_forest_says_what_to_expect():
    assert SAMPLES["expected_error"].desc == "Tuned 35.3 percent, none 40.1 percent."
    assert SAMPLES["paired_change"].desc == "Tuned −4.8 points, interval −9.1 to −0.5."


def test_the_weighting_to_use_is_a_bold_square_and_the_others_are_circles():
    root = ElementTree.fromstring(SAMPLES["expected_error"].svg)
    assert len(root.findall(f"{SPACE}circle[@class='wb-other-fill']")) == 4
    # one in the picture, one in the legend
    assert len(root.findall(f"{SPACE}rect[@class='wb-used-fill']")) == 2
    bold = [each.text for each in root.iter(f"{SPACE}text") if each.get("class") == "wb-used"]
    assert bold == ["tuned", "35.3 %"]


def test_marks_lie_where_the_numbers_are():
    """The distance of two circles is proportional to the difference of their numbers."""
    root = ElementTree.fromstring(SAMPLES["expected_error"].svg)
    circles = root.findall(f"{SPACE}circle")
    places = [float(each.get("cx")) for each in circles]
    errors = [0.401, 0.341, 0.366, 0.366]
    slope = (places[0] - places[1]) / (errors[0] - errors[1])
    # coordinates are rounded to a tenth
    assert places[2] == pytest.approx(places[1] + slope * (errors[2] - errors[1]), abs=0.15)


def test_what_is_withheld_is_said_in_words():
    for draw in (expected_error, paired_change):
        chart = draw(withheld_expect(), use="none", id="a")
        check_chart(chart)
        assert ">withheld<" in chart.svg
        assert "withheld" in chart.desc


def test_one_weighting_may_be_withheld():
    expect = sample_expect()
    expect["candidates"][1] |= {"error": None, "change": None, "state": "withheld"}
    for draw in (expected_error, paired_change):
        chart = draw(expect, use="tuned", id="a")
        check_chart(chart)
        assert chart.svg.count(">withheld<") == 1


def test_rough_intervals_are_dotted_and_explained():
    expect = sample_expect()
    expect["candidates"][1]["state"] = "flagged"
    chart = expected_error(expect, use="tuned", id="a")
    check_chart(chart)
    # the interval and its legend
    assert chart.svg.count("wb-rough") == 2
    assert "rough: thin overlap" in chart.svg
    assert "wb-rough" not in SAMPLES["expected_error"].svg


def test_actual_errors_are_marked_where_they_are_known():
    actual = dict.fromkeys(NAMES, 0.37)
    chart = expected_error(sample_expect() | {"actual": actual}, use="tuned", id="a")
    check_chart(chart)
    assert chart.svg.count("<polygon") == 6
    assert "actual error" in chart.svg


def test_without_a_second_weighting_there_is_no_change():
    expect = sample_expect()
    expect["candidates"] = expect["candidates"][:1]
    assert paired_change(expect, use="none", id="a").desc == (
        "Change against none: no other weighting to compare."
    )
    error = expected_error(expect, use="none", id="a")
    check_chart(error)
    assert error.desc == "None 40.1 percent, interval 36.1 to 44.1."


@pytest.mark.parametrize("factor", [0.0, 1e-12, 1e-4, 1.0, 1e5, 1e9, 1e40])
def test_forests_of_any_size_keep_all_laws(factor):
    for draw in (expected_error, paired_change):
        check_chart(draw(sample_expect(factor, "mean squared error"), use="tuned", id="a"))


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8),
    st.sampled_from(["error", "RMSE", "a rather long name of a measure"]),
)
@settings(max_examples=40)
def test_forests_of_any_numbers_keep_all_laws(numbers, measure):
    candidates = []
    for place, ends in enumerate(numbers):
        low, value, high = sorted(ends)
        error = {"low": low, "value": value, "high": high}
        change = {"low": low - 1, "value": value - 1, "high": high - 1}
        candidate = {"name": f"weighting {place}", "literature": "", "state": "good"}
        candidates.append({**candidate, "error": error, "change": change})
    expect = {"measure": measure, "confidence": 0.9, "candidates": candidates}
    for draw in (expected_error, paired_change):
        check_chart(draw(expect, use="weighting 0", id="a"))


# --- love chart -----------------------------------------------------------------------------------


def test_the_love_chart_says_how_the_largest_difference_falls():
    rows = sample_rows(10)
    assert love(rows, "tuned", id="a").desc == (
        "feature 0 falls from 0.87 to 0.13; 9 of 10 differences end below 0.1."
    )
    assert love(rows, None, id="a").desc == (
        "feature 0 differs most, by 0.87 standard deviations; 2 of 10 differences are below 0.1."
    )


def test_the_love_chart_draws_15_rows_and_counts_all():
    chart = love(sample_rows(40), "tuned", id="a")
    check_chart(chart)
    assert "25 more, which differ less, in the table" in chart.svg
    assert "of 40 differences" in chart.desc


def test_before_is_a_hollow_circle_and_after_a_filled_square():
    chart = love(sample_rows(3), "tuned", id="a")
    root = ElementTree.fromstring(chart.svg)
    assert len(root.findall(f"{SPACE}g[@class='wb-training-fill']/{SPACE}circle")) == 3
    squares = root.find(f"{SPACE}path[@class='wb-weighted-fill']").get("d")
    assert squares.count("M") == 3
    assert "wb-weighted-fill" not in love(sample_rows(3), None, id="a").svg


def test_an_infinite_difference_is_an_arrow_at_the_edge():
    """Between two constants the difference is infinite; results write it as None."""
    rows = sample_rows(3)
    rows[0] |= {"before": None, "after": {"tuned": None}}
    chart = love(rows, "tuned", id="a")
    check_chart(chart)
    assert "∞ → ∞" in chart.svg
    assert chart.desc.startswith("feature 0 is one value in training and another in deployment;")


def test_a_difference_that_is_not_known_has_no_mark():
    rows = sample_rows(2)
    rows[1] |= {"mean_target": None, "before": None, "after": {"tuned": None}}
    chart = love(rows, "tuned", id="a")
    check_chart(chart)
    assert "– → –" in chart.svg
    assert chart.svg.count("<circle") == 2  # one row, one legend


def test_no_features_at_all():
    chart = love([], "tuned", id="a")
    check_chart(chart)
    assert "no features" in chart.svg
    assert chart.desc == "There are no differences to show."


@pytest.mark.parametrize("size", [0.0, 1e-9, 12.0, 1e7])
def test_differences_of_any_size_keep_all_laws(size):
    rows = sample_rows(2)
    rows[0] |= {"before": size, "after": {"tuned": size / 2}}
    check_chart(love(rows, "tuned", id="a"))


def test_growing_differences_are_not_said_to_fall():
    rows = sample_rows(1)
    rows[0] |= {"before": 0.2, "after": {"tuned": -0.5}}
    assert love(rows, "tuned", id="a").desc.startswith("feature 0 goes from 0.20 to 0.50;")


# --- features -------------------------------------------------------------------------------------


def test_densities_say_how_training_differs():
    assert SAMPLES["densities"].desc == (
        "age: lower in training than in deployment; weighted training follows deployment."
    )
    other = sample_densities()
    other["training"], other["deployment"] = other["deployment"], other["training"]
    assert feature(other, None, id="a").desc == "age: higher in training than in deployment."


@pytest.mark.parametrize(
    ("middle", "words"),
    [(0.31, "hardly comes closer."), (0.45, "comes closer."), (0.6, "follows deployment.")],
)
def test_densities_say_whether_weights_help(middle, words):
    histogram = sample_densities()
    width = histogram["edges"][1] - histogram["edges"][0]
    histogram["weighted"]["tuned"] = [share / width for share in bell(25, middle)]
    assert feature(histogram, "tuned", id="a").desc.endswith(f"weighted training {words}")


def test_equal_means_of_other_shapes_are_not_called_alike():
    histogram = sample_densities() | {"training": [0.0, 0.06, 0.0], "deployment": [0.02] * 3}
    histogram |= {"edges": [0.0, 16.7, 33.3, 50.0], "weighted": {"tuned": [0.02] * 3}}
    assert feature(histogram, "tuned", id="a").desc == (
        "age: spread differently in training and deployment; weighted training follows deployment."
    )


def test_alike_samples_are_said_to_be_alike():
    histogram = sample_densities()
    histogram["training"] = histogram["deployment"]
    assert feature(histogram, "tuned", id="a").desc == (
        "age: nearly alike in training and deployment."
    )


def test_values_say_which_share_moved_most():
    histogram = sample_values(["a", "b"]) | {"training": [0.7, 0.3], "deployment": [0.2, 0.8]}
    histogram["weighted"]["tuned"] = [0.25, 0.75]
    assert feature(histogram, "tuned", id="a").desc == (
        "site: a is 70 % of training, 20 % of deployment and 25 % of weighted training."
    )


def test_missing_values_are_written_below_the_name():
    assert "missing 3 % → 8 %, weighted 7 %" in SAMPLES["densities"].svg
    assert "missing 3 % → 8 %<" in feature(sample_densities(), None, id="a").svg
    assert "missing" not in SAMPLES["levels"].svg


def test_each_series_has_its_own_line():
    svg = SAMPLES["densities"].svg
    for cls in ("wb-deployment-fill", "wb-training", "wb-weighted"):
        assert svg.count(f'class="{cls}"') == 1
    assert "wb-weighted" not in feature(sample_densities(), None, id="a").svg


@pytest.mark.parametrize(
    "values",
    [
        [1.0],
        [0, 1],
        [float(k) for k in range(30)],
        [1e-9 * k for k in range(5)],
        [1e12 * k for k in range(9)],
        ["only"],
        [True, False],
        [f"a long name of a level of a category, number {k}" for k in range(30)],
        list(HOSTILE),
    ],
)
@pytest.mark.parametrize("after", ["tuned", None, "another"])
def test_values_of_any_kind_keep_all_laws(values, after):
    check_chart(feature(sample_values(values), after, id="a"))


def test_many_levels_are_cut():
    chart = feature(sample_values([f"level {k}" for k in range(30)]), "tuned", id="a")
    assert "20 smaller in the table" in chart.svg


def test_long_levels_can_be_told_apart():
    names = [f"a long name of level {k} of a category with many" for k in range(10)]
    svg = feature(sample_values(names), "tuned", id="a").svg
    shown = [each[4] for each in text_boxes(svg) if each[4].startswith("…")]
    assert len(set(shown)) == 10


def test_a_feature_without_values():
    histogram = sample_values([]) | {"missing": {"training": 1.0, "deployment": 1.0}}
    chart = feature(histogram, "tuned", id="a")
    check_chart(chart)
    assert "no values" in chart.svg


def test_a_feature_whose_weights_are_all_elsewhere():
    histogram = sample_values(["a", "b"]) | {"deployment": [0.0, 0.0], "training": [0.0, 0.0]}
    histogram["weighted"]["tuned"] = [0.0, 0.0]
    check_chart(feature(histogram, "tuned", id="a"))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text_everywhere(name):
    """Names from the data never become elements, and never leave the picture."""
    rows = sample_rows(2)
    rows[0]["name"] = name
    check_chart(love(rows, "tuned", id="a"))
    check_chart(feature(sample_densities() | {"name": name}, "tuned", id="a"))
    check_chart(feature(sample_values([name, f"{name}2"]), "tuned", id="a"))


# --- overlap and weights --------------------------------------------------------------------------


def test_the_overlap_says_which_share_lies_beyond():
    assert SAMPLES["overlap"].desc == "2 percent of deployment rows lie beyond all training rows."
    none = overlap(sample_overlap(0), id="a")
    check_chart(none)
    assert none.desc == "No deployment row lies beyond the training rows."
    assert "wb-hatch" not in none.svg
    few = sample_overlap(1) | {"beyond": 1e-5}
    assert overlap(few, id="a").desc.startswith("Less than 0.1 percent of")


def test_the_region_without_training_rows_is_hatched_from_the_limit_on():
    root = ElementTree.fromstring(SAMPLES["overlap"].svg)
    hatched = root.find(f"{SPACE}path[@class='wb-hatch']").get("d")
    xs = [float(x) for x in re.findall(r"[ML]([\d.]+) ", hatched)]
    # log ratios from -3 to 5 on 6 to 354 units: 4 is at 310.5
    assert min(xs) == pytest.approx(310.5, abs=0.1)
    assert max(xs) == pytest.approx(354, abs=0.1)


def test_one_bin_is_enough_for_an_overlap():
    one = {"edges": [-0.5, 0.5], "training": [1.0], "deployment": [1.0]}
    check_chart(overlap(one | {"limit": 0.5, "beyond": 0.0, "n_beyond": 0}, id="a"))


@pytest.mark.parametrize(
    ("used", "full", "n"),
    [(1557, 712, 4000), (4000, 3990, 4000), (6, None, 4000), (1, 1, 1), (3e8, 2e6, 10**9)],
)
def test_effective_rows_keep_all_laws(used, full, n):
    chart = _svg.effective_rows(used, full, n, id="a")
    check_chart(chart)
    assert f"{used:,.0f} effective rows of {n:,}" in chart.desc
    bar = ElementTree.fromstring(chart.svg).find(f"{SPACE}rect[@class='wb-weighted-fill']")
    assert float(bar.get("width")) == pytest.approx(352 * used / n, abs=0.06)


def test_the_curve_of_concentration_passes_through_half():
    chart = SAMPLES["concentration"]
    assert chart.desc == "Half of the weight sits on 21 percent of rows."
    mark = ElementTree.fromstring(chart.svg).find(f"{SPACE}rect[@class='wb-weighted-fill']")
    x, y = (float(mark.get(name)) + 4 for name in "xy")
    assert x == pytest.approx(48 + 300 * 0.21, abs=0.1)
    assert y == pytest.approx(198 - 190 * (1 - 0.79**3), abs=0.1)


@pytest.mark.parametrize("half", [0.0005, 0.5])
def test_any_concentration_keeps_all_laws(half):
    curve = {"rows": [0, half, 1], "weight": [0, 0.5, 1], "half": half}
    check_chart(concentration(curve, id="a"))


def test_weights_say_how_large_they_are():
    assert SAMPLES["weights"].desc == "Largest weight 5.1, none can exceed 6.2."
    assert "wb-caution" in SAMPLES["weights"].svg
    assert "first bar: also 12 with smaller weights" in SAMPLES["weights"].svg
    free = weights(sample_weights(None), id="a")
    check_chart(free)
    assert free.desc == "Largest weight 5.1; their mean is 1."
    assert "wb-caution" not in free.svg


def test_a_bound_far_away_is_said_and_not_drawn():
    far = weights(sample_weights(1e6), id="a")
    check_chart(far)
    assert "beyond the axis" in far.svg


def test_equal_weights_are_one_bar():
    one = {"edges": [0.96, 1.04], "counts": [4000], "n_below": 0, "largest": 1.0, "bound": None}
    check_chart(weights(sample_weights() | one, id="a"))


# --- reliability ----------------------------------------------------------------------------------


def test_reliability_says_how_far_from_the_diagonal():
    assert SAMPLES["reliability"].desc == "The curve stays within 0.03 of the diagonal."


def test_the_curve_of_reliability_changes_half_way_between_two_places():
    curve = {"predicted": [0.2, 0.6], "observed": [0.1, 0.9], "largest_gap": 0.3}
    chart = reliability(curve | {"low": [0.0, 0.8], "high": [0.2, 1.0]}, id="a")
    check_chart(chart)
    drawn = ElementTree.fromstring(chart.svg).find(f"{SPACE}path[@class='wb-weighted']").get("d")
    # from 0 over 0.4 to 0.8 of 300 units right of 48; heights 0.1 and 0.9 of 210 above 218
    assert drawn == "M48 197H168V29H288"


def test_one_step_is_enough_for_reliability():
    curve = {"predicted": [0.5], "observed": [0.5], "low": [0.4], "high": [0.6]}
    check_chart(reliability(curve | {"largest_gap": 0.0}, id="a"))
