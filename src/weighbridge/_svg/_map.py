"""The map of all weightings: its frame, arches and deck, and its losses in colours and words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from weighbridge._findings import number
from weighbridge._svg._bands import LossSteps, loss_steps, outlines
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
    trace,
)
from weighbridge._svg._width import text_width
from weighbridge.pictures import BridgeSurface

# Room beside the ends, above the highest arch and below the lowest one.
_SIDE = 22.0
_ABOVE = 20.0
_BELOW = 20.0
_HIGHEST = 210.0
# A flat bridge is stretched until the power arch rises so far above its deck.
_LEAST_RISE = 28.0
# Names of curves: how far below them words stand, and where along the deck, in order of preference;
# None is the place of the largest rise.
_NAMED: dict[str, tuple[float, tuple[float | None, ...]]] = {
    "relative": (-6.0, (None, 0.45, 0.55, 0.38, 0.62)),
    "mixture": (14.0, (None, 0.42, 0.58, 0.35, 0.65)),
    "power": (16.0, (None, 0.45, 0.55, 0.38, 0.62)),
    "straight": (-4.0, (0.72, 0.28, 0.6, 0.4, 0.5)),
}
_CURVE = {"mixture": "wb-reference"}
_NUMBERED = ("0.2", "0.4", "0.6", "0.8")
# Distance of the ends, as Hellinger measures it, below which all weightings are alike.
_ALIKE = 0.04
_TABLE_ROWS = 20
_SWATCH = 13


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
    places = [place for curve in surface.curves.values() for place in curve.tolist()]
    places += candidate_places(surface)
    if surface.mesh is not None:
        x, y = surface.mesh.x.ravel().tolist(), surface.mesh.y.ravel().tolist()
        places += list(zip(x, y, strict=True))
    xs, ys = zip(*places, strict=True)
    wide, high = max(xs) - min(xs), max(ys) - min(ys)
    unit = (WIDTH - 2 * _SIDE) / wide
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


def name_curves(surface: BridgeSurface, to_units: Frame, words: Words) -> None:
    """Set the names of the curves, and numbers of lam along the deck."""
    for name, (offset, along) in _NAMED.items():
        if name not in surface.curves:
            continue
        curve = [to_units(place) for place in surface.curves[name].tolist()]
        places = [_place_along(curve, share) for share in along]
        words.put(name, [(x, y + offset) for x, y in places])
    for lam, line in surface.hangers.items():
        if f"{lam:g}" in _NUMBERED:
            x, y = to_units(line[0])
            words.put(f"{lam:g}", [(x, y + 14)], "wb-muted wb-halo")


def _place_along(curve: Sequence[Point], share: float | None) -> Point:
    """Return the place of a curve above a share of its deck, or of its largest rise."""
    start, end = curve[0], curve[-1]
    if share is None:
        return max(curve, key=lambda place: abs(place[1] - start[1]))
    at = start[0] + share * (end[0] - start[0])
    return min(curve, key=lambda place: abs(place[0] - at))


def star(x: float, y: float, r: float = 8.5) -> str:
    """Return a star of five points."""
    corners = []
    for k in range(10):
        radius = r if k % 2 == 0 else 0.45 * r
        angle = math.pi * k / 5
        corners.append((x + radius * math.sin(angle), y - radius * math.cos(angle)))
    return path(corners, "wb-star", closed=True)


def cursor() -> str:
    """Return the ring that a script moves over the map; hidden without one."""
    # edges in the colour of the page set it off from the colours beneath
    rings = [
        circle(0, 0, r, cls) for r, cls in ((9, "wb-star"), (11, "wb-star"), (10, "wb-actual"))
    ]
    return element("g", "".join(rings), class_="wb-cursor", fill_opacity="0", display="none")


def are_alike(surface: BridgeSurface) -> bool:
    """True where the two ends are nearly one point: there is no shift to map."""
    return math.dist(surface.ends["none"], surface.ends["full"]) < _ALIKE


def candidate_places(surface: BridgeSurface) -> list[Point]:
    """Return the places of the candidates on the map."""
    return list(zip(surface.x.tolist(), surface.y.tolist(), strict=True))


def loss_without_weights(surface: BridgeSurface) -> float:
    """Return the loss at lam = 0; NaN where it is not known."""
    found = surface.loss[surface.lam == 0]
    return float(found[0]) if found.size else math.nan


def colour_steps(surface: BridgeSurface) -> LossSteps:
    """Return the steps of colour of the losses."""
    return loss_steps(surface.loss.tolist(), loss_without_weights(surface))


def filled(surface: BridgeSurface, to_units: Frame, steps: LossSteps) -> str:
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


def candidate_marks(surface: BridgeSurface, to_units: Frame, steps: LossSteps) -> str:
    """Return a mark for each candidate; hollow where it failed."""
    parts = []
    for place, loss in zip(candidate_places(surface), surface.loss.tolist(), strict=True):
        failed = math.isnan(loss)
        cls = "wb-training-fill" if failed else f"wb-step-{steps.of(loss)} wb-axis"
        parts.append(circle(*to_units(place), 3 if failed else 4.5, cls))
    return "".join(parts)


def describe(surface: BridgeSurface) -> str:
    """Say what was chosen, where that is, and what it gains."""
    chosen = surface.chosen
    words = f"Selected: {choice_words(surface)}"
    if chosen.lam not in (0, 1):
        words += f", {_whereabouts(surface)}"
    words += "."
    none, own = loss_without_weights(surface), _loss_of_choice(surface)
    if not math.isnan(none + own) and chosen.lam != 0:
        name = capital(surface.loss_name)
        words += f" {name} {number(own)}, without weights {number(none)}."
    return words


def choice_words(surface: BridgeSurface) -> str:
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


def _loss_of_choice(surface: BridgeSurface) -> float:
    chosen = surface.chosen
    for lam, alpha, loss, _ in candidate_rows(surface):
        if lam == chosen.lam and (lam in (0, 1) or alpha == chosen.alpha):
            return loss
    return math.nan


def candidate_rows(surface: BridgeSurface) -> list[tuple[float, float, float, float]]:
    """Return lam, alpha, loss and standard error of the candidates, in order of evaluation."""
    columns = surface.lam, surface.alpha, surface.loss, surface.standard_error
    return list(zip(*(column.tolist() for column in columns), strict=True))


def candidates_table(surface: BridgeSurface) -> Table:
    """Return the best candidates and both ends, the best first."""
    rows = candidate_rows(surface)
    rows.sort(key=lambda row: (math.isnan(row[2]), 0.0 if math.isnan(row[2]) else row[2]))
    kept = rows[:_TABLE_ROWS] + [row for row in rows[_TABLE_ROWS:] if row[0] in (0, 1)]
    shown = [
        (
            number(lam),
            "any" if lam in (0, 1) else number(alpha),
            loss_words(loss),
            number(error, 2),
        )
        for lam, alpha, loss, error in kept
    ]
    return ("lam", "alpha", surface.loss_name, "standard error"), tuple(shown)


def loss_words(loss: float) -> str:
    """Write a loss for a table."""
    return "failed" if math.isnan(loss) else number(loss, 4)


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


def sentence(id: str, title: str, words: str, table: Table) -> Chart:
    """Return words where there is nothing to draw."""
    svg = Svg(id, title, words, 44)
    svg.add(text(14, 26, words, room=WIDTH - 28))
    return svg.chart(table)


def widened(low: float, high: float, share: float = 0.08) -> Point:
    """Return the ends of an axis beyond the smallest and largest number."""
    room = share * (high - low) if high > low else (abs(low) or 1.0) * 0.1
    return low - room, high + room
