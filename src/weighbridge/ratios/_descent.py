"""Downhill to the minimum of a smooth convex function whose values are expensive."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np
from scipy.linalg import cho_solve

# The Newton decrement of a logistic regression is the error of a typical row's log odds.
ROUNDING = 1e-11
# What is smaller than this and stays as it is for a few steps is rounding.
NEAR = 1e-9
PATIENCE = 3
# Values that differ by less, relative to 1, may be equal.
NOISE = 1e-12
MOST_PAIRS = 10


class Descent:
    """The way of one function to its minimum; others compute its values at the points it asks for.

    A step is Newton's with second derivatives of any point near, corrected by the steps before it:
    how the gradient changed along them is known (L-BFGS).

    Parameters
    ----------
    start : ndarray
        The first point.

    Attributes
    ----------
    trial : ndarray
        Where the function is to be computed next.
    coef : ndarray
        The best point so far.
    decrement : float
        The distance to the minimum, measured by the second derivatives.
    left : float
        Which share of the decrement the last step has left.
    done : bool
        Whether nothing but rounding is left.
    """

    def __init__(self, start: np.ndarray):
        self.trial = self.coef = start
        self.gradient = np.zeros_like(start)
        self.value = self.decrement = math.inf
        self.left, self.stalled, self.done = 0.0, 0, False
        self.pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=MOST_PAIRS)

    def look(self, value: float, gradient: np.ndarray, factor: Any = None) -> None:
        """Take the value at the trial point: go there and choose the next, or halve the step.

        `factor` is a Cholesky factor of the second derivatives, where new ones are known.
        """
        if self.done:
            return
        if not value <= self.value + NOISE * max(1.0, abs(self.value)):
            self.trial = (self.coef + self.trial) / 2
            self.left = 1.0
            return
        step, change = self.trial - self.coef, gradient - self.gradient
        # near the minimum the change of the gradient is rounding too
        if NEAR < self.decrement < math.inf and step @ change > 0:
            self.pairs.append((step, change, 1 / float(step @ change)))
        if factor is not None:
            self.factor = factor
            self.pairs.clear()  # new second derivatives know better than old steps
        self.coef, self.value, self.gradient = self.trial, value, gradient
        self._choose()

    def _choose(self) -> None:
        """Choose the next point, or see that this is the last."""
        direction = -self._newton(self.gradient)
        decrement = math.sqrt(max(-float(self.gradient @ direction), 0.0))
        self.left = decrement / self.decrement
        self.stalled = self.stalled + 1 if self.left > 0.5 and decrement < NEAR else 0
        self.decrement = decrement
        self.trial = self.coef + direction
        if decrement <= ROUNDING:
            self.coef = self.trial
        self.done = decrement <= ROUNDING or self.stalled == PATIENCE

    def _newton(self, gradient: np.ndarray) -> np.ndarray:
        """Return the inverse second derivatives times a gradient."""
        shares = []
        rest = gradient.copy()
        for step, change, inverse in reversed(self.pairs):
            shares.append(inverse * (step @ rest))
            rest -= shares[-1] * change
        result = cho_solve(self.factor, rest)
        for (step, change, inverse), share in zip(self.pairs, reversed(shares), strict=True):
            result += (share - inverse * (change @ result)) * step
        return np.asarray(result)
