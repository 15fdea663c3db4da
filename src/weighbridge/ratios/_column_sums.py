"""Counts, ranges, means and squares of columns, block by block."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weighbridge._namespace import array_namespace, to_numpy

# Texts of one column that are counted one by one.
MOST_LEVELS = 200_000
# What rare levels are called together.
OTHERS = "\0others"


@dataclass(frozen=True)
class ColumnSums:
    """What is known of the columns of some rows; it can be added to that of others.

    Means and squares (sums of squared deviations from the mean) are those of the columns times
    ``2.0**-exponent``, which brings them near 1: it is exact, and keeps squares of very large and
    very small numbers from over- or underflowing.
    """

    n: int
    known: np.ndarray
    low: np.ndarray
    high: np.ndarray
    exponent: np.ndarray
    mean: np.ndarray
    square: np.ndarray
    levels: list[Counter[Any]] = field(default_factory=list)
    few: list[np.ndarray] = field(default_factory=list)

    def __add__(self, other: ColumnSums) -> ColumnSums:
        exponent = np.maximum(self.exponent, other.exponent)
        (mean, square), (mean_other, square_other) = (part._at(exponent) for part in (self, other))
        known = self.known + other.known
        share = other.known / np.maximum(known, 1)
        gap = mean_other - mean
        return ColumnSums(
            self.n + other.n,
            known,
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
            exponent,
            mean + share * gap,
            square + square_other + gap**2 * self.known * share,
            [_fewer(a + b) for a, b in zip(self.levels, other.levels, strict=True)],
            self.few + other.few,
        )

    def _at(self, exponent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and squares under another, larger exponent."""
        down = self.exponent - exponent
        return np.ldexp(self.mean, down), np.ldexp(self.square, 2 * down)


def _fewer(levels: Counter[Any]) -> Counter[Any]:
    """Keep the more frequent half of too many levels; the others are counted together.

    Only the most frequent few have a column of their own in the end.
    """
    if len(levels) <= MOST_LEVELS:
        return levels
    kept = Counter(dict(levels.most_common(MOST_LEVELS // 2)))
    kept[OTHERS] += levels.total() - kept.total()
    return kept


def column_sums(numbers: np.ndarray) -> ColumnSums:
    """Sum up the columns of a matrix in which NaN is a missing value."""
    if not numbers.size:
        d = numbers.shape[1]
        nothing = np.full(d, np.nan)
        zeros = np.zeros(d)
        return ColumnSums(
            len(numbers), zeros, nothing, nothing, np.full(d, -1000), zeros.copy(), zeros.copy()
        )
    gaps = np.isnan(numbers)
    gappy = bool(gaps.any())
    low, high = np.fmin.reduce(numbers, axis=0), np.fmax.reduce(numbers, axis=0)
    exponent = _exponent(low, high)
    near_one = np.ldexp(numbers, -exponent)
    known = np.full(numbers.shape[1], float(len(numbers)))
    if gappy:
        known = (~gaps).sum(axis=0).astype(float)
        near_one[gaps] = 0.0
    mean = near_one.sum(axis=0) / np.maximum(known, 1)
    near_one -= mean
    if gappy:
        near_one[gaps] = 0.0
    square = np.einsum("ij,ij->j", near_one, near_one)
    return ColumnSums(len(numbers), known, low, high, exponent, mean, square)


def device_sums(X: Any) -> ColumnSums:
    """Sum up the columns of an array of another library, without gaps, on its device."""
    xp = array_namespace(X)
    n = int(X.shape[0])
    low, high = to_numpy(xp.min(X, axis=0)), to_numpy(xp.max(X, axis=0))
    exponent = _exponent(low, high)
    scale = xp.asarray(np.ldexp(1.0, -exponent), device=X.device)
    near_one = X * scale
    mean = xp.mean(near_one, axis=0)
    square = to_numpy(xp.sum((near_one - mean) ** 2, axis=0))
    known = np.full(low.size, float(n))
    return ColumnSums(n, known, low, high, exponent, to_numpy(mean), square)


def _exponent(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    largest = np.nan_to_num(np.fmax(np.abs(low), np.abs(high)))
    # zeros and gaps have no size; they leave that of other rows as it is
    return np.where(largest > 0, np.clip(np.frexp(largest)[1], -1000, 1000), -1000)


def centre_and_variance(source: ColumnSums, target: ColumnSums) -> tuple[np.ndarray, ...]:
    """Return exponents, and centres and variances under them; both samples count alike."""
    exponent = np.maximum(source.exponent, target.exponent)
    means, squares = [], []
    for sums in (source, target):
        mean, square = sums._at(exponent)
        means.append(np.where(sums.known > 0, mean, np.nan))
        squares.append(square / np.maximum(sums.known, 1))
    means = [np.where(np.isnan(a), b, a) for a, b in (means, means[::-1])]
    centre = np.nan_to_num((means[0] + means[1]) / 2)
    variance = (squares[0] + squares[1]) / 2 + (means[0] - means[1]) ** 2 / 4
    return exponent, centre, variance


def target_is_lower(source: ColumnSums, target: ColumnSums) -> bool:
    """Tell which sample lies lower, in any units: it says nothing but which is which."""
    low, high = np.fmin(source.low, target.low), np.fmax(source.high, target.high)
    varies = low < high
    width = np.where(varies, high / 2 - low / 2, 1.0)
    places = [
        np.where(varies, (np.ldexp(s.mean, s.exponent) / 2 - low / 2) / width, 0.0).sum()
        for s in (source, target)
    ]
    return bool(places[1] < places[0])
