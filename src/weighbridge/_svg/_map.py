"""The map of all weightings: where it is drawn, its arches, its deck, and words that keep apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from weighbridge._svg._draw import (
    SIZE,
    WIDTH,
    Point,
    circle,
    element,
    is_bold,
    path,
    simplify,
    text,
)
from weighbridge._svg._width import text_width

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


@dataclass(frozen=True)
class Frame:
    """From places on the bridge to units of the drawing: ``x0 + x1 * x``, ``y0 + y1 * y``."""

    x0: float
    x1: float
    y0: float
    y1: float
    bottom: float

    def __call__(self, place: Sequence[float]) -> Point:
        return self.x0 + self.x1 * place[0], self.y0 + self.y1 * place[1]

    @property
    def stretch(self) -> float:
        """By how much heights are larger than widths."""
        return abs(self.y1 / self.x1)

    @property
    def data(self) -> dict[str, float]:
        """The four numbers, for scripts."""
        return {"x0": self.x0, "x1": self.x1, "y0": self.y0, "y1": self.y1}


def frame(bridge: Mapping[str, Any]) -> Frame:
    """Fit a bridge into the width of a drawing; heights are stretched where it is flat."""
    places = [place for curve in bridge["curves"].values() for place in curve]
    places += list(zip(bridge["x"], bridge["y"], strict=True))
    mesh = bridge.get("mesh")
    if mesh:
        places += [
            place
            for row_x, row_y in zip(mesh["x"], mesh["y"], strict=True)
            for place in zip(row_x, row_y, strict=True)
        ]
    xs, ys = zip(*places, strict=True)
    wide, high = max(xs) - min(xs), max(ys) - min(ys)
    unit = (WIDTH - 2 * _SIDE) / wide
    rise = max((y for _, y in bridge["curves"].get("power", [])), default=high) * unit
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


def curve_lines(bridge: Mapping[str, Any], to_units: Frame, *, hangers: bool = True) -> str:
    """Return the lines of equal lam, then the named curves and the ends."""
    parts = []
    if hangers:
        for line in (bridge.get("hangers") or {}).values():
            parts.append(path(simplify([to_units(place) for place in line]), "wb-grid"))
    for name, curve in bridge["curves"].items():
        places = simplify([to_units(place) for place in curve], 0.1)
        parts.append(path(places, _CURVE.get(name, "wb-other")))
    parts += [circle(*to_units(end), 4, "wb-other-fill") for end in bridge["ends"].values()]
    return "".join(parts)


def name_curves(bridge: Mapping[str, Any], to_units: Frame, words: Words) -> None:
    """Set the names of the ends and curves, and numbers of lam along the deck."""
    for name, end in bridge["ends"].items():
        x, y = to_units(end)
        words.put(name, [(x, y + 20)], "wb-strong wb-halo", 13)
    for name, (offset, along) in _NAMED.items():
        if name not in bridge["curves"]:
            continue
        curve = [to_units(place) for place in bridge["curves"][name]]
        places = [_place_along(curve, share) for share in along]
        words.put(name, [(x, y + offset) for x, y in places])
    for lam, line in (bridge.get("hangers") or {}).items():
        if lam in _NUMBERED:
            x, y = to_units(line[0])
            words.put(lam, [(x, y + 14)], "wb-muted wb-halo")


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
