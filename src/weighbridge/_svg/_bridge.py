"""The search: a map of all weightings, or their plain rectangle; losses along curves; its path."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from weighbridge._findings import number, percent
from weighbridge._svg._axes import Scale, bottom_axis, left_axis, legend, line_mark, scale
from weighbridge._svg._draw import (
    WIDTH,
    Chart,
    Point,
    Svg,
    Table,
    capital,
    circle,
    element,
    line,
    path,
    steps,
    text,
    text_width,
    trace,
    wrap,
)
from weighbridge._svg._map import (
    NO_MAP,
    Frame,
    Words,
    are_alike,
    candidate_marks,
    candidate_rows,
    candidates_table,
    colour_bar,
    colour_legend,
    curve_lines,
    filled,
    frame,
    is_judged,
    loss_words,
    map_title,
    name_ends,
    sentence,
    star,
    step_of,
    widened,
)
from weighbridge.pictures import AS_GOOD, BridgeSurface

_LEFT, _RIGHT = 52.0, WIDTH - 14.0

# With less of the differences kept than this, a map would show what is not there.
_LEAST_KEPT = 0.85
# So few candidates are drawn large, and named.
FEW = 5
_LARGE = 9.0
# Names of curves: how far below them words stand, and where along the deck, in order of preference;
# None is the place of the largest rise.
_NAMED: dict[str, tuple[float, tuple[float | None, ...]]] = {
    "relative": (-6.0, (None, 0.45, 0.55, 0.38, 0.62)),
    "mixture": (14.0, (None, 0.42, 0.58, 0.35, 0.65)),
    "power": (16.0, (None, 0.45, 0.55, 0.38, 0.62)),
    "straight": (-4.0, (0.72, 0.28, 0.6, 0.4, 0.5)),
}
_NUMBERED = ("0.2", "0.4", "0.6", "0.8")
# Fewer points of one alpha make no curve.
_LEAST_POINTS = 3
_NAMED_ALPHAS = {1.0: "power", 3.0: "relative"}


def bridge(surface: BridgeSurface, *, id: str) -> Chart:
    """Draw the map; the rectangle where a map keeps too little, a sentence where all are alike."""
    if are_alike(surface):
        return sentence(id, map_title(surface), NO_MAP, candidates_table(surface))
    if surface.kept < _LEAST_KEPT:
        note = (
            f"A map would keep only {percent(surface.kept)} of the differences between "
            "weightings, so lam and alpha are shown as they are."
        )
        return rectangle(surface, id=id, note=note)
    to_units = frame(surface)
    words = Words()
    at = to_units(surface.chosen_place)
    words.keep_free(*at, 8)
    name_ends(surface, to_units, words)
    few = surface.mesh is None and surface.lam.size <= FEW
    if few:
        _name_candidates(surface, to_units, words)
    _name_curves(surface, to_units, words)
    legend, height = _legend(surface, to_units)
    svg = Svg(id, map_title(surface), _describe(surface), height, data=to_units.data)
    area = filled(surface, to_units)
    svg.add(area, curve_lines(surface, to_units))
    if not area:
        svg.add(candidate_marks(surface, to_units, _LARGE if few else 4.5))
    svg.add(*words.parts, star(*at), _cursor(), *legend)
    return svg.chart(candidates_table(surface))


def _legend(surface: BridgeSurface, to_units: Frame) -> tuple[list[str], float]:
    """Return what the colours and marks mean, below the map, and where it ends."""
    y = to_units.bottom + 16
    parts = [colour_legend(surface, y)]
    y += 15 if colour_bar(surface).errors else 0
    choice = f"chosen: {_choice_words(surface)}"
    parts += [star(22, y + 17, 7), text(33, y + 21, choice)]
    key = "numbers: lam"
    if 33 + text_width(choice) + text_width(key) + 12 < WIDTH:
        parts.append(text(WIDTH - 14, y + 21, key, "wb-muted", anchor="end"))
    notes = f"The map keeps {percent(surface.kept)} of all differences"
    if to_units.stretch > 1.05:
        notes += f"; heights are drawn {number(to_units.stretch, 2)} times larger"
    for words in wrap(notes + ".", WIDTH - 28):
        y += 16
        parts.append(text(14, y + 23, words, "wb-muted"))
    return parts, y + 30


def rectangle(surface: BridgeSurface, *, id: str, note: str = "") -> Chart:
    """Draw the losses over alpha and lam as they are, below a note."""
    title = map_title(surface) if note else "The same weightings by lam and alpha"
    desc = f"{note} {_describe(surface)}".strip()
    lines = wrap(note, WIDTH - 28) if note else []
    top = 16.0 * len(lines) + 24
    alphas = float(surface.alpha.min()), float(surface.alpha.max())
    x = scale(widened(*alphas, 0.0), (_LEFT, _RIGHT))
    y = scale((0, 1), (top + 180, top))
    svg = Svg(id, title, desc, top + 277)
    svg.add(*(text(14, 14 + 16 * place, words) for place, words in enumerate(lines)))
    svg.add(_cells(surface, x, y), left_axis(y, _LEFT))
    middle = (_LEFT + _RIGHT) / 2
    svg.add(text(middle, top - 7, "full, whatever alpha", anchor="middle"))
    svg.add(text(middle, top + 195, "none, whatever alpha", anchor="middle"))
    svg.add(line(_LEFT, top, _RIGHT, top, "wb-other"), text(14, top - 7, "lam"))
    svg.add(line(_LEFT, top + 180, _RIGHT, top + 180, "wb-other"))
    svg.add(bottom_axis(x, top + 202, name="alpha"))
    chosen = surface.chosen
    if chosen.lam not in (0, 1):
        svg.add(star(x.clamp(chosen.alpha), y(chosen.lam)))
    svg.add(colour_legend(surface, top + 256))
    return svg.chart(candidates_table(surface) if note else ((), ()))


def _cells(surface: BridgeSurface, x: Scale, y: Scale) -> str:
    """Return a cell around each candidate of a grid, one path for each colour; else marks."""
    rows = candidate_rows(surface)
    if surface.mesh is None:
        marks = [
            circle(x(alpha), y(lam), 4.5, f"wb-step-{step_of(apart)} wb-axis")
            for lam, alpha, _, apart in rows
            if not math.isnan(apart)
        ]
        return "".join(marks)
    # named points may lie beside the grid
    counted = [row[0] for row in rows]
    kept = [row for row in rows if row[0] in (0, 1) or counted.count(row[0]) > 1]
    lams, alphas = _edges({row[0] for row in kept}), _edges({row[1] for row in kept})
    shapes: dict[int, str] = {}
    for lam, alpha, _, apart in (row for row in kept if not math.isnan(row[3])):
        ends = (x.low, x.high) if lam in (0, 1) else alphas[alpha]
        left, right = (x(end) for end in ends)
        low, high = (y(end) for end in lams[lam])
        corners = [(left, low), (right, low), (right, high), (left, high)]
        step = step_of(apart)
        shapes[step] = shapes.get(step, "") + trace(corners, closed=True)
    # crisp: neighbours must not show a seam
    return "".join(
        element("path", d=shape, class_=f"wb-step-{step}", shape_rendering="crispEdges")
        for step, shape in shapes.items()
    )


def _edges(values: set[float]) -> dict[float, Point]:
    """Return the ends of the cell around each value: half way to its neighbours."""
    ordered = sorted(values)
    halves = [(low + high) / 2 for low, high in pairwise(ordered)]
    ends = [ordered[0], *halves, ordered[-1]]
    return {value: (ends[place], ends[place + 1]) for place, value in enumerate(ordered)}


def _name_candidates(surface: BridgeSurface, to_units: Frame, words: Words) -> None:
    """Set lam and alpha beside the marks of few candidates."""
    for lam, alpha, *place in zip(surface.lam, surface.alpha, surface.x, surface.y, strict=True):
        x, y = to_units(place)
        words.keep_free(x, y, _LARGE)
        if lam not in (0, 1):
            words.put(f"lam {number(lam)}, alpha {number(alpha)}", [(x, y + 25), (x, y - 14)])


def _name_curves(surface: BridgeSurface, to_units: Frame, words: Words) -> None:
    """Set the names of the curves, and numbers of lam along the deck."""
    for name, (offset, along) in _NAMED.items():
        if name not in surface.curves:
            continue
        curve = [to_units(place) for place in surface.curves[name].tolist()]
        places = [_place_along(curve, share) for share in along]
        words.put(name, [(x, y + offset) for x, y in places])
    for lam, hanger in surface.hangers.items():
        if f"{lam:g}" in _NUMBERED:
            x, y = to_units(hanger[0])
            words.put(f"{lam:g}", [(x, y + 14)], "wb-muted wb-halo")


def _place_along(curve: Sequence[Point], share: float | None) -> Point:
    """Return the place of a curve above a share of its deck, or of its largest rise."""
    start, end = curve[0], curve[-1]
    if share is None:
        return max(curve, key=lambda place: abs(place[1] - start[1]))
    at = start[0] + share * (end[0] - start[0])
    return min(curve, key=lambda place: abs(place[0] - at))


def _cursor() -> str:
    """Return the ring that a script moves over the map; hidden without one."""
    # edges in the colour of the page set it off from the colours beneath
    rings = [
        circle(0, 0, r, cls) for r, cls in ((9, "wb-star"), (11, "wb-star"), (10, "wb-actual"))
    ]
    return element("g", "".join(rings), class_="wb-cursor", fill_opacity="0", display="none")


def _describe(surface: BridgeSurface) -> str:
    """Say what was chosen, where that is, and what it gains."""
    chosen = surface.chosen
    words = f"Selected: {_choice_words(surface)}"
    if chosen.lam not in (0, 1):
        words += f", {_whereabouts(surface)}"
    words += "."
    none, own = _loss_at(surface, 0.0, 1.0), _loss_at(surface, *chosen)
    if not math.isnan(none + own) and chosen.lam != 0:
        name = capital(surface.loss_name)
        words += f" {name} {number(own)}, without weights {number(none)}."
    good = surface.lam[surface.as_good]
    if good.size > 1 and is_judged(surface):
        words += f" As good as the best: lam from {number(good.min())} to {number(good.max())}."
    return words


def _choice_words(surface: BridgeSurface) -> str:
    """Return what was chosen; at the ends alpha means nothing."""
    lam, alpha = surface.chosen
    if lam in (0, 1):
        return "no weights (lam 0)" if lam == 0 else "the full ratio (lam 1)"
    return f"lam {number(lam)}, alpha {number(alpha)}"


def _whereabouts(surface: BridgeSurface) -> str:
    ends = surface.ends
    length = math.dist(ends["none"], ends["full"])
    for name, words in (("none", "near no weights"), ("full", "near the full ratio")):
        if math.dist(surface.chosen_place, ends[name]) < 0.3 * length:
            return words
    return "between no weights and the full ratio"


def _loss_at(surface: BridgeSurface, lam: float, alpha: float) -> float:
    """Return the loss of a candidate; at the ends alpha means nothing."""
    same = (surface.lam == lam) & ((surface.alpha == alpha) | (lam in (0, 1)))
    return float(next(iter(surface.loss[same]), math.nan))


def loss_along_curves(surface: BridgeSurface, *, id: str) -> Chart:
    """Draw the loss against lam for power, relative and the chosen alpha, with its band."""
    title = f"{capital(surface.loss_name)} along curves"
    curves = _curves(surface)
    if not curves:
        words = "The search tried too few weightings of one alpha to draw a curve."
        return sentence(id, title, words)
    used = max(curves, key=lambda curve: curve.is_chosen)
    desc = used.flatness()
    names = [(line_mark(each.cls), each.name + " (chosen)" * each.is_chosen) for each in curves]
    key, height = legend(names, 10, left=_LEFT)
    top = 8 + height
    best = float(np.nanmin(surface.loss))
    y = scale(_loss_range(curves, best), (top + 150, top + 6))
    x = scale((0, 1), (_LEFT, _RIGHT))
    svg = Svg(id, title, desc, top + 190)
    svg.add(key, left_axis(y, _LEFT, grid=_RIGHT))
    svg.add(path(used.band(x, y), "wb-band", closed=True))
    svg.add(line(_LEFT, y(best), _RIGHT, y(best), "wb-axis"))
    svg.add(bottom_axis(x, top + 150, name="lam (0 is none, 1 is full)"))
    for curve in sorted(curves, key=lambda curve: curve.is_chosen):
        svg.add(path([(x(a), y.clamp(b)) for a, b, _ in curve.points], curve.cls))
    for lam, loss, _ in used.points:
        if used.is_chosen and lam == surface.chosen.lam:
            svg.add(star(x(lam), y.clamp(loss)))
    return svg.chart()


class _Curve:
    """Candidates of one alpha with both ends, in order of lam."""

    def __init__(self, surface: BridgeSurface, alpha: float) -> None:
        rows = [row for row in candidate_rows(surface) if not math.isnan(row[2])]
        by_lam = {row[0]: row for row in rows if row[0] in (0, 1) or row[1] == alpha}
        best, judged = min((row[2] for row in rows), default=0.0), is_judged(surface)
        # the error of the difference to the best, of which `apart` is a multiple
        self.points = [
            (lam, loss, AS_GOOD * (loss - best) / apart if judged and apart else 0.0)
            for lam, _, loss, apart in sorted(by_lam.values())
        ]
        self.good = [lam for lam, row in sorted(by_lam.items()) if judged and row[3] <= AS_GOOD]
        self.alpha = alpha
        self.name = _NAMED_ALPHAS.get(alpha, f"alpha {number(alpha)}")
        chosen = surface.chosen
        self.is_chosen = alpha == chosen.alpha and chosen.lam not in (0, 1)

    @property
    def cls(self) -> str:
        """The class of its line, which differs from curve to curve."""
        if self.is_chosen:
            return "wb-used"
        return "wb-reference" if self.name == "relative" else "wb-other"

    def band(self, x: Scale, y: Scale) -> list[Point]:
        """Return the outline of two standard errors up and down."""
        above = [(x(lam), y.clamp(loss + error)) for lam, loss, error in self.points]
        below = [(x(lam), y.clamp(loss - error)) for lam, loss, error in self.points]
        return above + below[::-1]

    def flatness(self) -> str:
        """Say where the curve is as good as the best weighting."""
        good = self.good
        if not good:
            return f"Along {self.name} no weighting is known to do as well as the best."
        where = f"from lam {number(min(good))} to {number(max(good))}"
        if len(good) == len(self.points):
            where = "everywhere"
        elif len(good) == 1:
            where = f"at lam {number(good[0])} only"
        elif max(good) == 1:
            where = f"from lam {number(min(good))} on"
        return f"Along {self.name} weightings do as well as the best {where}."


def _curves(surface: BridgeSurface) -> list[_Curve]:
    alphas = dict.fromkeys([1.0, 3.0, float(surface.chosen.alpha)])
    inner = {row[1] for row in candidate_rows(surface) if 0 < row[0] < 1}
    found = [_Curve(surface, alpha) for alpha in alphas if alpha in inner]
    return [curve for curve in found if len(curve.points) >= _LEAST_POINTS]


def _loss_range(curves: Sequence[_Curve], best: float) -> Point:
    """Return the ends of the axis: all losses, and of the band what does not dwarf them."""
    losses = [best, *(loss for curve in curves for _, loss, _ in curve.points)]
    low, high = min(losses), max(losses)
    room = 0.5 * (high - low) or max(error for _, _, error in curves[0].points) or 1.0
    errors = [(loss - e, loss + e) for curve in curves for _, loss, e in curve.points]
    return widened(
        max(min(best, *(each[0] for each in errors)), low - room),
        min(max(each[1] for each in errors), high + room),
        0.05,  # the best loss must not lie on the axis
    )


def search_path(surface: BridgeSurface, *, id: str) -> Chart:
    """Draw the evaluated points, numbered in their order, and the best loss so far below them."""
    title = "Path of the search"
    losses = surface.loss.tolist()
    known = [(loss, place) for place, loss in enumerate(losses, 1) if not math.isnan(loss)]
    table = _path_table(surface)
    if not known:
        return sentence(id, title, "No evaluation of the search succeeded.", table)
    desc = f"Best found at evaluation {min(known)[1]} of {len(losses)}."
    top, parts = 0.0, []
    if not are_alike(surface):
        top = frame(surface).bottom
        parts = _numbered_map(surface)
    y = scale(widened(min(known)[0], max(known)[0]), (top + 112, top + 30))
    x = scale((1, max(2, len(losses))), (_LEFT, _RIGHT - 4))
    best = _best_so_far(surface.loss)
    svg = Svg(id, title, desc, top + 152)
    svg.add(*parts, text(14, top + 16, f"{surface.loss_name}: line, best so far"))
    svg.add(left_axis(y, _LEFT, n=3, grid=_RIGHT))
    svg.add(bottom_axis(x, top + 112, name="evaluation"))
    svg.add(*(circle(x(place), y(loss), 3, "wb-other-fill") for loss, place in known))
    edges, heights = [x(place) for place, _ in best], [y(loss) for _, loss in best]
    svg.add(path([*steps(edges, heights[:-1]), (edges[-1], heights[-1])], "wb-weighted"))
    return svg.chart(table)


def _numbered_map(surface: BridgeSurface) -> list[str]:
    to_units = frame(surface)
    places = [to_units(place) for place in zip(surface.x, surface.y, strict=True)]
    words = Words()
    # the ends alone are named: names of curves would stand among the numbers
    name_ends(surface, to_units, words)
    for place in places:
        words.keep_free(*place, 4)
    # later ones first: they are where the search went
    for number_, (x, y) in reversed(list(enumerate(places, 1))):
        around = [(x, y - 7), (x, y + 16), (x + 12, y + 4), (x - 12, y + 4)]
        around += [(x + 11, y - 5), (x - 11, y - 5), (x + 11, y + 14), (x - 11, y + 14)]
        words.put(str(number_), around, "wb-halo")
    return [
        curve_lines(surface, to_units, hangers=False),
        path(places, "wb-hatch"),
        candidate_marks(surface, to_units),
        star(*to_units(surface.chosen_place)),
        *words.parts,
    ]


def _best_so_far(losses: np.ndarray) -> list[tuple[int, float]]:
    best = np.fmin.accumulate(losses).tolist()
    return [(place, loss) for place, loss in enumerate(best, 1) if not math.isnan(loss)]


def _path_table(surface: BridgeSurface) -> Table:
    best = dict(_best_so_far(surface.loss))
    heads = ("evaluation", "lam", "alpha", surface.loss_name, "best so far")
    return heads, tuple(
        (str(place), number(lam), number(alpha), loss_words(loss), number(best.get(place), 4))
        for place, (lam, alpha, loss, _) in enumerate(candidate_rows(surface), 1)
    )
