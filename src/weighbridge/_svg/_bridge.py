"""The bridge: the map of all weightings with their losses, and the plain rectangle of them."""

from __future__ import annotations

import math
from itertools import pairwise

from weighbridge._findings import number, percent
from weighbridge._svg._axes import Scale, bottom_axis, left_axis, scale
from weighbridge._svg._bands import LossSteps
from weighbridge._svg._draw import (
    WIDTH,
    Chart,
    Point,
    Svg,
    capital,
    circle,
    element,
    line,
    text,
    trace,
)
from weighbridge._svg._map import (
    Frame,
    Words,
    are_alike,
    candidate_marks,
    candidate_rows,
    candidates_table,
    choice_words,
    colour_legend,
    colour_steps,
    cursor,
    curve_lines,
    describe,
    filled,
    frame,
    name_curves,
    name_ends,
    star,
    widened,
)
from weighbridge._svg._width import text_width, wrap
from weighbridge.pictures import BridgeSurface

_LEFT, _RIGHT = 52.0, WIDTH - 14.0

# With less of the differences kept than this, a map would show what is not there.
_LEAST_KEPT = 0.85
_TITLE = "Map of all weightings"


def bridge(surface: BridgeSurface, *, id: str) -> Chart:
    """Draw the map; the rectangle where a map keeps too little, a sentence where all are alike."""
    if are_alike(surface):
        return _nothing_to_map(surface, id)
    if surface.kept < _LEAST_KEPT:
        note = (
            f"A map would keep only {percent(surface.kept)} of the differences between "
            "weightings, so lam and alpha are shown as they are."
        )
        return rectangle(surface, id=id, note=note)
    to_units = frame(surface)
    steps = colour_steps(surface)
    words = Words()
    at = to_units(surface.chosen_place)
    words.keep_free(*at, 8)
    name_ends(surface, to_units, words)
    name_curves(surface, to_units, words)
    legend = _Legend(surface, steps, to_units)
    desc = describe(surface)
    svg = Svg(id, _TITLE, desc, to_units.bottom + legend.height, data=to_units.data)
    svg.add(filled(surface, to_units, steps), curve_lines(surface, to_units))
    if surface.mesh is None:
        svg.add(candidate_marks(surface, to_units, steps))
    svg.add(*words.parts, star(*at), cursor(), *legend.parts)
    return svg.chart(candidates_table(surface))


class _Legend:
    """What the colours and marks mean, below the map."""

    def __init__(self, surface: BridgeSurface, steps: LossSteps, to_units: Frame) -> None:
        y = to_units.bottom + 16
        self.parts = [colour_legend(surface, steps, y)]
        choice = f"chosen: {choice_words(surface)}"
        self.parts += [star(22, y + 17, 7), text(33, y + 21, choice)]
        key = "on the deck: lam"
        if 33 + text_width(choice) + text_width(key) + 12 < WIDTH:
            self.parts.append(text(WIDTH - 14, y + 21, key, "wb-muted", anchor="end"))
        notes = f"The map keeps {percent(surface.kept)} of all differences"
        if to_units.stretch > 1.05:
            notes += f"; heights are drawn {number(to_units.stretch, 2)} times larger"
        for words in wrap(notes + ".", WIDTH - 28):
            y += 16
            self.parts.append(text(14, y + 23, words, "wb-muted"))
        self.height = y + 30 - to_units.bottom


def _nothing_to_map(surface: BridgeSurface, id: str) -> Chart:
    words = (
        "The ratio is nearly the same for all training rows, so every weighting gives nearly the "
        "same weights: there is no map to draw."
    )
    lines = wrap(words, WIDTH - 28, 13)
    svg = Svg(id, _TITLE, words, 24 + 18 * len(lines))
    svg.add(*(text(14, 26 + 18 * place, each, size=13) for place, each in enumerate(lines)))
    return svg.chart(candidates_table(surface))


def rectangle(surface: BridgeSurface, *, id: str, note: str = "") -> Chart:
    """Draw the losses over alpha and lam as they are, below a note."""
    title = f"{capital(surface.loss_name)} over alpha and lam"
    desc = f"{note} {describe(surface)}".strip()
    lines = wrap(note, WIDTH - 28) if note else []
    top = 16.0 * len(lines) + 24
    alphas = float(surface.alpha.min()), float(surface.alpha.max())
    x = scale(widened(*alphas, 0.0), (_LEFT, _RIGHT))
    y = scale((0, 1), (top + 180, top))
    colours = colour_steps(surface)
    svg = Svg(id, title, desc, top + 262)
    svg.add(*(text(14, 14 + 16 * place, words) for place, words in enumerate(lines)))
    svg.add(_cells(surface, x, y, colours), left_axis(y, _LEFT))
    middle = (_LEFT + _RIGHT) / 2
    svg.add(text(middle, top - 7, "full, whatever alpha", anchor="middle"))
    svg.add(text(middle, top + 195, "none, whatever alpha", anchor="middle"))
    svg.add(line(_LEFT, top, _RIGHT, top, "wb-other"), text(14, top - 7, "lam"))
    svg.add(line(_LEFT, top + 180, _RIGHT, top + 180, "wb-other"))
    svg.add(bottom_axis(x, top + 202, name="alpha"))
    chosen = surface.chosen
    if chosen.lam not in (0, 1):
        svg.add(star(x.clamp(chosen.alpha), y(chosen.lam)))
    svg.add(colour_legend(surface, colours, top + 256))
    return svg.chart(candidates_table(surface))


def _cells(surface: BridgeSurface, x: Scale, y: Scale, colours: LossSteps) -> str:
    """Return a cell around each candidate of a grid, one path for each colour; else marks."""
    rows = candidate_rows(surface)
    if surface.mesh is None:
        marks = [
            circle(x(alpha), y(lam), 4.5, f"wb-step-{colours.of(loss)} wb-axis")
            for lam, alpha, loss, _ in rows
            if not math.isnan(loss)
        ]
        return "".join(marks)
    # named points may lie beside the grid
    counted = [row[0] for row in rows]
    kept = [row for row in rows if row[0] in (0, 1) or counted.count(row[0]) > 1]
    lams, alphas = _edges({row[0] for row in kept}), _edges({row[1] for row in kept})
    shapes: dict[int, str] = {}
    for lam, alpha, loss, _ in (row for row in kept if not math.isnan(row[2])):
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
