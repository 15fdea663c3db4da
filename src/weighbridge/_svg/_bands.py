"""Losses in a few steps of colour: on a surface, on marks, and in a legend."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from weighbridge._svg._draw import Point, circle, element, rect, simplify, text, text_width, trace
from weighbridge._svg._map import is_judged
from weighbridge.pictures import AS_GOOD, BridgeSurface

# Ends of the steps of colour, in standard errors above the best; the first are as good.
LEVELS = (AS_GOOD, 4.0, 8.0, 16.0)
# A cell of four values, its corners in order: row and column of each beside the first.
_CORNERS = ((0, 0), (0, 1), (1, 1), (1, 0))

Values = Sequence[Sequence[float]]
# An edge between two neighbouring values: row, column, and whether it goes down.
_Edge = tuple[int, int, bool]
# From places on the map to units of the drawing.
_ToUnits = Callable[[Sequence[float]], Point]
_SWATCH = 19


def step_of(apart: float) -> int:
    """Return the number of the colour of a loss so many standard errors above the best."""
    return bisect_left(LEVELS, apart)


class ColourBar(NamedTuple):
    """Steps of colour: how many, the standard errors between them, and words at both ends."""

    n: int
    errors: tuple[float, ...]
    good: str
    bad: str


def colour_bar(surface: BridgeSurface) -> ColourBar:
    """Return the colours that it takes: one where nothing differs."""
    known = surface.apart[~np.isnan(surface.apart)]
    if not known.size:
        return ColourBar(0, (), "", "no weighting could be evaluated")
    n = 1 + step_of(float(known.max()))
    if not is_judged(surface):
        return ColourBar(n, (), "best", "worst" if n > 1 else "")
    if n == 1:
        return ColourBar(n, (), "all as good as the best", "")
    return ColourBar(n, LEVELS[: n - 1], "as good as the best", "worse" if n < 4 else "far worse")


def candidate_marks(surface: BridgeSurface, to_units: _ToUnits, r: float = 4.5) -> str:
    """Return a mark for each candidate; hollow where it failed."""
    parts = []
    columns = surface.x.tolist(), surface.y.tolist(), surface.apart.tolist()
    for x, y, apart in zip(*columns, strict=True):
        failed = math.isnan(apart)
        cls = "wb-training-fill" if failed else f"wb-step-{step_of(apart)} wb-axis"
        parts.append(circle(*to_units((x, y)), 3 if failed else r, cls))
    return "".join(parts)


def filled(surface: BridgeSurface, to_units: _ToUnits) -> str:
    """Return the surface in steps of colour, the best on top."""
    mesh = surface.mesh
    if mesh is None or mesh.apart is None:
        return ""
    x, y, apart = mesh.x.tolist(), mesh.y.tolist(), mesh.apart.tolist()
    worst = colour_bar(surface).n - 1
    parts = []
    for step, level in reversed([*enumerate(LEVELS[:worst]), (worst, math.inf)]):
        lines = outlines(x, y, apart, level)
        shapes = [simplify([*map(to_units, line), to_units(line[0])]) for line in lines]
        outline = "".join(trace(shape[:-1], closed=True) for shape in shapes if len(shape) > 3)
        if outline:
            edge = " wb-grid" if level == math.inf else ""
            parts.append(element("path", d=outline, class_=f"wb-step-{step}{edge}"))
    return "".join(parts)


def colour_legend(surface: BridgeSurface, y: float) -> str:
    """Return the steps of colour, good and bad at their ends, and standard errors below."""
    bar = colour_bar(surface)
    x = 14 + text_width(bar.good) + 7
    right = x + _SWATCH * bar.n + 7
    parts = [text(14, y, bar.good), text(right, y, bar.bad)]
    for step in range(bar.n):
        parts.append(rect(x + _SWATCH * step, y - 10, _SWATCH, 11, f"wb-step-{step} wb-axis"))
    below = [(x + _SWATCH * step, f"{each:g}") for step, each in enumerate(bar.errors, 1)]
    parts += [text(at, y + 15, each, "wb-muted", anchor="middle") for at, each in below]
    if below:
        parts.append(text(right, y + 15, "standard errors", "wb-muted"))
    return "".join(parts)


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
