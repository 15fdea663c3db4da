"""Bars for features with few values: upright for numbers, lying for names."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from weighbridge._numbers import number, percent_labels
from weighbridge._svg._axes import Scale, bottom_axis, left_axis, scale
from weighbridge._svg._draw import (
    WIDTH,
    circle,
    clean,
    element,
    group,
    line,
    name_column,
    path,
    squares,
    steps,
    text,
    trace,
)
from weighbridge._svg._width import text_width

# Training, deployment, and weighted training where there are weights.
Sides = tuple[Sequence[float], Sequence[float], Sequence[float] | None]
Heights = Sequence[Sequence[float] | None]

_HEIGHT = 92
_ROW = 19
_MOST_LEVELS = 10
_MOST_NAME = 130.0
# Marks on more bars than this would touch.
_MOST_MARKS = 14
_MOST_LABELS = 10


def value_bars(values: Sequence[float], sides: Sides, top: float) -> tuple[str, float]:
    """Return upright bars for a few increasing numbers, and where they end."""
    tallest = max(max(side) for side in sides if side is not None) or 1.0
    bottom, left = top + _HEIGHT, 50.0
    y = scale((0, tallest), (bottom, top))
    pitch = (WIDTH - 6 - left) / len(values)
    middles = [left + pitch * (place + 0.5) for place in range(len(values))]
    heights = [None if side is None else [y(share) for share in side] for side in sides]
    draw = _bars if len(values) <= _MOST_MARKS else _stairs
    parts = [
        left_axis(y, left, labels=percent_labels, n=4, grid=WIDTH - 6),
        draw(middles, min(0.4 * pitch, 24), heights, bottom),
        line(left, bottom, WIDTH - 6, bottom, "wb-axis"),
        _value_labels(values, middles, bottom + 16),
    ]
    return "".join(parts), bottom + 22


def _bars(middles: Sequence[float], half: float, heights: Heights, bottom: float) -> str:
    """Return a bar for deployment at each value, and across it lines with marks for the others."""
    bars = "".join(
        trace([(x - half, bottom), (x - half, y), (x + half, y), (x + half, bottom)])
        for x, y in zip(middles, heights[1] or (), strict=True)
    )
    parts = [element("path", d=bars, class_="wb-deployment-fill")]
    for cls, side in (("wb-training", heights[0]), ("wb-weighted", heights[2])):
        if side is None:
            continue
        pairs = list(zip(middles, side, strict=True))
        lines = "".join(trace([(x - half, y), (x + half, y)]) for x, y in pairs)
        parts.append(element("path", d=lines, class_=cls))
        if cls == "wb-weighted":
            parts.append(squares(pairs, 2.8, "wb-weighted-fill"))
        else:
            circles = [circle(x, y, 3.4, "") for x, y in pairs]
            parts.append(group(*circles, class_="wb-training-fill"))
    return "".join(parts)


def _stairs(middles: Sequence[float], half: float, heights: Heights, bottom: float) -> str:
    """Return the same for many values, where marks would touch: steps without gaps."""
    pitch = middles[1] - middles[0]
    edges = [middles[0] - pitch / 2, *(x + pitch / 2 for x in middles)]
    parts = []
    looks = ("wb-deployment-fill", "wb-training", "wb-weighted")
    for cls, side in zip(looks, (heights[1], heights[0], heights[2]), strict=True):
        if side is not None:
            corners = steps(edges, side)
            if cls == looks[0]:
                corners = [(edges[0], bottom), *corners, (edges[-1], bottom)]
            parts.append(path(corners, cls, closed=cls == looks[0]))
    return "".join(parts)


def _value_labels(values: Sequence[float], middles: Sequence[float], y: float) -> str:
    """Label as many bars as there is room for, equally far apart."""
    words = [number(value, 6) for value in values]
    widths = [text_width(each) for each in words]
    for step in range(-(-len(values) // _MOST_LABELS), len(values) + 1):
        kept = range(0, len(values), step)
        gaps = pairwise(kept)
        if all(middles[b] - middles[a] >= (widths[a] + widths[b]) / 2 + 4 for a, b in gaps):
            break
    places = [min(middles[k], WIDTH - widths[k] / 2 - 1) for k in kept]
    labels = [text(place, y, words[k]) for place, k in zip(places, kept, strict=True)]
    return group(*labels, class_="wb-muted", text_anchor="middle")


def level_bars(values: Sequence[Any], sides: Sides, top: float) -> tuple[str, float]:
    """Return lying bars for the ten largest levels in their order, and where they end."""
    given = [side for side in sides if side is not None]
    by_size = sorted(range(len(values)), key=lambda k: -max(side[k] for side in given))
    kept = sorted(by_size[:_MOST_LEVELS])
    names = [clean(values[k]) for k in kept]
    left = min(_MOST_NAME, max(map(text_width, names))) + 14
    largest = max(side[k] for side in given for k in kept) or 1.0
    x = scale((0, largest), (left, WIDTH - 10))
    bottom = top + _ROW * len(kept)
    middles = [top + _ROW * (place + 0.5) for place in range(len(kept))]
    parts = [
        bottom_axis(x, bottom, labels=percent_labels, n=4, grid=top),
        name_column(names, middles, 6, left - 14),
        _level_marks(x, [[side[k] for k in kept] for side in given], middles),
    ]
    rest = len(values) - len(kept)
    if rest:
        more = f"{rest} smaller in the table"
        parts.append(text(6, bottom + 34, more, "wb-muted"))
    return "".join(parts), bottom + (40 if rest else 22)


def _level_marks(x: Scale, sides: Sequence[Sequence[float]], middles: Sequence[float]) -> str:
    training, deployment, *weighted = sides
    bars = "".join(
        trace([(x(0), y - 6), (x(share), y - 6), (x(share), y + 6), (x(0), y + 6)])
        for share, y in zip(deployment, middles, strict=True)
    )
    circles = [circle(x(share), y, 4.2, "") for share, y in zip(training, middles, strict=True)]
    parts = [
        element("path", d=bars, class_="wb-deployment-fill"),
        group(*circles, class_="wb-training-fill"),
    ]
    for shares in weighted:
        places = [(x(share), y) for share, y in zip(shares, middles, strict=True)]
        parts.append(squares(places, 3, "wb-weighted-fill"))
    return "".join(parts)
