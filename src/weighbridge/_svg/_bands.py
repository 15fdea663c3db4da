"""Losses in a few steps of colour: on a surface, on marks, and in a legend."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from weighbridge._findings import number
from weighbridge._svg._draw import (
    WIDTH,
    Point,
    circle,
    element,
    rect,
    simplify,
    text,
    text_width,
    trace,
)
from weighbridge.pictures import BridgeSurface

N_STEPS = 8
# A cell of four values, its corners in order: row and column of each beside the first.
_CORNERS = ((0, 0), (0, 1), (1, 1), (1, 0))

Values = Sequence[Sequence[float]]
# An edge between two neighbouring values: row, column, and whether it goes down.
_Edge = tuple[int, int, bool]
# From places on the map to units of the drawing.
_ToUnits = Callable[[Sequence[float]], Point]
_SWATCH = 13


@dataclass(frozen=True)
class LossSteps:
    """Ends of steps of equally many candidates, from the best loss to that without weights."""

    levels: tuple[float, ...]
    against_none: bool

    @property
    def classes(self) -> list[int]:
        """Number of the colour of each step: from the best to the last, whatever their number."""
        n = max(1, len(self.levels) - 1)
        return [round(k * (N_STEPS - 1) / max(1, n - 1)) for k in range(n)]

    def of(self, loss: float) -> int:
        """Return the number of the colour of a loss; what is worse than the last has its colour."""
        for place, level in enumerate(self.levels[1:]):
            if loss <= level:
                return self.classes[place]
        return self.classes[-1]


def loss_steps(losses: Sequence[float], none: float) -> LossSteps:
    """Divide losses into at most eight steps; worse than no weights is the last one."""
    # equally wide ones would be ruled by a few losses that are huge
    known = sorted(loss for loss in losses if math.isfinite(loss))
    if not known:
        return LossSteps((0.0,), against_none=False)
    against_none = none > known[0]
    if against_none:
        known = [loss for loss in known if loss <= none]
    levels = np.unique(np.quantile(known, np.arange(N_STEPS + 1) / N_STEPS))
    return LossSteps(tuple(levels.tolist()), against_none)


def colour_steps(surface: BridgeSurface) -> LossSteps:
    """Return the steps of colour of the losses."""
    return loss_steps(surface.loss.tolist(), loss_without_weights(surface))


def loss_without_weights(surface: BridgeSurface) -> float:
    """Return the loss at lam = 0; NaN where it is not known."""
    found = surface.loss[surface.lam == 0]
    return float(found[0]) if found.size else math.nan


def candidate_marks(surface: BridgeSurface, to_units: _ToUnits, steps: LossSteps) -> str:
    """Return a mark for each candidate; hollow where it failed."""
    parts = []
    columns = surface.x.tolist(), surface.y.tolist(), surface.loss.tolist()
    for x, y, loss in zip(*columns, strict=True):
        failed = math.isnan(loss)
        cls = "wb-training-fill" if failed else f"wb-step-{steps.of(loss)} wb-axis"
        parts.append(circle(*to_units((x, y)), 3 if failed else 4.5, cls))
    return "".join(parts)


def filled(surface: BridgeSurface, to_units: _ToUnits, steps: LossSteps) -> str:
    """Return the surface in steps of colour, the best on top."""
    mesh = surface.mesh
    if mesh is None:
        return ""
    x, y, loss = (each.tolist() for each in mesh)
    colours = steps.classes
    layers = [(math.inf, colours[-1])]
    layers += list(zip(steps.levels[-2:0:-1], colours[-2::-1], strict=True))
    parts = []
    for level, colour in layers:
        lines = outlines(x, y, loss, level)
        shapes = [simplify([*map(to_units, line), to_units(line[0])]) for line in lines]
        outline = "".join(trace(shape[:-1], closed=True) for shape in shapes if len(shape) > 3)
        if outline:
            edge = " wb-grid" if level == math.inf else ""
            parts.append(element("path", d=outline, class_=f"wb-step-{colour}{edge}"))
    return "".join(parts)


def colour_legend(surface: BridgeSurface, steps: LossSteps, y: float) -> str:
    """Return the steps of colour with words at both ends."""
    none = loss_without_weights(surface)
    best, last = steps.levels[0], steps.levels[-1]
    if all(map(math.isnan, surface.loss)):
        return text(14, y, "no weighting could be evaluated")
    if len(steps.levels) == 1:
        return text(14, y, f"all alike: {surface.loss_name} {number(best)}")
    low, high = _apart(best, last)
    left = f"best, none {low}" if none <= best else f"best {low}"
    right = f"{'as none' if steps.against_none else 'worst'} {high}"
    colours = steps.classes
    wide = _SWATCH * len(colours)
    widths = text_width(left), text_width(right)
    x = (WIDTH - wide) / 2 + (widths[0] - widths[1]) / 2
    x = min(max(x, 14 + widths[0] + 7), WIDTH - 14 - widths[1] - 7 - wide)
    parts = [text(x - 7, y, left, anchor="end"), text(x + wide + 7, y, right)]
    for place, colour in enumerate(colours):
        parts.append(rect(x + _SWATCH * place, y - 10, _SWATCH, 11, f"wb-step-{colour} wb-grid"))
    return "".join(parts)


def _apart(low: float, high: float) -> tuple[str, str]:
    """Write two numbers with as many digits as it takes to tell them apart."""
    for digits in range(3, 7):
        if number(low, digits) != number(high, digits):
            break
    return number(low, digits), number(high, digits)


def outlines(
    x: Sequence[Sequence[float]], y: Sequence[Sequence[float]], values: Values, level: float
) -> list[list[Point]]:
    """Return closed lines around what is at most `level`; holes go the other way round."""
    surface = _Surface(x, y, values, level)
    following: dict[_Edge, _Edge] = {}
    for row in range(-1, len(values)):
        for column in range(-1, len(values[0])):
            following.update(surface.crossed(row, column))
    lines = []
    while following:
        first = edge = next(iter(following))
        line = []
        while edge in following:
            line.append(surface.place(edge))
            edge = following.pop(edge)
        if edge == first and len(line) > 2:
            lines.append(line)
    return lines


@dataclass(frozen=True)
class _Surface:
    """A surface with a border outside of which nothing is inside."""

    x: Sequence[Sequence[float]]
    y: Sequence[Sequence[float]]
    values: Values
    level: float

    def value(self, row: int, column: int) -> float:
        if not (0 <= row < len(self.values) and 0 <= column < len(self.values[0])):
            return math.inf
        value = self.values[row][column]
        return math.inf if math.isnan(value) else value

    def is_inside(self, row: int, column: int) -> bool:
        value = self.value(row, column)
        return value <= self.level and value < math.inf

    def crossed(self, row: int, column: int) -> dict[_Edge, _Edge]:
        """Return the pieces of outline in a cell, from edge to edge."""
        corners = [(row + down, column + right) for down, right in _CORNERS]
        inside = [self.is_inside(*corner) for corner in corners]
        pieces: dict[_Edge, _Edge] = {}
        for start in range(4):
            # around the cell: in over this edge ...
            if inside[start] or not inside[(start + 1) % 4]:
                continue
            end = start + 1
            while inside[end % 4]:
                end += 1
            # ... out over that one; the outline closes the gap
            leave = _edge(corners[(end - 1) % 4], corners[end % 4])
            pieces[leave] = _edge(corners[start], corners[(start + 1) % 4])
        return pieces

    def place(self, edge: _Edge) -> Point:
        """Return where the level is crossed along an edge."""
        row, column, down = edge
        one, two = (row, column), (row + down, column + (not down))
        if not self.is_inside(*one):
            one, two = two, one
        (low, high), (r, c) = (self.value(*one), self.value(*two)), one
        if high == math.inf:
            return self.x[r][c], self.y[r][c]
        part = (self.level - low) / (high - low)
        s, d = two
        return (
            self.x[r][c] + part * (self.x[s][d] - self.x[r][c]),
            self.y[r][c] + part * (self.y[s][d] - self.y[r][c]),
        )


def _edge(one: tuple[int, int], two: tuple[int, int]) -> _Edge:
    (row, column), (other, _) = min(one, two), max(one, two)
    return row, column, other > row
