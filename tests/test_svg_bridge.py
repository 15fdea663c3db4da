"""Drawings of the bridge: the map, its steps of colour, losses along curves, path and rectangle."""

import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge._svg import LossSteps, bridge, frame, loss_along_curves, rectangle, search_path
from weighbridge._svg._bands import loss_steps, outlines
from weighbridge._svg._draw import text_width
from weighbridge._svg._map import Words
from weighbridge.pictures import BridgeSurface, compute_surface
from weighbridge.search import Evaluation, GridSearch, Point, SearchResult

DRAWINGS = (bridge, loss_along_curves, search_path, rectangle)
SVG = "{http://www.w3.org/2000/svg}"
# Spread of the log ratio: hardly any shift, slight, strong, and almost complete.
SPREADS = (0.12, 0.5, 1.5, 4.0)


def _surface(spread=1.0, points=None, loss=None, chosen=(0.6, 3.0), name="log loss"):
    points = GridSearch(11, 5).points() if points is None else points
    loss = (lambda lam, alpha: 0.7 + (lam - 0.6) ** 2 - 0.01 * alpha) if loss is None else loss
    found = []
    for lam, alpha in points:
        value = loss(lam, alpha)
        losses = None if value is None else np.array([value - 0.05, value + 0.05])
        error = "no" if value is None else None
        found.append(Evaluation(Point(lam, alpha), losses, error=error))
    log_ratio = np.random.default_rng(0).normal(0, spread, 400)
    result = SearchResult(tuple(found), np.ones(2))
    surface = compute_surface(result, log_ratio, chosen, loss_name=name)
    return BridgeSurface.from_dict(surface.to_dict())


def _searched():
    rng = np.random.default_rng(1)
    later = zip(rng.uniform(size=11), rng.uniform(1, 3, 11), strict=True)
    points = [(0.0, 1.0), (1.0, 1.0), (0.8, 3.0), (0.5, 1.0), *later]
    return _surface(points=points)


def _root(svg):
    return ElementTree.fromstring(svg)


def _boxes(root, inherited=None):
    """Return the words of a drawing with upper bounds of their boxes."""
    style = {**(inherited or {}), **root.attrib}
    boxes = [box for each in root for box in _boxes(each, style)]
    if root.tag == f"{SVG}text":
        words, size = root.text or "", float(style["font-size"])
        wide = text_width(words, size, bold="wb-strong" in style.get("class", ""))
        x, y = float(root.get("x")), float(root.get("y"))
        x -= {"end": wide, "middle": wide / 2}.get(style.get("text-anchor"), 0)
        boxes.append((words, x, y - size, x + wide, y + 0.3 * size))
    return boxes


CASES = {
    **{f"spread {spread}": _surface(spread) for spread in SPREADS},
    "search": _searched(),
    "failures": _surface(loss=lambda lam, alpha: None if 0.3 < lam < 0.7 else 1 + lam),
    "all failed": _surface(loss=lambda lam, alpha: None),
    "all alike": _surface(loss=lambda lam, alpha: 0.5),
    "none is best": _surface(loss=lambda lam, alpha: 0.5 + lam, chosen=(0.0, 1.0)),
    "no shift": _surface(0.0),
    "hostile name": _surface(name='<script>"&\u202e'),
    "wide": _surface(points=[(k / 8, a) for k in range(9) for a in (-1.0, 1.0, 3.0, 5.0)]),
    "one alpha": _surface(points=[(k / 8, 3.0) for k in range(9)], chosen=(0.5, 3.0)),
    "two points": _surface(points=[(0.3, 1.0), (0.4, 1.5)], chosen=(0.3, 1.0)),
    "huge losses": _surface(loss=lambda lam, alpha: 1e9 * (1 + lam)),
}


@pytest.mark.parametrize("draw", DRAWINGS, ids=lambda draw: draw.__name__)
@pytest.mark.parametrize("case", CASES)
def test_every_drawing_is_whole(draw, case):
    # parses, has a title and a description, no NaN, no word outside, and a table of its numbers
    chart = draw(CASES[case], id="x")
    root = _root(chart.svg)
    _, _, width, height = map(float, root.get("viewBox").split())
    assert [root[0].text, root[1].text] == [chart.title, chart.desc]
    assert root[1].text
    assert not re.search(r"\b(nan|inf|None)\b", chart.svg)
    for words, left, top, right, bottom in _boxes(root):
        assert min(left, top) >= -1, words
        assert right <= width + 0.5, words
        assert bottom <= height + 0.5, words
    heads, rows = chart.table
    assert rows
    assert all(len(row) == len(heads) for row in rows)
    assert "<script>" not in chart.svg
    # the path of a grid is no path
    assert len(chart.svg) < 9_500 or (draw is search_path and not CASES[case].searched)


@pytest.mark.parametrize("case", CASES)
def test_words_on_the_map_keep_apart(case):
    chart = bridge(CASES[case], id="x")
    boxes = _boxes(_root(chart.svg))
    # the boxes of single letters are upper bounds, and lines of text may touch
    for place, (one, *a) in enumerate(boxes):
        for two, *b in boxes[place + 1 :]:
            apart = a[0] >= b[2] or b[0] >= a[2] or a[1] + 4 >= b[3] or b[1] + 4 >= a[3]
            assert apart, (one, two)


def test_the_numbers_on_the_svg_place_a_cursor():
    # x0 + x1 * x, y0 + y1 * y: none and full are where their marks are, and the star at the choice
    numbers = CASES["spread 1.5"]
    chart = bridge(numbers, id="x")
    root = _root(chart.svg)
    x0, x1, y0, y1 = (float(root.get(f"data-{name}")) for name in ("x0", "x1", "y0", "y1"))
    dots = [
        (float(dot.get("cx")), float(dot.get("cy")))
        for dot in root.iter(f"{SVG}circle")
        if dot.get("class") == "wb-other-fill"
    ]
    ends = [(x0 + x1 * x, y0 + y1 * y) for x, y in numbers.ends.values()]
    np.testing.assert_allclose(dots, ends, atol=0.06)
    star = next(each for each in root.iter(f"{SVG}path") if each.get("class") == "wb-star")
    tip = [float(number) for number in re.match(r"M(\S+) (\S+?)[LHV]", star.get("d")).groups()]
    x, y = numbers.chosen_place
    assert tip == pytest.approx([x0 + x1 * x, y0 + y1 * y - 8.5], abs=0.1)
    cursor = next(each for each in root.iter(f"{SVG}g") if each.get("class") == "wb-cursor")
    assert cursor.get("display") == "none"


def test_equal_distance_is_drawn_equal_unless_the_bridge_is_flat():
    assert frame(CASES["spread 1.5"]).stretch == pytest.approx(1)
    flat = CASES["spread 0.5"]
    stretch = frame(flat).stretch
    assert stretch > 1.5
    words = " ".join(word for word, *_ in _boxes(_root(bridge(flat, id="x").svg)))
    assert f"heights are drawn {stretch:.2g} times larger" in words
    assert "heights" not in bridge(CASES["spread 1.5"], id="x").svg


def test_a_map_that_keeps_too_little_is_a_rectangle():
    numbers = replace(CASES["spread 1.5"], kept=0.849)
    chart = bridge(numbers, id="x")
    assert chart.desc.startswith("A map would keep only 85 % of the differences")
    assert "none, whatever alpha" in chart.svg
    assert "data-x0" in bridge(replace(numbers, kept=0.85), id="x").svg


def test_without_shift_there_is_a_sentence():
    chart = bridge(CASES["no shift"], id="x")
    assert chart.desc.endswith("there is no map to draw.")
    assert "wb-star" not in chart.svg


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ((0.0, 1.0), "no weights (lam 0)"),
        ((1.0, 1.0), "the full ratio (lam 1)"),
        ((0.05, 1.0), "lam 0.05, alpha 1, near no weights"),
        ((0.95, 1.0), "lam 0.95, alpha 1, near the full ratio"),
        ((0.5, 1.0), "lam 0.5, alpha 1, between no weights and the full ratio"),
    ],
)
def test_the_description_says_where_the_choice_is(chosen, words):
    desc = bridge(_surface(chosen=chosen), id="x").desc
    assert desc.startswith(f"Selected: {words}.")


def test_the_description_compares_with_no_weights():
    desc = bridge(_surface(chosen=(0.6, 3.0)), id="x").desc
    assert desc.endswith("Log loss 0.67, without weights 1.05.")


def test_legend_says_what_the_ends_are():
    assert {"best 0.67", "as none 1.05"} <= {
        words for words, *_ in _boxes(_root(bridge(CASES["spread 1.5"], id="x").svg))
    }
    assert "best, none 0.5" in bridge(CASES["none is best"], id="x").svg
    assert "worst 1.5" in bridge(CASES["none is best"], id="x").svg
    assert "all alike: log loss 0.5" in bridge(CASES["all alike"], id="x").svg
    assert "no weighting could be evaluated" in bridge(CASES["all failed"], id="x").svg
    close = bridge(_surface(loss=lambda lam, alpha: 0.65 - 1e-5 * lam), id="x").svg
    assert "best 0.64999" in close
    assert "as none 0.65<" in close


def test_a_search_is_drawn_by_its_points_and_its_order():
    numbers = CASES["search"]
    svg = bridge(numbers, id="x").svg
    assert len(re.findall(r'<circle[^>]*class="wb-step-\d wb-axis"', svg)) == 15
    path = search_path(numbers, id="x")
    best = min(range(15), key=lambda place: numbers.loss[place]) + 1
    assert path.desc == f"Best found at evaluation {best} of 15."
    words = [word for word, *_ in _boxes(_root(path.svg))]
    # all numbers have room here
    assert {str(number) for number in range(1, 16)} <= set(words)
    falling = [float(row[-1]) for row in path.table[1]]
    assert falling == sorted(falling, reverse=True)


def test_loss_along_curves_says_where_it_is_flat():
    def loss(lam, alpha):
        return 0.7 if lam >= 0.7 or lam == 0.6 else 1.0

    desc = loss_along_curves(_surface(loss=loss), id="x").desc
    assert (
        desc == "Along relative the loss is within one standard error of its best from lam 0.6 on."
    )
    everywhere = loss_along_curves(CASES["all alike"], id="x").desc
    assert everywhere.endswith("its best everywhere.")
    few = loss_along_curves(CASES["two points"], id="x")
    assert "too few weightings of one alpha" in few.desc


def test_curves_along_lam_have_lines_of_their_own():
    svg = loss_along_curves(_surface(chosen=(0.6, 2.0)), id="x").svg
    words = [word for word, *_ in _boxes(_root(svg))]
    assert {"power", "relative", "alpha 2 (chosen)"} <= set(words)
    assert svg.count("wb-star") == 1
    # a choice at an end is on every curve, so none is marked
    assert "wb-star" not in loss_along_curves(_surface(chosen=(1.0, 1.0)), id="x").svg


def test_rectangle_has_a_cell_for_every_candidate():
    numbers = CASES["spread 1.5"]
    root = _root(rectangle(numbers, id="x").svg)
    cells = sum(
        each.get("d").count("M")
        for each in root.iter(f"{SVG}path")
        if each.get("class", "").startswith("wb-step")
    )
    assert cells == numbers.lam.size
    assert len(re.findall("<circle", rectangle(CASES["search"], id="x").svg)) == 15


def test_results_without_surface_or_hangers_are_drawn():
    # what is missing in a result of another version is left out
    numbers = CASES["spread 1.5"].to_dict()
    del numbers["hangers"]
    numbers |= {"mesh": None, "curves": {"power": numbers["curves"]["power"]}}
    assert "power" in bridge(BridgeSurface.from_dict(numbers), id="x").svg


# Steps of colour


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60),
    st.just(math.nan) | st.floats(-1e6, 1e6),
)
def test_steps_keep_the_order_of_losses(losses, none):
    steps = loss_steps(losses, none)
    ordered = sorted(losses)
    colours = [steps.of(loss) for loss in ordered]
    assert colours == sorted(colours)
    assert colours[0] == 0
    assert len(steps.levels) <= 9
    assert steps.against_none == (none > ordered[0])
    if len(steps.levels) > 2:
        assert steps.classes[-1] == 7


def test_steps_hold_equally_many_candidates():
    # 80 losses, none the largest of them: ten in each step, give or take the interpolation
    losses = np.random.default_rng(0).exponential(size=80) ** 3
    steps = loss_steps(losses.tolist(), float(losses.max()))
    counts = np.bincount([steps.of(loss) for loss in losses], minlength=8)
    assert counts.min() >= 9
    assert counts.max() <= 11
    # what is worse than no weights has the last colour
    assert loss_steps([1.0, 2.0, 9.0], 2.0).of(9.0) == 7


def test_steps_of_nothing():
    assert loss_steps([math.nan, math.inf], math.nan) == LossSteps((0.0,), against_none=False)


def _area(lines):
    """Signed area inside closed lines; holes count against it."""
    total = 0.0
    for line in lines:
        x, y = np.array(line).T
        total += 0.5 * float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))
    return abs(total)


@given(
    st.floats(-2, 2).filter(lambda slope: abs(slope) > 1e-3),
    st.floats(0.05, 0.95),
    st.integers(2, 9),
    st.integers(2, 9),
)
def test_outlines_of_a_plane_have_its_area(slope, share, n_rows, n_columns):
    # values rise evenly with x: the part at most `share` of the way up is that share of the square
    x, y = np.meshgrid(np.linspace(0, 1, n_columns), np.linspace(0, 1, n_rows))
    values = slope * x
    level = min(0.0, slope) + share * abs(slope)
    area = _area(outlines(x.tolist(), y.tolist(), values.tolist(), level))
    assert area == pytest.approx(share, abs=1e-9)


def test_outlines_of_a_bowl_and_of_a_ring():
    # a disc of radius 1/2, and a ring around it: within what a lattice of 101 lines can tell
    x, y = np.meshgrid(np.linspace(-1, 1, 101), np.linspace(-1, 1, 101))
    squares = x**2 + y**2
    disc = outlines(x.tolist(), y.tolist(), squares.tolist(), 0.25)
    assert len(disc) == 1
    assert _area(disc) == pytest.approx(math.pi / 4, rel=2e-3)
    ring = outlines(x.tolist(), y.tolist(), np.abs(squares - 0.5).tolist(), 0.2)
    assert len(ring) == 2
    assert _area(ring) == pytest.approx(math.pi * 0.4, rel=2e-3)
    # a saddle: two corners that do not touch
    saddle = outlines([[0, 1], [0, 1]], [[0, 0], [1, 1]], [[0, 1], [1, 0]], 0.5)
    assert len(saddle) == 2
    assert _area(saddle) == pytest.approx(0.25)


def test_outlines_leave_out_what_is_not_known():
    x, y = np.meshgrid([0.0, 1.0, 2.0], [0.0, 1.0])
    values = [[0.0, 0.0, math.nan], [0.0, 0.0, math.nan]]
    (line,) = outlines(x.tolist(), y.tolist(), values, math.inf)
    assert _area([line]) == pytest.approx(1)
    assert outlines(x.tolist(), y.tolist(), [[math.nan] * 3] * 2, math.inf) == []


def test_words_take_the_first_place_that_is_free():
    words = Words()
    assert words.put("one", [(50, 50)])
    assert not words.put("two", [(50, 50), (52, 52)])
    assert words.put("two", [(50, 50), (150, 50)])
    # nothing leaves the drawing
    assert words.put("three", [(-20, 90)])
    assert min(box[0] for box in words.boxes) >= 1
