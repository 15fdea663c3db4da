"""What pictures of weightings share: the frame of the map, its words, a table, steps of colour."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from weighbridge._findings import number
from weighbridge._svg._draw import (
    SIZE,
    WIDTH,
    Chart,
    Point,
    Svg,
    Table,
    capital,
    circle,
    element,
    is_bold,
    path,
    rect,
    simplify,
    text,
    text_width,
    trace,
    wrap,
)
from weighbridge.pictures import AS_GOOD, BridgeSurface

# Room beside the ends, above the highest arch and below the lowest one.
_SIDE = 22.0
_ABOVE = 20.0
_BELOW = 20.0
_HIGHEST = 210.0
# A flat bridge is stretched until the power arch rises so far above its deck.
_LEAST_RISE = 28.0
_CURVE = {"mixture": "wb-reference"}
# Distance of the ends, as Hellinger measures it, below which all weightings are alike.
_ALIKE = 0.04
NO_MAP = (
    "The ratio is nearly the same for all training rows, so every weighting gives nearly the same "
    "weights: there is no map to draw."
)
_ENDS = {0.0: "the unweighted model", 1.0: "full weighting"}
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


@dataclass(frozen=True)
class Frame:
    """From places on the bridge to units of the drawing: ``x0 + x1 * x``, ``y0 + y1 * y``."""

    x0: float
    x1: float
    y0: float
    y1: float
    bottom: float

    def __call__(self, place: Sequence[float] | np.ndarray) -> Point:
        return self.x0 + self.x1 * place[0], self.y0 + self.y1 * place[1]

    @property
    def stretch(self) -> float:
        """By how much heights are larger than widths."""
        return abs(self.y1 / self.x1)

    @property
    def data(self) -> dict[str, float]:
        """The four numbers, for scripts."""
        return {"x0": self.x0, "x1": self.x1, "y0": self.y0, "y1": self.y1}


def frame(surface: BridgeSurface) -> Frame:
    """Fit a bridge into the width of a drawing; heights are stretched where it is flat."""
    places = [*surface.curves.values(), np.column_stack([surface.x, surface.y])]
    if surface.mesh is not None:
        places.append(np.column_stack([surface.mesh.x.ravel(), surface.mesh.y.ravel()]))
    xs, ys = np.vstack(places).T.tolist()
    high = max(ys) - min(ys)
    unit = (WIDTH - 2 * _SIDE) / (max(xs) - min(xs))
    power = surface.curves.get("power")
    rise = (high if power is None else float(power[:, 1].max())) * unit
    stretch = max(1.0, _LEAST_RISE / max(rise, 1e-9))
    # a bridge that is as high as it is long gets narrower instead
    scale = min(1.0, _HIGHEST / (high * unit * stretch))
    unit *= scale
    left = WIDTH / 2 - unit * (max(xs) + min(xs)) / 2
    top = _ABOVE + unit * stretch * max(ys)
    bottom = top - unit * stretch * min(ys) + _BELOW
    return Frame(left, unit, top, -unit * stretch, bottom)


@dataclass
class Words:
    """Words on a map, and the boxes they fill."""

    boxes: list[tuple[float, float, float, float]] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)

    def keep_free(self, x: float, y: float, r: float) -> None:
        """Let no word be set within a square."""
        self.boxes.append((x - r, y - r, x + r, y + r))

    def put(
        self, words: str, places: Iterable[Point], cls: str = "wb-halo", size: float = SIZE
    ) -> bool:
        """Set words at the first of some places that is free; False where none is."""
        half = text_width(words, size, bold=is_bold(cls)) / 2
        for x, y in places:
            x = min(max(x, half + 1), WIDTH - half - 1)
            box = (x - half, y - 0.8 * size, x + half, y + 0.25 * size)
            if box[1] < 0 or any(_overlap(box, other) for other in self.boxes):
                continue
            self.boxes.append(box)
            self.parts.append(text(x, y, words, cls, anchor="middle", size=size))
            return True
        return False


def _overlap(one: Sequence[float], two: Sequence[float]) -> bool:
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]


def curve_lines(surface: BridgeSurface, to_units: Frame, *, hangers: bool = True) -> str:
    """Return the lines of equal lam, then the named curves and the ends."""
    parts = []
    if hangers:
        for line in surface.hangers.values():
            parts.append(path(simplify([to_units(place) for place in line.tolist()]), "wb-grid"))
    for name, curve in surface.curves.items():
        places = simplify([to_units(place) for place in curve.tolist()], 0.1)
        parts.append(path(places, _CURVE.get(name, "wb-other")))
    parts += [circle(*to_units(end), 4, "wb-other-fill") for end in surface.ends.values()]
    return "".join(parts)


def name_ends(surface: BridgeSurface, to_units: Frame, words: Words) -> None:
    """Set the names of the ends."""
    for name, end in surface.ends.items():
        x, y = to_units(end)
        words.put(name, [(x, y + 20)], "wb-strong wb-halo", 13)


def star(x: float, y: float, r: float = 8.5) -> str:
    """Return a star of five points."""
    corners = []
    for k in range(10):
        radius = r if k % 2 == 0 else 0.45 * r
        angle = math.pi * k / 5
        corners.append((x + radius * math.sin(angle), y - radius * math.cos(angle)))
    return path(corners, "wb-star", closed=True)


def are_alike(surface: BridgeSurface) -> bool:
    """True where the two ends are nearly one point: there is no shift to map."""
    return math.dist(surface.ends["none"], surface.ends["full"]) < _ALIKE


def candidate_rows(surface: BridgeSurface) -> list[tuple[float, ...]]:
    """Return lam, alpha, loss and standard errors above the best, in order of evaluation."""
    columns = surface.lam, surface.alpha, surface.loss, surface.apart
    return list(zip(*(column.tolist() for column in columns), strict=True))


def candidates_table(surface: BridgeSurface) -> Table:
    """Return all candidates, the best first, and whether each does as well."""
    columns = surface.lam, surface.alpha, surface.loss, surface.standard_error, surface.apart
    rows = []
    for place in np.lexsort((surface.lam, surface.loss)):  # what failed comes last
        lam, alpha, loss, error, apart = (float(column[place]) for column in columns)
        name = {0.0: "none", 1.0: "full"}.get(lam, f"{number(lam)}, {number(alpha)}")
        row = name, "", "", loss_words(loss)
        if not math.isnan(apart + error):
            answer = "yes" if apart <= AS_GOOD else "no"
            row = name, answer, number(apart, 2), f"{number(loss, 4)} ± {number(error, 2)}"
        rows.append(row)
    return ("lam, alpha", "as good", "errors apart", surface.loss_name), tuple(rows)


def map_title(surface: BridgeSurface) -> str:
    """Say how many weightings do as well as the best, and whether the two ends do."""
    known = ~np.isnan(surface.apart)
    n, good = int(known.sum()), int(surface.as_good.sum())
    if n < 2:
        return f"{('No', 'Only one')[n]} weighting could be evaluated"
    if not is_judged(surface):
        return f"Losses of {n:,} weightings, with nothing to say what is chance"
    if are_alike(surface):
        return "All weightings are nearly the same"
    if good == n:
        return f"All {n:,} weightings do about equally well"
    if good == 1:
        lam, alpha = (float(each[surface.as_good][0]) for each in (surface.lam, surface.alpha))
        best = _ENDS.get(lam, f"lam {number(lam)} with alpha {number(alpha)}")
        others = f"{n - 1:,} weightings" if n > 2 else "weighting"
        return f"{capital(best)} does better than the other {others}"
    ends = {name: surface.apart[known & (surface.lam == lam)] for lam, name in _ENDS.items()}
    among = [name for name, each in ends.items() if (each <= AS_GOOD).any()]
    worse = [name for name, each in ends.items() if each.size and name not in among]
    words = f"{good:,} of {n:,} weightings do as well as the best"
    words += f", {' and '.join(among)} among them" if among else ""
    does = "does" if len(worse) == 1 else "do"
    return words + (f"; {' and '.join(worse)} {does} worse" if worse else "")


def is_judged(surface: BridgeSurface) -> bool:
    """True where standard errors tell differences from noise."""
    return not np.isnan(surface.standard_error).all()


def sentence(id: str, title: str, words: str, table: Table = ((), ())) -> Chart:
    """Return words where there is nothing to draw."""
    lines = wrap(words, WIDTH - 28, 13)
    svg = Svg(id, title, words, 24 + 18 * len(lines))
    svg.add(*(text(14, 26 + 18 * place, each, size=13) for place, each in enumerate(lines)))
    return svg.chart(table)


def loss_words(loss: float) -> str:
    """Write a loss for a table."""
    return "failed" if math.isnan(loss) else number(loss, 4)


def widened(low: float, high: float, share: float = 0.08) -> Point:
    """Return the ends of an axis beyond the smallest and largest number."""
    room = share * (high - low) if high > low else (abs(low) or 1.0) * 0.1
    return low - room, high + room


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
    if mesh is None:
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
