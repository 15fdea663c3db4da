"""The search in other pictures: losses along curves, and the path that it took."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from weighbridge._findings import number
from weighbridge._svg._axes import Scale, bottom_axis, left_axis, legend, line_mark, scale
from weighbridge._svg._bands import candidate_marks
from weighbridge._svg._draw import (
    WIDTH,
    Chart,
    Point,
    Svg,
    Table,
    capital,
    circle,
    line,
    path,
    steps,
    text,
)
from weighbridge._svg._map import (
    Words,
    are_alike,
    candidate_rows,
    curve_lines,
    frame,
    is_judged,
    loss_words,
    name_ends,
    sentence,
    star,
    widened,
)
from weighbridge.pictures import AS_GOOD, BridgeSurface

_LEFT, _RIGHT = 52.0, WIDTH - 14.0
# Fewer points of one alpha make no curve.
_LEAST_POINTS = 3
_NAMED = {1.0: "power", 3.0: "relative"}


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
        self.name = _NAMED.get(alpha, f"alpha {number(alpha)}")
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
