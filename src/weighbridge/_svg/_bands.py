"""Losses in a few steps of colour, and the outlines of equal steps on a surface."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from weighbridge._svg._draw import Point

N_STEPS = 8
# A cell of four values, its corners in order: row and column of each beside the first.
_CORNERS = ((0, 0), (0, 1), (1, 1), (1, 0))

Values = Sequence[Sequence[float]]
# An edge between two neighbouring values: row, column, and whether it goes down.
_Edge = tuple[int, int, bool]


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
    levels = {_quantile(known, k / N_STEPS) for k in range(N_STEPS + 1)}
    return LossSteps(tuple(sorted(levels)), against_none)


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    part = place - below
    return ordered[below] if part == 0 else (1 - part) * ordered[below] + part * ordered[above]


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
