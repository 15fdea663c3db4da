"""The search in other pictures: losses along curves, its path, and the plain rectangle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from weighbridge._findings import number
from weighbridge._svg._bands import LossSteps, loss_steps
from weighbridge._svg._chart import Chart
from weighbridge._svg._draw import (
    WIDTH,
    Point,
    Scale,
    Svg,
    bottom_axis,
    circle,
    element,
    left_axis,
    line,
    path,
    scale,
    text,
    trace,
)
from weighbridge._svg._losses import (
    candidates_table,
    colour_legend,
    describe,
    loss_without_weights,
    sentence,
    widened,
)
from weighbridge._svg._map import star
from weighbridge._svg._path import search_path
from weighbridge._svg._width import text_width, wrap

__all__ = ["loss_along_curves", "rectangle", "search_path"]

_LEFT, _RIGHT = 52.0, WIDTH - 14.0
# Fewer points of one alpha make no curve.
_LEAST_POINTS = 3
_NAMED = {1.0: "power", 3.0: "relative"}
_WITHIN = "within one standard error of its best"


def loss_along_curves(bridge: Mapping[str, Any], *, id: str) -> Chart:
    """Draw the loss against lam for power, relative and the chosen alpha.

    Parameters
    ----------
    bridge : dict
        ``pictures.bridge`` of a result.
    id : str
        Starts the ids in the drawing; unique in a page.

    Returns
    -------
    Chart
        The curves, with a band of one standard error around the chosen one; a sentence where no
        curve has enough candidates.
    """
    title = f"{_capital(bridge['loss_name'])} along curves"
    curves = _curves(bridge)
    if not curves:
        words = "The search tried too few weightings of one alpha to draw a curve."
        return sentence(id, title, words, candidates_table(bridge))
    used = max(curves, key=lambda curve: curve.is_chosen)
    desc = used.flatness()
    rows = _legend_rows(curves)
    top = 8 + 18.0 * len(rows)
    y = scale(_loss_range(curves), (top + 150, top + 6))
    x = scale((0, 1), (_LEFT, _RIGHT))
    svg = Svg(id, title, desc, top + 190)
    svg.add(*rows, left_axis(y, _LEFT, grid=_RIGHT))
    svg.add(path(used.band(x, y), "wb-band", closed=True))
    svg.add(bottom_axis(x, top + 150, name="lam (0 is none, 1 is full)"))
    for curve in sorted(curves, key=lambda curve: curve.is_chosen):
        svg.add(path([(x(a), y.clamp(b)) for a, b, _ in curve.points], curve.cls))
    chosen = bridge["chosen"]["lam"]
    for lam, loss, _ in used.points:
        if used.is_chosen and lam == chosen:
            svg.add(star(x(lam), y.clamp(loss)))
    return Chart(svg.render(), title, desc, candidates_table(bridge))


class _Curve:
    """Candidates of one alpha with both ends, in order of lam."""

    def __init__(self, bridge: Mapping[str, Any], alpha: float) -> None:
        columns = (bridge[name] for name in ("lam", "alpha", "loss", "standard_error"))
        rows = [row for row in zip(*columns, strict=True) if row[2] is not None]
        own = {row[0]: row for row in rows if row[0] in (0, 1) or row[1] == alpha}
        self.points = [(lam, loss, error or 0.0) for lam, _, loss, error in sorted(own.values())]
        self.alpha = alpha
        self.name = _NAMED.get(alpha, f"alpha {number(alpha)}")
        chosen = bridge["chosen"]
        self.is_chosen = alpha == chosen["alpha"] and chosen["lam"] not in (0, 1)

    @property
    def cls(self) -> str:
        """A line of its own for each curve."""
        if self.is_chosen:
            return "wb-used"
        return "wb-reference" if self.name == "relative" else "wb-other"

    def band(self, x: Scale, y: Scale) -> list[Point]:
        """Return the outline of one standard error up and down."""
        above = [(x(lam), y.clamp(loss + error)) for lam, loss, error in self.points]
        below = [(x(lam), y.clamp(loss - error)) for lam, loss, error in self.points]
        return above + below[::-1]

    def flatness(self) -> str:
        """Say where the curve is as good as its best point."""
        best, _, error = min((loss, lam, error) for lam, loss, error in self.points)
        good = [lam for lam, loss, _ in self.points if loss <= best + error]
        where = f"from lam {number(min(good))} to {number(max(good))}"
        if len(good) == len(self.points):
            where = "everywhere"
        elif len(good) == 1:
            where = f"at lam {number(good[0])} only"
        elif max(good) == 1:
            where = f"from lam {number(min(good))} on"
        return f"Along {self.name} the loss is {_WITHIN} {where}."


def _curves(bridge: Mapping[str, Any]) -> list[_Curve]:
    alphas = dict.fromkeys([1.0, 3.0, float(bridge["chosen"]["alpha"])])
    inner = [
        alpha for lam, alpha in zip(bridge["lam"], bridge["alpha"], strict=True) if 0 < lam < 1
    ]
    found = [_Curve(bridge, alpha) for alpha in alphas if inner.count(alpha) > 0]
    return [curve for curve in found if len(curve.points) >= _LEAST_POINTS]


def _loss_range(curves: Sequence[_Curve]) -> Point:
    """Return the ends of the axis: all losses, and of the band what does not dwarf them."""
    losses = [loss for curve in curves for _, loss, _ in curve.points]
    low, high = min(losses), max(losses)
    room = 0.5 * (high - low) or max(error for _, _, error in curves[0].points) or 1.0
    errors = [(loss - e, loss + e) for curve in curves for _, loss, e in curve.points]
    return (
        max(min(each[0] for each in errors), low - room),
        min(max(each[1] for each in errors), high + room),
    )


def _legend_rows(curves: Sequence[_Curve]) -> list[str]:
    """Return the names of the lines, as many on a line as fit."""
    parts, x, y = [], _LEFT, 14.0
    entries = [(curve.name + " (chosen)" * curve.is_chosen, curve.cls) for curve in curves]
    for name, cls in entries:
        wide = 28 + text_width(name)
        if x > _LEFT and x + wide > WIDTH:
            x, y = _LEFT, y + 18
            parts.append("")
        sample = line(x, y - 4, x + 22, y - 4, cls) + text(x + 28, y, name)
        parts = [*parts[:-1], parts[-1] + sample] if parts else [sample]
        x += wide + 14
    return parts


def rectangle(bridge: Mapping[str, Any], *, id: str, note: str = "") -> Chart:
    """Draw the losses over alpha and lam as they are.

    Parameters
    ----------
    bridge : dict
        ``pictures.bridge`` of a result.
    id : str
        Starts the ids in the drawing; unique in a page.
    note : str, default=""
        A sentence to set above it.

    Returns
    -------
    Chart
        A heat map for a grid, marks for the points of a search. The edges lam = 0 and lam = 1 are
        one model each, and say so.
    """
    title = f"{_capital(bridge['loss_name'])} over alpha and lam"
    desc = f"{note} {describe(bridge)}".strip()
    lines = wrap(note, WIDTH - 28) if note else []
    top = 16.0 * len(lines) + 24
    alphas = sorted(set(bridge["alpha"]))
    x = scale(widened(alphas[0], alphas[-1], 0.0), (_LEFT, _RIGHT))
    y = scale((0, 1), (top + 180, top))
    colours = loss_steps(bridge["loss"], loss_without_weights(bridge))
    svg = Svg(id, title, desc, top + 262)
    svg.add(*(text(14, 14 + 16 * place, words) for place, words in enumerate(lines)))
    svg.add(_cells(bridge, x, y, colours), left_axis(y, _LEFT))
    middle = (_LEFT + _RIGHT) / 2
    svg.add(text(middle, top - 7, "full, whatever alpha", anchor="middle"))
    svg.add(text(middle, top + 195, "none, whatever alpha", anchor="middle"))
    svg.add(line(_LEFT, top, _RIGHT, top, "wb-other"), text(14, top - 7, "lam"))
    svg.add(line(_LEFT, top + 180, _RIGHT, top + 180, "wb-other"))
    svg.add(bottom_axis(x, top + 202, name="alpha"))
    chosen = bridge["chosen"]
    if chosen["lam"] not in (0, 1):
        svg.add(star(x.clamp(chosen["alpha"]), y(chosen["lam"])))
    svg.add(colour_legend(bridge, colours, top + 256))
    return Chart(svg.render(), title, desc, candidates_table(bridge))


def _cells(bridge: Mapping[str, Any], x: Scale, y: Scale, colours: LossSteps) -> str:
    """Return a cell around each candidate of a grid, one path for each colour; else marks."""
    columns = (bridge[name] for name in ("lam", "alpha", "loss"))
    rows = list(zip(*columns, strict=True))
    if not bridge.get("mesh"):
        marks = [
            circle(x(alpha), y(lam), 4.5, f"wb-step-{colours.of(loss)} wb-axis")
            for lam, alpha, loss in rows
            if loss is not None
        ]
        return "".join(marks)
    # named points may lie beside the grid
    counted = [lam for lam, _, _ in rows]
    kept = [row for row in rows if row[0] in (0, 1) or counted.count(row[0]) > 1]
    lams, alphas = _edges({row[0] for row in kept}), _edges({row[1] for row in kept})
    shapes: dict[int, str] = {}
    for lam, alpha, loss in (row for row in kept if row[2] is not None):
        ends = (x.low, x.high) if lam in (0, 1) else alphas[alpha]
        left, right = (x(end) for end in ends)
        low, high = (y(end) for end in lams[lam])
        corners = [(left, low), (right, low), (right, high), (left, high)]
        colour = colours.of(loss)
        shapes[colour] = shapes.get(colour, "") + trace(corners, closed=True)
    # crisp: neighbours must not show a seam
    return "".join(
        element("path", d=shape, class_=f"wb-step-{colour}", shape_rendering="crispEdges")
        for colour, shape in shapes.items()
    )


def _edges(values: set[float]) -> dict[float, Point]:
    """Return the ends of the cell around each value: half way to its neighbours."""
    ordered = sorted(values)
    halves = [(low + high) / 2 for low, high in pairwise(ordered)]
    ends = [ordered[0], *halves, ordered[-1]]
    return {value: (ends[place], ends[place + 1]) for place, value in enumerate(ordered)}


def _capital(words: object) -> str:
    return f"{str(words)[:1].upper()}{str(words)[1:]}"
