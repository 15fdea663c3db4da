"""Least squares with weights in a box and a bound on their mean: the programme behind KMM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Box:
    """Weights between `low` and `high` whose mean differs from 1 by no more than `slack`."""

    low: float
    high: float
    slack: float

    def shift(self, values: np.ndarray) -> float:
        """Return the number that, added to all values, brings their clipped mean into bounds."""
        mean = self._clip(values).mean()
        if abs(mean - 1) <= self.slack:
            return 0.0
        wanted = 1 + self.slack if mean > 1 else 1 - self.slack
        left, right = self.low - values.max(), self.high - values.min()
        for _ in range(200):
            middle = (left + right) / 2
            if self._clip(values + middle).mean() < wanted:
                left = middle
            else:
                right = middle
            if right - left <= 1e-15 * max(abs(left), abs(right)):
                break
        return float((left + right) / 2)

    def project(self, values: np.ndarray) -> np.ndarray:
        """Return the nearest weights that keep all bounds."""
        return self._clip(values + self.shift(values))

    def _clip(self, values: np.ndarray) -> np.ndarray:
        return np.clip(values, self.low, self.high)


@dataclass(frozen=True)
class Solution:
    """Weights, how far they are from a fixed point, and the steps it took."""

    weights: np.ndarray
    error: float
    n_iter: int


def solve_by_gradient(
    product: Callable[[np.ndarray], np.ndarray],
    transposed: Callable[[np.ndarray], np.ndarray],
    mean_target: np.ndarray,
    largest: float,
    ridge: float,
    box: Box,
    n: int,
    tol: float,
    max_iter: int,
) -> Solution:
    """Minimise |Z'w / n - m|^2 / 2 + ridge |w|^2 / (2 n) over the box.

    Accelerated projected gradient, restarted whenever a step goes uphill; ``product(v)`` is Z v,
    ``transposed(w)`` is Z'w / n, and `largest` bounds the eigenvalues of Z'Z / n. Stops when a step
    of full length moves no weight by more than `tol` times their mean.
    """
    step = 1 / (largest + ridge)
    weights = momentum = np.ones(n)
    inertia, error = 1.0, np.inf
    for iteration in range(1, max_iter + 1):
        slope = product(transposed(momentum) - mean_target) + ridge * momentum
        new = box.project(momentum - step * slope)
        moved = new - momentum
        # scaled to the length of a step along the flattest direction, which the ridge alone bends
        error = float(np.abs(moved).max() / (step * ridge))
        if error <= tol:
            return Solution(new, error, iteration)
        if (moved @ (new - weights)) < 0:
            momentum, inertia = new, 1.0
        else:
            faster = (1 + np.sqrt(1 + 4 * inertia**2)) / 2
            momentum = new + (inertia - 1) / faster * (new - weights)
            inertia = faster
        weights = new
    return Solution(weights, error, max_iter)


def solve_by_piqp(
    features: np.ndarray, mean_target: np.ndarray, ridge: float, box: Box
) -> Solution:
    """Solve the same programme by the interior-point solver of the package piqp."""
    import piqp

    n = features.shape[0]
    solver: Any = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
    quadratic = features @ features.T / n**2 + ridge / n * np.eye(n)
    linear = -features @ mean_target / n
    average = np.full((1, n), 1 / n)
    solver.setup(
        P=quadratic,
        c=linear,
        G=average,
        h_l=np.array([1 - box.slack]),
        h_u=np.array([1 + box.slack]),
        x_l=np.full(n, box.low),
        x_u=np.full(n, box.high),
    )
    status = solver.solve()
    solved = status == piqp.PIQP_SOLVED
    weights = box.project(np.asarray(solver.result.x))
    return Solution(weights, 0.0 if solved else np.inf, int(solver.result.info.iter))
