"""One feature in training, deployment and weighted training: densities, or bars for values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from weighbridge._findings import number, percent, percent_labels
from weighbridge._svg._axes import (
    Scale,
    area_mark,
    bottom_axis,
    left_axis,
    legend,
    line_mark,
    scale,
    training_mark,
    weighted_mark,
)
from weighbridge._svg._draw import (
    WIDTH,
    Chart,
    Point,
    Svg,
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
    text_width,
    trace,
)
from weighbridge.pictures import BALANCED, FeatureHistogram

_PLOT = 92
_LEFT, _RIGHT = 6, WIDTH - 6
# Histograms of equal samples of some hundred rows differ by about this share of their area.
_SAME_SHAPE = 0.12
# Training, deployment, and weighted training where there are weights.
_Sides = tuple[Sequence[float], Sequence[float], Sequence[float] | None]
_Heights = Sequence[Sequence[float] | None]

_ROW = 19
_MOST_LEVELS = 10
_MOST_NAME = 130.0
# Marks on more bars than this would touch.
_MOST_MARKS = 14
_MOST_LABELS = 10


def feature(histogram: FeatureHistogram, after: str | None, *, id: str) -> Chart:
    """Draw one feature in both samples and after the weighting of this name."""
    name, weighted = clean(histogram.name), histogram.weighted
    title = f"{name} in training and deployment"
    if weighted is not None:
        title += f", and after weighting ({after})"
    head, top = _head(histogram, name)
    body, bottom = _body(histogram, top)
    svg = Svg(id, title, _describe(histogram, name), bottom)
    svg.add(head, body)
    return svg.chart()


def _body(histogram: FeatureHistogram, top: float) -> tuple[str, float]:
    """Return what suits the kind of feature, and where it ends."""
    sides = _sides(histogram)
    if not sides[0]:
        return text(WIDTH / 2, top + 30, "no values", "wb-muted", anchor="middle"), top + 50
    if histogram.values is None:
        return _densities(np.asarray(histogram.edges).tolist(), sides, top)
    bars = _level_bars if histogram.values.dtype == object else _value_bars
    return bars(histogram.values.tolist(), sides, top)


def _sides(histogram: FeatureHistogram) -> _Sides:
    weighted = histogram.weighted
    return (
        histogram.training.tolist(),
        histogram.deployment.tolist(),
        None if weighted is None else weighted.tolist(),
    )


def feature_key(after: str | None, *, id: str) -> Chart:
    """Draw what the marks of `feature` mean, once for many of them."""
    items = [(_training_both, "training"), (area_mark("wb-deployment-fill"), "deployment")]
    desc = "Dashed line or circle: training; filled area: deployment"
    if after is not None:
        items.append((_weighted_both, f"weighted training ({after})"))
        desc += "; solid line or square: weighted"
    key, height = legend(items, 10)
    svg = Svg(id, "What the marks mean", f"{desc}.", height + 2)
    svg.add(key)
    return svg.chart()


def _training_both(x: float, y: float) -> str:
    return line_mark("wb-training")(x, y) + training_mark(x, y)


def _weighted_both(x: float, y: float) -> str:
    return line_mark("wb-weighted")(x, y) + weighted_mark(x, y)


def _head(histogram: FeatureHistogram, name: str) -> tuple[str, float]:
    """Return the name, with missing values below it, and where the picture starts."""
    head = text(_LEFT, 14, name, "wb-strong", size=13, room=_RIGHT - _LEFT)
    missing = histogram.missing
    if not missing["training"] and not missing["deployment"]:
        return head, 24
    words = f"missing {percent(missing['training'])} → {percent(missing['deployment'])}"
    if "weighted" in missing:
        words += f", weighted {percent(missing['weighted'])}"
    return head + text(_LEFT, 30, words, "wb-muted", room=_RIGHT - _LEFT), 40


def _densities(edges: Sequence[float], sides: _Sides, top: float) -> tuple[str, float]:
    bottom = top + _PLOT
    x = scale((edges[0], edges[-1]), (_LEFT, _RIGHT))
    tallest = max(height for side in sides if side is not None for height in side)
    y = scale((0, tallest or 1.0), (bottom, top))
    training, deployment, weighted = sides
    parts = [
        path(_outline(x, y, edges, deployment), "wb-deployment-fill", closed=True),
        path(_outline(x, y, edges, training)[1:-1], "wb-training"),
    ]
    if weighted is not None:
        parts.append(path(_outline(x, y, edges, weighted)[1:-1], "wb-weighted"))
    parts.append(bottom_axis(x, bottom, n=5))
    return "".join(parts), bottom + 22


def _outline(x: Scale, y: Scale, edges: Sequence[float], heights: Sequence[float]) -> list[Point]:
    corners = [(x(edge), y(height)) for edge, height in steps(edges, heights)]
    return [(x(edges[0]), y(0)), *corners, (x(edges[-1]), y(0))]


def _value_bars(values: Sequence[float], sides: _Sides, top: float) -> tuple[str, float]:
    """Return upright bars for a few increasing numbers, and where they end."""
    tallest = max(max(side) for side in sides if side is not None) or 1.0
    bottom, left = top + _PLOT, 50.0
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


def _bars(middles: Sequence[float], half: float, heights: _Heights, bottom: float) -> str:
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


def _stairs(middles: Sequence[float], half: float, heights: _Heights, bottom: float) -> str:
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


def _level_bars(values: Sequence[Any], sides: _Sides, top: float) -> tuple[str, float]:
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


def _describe(histogram: FeatureHistogram, name: str) -> str:
    """Say how a feature differs, and whether weighted training follows deployment."""
    sides = _sides(histogram)
    if not sides[0]:
        return f"{name}: no values."
    if histogram.values is not None:
        return f"{name}: {_largest_move(histogram.values.tolist(), sides)}."
    return f"{name}: {_density_words(sides, np.asarray(histogram.edges).tolist())}."


def _density_words(sides: _Sides, edges: Sequence[float]) -> str:
    """Say it of means; of shapes where the means are alike."""
    training, deployment, weighted = sides
    measure, least = _difference_of_means, BALANCED
    said = "lower in training than in deployment"
    if measure(training, deployment, edges) > 0:
        said = "higher in training than in deployment"
    if abs(measure(training, deployment, edges)) < least:
        measure, least = _distance, _SAME_SHAPE
        said = "spread differently in training and deployment"
    before = abs(measure(training, deployment, edges))
    if before < least:
        return "nearly alike in training and deployment"
    if weighted is None:
        return said
    after = abs(measure(weighted, deployment, edges))
    if after < max(least, 0.35 * before):
        return f"{said}; weighted training follows deployment"
    if after < 0.8 * before:
        return f"{said}; weighted training comes closer"
    return f"{said}; weighted training hardly comes closer"


def _largest_move(values: Sequence[Any], sides: _Sides) -> str:
    """Say it of the value whose share differs most."""
    training, deployment, weighted = sides
    # of two that move alike, as they do where there are only two, the first
    place = max(range(len(training)), key=lambda k: round(abs(training[k] - deployment[k]), 9))
    value = values[place]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    said = f"{number(value) if is_number else clean(value)} is {percent(training[place])}"
    if weighted is None:
        return f"{said} of training and {percent(deployment[place])} of deployment"
    said += f" of training, {percent(deployment[place])} of deployment"
    return f"{said} and {percent(weighted[place])} of weighted training"


def _distance(one: Sequence[float], other: Sequence[float], edges: Sequence[float]) -> float:
    """Return half of the area between two histograms."""
    return float(np.abs(np.subtract(one, other)) @ np.diff(edges)) / 2


def _difference_of_means(
    one: Sequence[float], other: Sequence[float], edges: Sequence[float]
) -> float:
    """Return the difference of two means in standard deviations of the second histogram."""
    mean, spread = _moments(other, edges)
    return (_moments(one, edges)[0] - mean) / spread


def _moments(heights: Sequence[float], edges: Sequence[float]) -> tuple[float, float]:
    """Return mean and standard deviation of a histogram, in units of its range."""
    ends = (np.array(edges) - edges[0]) / (edges[-1] - edges[0])
    places = (ends[:-1] + ends[1:]) / 2
    shares = np.array(heights) * np.diff(edges)
    shares /= shares.sum() or 1.0
    mean = float(shares @ places)
    # rows of one bin still differ
    return mean, max(math.sqrt(shares @ (places - mean) ** 2), 0.5 / places.size)
