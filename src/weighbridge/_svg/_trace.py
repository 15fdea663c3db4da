"""Lines through points, in as few letters as they can be written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from weighbridge._svg._scale import Point


def coord(value: float) -> str:
    """Write a coordinate with at most one digit after the point."""
    if not math.isfinite(value):
        raise ValueError(f"Got the coordinate {value}; numbers must be finite to be drawn.")
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def trace(points: Iterable[Point], *, closed: bool = False) -> str:
    """Return the data of a path through points."""
    before: tuple[str, str] | None = None
    parts: list[str] = []
    for point in points:
        x, y = coord(point[0]), coord(point[1])
        if before is None:
            parts.append(f"M{x} {y}")
        elif y == before[1] and x != before[0]:
            parts.append(f"H{x}")
        elif x == before[0] and y != before[1]:
            parts.append(f"V{y}")
        elif (x, y) != before:
            parts.append(f"L{x} {y}")
        before = x, y
    return "".join(parts) + "Z" * closed


def steps(edges: Sequence[float], heights: Sequence[float]) -> list[Point]:
    """Return the corners of a histogram from its first bin to its last, without a baseline."""
    corners = []
    for left, right, height in zip(edges[:-1], edges[1:], heights, strict=True):
        corners += [(left, height), (right, height)]
    return corners


def simplify(points: Sequence[Point], tolerance: float = 0.25) -> list[Point]:
    """Leave out points that lie next to the line through those that stay."""
    if len(points) < 3:
        return list(points)
    (x1, y1), (x2, y2) = points[0], points[-1]
    length = math.hypot(x2 - x1, y2 - y1)

    def distance(point: Point) -> float:
        x, y = point
        if length == 0:
            return math.hypot(x - x1, y - y1)
        return abs((x2 - x1) * (y1 - y) - (x1 - x) * (y2 - y1)) / length

    far = max(range(1, len(points) - 1), key=lambda place: distance(points[place]))
    if distance(points[far]) <= tolerance:
        return [points[0], points[-1]]
    return simplify(points[: far + 1], tolerance)[:-1] + simplify(points[far:], tolerance)
