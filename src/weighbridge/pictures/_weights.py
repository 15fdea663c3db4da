"""Weights in numbers that do not grow with the rows: a histogram and a Lorenz curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from weighbridge._data import check_count
from weighbridge.diagnostics import check_weights
from weighbridge.pictures._picture import Picture

# Weights below 1/1024 of the mean differ in nothing that matters; they share the first bar.
_SMALLEST_OCTAVE = -10
_MOST_BINS = 30


@dataclass(frozen=True)
class WeightHistogram(Picture):
    """Numbers of rows by size of their weight, as `compute_weight_histogram` counts them.

    Parameters
    ----------
    edges : ndarray of shape (n_bins + 1,)
        Ends of the bins, equally far apart in logarithms; weights have mean 1.
    counts : ndarray of shape (n_bins,)
        Numbers of rows.
    n_below : int
        Rows of the first bin that lie below it, those of weight 0 among them.

    Examples
    --------
    >>> from weighbridge.plotting import compute_weight_histogram
    >>> compute_weight_histogram([1, 1, 1, 1]).counts
    array([4])
    """

    edges: np.ndarray
    counts: np.ndarray
    n_below: int


@dataclass(frozen=True)
class LorenzCurve(Picture):
    """Share of the weight on the rows with the largest weights, as `compute_lorenz` finds it.

    Parameters
    ----------
    rows, weight : ndarray of shape (n_points,)
        The rows with the largest weights, as a share of all rows, carry this share of the weight.
    half : float
        Smallest share of rows that carries half of the weight.

    Examples
    --------
    >>> from weighbridge.plotting import compute_lorenz
    >>> compute_lorenz([1, 1, 1, 5]).half
    0.25
    """

    rows: np.ndarray
    weight: np.ndarray
    half: float


def compute_weight_histogram(weights: Any) -> WeightHistogram:
    """Count rows by size of their weight, in bins that are equally wide in logarithms.

    Parameters
    ----------
    weights : array-like of shape (n_rows,)
        Weights >= 0, on any scale; they are brought to mean 1.

    Returns
    -------
    WeightHistogram
        With 1 in the middle of a bin, at most about 30 bins, and all rows counted: those below
        1/1024 in the first bin.

    Examples
    --------
    >>> from weighbridge.plotting import compute_weight_histogram
    >>> histogram = compute_weight_histogram([0, 1, 1, 2])
    >>> histogram.counts.sum(), histogram.n_below
    (np.int64(4), 1)
    """
    scaled = check_weights(weights)
    scaled = scaled / scaled.max()
    scaled /= scaled.mean()
    octaves = np.log2(scaled[scaled > 0])
    low, high = max(octaves.min(), _SMALLEST_OCTAVE), octaves.max()
    most = min(_MOST_BINS, max(6, 2 * math.cbrt(scaled.size)))
    width = 1 / 8
    while (high - low) / width > most:
        width *= 2
    first, last = math.floor(low / width + 0.5), math.floor(high / width + 0.5)
    ends = (np.arange(first, last + 2) - 0.5) * width
    counts, _ = np.histogram(np.clip(octaves, ends[0], ends[-1]), ends)
    counts[0] += scaled.size - octaves.size
    edges = 2.0**ends
    return WeightHistogram(edges, counts, int(np.sum(scaled < edges[0])))


def compute_lorenz(weights: Any, *, n_points: int = 200) -> LorenzCurve:
    """Say which share of the weight the rows with the largest weights carry.

    It is the Lorenz curve with the largest weights first: a curve above the diagonal, on which the
    share of rows that carries half of the weight can be read off directly.

    Parameters
    ----------
    weights : array-like of shape (n_rows,)
        Weights >= 0, on any scale.
    n_points : int, default=200
        About this many points of the curve are kept; they are exact.

    Returns
    -------
    LorenzCurve
        From (0, 0) to (1, 1).

    Examples
    --------
    >>> from weighbridge.plotting import compute_lorenz
    >>> compute_lorenz([1, 1, 1, 5]).weight
    array([0.   , 0.625, 0.75 , 0.875, 1.   ])
    """
    check_count("n_points", n_points, 2)
    falling = np.sort(check_weights(weights))[::-1]
    carried = np.concatenate([[0.0], np.cumsum(falling / falling[0])])
    carried /= carried[-1]
    n = falling.size
    half = int(np.searchsorted(carried, 0.5))
    even = np.linspace(0, n, n_points)
    # the curve is steepest at its start
    steep = np.geomspace(1, n, n_points)
    kept = np.unique(np.concatenate([np.rint(even), np.rint(steep), [half]]).astype(int))
    return LorenzCurve(kept / n, carried[kept], half / n)
