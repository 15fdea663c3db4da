"""What pictures of weightings share: the frame of the map, its arches and words, and a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

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
    is_bold,
    path,
    simplify,
    text,
    text_width,
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
