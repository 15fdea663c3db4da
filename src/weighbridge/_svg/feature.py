"""One feature in training, deployment and weighted training: densities, or bars for values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from weighbridge._numbers import number, percent
from weighbridge._svg import _legend as marks
from weighbridge._svg._axes import Scale, bottom_axis, scale
from weighbridge._svg._draw import WIDTH, Chart, Point, Svg, clean, path, steps, text
from weighbridge._svg._value_bars import Sides, level_bars, value_bars
from weighbridge.pictures import FeatureHistogram

_PLOT = 92
_LEFT, _RIGHT = 6, WIDTH - 6
# Means that differ by less, in standard deviations, are commonly called balanced.
_BALANCED = 0.1
# Histograms of equal samples of some hundred rows differ by about this share of their area.
_SAME_SHAPE = 0.12


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
        return _densities(_edges(histogram), sides, top)
    bars = level_bars if histogram.values.dtype == object else value_bars
    return bars(histogram.values.tolist(), sides, top)


def _sides(histogram: FeatureHistogram) -> Sides:
    weighted = histogram.weighted
    return (
        histogram.training.tolist(),
        histogram.deployment.tolist(),
        None if weighted is None else weighted.tolist(),
    )


def _edges(histogram: FeatureHistogram) -> list[float]:
    return [] if histogram.edges is None else histogram.edges.tolist()


def feature_key(after: str | None, *, id: str) -> Chart:
    """Draw what the marks of `feature` mean, once for many of them."""
    items = [(_training_both, "training"), (marks.deployment_area, "deployment")]
    desc = "Dashed line or circle: training; filled area: deployment"
    if after is not None:
        items.append((_weighted_both, f"weighted training ({after})"))
        desc += "; solid line or square: weighted"
    key, height = marks.legend(items, 10)
    svg = Svg(id, "What the marks mean", f"{desc}.", height + 2)
    svg.add(key)
    return svg.chart()


def _training_both(x: float, y: float) -> str:
    return marks.training_line(x, y) + marks.training_mark(x, y)


def _weighted_both(x: float, y: float) -> str:
    return marks.weighted_line(x, y) + marks.weighted_mark(x, y)


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


def _densities(edges: Sequence[float], sides: Sides, top: float) -> tuple[str, float]:
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


def _describe(histogram: FeatureHistogram, name: str) -> str:
    """Say how a feature differs, and whether weighted training follows deployment."""
    training, deployment, weighted = _sides(histogram)
    if not training:
        return f"{name}: no values."
    if histogram.values is not None:
        return f"{name}: {_largest_move(histogram.values.tolist(), *_sides(histogram))}."
    return f"{name}: {_density_words(training, deployment, weighted, _edges(histogram))}."


def _density_words(
    training: Sequence[float],
    deployment: Sequence[float],
    weighted: Sequence[float] | None,
    edges: Sequence[float],
) -> str:
    """Say it of means; of shapes where the means are alike."""
    measure, least = _difference_of_means, _BALANCED
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


def _largest_move(
    values: Sequence[Any],
    training: Sequence[float],
    deployment: Sequence[float],
    weighted: Sequence[float] | None,
) -> str:
    """Say it of the value whose share differs most."""
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
    widths = [high - low for low, high in pairwise(edges)]
    return sum(abs(a - b) * w for a, b, w in zip(one, other, widths, strict=True)) / 2


def _difference_of_means(
    one: Sequence[float], other: Sequence[float], edges: Sequence[float]
) -> float:
    """Return the difference of two means in standard deviations of the second histogram."""
    mean, spread = _moments(other, edges)
    return (_moments(one, edges)[0] - mean) / spread


def _moments(heights: Sequence[float], edges: Sequence[float]) -> tuple[float, float]:
    """Return mean and standard deviation of a histogram, in units of its range."""
    low, span = edges[0], edges[-1] - edges[0]
    places = [((a - low) / span + (b - low) / span) / 2 for a, b in pairwise(edges)]
    shares = [h * (b - a) for h, (a, b) in zip(heights, pairwise(edges), strict=True)]
    total = sum(shares) or 1.0
    mean = sum(share * place for share, place in zip(shares, places, strict=True)) / total
    square = sum(s * (place - mean) ** 2 for s, place in zip(shares, places, strict=True)) / total
    # rows of one bin still differ
    return mean, max(math.sqrt(square), 0.5 / len(places))
