"""What the picture of a feature shows, in a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from weighbridge._findings import number, percent
from weighbridge._svg._draw import clean

# Means that differ by less, in standard deviations, are commonly called balanced.
_BALANCED = 0.1
# Histograms of equal samples of some hundred rows differ by about this share of their area.
_SAME_SHAPE = 0.12


def describe(histogram: Mapping[str, Any], weighted: Sequence[float] | None) -> str:
    """Say how a feature differs, and whether weighted training follows deployment.

    Parameters
    ----------
    histogram : mapping
        One of the ``features`` of the pictures of a result.
    weighted : sequence of float or None
        Shares or densities of weighted training.

    Returns
    -------
    str
        A sentence.

    Examples
    --------
    >>> from weighbridge._svg._feature_words import describe
    >>> age = {"name": "age", "values": None, "edges": [0, 50, 100]}
    >>> age |= {"training": [0.015, 0.005], "deployment": [0.005, 0.015]}
    >>> describe(age, [0.006, 0.014])
    'age: lower in training than in deployment; weighted training follows deployment.'
    """
    name, edges = clean(histogram["name"]), histogram.get("edges")
    training, deployment = histogram["training"], histogram["deployment"]
    if not training:
        return f"{name}: no values."
    if not edges:
        return f"{name}: {_largest_move(histogram, weighted)}."
    return f"{name}: {_density_words(training, deployment, weighted, edges)}."


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


def _largest_move(histogram: Mapping[str, Any], weighted: Sequence[float] | None) -> str:
    """Say it of the value whose share differs most."""
    training, deployment = histogram["training"], histogram["deployment"]
    # of two that move alike, as they do where there are only two, the first
    place = max(range(len(training)), key=lambda k: round(abs(training[k] - deployment[k]), 9))
    value = histogram["values"][place]
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
