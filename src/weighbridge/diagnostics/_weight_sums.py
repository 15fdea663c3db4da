"""Sums of weights and of their squares and logarithms, over stretches of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from weighbridge.diagnostics._moments import RowWeights


@dataclass(frozen=True)
class WeightSums:
    """What is known of the weights of some rows; it is added to that of others.

    The sums are those of ``v = w / 2**exponent``, which is exact and at most 1: squares neither
    over- nor underflow.

    Parameters
    ----------
    n_rows : int
        Number of weights.
    exponent : int
        Power of 2 next to the largest weight.
    total, squares, logs : float
        Sums of ``v``, ``v**2`` and ``v * log(v)``.
    """

    n_rows: int
    exponent: int
    total: float
    squares: float
    logs: float

    @classmethod
    def of(cls, weights: np.ndarray) -> WeightSums:
        """Sum up weights >= 0."""
        own = RowWeights.of(weights)
        values = own.values
        logs = float(xlogy(values, values).sum())
        return cls(values.size, own.exponent, own.total, float(values @ values), logs)

    def __add__(self, other: WeightSums) -> WeightSums:
        exponent = max(self.exponent, other.exponent)
        mine, others = self._at(exponent), other._at(exponent)
        return WeightSums(
            self.n_rows + other.n_rows,
            exponent,
            *(first + second for first, second in zip(mine, others, strict=True)),
        )

    def _at(self, exponent: int) -> tuple[float, float, float]:
        down = self.exponent - exponent
        factor = math.ldexp(1.0, down)
        logs = factor * (self.logs + down * math.log(2) * self.total)
        return factor * self.total, factor * factor * self.squares, logs

    @property
    def effective_sample_size(self) -> float:
        """Square of the sum over the sum of the squares."""
        return self.total**2 / self.squares

    @property
    def design_effect(self) -> float:
        """Number of rows over the effective one."""
        return self.n_rows * self.squares / self.total**2

    @property
    def perplexity(self) -> float:
        """Exponential of the entropy of the shares."""
        return math.exp(math.log(self.total) - self.logs / self.total)
