"""Drawings of the bridge: the map, its steps of colour, losses along curves, path and rectangle."""

import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge._svg import LEVELS, bridge, frame, loss_along_curves, rectangle, search_path
from weighbridge._svg._draw import text_width
from weighbridge._svg._map import Words, outlines, step_of
from weighbridge.model_selection import Evaluation, GridSearch, Point, SearchResult
from weighbridge.pictures import BridgeSurface, compute_surface

DRAWINGS = (bridge, loss_along_curves, search_path, rectangle)
SVG = "{http://www.w3.org/2000/svg}"
# Spread of the log ratio: hardly any shift, slight, strong, and almost complete.
SPREADS = (0.12, 0.5, 1.5, 4.0)


def _surface(spread=1.0, points=None, loss=None, chosen=(0.6, 3.0), name="log loss", noise=0.3):
    points = GridSearch(11, 5).points() if points is None else points
    loss = (lambda lam, alpha: 0.7 + (lam - 0.6) ** 2 - 0.01 * alpha) if loss is None else loss
    found = []
    for lam, alpha in points:
        value = loss(lam, alpha)
        # the further two candidates are from each other, the larger the error of their difference
        spread_of = noise * np.array([0.5 + lam, -0.5 - lam, lam * (1 - lam) * alpha, 0.0])
        losses = None if value is None else value + spread_of - spread_of.mean()
        error = "no" if value is None else None
        found.append(Evaluation(Point(lam, alpha), losses, error=error))
    log_ratio = np.random.default_rng(0).normal(0, spread, 400)
    result = SearchResult(tuple(found), np.ones(4))
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
    "three points": _surface(points=[(0.0, 1.0), (1.0, 1.0), (0.5, 3.0)], chosen=(0.5, 3.0)),
    "without noise": _surface(noise=0.0),
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
    # the loss along curves and the rectangle share the table of the map
    assert bool(rows) == (draw in (bridge, search_path))
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
    assert "Log loss 0.67, without weights 1.05." in desc


def _words(chart):
    return {words for words, *_ in _boxes(_root(chart.svg))}


def test_good_and_bad_are_written_at_the_colours():
    found = _words(bridge(CASES["spread 1.5"], id="x"))
    assert {"as good as the best", "worse", "2", "4", "standard errors"} <= found
    assert "8" not in found
    found = _words(bridge(CASES["without noise"], id="x"))
    assert {"as good as the best", "far worse", "2", "4", "8", "16"} <= found
    assert "all as good as the best" in _words(bridge(CASES["all alike"], id="x"))
    assert "no weighting could be evaluated" in _words(bridge(CASES["all failed"], id="x"))


def _steps(svg):
    """Return the colours that are drawn, in the picture and in its legend."""
    return sorted({int(step) for step in re.findall(r"wb-step-(\d)", svg)})


@pytest.mark.parametrize("draw", [bridge, rectangle], ids=lambda draw: draw.__name__)
def test_a_flat_surface_has_one_colour(draw):
    # nothing differs, or nothing by two standard errors, or by rounding only
    noise = np.random.default_rng(0).normal(size=200)
    small = _surface(loss=lambda lam, alpha: 0.7 + 0.01 * lam)
    rounding = _surface(loss=lambda lam, alpha: 0.7 + 1e-16 * noise[int(99 * lam)], noise=0.0)
    for surface in (CASES["all alike"], small, rounding):
        assert surface.as_good.all()
        assert _steps(draw(surface, id="x").svg) == [0]
        assert bridge(surface, id="x").title == "All 47 weightings do about equally well"
    assert _steps(draw(CASES["without noise"], id="x").svg) == [0, 1, 2, 3, 4]


def test_the_blue_area_is_where_weightings_do_as_well_as_the_best():
    # at each place of the surface within its border, against the polygons that are drawn
    from matplotlib.path import Path

    surface = CASES["spread 1.5"]
    chart = bridge(surface, id="x")
    shape = next(
        each.get("d")
        for each in _root(chart.svg).iter(f"{SVG}path")
        if each.get("class") == "wb-step-0"
    )
    corners, at = [], (0.0, 0.0)
    assert shape.count("M") == 1
    for kind, numbers in re.findall(r"([MLHV])([-\d. ]+)", shape):
        given = [float(each) for each in numbers.split()]
        at = {"H": (given[0], at[1]), "V": (at[0], given[0])}.get(kind, tuple(given))
        corners.append(at)
    mesh, to_units = surface.mesh, frame(surface)
    inner = np.s_[1:-1, 1:-1]
    places = zip(mesh.x[inner].ravel(), mesh.y[inner].ravel(), strict=True)
    apart = mesh.apart[inner].ravel()
    # lines are simplified by a quarter of a unit: leave out what is nearly on them
    clear = np.abs(apart - 2) > 0.1
    inside = Path(corners).contains_points([to_units(place) for place in places])
    np.testing.assert_array_equal(inside[clear], (apart <= 2)[clear])
    assert 20 < inside.sum() < inside.size - 20


@pytest.mark.parametrize("case", CASES)
def test_the_title_counts_what_the_table_says(case):
    surface = CASES[case]
    chart = bridge(surface, id="x")
    answers = [row[1] for row in chart.table[1]]
    assert len(answers) == surface.lam.size
    good, known = answers.count("yes"), len(answers) - answers.count("")
    assert good == surface.as_good.sum()
    counted = re.match(r"(\d+) of (\d+) weightings do as well as the best", chart.title)
    if counted:
        assert [int(each) for each in counted.groups()] == [good, known]
    elif case == "no shift":
        assert chart.title == "All weightings are nearly the same"
    elif chart.title.startswith("All"):
        assert good == known == int(chart.title.split()[1])
    elif known > 1:
        assert good == 1
        assert re.search(r"does better than the other( \d+ weightings| weighting)$", chart.title)
        assert known == 2 or str(known - 1) in chart.title.split()


@pytest.mark.parametrize(
    ("loss", "title"),
    [
        (lambda lam: 1.0 * (lam < 0.5), "26 of 47 {}, full weighting among them; the unweighted"),
        (lambda lam: 1.0 * (lam > 0.5), "26 of 47 {}, the unweighted model among them; full"),
        (lambda lam: 1.0 * (lam in (0, 1)), "45 of 47 {}; the unweighted model and full weighting"),
        (lambda lam: 1.0 * (lam == 0.5), "42 of 47 {}, the unweighted model and full weighting"),
        (lambda lam: 1.0 * (lam != 0), "The unweighted model does better than the other 46"),
        (lambda lam: 1.0 * (lam != 1), "Full weighting does better than the other 46 weightings"),
        (lambda lam: None if lam else 1.0, "Only one weighting could be evaluated"),
        (lambda lam: None, "No weighting could be evaluated"),
    ],
)
def test_the_title_says_how_the_ends_do(loss, title):
    found = bridge(_surface(loss=lambda lam, alpha: loss(lam), noise=1e-3), id="x").title
    assert found.startswith(title.format("weightings do as well as the best"))


def test_few_candidates_are_large_and_named():
    svg = bridge(CASES["three points"], id="x").svg
    assert len(re.findall(r'<circle[^>]*r="9" class="wb-step-\d wb-axis"', svg)) == 3
    assert "lam 0.5, alpha 3" in svg.split("chosen:")[0]


def test_a_single_number_each_is_not_judged():
    # the metric of one held-out part: losses have an order, and nothing says what is chance
    tried = [Evaluation(Point(lam, 1.0), np.array([1 + lam])) for lam in (0.0, 0.5, 1.0)]
    result = SearchResult(tuple(tried), np.ones(1))
    surface = compute_surface(result, np.random.default_rng(0).normal(size=50), (0.0, 1.0))
    np.testing.assert_allclose(surface.apart, [0, 8, 16])
    chart = bridge(surface, id="x")
    assert chart.title == "Losses of 3 weightings, with nothing to say what is chance"
    assert {"best", "worst"} <= _words(chart)
    assert "standard errors" not in chart.svg
    assert {row[1] for row in chart.table[1]} == {""}


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


def test_loss_along_curves_says_where_it_does_as_well():
    def loss(lam, alpha):
        return 0.7 if lam >= 0.7 or lam == 0.6 else 3.0

    desc = loss_along_curves(_surface(loss=loss), id="x").desc
    assert desc == "Along relative weightings do as well as the best from lam 0.6 on."
    everywhere = loss_along_curves(CASES["all alike"], id="x").desc
    assert everywhere.endswith("as the best everywhere.")
    nowhere = loss_along_curves(_surface(loss=lambda lam, alpha: -9.0 * (alpha == 2)), id="x")
    assert nowhere.desc == "Along relative no weighting is known to do as well as the best."
    # the line of the best loss stays above the axis
    lines = re.findall(r'd="M52 ([\d.]+)H346" class="wb-axis"', nowhere.svg)
    assert float(lines[0]) < float(_root(nowhere.svg).get("viewBox").split()[3]) - 42
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


# Steps of colour


@given(st.floats(0, 1e6))
def test_steps_are_between_their_levels(apart):
    ends = (-math.inf, *LEVELS, math.inf)
    step = step_of(apart)
    assert ends[step] < apart <= ends[step + 1]


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
