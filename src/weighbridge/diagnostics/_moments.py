"""Mean and variance of weighted numbers, on any scale of the numbers and of the weights."""

from __future__ import annotations

import math

import numpy as np

# Below the exponent of every double: that of a column with nothing but zeros.
LOWEST = -1100


def exponent_of(largest: float) -> int:
    """Return the power of 2 that brings a number next to 1; dividing by it is exact."""
    return math.frexp(largest)[1] if largest > 0 else LOWEST


def scale_to_one(weights: np.ndarray) -> np.ndarray:
    """Return weights >= 0 over a power of 2, so that their squares neither over- nor underflow."""
    return np.ldexp(weights, -exponent_of(float(weights.max(initial=0.0))))


def mean_and_variance(values: np.ndarray, weights: np.ndarray | None = None) -> tuple[float, float]:
    """Return the mean and the unbiased variance of numbers near 1 or below.

    With shares ``s = w / sum(w)``, the variance is ``sum(s (x - m)**2) / (1 - sum(s**2))``. It is
    NaN if one row has all of the weight.
    """
    if weights is None:
        mean = float(values.mean())
        deviations = values - mean
        square, spread = float(deviations @ deviations) / values.size, 1 - 1 / values.size
    else:
        shares = weights / float(weights.sum())
        mean = float(shares @ values)
        square = float(shares @ (values - mean) ** 2)
        # 1 - sum(s**2) would lose its digits if one row has most of the weight.
        spread = 2 * float(shares[1:] @ np.cumsum(shares)[:-1])
    return mean, square / spread if spread > 2.0**-53 else math.nan


def mean_on_any_scale(
    values: np.ndarray, weights: np.ndarray | None, exponent: int
) -> tuple[float, float]:
    """Return mean and variance over powers of ``2.0**exponent``; NaN without values or weight."""
    if values.size == 0 or (weights is not None and not weights.any()):
        return math.nan, math.nan
    low, high = float(values.min()), float(values.max())
    if low == high:  # exactly, whatever the rounding of sums
        return math.ldexp(low, -exponent), 0.0 if values.size > 1 else math.nan
    exponent_here = exponent_of(max(abs(low), abs(high)))
    mean, variance = mean_and_variance(np.ldexp(values, -exponent_here), weights)
    factor = math.ldexp(1.0, exponent_here - exponent)
    low, high = math.ldexp(low, -exponent), math.ldexp(high, -exponent)
    # Rounding must not take a mean beyond the largest value, which may be the largest double.
    return min(max(mean * factor, low), high), variance * factor * factor
