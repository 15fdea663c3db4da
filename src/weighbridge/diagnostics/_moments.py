"""Mean and variance of weighted numbers, put together from stretches of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

# Below the exponent of every double: that of a stretch with nothing but zeros, so that it has no
# say in the exponent of the whole.
LOWEST = -1100


def exponent_of(largest: float) -> int:
    """Return the power of 2 that brings a number next to 1; dividing by it is exact."""
    return math.frexp(largest)[1] if largest > 0 else LOWEST


@dataclass(frozen=True)
class RowWeights:
    """Weights of a stretch of rows over ``2.0**exponent``, none of them above 1."""

    values: np.ndarray
    exponent: int

    @classmethod
    def of(cls, weights: np.ndarray) -> RowWeights:
        """Take a power of 2 out of weights >= 0, so that squares neither over- nor underflow."""
        exponent = exponent_of(float(weights.max(initial=0.0)))
        return cls(np.ldexp(weights, -exponent), exponent)

    def at(self, rows: np.ndarray) -> RowWeights:
        """Return the weights of some of the rows."""
        return RowWeights(self.values[rows], self.exponent)

    @cached_property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.values.sum())

    @cached_property
    def shares(self) -> np.ndarray:
        """Weights that sum to 1."""
        return self.values / self.total

    @cached_property
    def spread(self) -> float:
        """Probability that two rows drawn by weight are not the same one."""
        # 1 - sum(shares**2) would lose its digits where one row has most of the weight
        return 2 * float(self.shares[1:] @ np.cumsum(self.shares)[:-1])


@dataclass(frozen=True)
class Moments:
    """Mean and variance of weighted numbers; those of two stretches of rows are added.

    Parameters
    ----------
    total : float
        Sum of the weights, or number of rows.
    mean : float
        Weighted mean.
    square : float
        Weighted mean of the squared deviations from it.
    spread : float
        Probability that two rows drawn by weight are not the same one.
    """

    total: float = 0.0
    mean: float = 0.0
    square: float = 0.0
    spread: float = 0.0

    @classmethod
    def of(cls, values: np.ndarray, weights: RowWeights | None = None) -> Moments:
        """Sum up numbers near 1 or below."""
        total = float(values.size) if weights is None else weights.total
        if total == 0:
            return cls()
        if weights is None:
            mean = float(values.mean())
            gap = values - mean
            return cls(total, mean, float(gap @ gap) / total, 1 - 1 / total)
        mean = float(weights.shares @ values)
        gap = values - mean
        return cls(total, mean, float(weights.shares @ gap**2), weights.spread)

    def __add__(self, other: Moments) -> Moments:
        if self.total == 0 or other.total == 0:
            return other if self.total == 0 else self
        total = self.total + other.total
        mine, others = self.total / total, other.total / total
        # Chan, Golub & LeVeque (1983): nothing is the difference of two large sums
        gap = other.mean - self.mean
        return Moments(
            total,
            self.mean + gap * others,
            self.square * mine + other.square * others + gap * gap * mine * others,
            self.spread * mine**2 + other.spread * others**2 + 2 * mine * others,
        )

    def scaled(self, value: float, weight: float = 1.0) -> Moments:
        """Return the moments of the numbers and the weights times these factors."""
        if value == weight == 1:
            return self
        return Moments(
            self.total * weight, self.mean * value, self.square * value * value, self.spread
        )

    @property
    def variance(self) -> float:
        """Unbiased variance; NaN where one row has all of the weight."""
        return self.square / self.spread if self.spread > 2.0**-53 else math.nan
