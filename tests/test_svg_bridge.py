"""The map of weightings: its marks and their colours, its words, its table."""

import math
import re
from dataclasses import replace
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge._svg import LEVELS, bridge, frame
from weighbridge._svg._candidates import step_of
from weighbridge._svg._draw import text_width
from weighbridge.model_selection import Evaluation, GridSearch, Point, SearchResult
from weighbridge.pictures import BridgeSurface, compute_surface

SVG = "{http://www.w3.org/2000/svg}"
# What ImportanceWeightedCV compares by default.
NAMED = [(0.0, 1.0), (1.0, 1.0), (0.5, 1.0), (0.5, 3.0)]
# Spread of the log ratio: hardly any shift, slight, strong, and almost complete.
SPREADS = (0.12, 0.5, 1.5, 4.0)


def _surface(spread=1.0, points=None, loss=None, chosen=(0.6, 3.0), name="log loss", noise=0.3):
    points = GridSearch(11, 5).points() if points is None else points
    loss = (lambda lam, alpha: 0.7 + (lam - 0.6) ** 2 - 0.01 * alpha) if loss is None else loss
    evaluations = []
    for lam, alpha in points:
        value = loss(lam, alpha)
        # The further two candidates are from each other, the larger the error of their difference.
        errors = noise * np.array([0.5 + lam, -0.5 - lam, lam * (1 - lam) * alpha, 0.0])
        losses = None if value is None else value + errors - errors.mean()
        error = "no" if value is None else None
        evaluations.append(Evaluation(Point(lam, alpha), losses, error=error))
    log_ratio = np.random.default_rng(0).normal(0, spread, 400)
    result = SearchResult(tuple(evaluations), np.ones(4))
    surface = compute_surface(result, log_ratio, chosen, loss_name=name)
    return BridgeSurface.from_dict(surface.to_dict())


def _random_points():
    rng = np.random.default_rng(1)
    return [*NAMED, *zip(rng.uniform(size=11), rng.uniform(1, 3, 11), strict=True)]


CASES = {
    **{f"named {spread}": _surface(spread, points=NAMED, chosen=(0.5, 3.0)) for spread in SPREADS},
    **{f"grid {spread}": _surface(spread) for spread in SPREADS},
    "search": _surface(points=_random_points()),
    "failures": _surface(loss=lambda lam, alpha: None if 0.3 < lam < 0.7 else 1 + lam),
    "all failed": _surface(loss=lambda lam, alpha: None),
    "all alike": _surface(loss=lambda lam, alpha: 0.5),
    "no shift": _surface(0.0),
    "little kept": replace(_surface(1.5), kept=0.849),
    "hostile name": _surface(name='<script>"&\u202e'),
    "wide": _surface(points=[(k / 8, a) for k in range(9) for a in (-1.0, 1.0, 3.0, 5.0)]),
    "without noise": _surface(noise=0.0),
    "two points": _surface(points=[(0.3, 1.0), (0.4, 1.5)], chosen=(0.3, 1.0)),
    "huge losses": _surface(loss=lambda lam, alpha: 1e9 * (1 + lam)),
}


def _root(chart):
    return ElementTree.fromstring(chart.svg)


def _boxes(root, inherited=None):
    """Return the words of a drawing with upper bounds of their boxes."""
    style = {**(inherited or {}), **root.attrib}
    boxes = [box for child in root for box in _boxes(child, style)]
    if root.tag == f"{SVG}text":
        words, size = root.text or "", float(style["font-size"])
        wide = text_width(words, size, bold="wb-strong" in style.get("class", ""))
        x, y = float(root.get("x")), float(root.get("y"))
        x -= {"end": wide, "middle": wide / 2}.get(style.get("text-anchor"), 0)
        boxes.append((words, x, y - size, x + wide, y + 0.3 * size))
    return boxes


def _words(chart):
    return {words for words, *_ in _boxes(_root(chart))}


def _marks(chart):
    """Return colour and radius of the candidates' marks, in order of drawing."""
    marks = re.findall(r'<circle[^>]*r="([\d.]+)" class="wb-step-(\d) wb-axis"', chart.svg)
    return [(int(step), float(radius)) for radius, step in marks]


# --- the whole drawing ----------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_every_drawing_is_whole(case):
    """A chart parses, says what it shows, has no NaN, its words apart and inside, and a table."""
    surface = CASES[case]
    chart = bridge(surface, id="x")
    root = _root(chart)
    _, _, width, height = map(float, root.get("viewBox").split())
    assert [root[0].text, root[1].text] == [chart.title, chart.desc]
    assert root[1].text
    assert not re.search(r"\b(nan|inf|None)\b|<script>", chart.svg)
    boxes = _boxes(root)
    for words, left, top, right, bottom in boxes:
        assert min(left, top) >= -1, words
        assert right <= width + 0.5, words
        assert bottom <= height + 0.5, words
    # The boxes are upper bounds, and lines of text may touch.
    for (one, *a), (two, *b) in combinations(boxes, 2):
        apart = a[0] >= b[2] or b[0] >= a[2] or a[1] + 4 >= b[3] or b[1] + 4 >= a[3]
        assert apart, (one, two)
    heads, rows = chart.table
    assert len(rows) == surface.lam.size
    assert all(len(row) == len(heads) for row in rows)
    assert [row[1] for row in rows].count("yes") == surface.as_good.sum()
    assert len(chart.svg) < 9_500


def test_the_numbers_on_the_svg_place_a_cursor():
    """With x0 + x1 x and y0 + y1 y, the script finds the two ends and the star of the choice."""
    surface = CASES["named 1.5"]
    root = _root(bridge(surface, id="x"))
    x0, x1, y0, y1 = (float(root.get(f"data-{name}")) for name in ("x0", "x1", "y0", "y1"))
    dots = [
        (float(dot.get("cx")), float(dot.get("cy")))
        for dot in root.iter(f"{SVG}circle")
        if dot.get("class") == "wb-other-fill"
    ]
    ends = [(x0 + x1 * x, y0 + y1 * y) for x, y in surface.ends.values()]
    np.testing.assert_allclose(dots, ends, atol=0.06)
    star = next(shape for shape in root.iter(f"{SVG}path") if shape.get("class") == "wb-star")
    tip = [float(number) for number in re.match(r"M(\S+) (\S+?)[LHV]", star.get("d")).groups()]
    x, y = surface.chosen_place
    assert tip == pytest.approx([x0 + x1 * x, y0 + y1 * y - 8.5], abs=0.1)
    cursor = next(shape for shape in root.iter(f"{SVG}g") if shape.get("class") == "wb-cursor")
    assert cursor.get("display") == "none"


def test_equal_distance_is_drawn_equal_unless_the_bridge_is_flat():
    flat, high = CASES["named 0.5"], CASES["named 1.5"]
    assert frame(high).stretch == pytest.approx(1)
    stretch = frame(flat).stretch
    assert stretch > 1.5
    words = " ".join(word for word, *_ in _boxes(_root(bridge(flat, id="x"))))
    assert f"heights are drawn {stretch:.2g} times larger" in words
    assert "heights" not in bridge(high, id="x").svg


@pytest.mark.parametrize(
    ("case", "title", "words"),
    [
        ("no shift", "All weightings are nearly the same", "there is no map to draw."),
        ("little kept", "30 of 47 weightings", "A map would keep only 85 % of the differences"),
    ],
)
def test_a_map_that_would_mislead_is_a_sentence(case, title, words):
    chart = bridge(CASES[case], id="x")
    assert chart.title.startswith(title)
    assert words in chart.desc
    assert "wb-star" not in chart.svg
    assert "data-x0" not in chart.svg
    assert "data-x0" in bridge(replace(CASES["little kept"], kept=0.85), id="x").svg


# --- candidates and their colours -----------------------------------------------------------------


@pytest.mark.parametrize("spread", SPREADS)
def test_the_four_default_weightings_are_large_and_named(spread):
    chart = bridge(CASES[f"named {spread}"], id="x")
    assert [radius for _, radius in _marks(chart)] == [9.0] * 4
    words = _words(chart)
    assert {"none", "full", "lam 0.5, alpha 1", "lam 0.5, alpha 3"} <= words
    assert {"mixture", "straight", "power", "relative"} <= words


@pytest.mark.parametrize("case", ["grid 1.5", "search", "failures"])
def test_many_candidates_are_small_marks_in_their_colour_with_the_best_on_top(case):
    surface = CASES[case]
    chart = bridge(surface, id="x")
    failed = np.isnan(surface.apart)
    expected = [step_of(apart) for apart in sorted(surface.apart[~failed], reverse=True)]
    assert _marks(chart) == [(step, 4.5) for step in expected]
    assert expected.count(0) == surface.as_good.sum()
    assert chart.svg.count("wb-training-fill") == failed.sum()


@given(st.floats(0, 1e6))
def test_steps_are_between_their_levels(apart):
    ends = (-math.inf, *LEVELS, math.inf)
    step = step_of(apart)
    assert ends[step] < apart <= ends[step + 1]


def test_good_and_bad_are_written_at_the_colours():
    words = _words(bridge(CASES["grid 1.5"], id="x"))
    assert {"as good as the best", "worse", "2", "4", "standard errors"} <= words
    assert "8" not in words
    words = _words(bridge(CASES["without noise"], id="x"))
    assert {"as good as the best", "far worse", "2", "4", "8", "16"} <= words
    assert "all as good as the best" in _words(bridge(CASES["all alike"], id="x"))
    assert "no weighting could be evaluated" in _words(bridge(CASES["all failed"], id="x"))


def test_a_flat_surface_has_one_colour():
    # Nothing differs, or nothing by two standard errors, or only by rounding.
    noise = np.random.default_rng(0).normal(size=200)
    small = _surface(loss=lambda lam, alpha: 0.7 + 0.01 * lam)
    rounding = _surface(loss=lambda lam, alpha: 0.7 + 1e-16 * noise[int(99 * lam)], noise=0.0)
    for surface in (CASES["all alike"], small, rounding):
        chart = bridge(surface, id="x")
        assert surface.as_good.all()
        assert {step for step, _ in _marks(chart)} == {0}
        assert chart.title == "All 47 weightings do about equally well"


def test_a_single_number_each_is_not_judged():
    # Losses without standard errors have an order, but nothing separates them from noise.
    tried = [Evaluation(Point(lam, 1.0), np.array([1 + lam])) for lam in (0.0, 0.5, 1.0)]
    result = SearchResult(tuple(tried), np.ones(1))
    surface = compute_surface(result, np.random.default_rng(0).normal(size=50), (0.0, 1.0))
    np.testing.assert_allclose(surface.apart, [0, 8, 16])
    chart = bridge(surface, id="x")
    assert chart.title == "Losses of 3 weightings, with nothing to say what is chance"
    assert {"best", "worst"} <= _words(chart)
    assert "standard errors" not in chart.svg
    assert {row[1] for row in chart.table[1]} == {""}


# --- title, description, table --------------------------------------------------------------------


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
def test_the_title_counts_as_the_table_does_and_says_how_the_ends_do(loss, title):
    chart = bridge(_surface(loss=lambda lam, alpha: loss(lam), noise=1e-3), id="x")
    assert chart.title.startswith(title.format("weightings do as well as the best"))
    answers = [row[1] for row in chart.table[1]]
    good, known = answers.count("yes"), len(answers) - answers.count("")
    numbers = [int(number) for number in re.findall(r"\d+", chart.title)]
    assert numbers == ([good, known] if good > 1 else [known - 1] if known > 1 else [])


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ((0.0, 1.0), "no weights (lam 0)."),
        ((1.0, 1.0), "the full ratio (lam 1). Log loss 0.85, without weights 1.05."),
        ((0.05, 1.0), "lam 0.05, alpha 1, near no weights."),
        ((0.95, 1.0), "lam 0.95, alpha 1, near the full ratio."),
        ((0.5, 1.0), "lam 0.5, alpha 1, between no weights and the full ratio. Log loss 0.7,"),
    ],
)
def test_the_description_says_where_the_choice_is_and_what_it_gains(chosen, words):
    assert bridge(_surface(chosen=chosen), id="x").desc.startswith(f"Selected: {words}")
