"""The map of weightings: candidates in their colours, named curves, the two ends, the choice."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from weighbridge._findings import number, percent
from weighbridge._svg._candidates import (
    NO_MAP,
    are_alike,
    candidates_table,
    colour_bar,
    description,
    map_title,
    name_of_choice,
    step_of,
)
from weighbridge._svg._draw import (
    SIZE,
    WIDTH,
    Chart,
    Point,
    Svg,
    circle,
    element,
    is_bold,
    path,
    rect,
    simplify,
    text,
    text_width,
    wrap,
)
from weighbridge.pictures import BridgeSurface

# A map that keeps less of the differences would be misleading.
_LEAST_KEPT = 0.85
# Up to this many candidates are drawn large and named.
FEW = 5
_LARGE, _SMALL, _FAILED = 9.0, 4.5, 3.0
# Room beside the ends, above the highest arch and below the lowest one.
_SIDE, _ABOVE, _BELOW = 22.0, 20.0, 20.0
_MAX_HEIGHT = 210.0
# A flat bridge is stretched until the power arch rises so far above its deck.
_MIN_RISE = 28.0
# Places for the name of each curve in order of preference: a share of its deck, or None for its
# largest rise, and how far below the curve the name is written.
_CURVE_NAMES: dict[str, tuple[float, tuple[float | None, ...]]] = {
    "relative": (-8.0, (None, 0.45, 0.55, 0.38, 0.62)),
    "mixture": (14.0, (None, 0.42, 0.58, 0.35, 0.65)),
    "power": (16.0, (None, 0.45, 0.55, 0.38, 0.62, 0.25, 0.75)),
    "straight": (-4.0, (0.72, 0.28, 0.78, 0.22, 0.6, 0.4, 0.5)),
}
# Values of lam that are written below the deck.
_NUMBERED = ("0.2", "0.4", "0.6", "0.8")
_SWATCH = 19


def bridge(surface: BridgeSurface, *, id: str) -> Chart:
    """Draw the map, or a sentence if it would show nothing or too little of the differences."""
    if are_alike(surface):
        return _sentence(surface, NO_MAP, id)
    if surface.kept < _LEAST_KEPT:
        kept = f"A map would keep only {percent(surface.kept)} of the differences"
        return _sentence(surface, f"{kept} between weightings. The data table has them all.", id)
    to_units = frame(surface)
    places = [to_units(place) for place in zip(surface.x, surface.y, strict=True)]
    legend, height = _legend(surface, to_units)
    svg = Svg(id, map_title(surface), description(surface), height, data=to_units.data)
    svg.add(*_curve_lines(surface, to_units), *_candidate_marks(surface, places))
    svg.add(*_place_words(surface, to_units, places).parts)
    svg.add(_star(*to_units(surface.chosen_place)), _cursor(), *legend)
    return svg.chart(candidates_table(surface))


def _sentence(surface: BridgeSurface, words: str, id: str) -> Chart:
    """Return a sentence in place of a map, with the table of all candidates."""
    lines = wrap(words, WIDTH - 28, 13)
    svg = Svg(id, map_title(surface), words, 24 + 18 * len(lines))
    svg.add(*(text(14, 26 + 18 * k, line, size=13) for k, line in enumerate(lines)))
    return svg.chart(candidates_table(surface))


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
    """Fit a bridge into the width of a drawing, with its heights stretched if it is flat."""
    places = np.vstack([*surface.curves.values(), np.column_stack([surface.x, surface.y])])
    (left, low), (right, high) = places.min(axis=0).tolist(), places.max(axis=0).tolist()
    unit = (WIDTH - 2 * _SIDE) / (right - left)
    power = surface.curves.get("power")
    rise = (high - low if power is None else float(power[:, 1].max())) * unit
    stretch = max(1.0, _MIN_RISE / max(rise, 1e-9))
    # A bridge that is as high as it is long gets narrower instead.
    unit *= min(1.0, _MAX_HEIGHT / ((high - low) * unit * stretch))
    top = _ABOVE + unit * stretch * high
    bottom = top - unit * stretch * low + _BELOW
    return Frame(WIDTH / 2 - unit * (left + right) / 2, unit, top, -unit * stretch, bottom)


def _curve_lines(surface: BridgeSurface, to_units: Frame) -> list[str]:
    """Return the lines of equal lam, then the named curves and the ends."""
    parts = []
    for line in surface.hangers.values():
        parts.append(path(simplify([to_units(place) for place in line.tolist()]), "wb-grid"))
    for name, curve in surface.curves.items():
        places = simplify([to_units(place) for place in curve.tolist()], 0.1)
        parts.append(path(places, "wb-reference" if name == "mixture" else "wb-other"))
    return parts + [circle(*to_units(end), 4, "wb-other-fill") for end in surface.ends.values()]


def _candidate_marks(surface: BridgeSurface, places: Sequence[Point]) -> list[str]:
    """Return a mark for each candidate, the best on top, hollow if the fit failed."""
    radius = _radius(surface)
    parts = []
    for index in np.argsort(-surface.apart, kind="stable"):
        (x, y), apart = places[index], float(surface.apart[index])
        if math.isnan(apart):
            parts.append(circle(x, y, _FAILED, "wb-training-fill"))
        else:
            parts.append(circle(x, y, radius, f"wb-step-{step_of(apart)} wb-axis"))
    return parts


def _radius(surface: BridgeSurface) -> float:
    return _LARGE if surface.lam.size <= FEW else _SMALL


@dataclass
class Words:
    """Words on a map, and the boxes they fill."""

    boxes: list[tuple[float, float, float, float]] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)

    def keep_free(self, x: float, y: float, r: float) -> None:
        """Keep words out of the square of half width `r` around a point."""
        self.boxes.append((x - r, y - r, x + r, y + r))

    def put(
        self, words: str, places: Iterable[Point], cls: str = "wb-halo", size: float = SIZE
    ) -> bool:
        """Write words at the first free place; return False if there is none."""
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


def _place_words(surface: BridgeSurface, to_units: Frame, places: Sequence[Point]) -> Words:
    """Write the names of the ends, of few candidates and of the curves, then values of lam."""
    words = Words()
    words.keep_free(*to_units(surface.chosen_place), 8)
    for name, end in surface.ends.items():
        x, y = to_units(end)
        words.put(name, [(x, y + 20)], "wb-strong wb-halo", 13)
    for x, y in places:
        words.keep_free(x, y, _radius(surface))
    if len(places) <= FEW:
        for lam, alpha, (x, y) in zip(surface.lam, surface.alpha, places, strict=True):
            if lam not in (0, 1):
                words.put(f"lam {number(lam)}, alpha {number(alpha)}", [(x, y + 25), (x, y - 14)])
    for name, (offset, shares) in _CURVE_NAMES.items():
        if name in surface.curves:
            curve = [to_units(place) for place in surface.curves[name].tolist()]
            anchors = [_place_along(curve, share) for share in shares]
            words.put(name, [(x, y + offset) for x, y in anchors])
    for lam, hanger in surface.hangers.items():
        if f"{lam:g}" in _NUMBERED:
            x, y = to_units(hanger[0])
            words.put(f"{lam:g}", [(x, y + 14)], "wb-muted wb-halo")
    return words


def _place_along(curve: Sequence[Point], share: float | None) -> Point:
    """Return the place of a curve above a share of its deck, or of its largest rise."""
    start, end = curve[0], curve[-1]
    if share is None:
        return max(curve, key=lambda place: abs(place[1] - start[1]))
    at = start[0] + share * (end[0] - start[0])
    return min(curve, key=lambda place: abs(place[0] - at))


def _star(x: float, y: float, r: float = 8.5) -> str:
    """Return a star of five points."""
    corners = []
    for k in range(10):
        radius = r if k % 2 == 0 else 0.45 * r
        angle = math.pi * k / 5
        corners.append((x + radius * math.sin(angle), y - radius * math.cos(angle)))
    return path(corners, "wb-star", closed=True)


def _cursor() -> str:
    """Return the ring that the script of the page moves over the map, hidden without it."""
    # Edges in the colour of the page set the ring off from the colours beneath.
    rings = [
        circle(0, 0, r, cls) for r, cls in ((9, "wb-star"), (11, "wb-star"), (10, "wb-actual"))
    ]
    return element("g", "".join(rings), class_="wb-cursor", fill_opacity="0", display="none")


def _legend(surface: BridgeSurface, to_units: Frame) -> tuple[list[str], float]:
    """Return what colours, star and numbers mean, below the map, and where it ends."""
    y = to_units.bottom + 16
    parts = _colour_legend(surface, y)
    y += 15 if colour_bar(surface).errors else 0
    choice, key = f"chosen: {name_of_choice(surface)}", "numbers: lam"
    parts += [_star(22, y + 17, 7), text(33, y + 21, choice)]
    if 33 + text_width(choice) + text_width(key) + 12 < WIDTH:
        parts.append(text(WIDTH - 14, y + 21, key, "wb-muted", anchor="end"))
    notes = f"The map keeps {percent(surface.kept)} of all differences"
    if to_units.stretch > 1.05:
        notes += f"; heights are drawn {number(to_units.stretch, 2)} times larger"
    for line in wrap(notes + ".", WIDTH - 28):
        y += 16
        parts.append(text(14, y + 23, line, "wb-muted"))
    return parts, y + 30


def _colour_legend(surface: BridgeSurface, y: float) -> list[str]:
    """Return the steps of colour, good and bad at their ends, and standard errors below."""
    bar = colour_bar(surface)
    x = 14 + text_width(bar.good) + 7
    right = x + _SWATCH * bar.n + 7
    parts = [text(14, y, bar.good), text(right, y, bar.bad)]
    for step in range(bar.n):
        parts.append(rect(x + _SWATCH * step, y - 10, _SWATCH, 11, f"wb-step-{step} wb-axis"))
    for step, error in enumerate(bar.errors, 1):
        at = x + _SWATCH * step
        parts.append(text(at, y + 15, f"{error:g}", "wb-muted", anchor="middle"))
    if bar.errors:
        parts.append(text(right, y + 15, "standard errors", "wb-muted"))
    return parts
