"""The equation of an alpha-geodesic on one grid, and Newton's method for it.

In an exponential family ``eta' = g theta'`` and ``eta'' = g theta'' + T(theta', theta')``, so the
geodesic equation ``g theta'' + (1 - alpha)/2 T(theta', theta') = 0`` is the same as

    (1 + alpha)/2 g(theta) theta'' + (1 - alpha)/2 (eta(theta))'' = 0,

which has no velocities in it, and whose exact Jacobian needs no derivative beyond T.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import chebyshev
from scipy.linalg import lu_factor, lu_solve

from weighbridge.manifolds._chebyshev import nodes, to_coefficients
from weighbridge.manifolds._exponential_family import ExponentialFamily

# A step this small beside the curve is the last: the next one would be its square.
_LAST_STEP = 1e-7
# What double precision leaves of a parameter, beside the parameter.
_ROUNDING = 1e-13
_MAX_STEPS = 30
_SMALLEST_DAMPING = 2.0**-6
# Residuals times unknowns of one curve, over all degrees: some seconds for a vector of normals.
_WORK = 80_000


class ExhaustedError(ArithmeticError):
    """The work allowed for one curve is done."""


class Task:
    """The family and the equation of one curve, and the work it may still take."""

    def __init__(self, family: ExponentialFamily, alpha: float):
        self.family, self.alpha, self._left = family, alpha, _WORK

    def spend(self, points: int) -> None:
        """Count the evaluation of a residual."""
        self._left -= points * self.family.dim
        if self._left < 0:
            raise ExhaustedError


class Equation:
    """The equation on one grid of lam; unknown are the values of theta at the inner points."""

    def __init__(self, task: Task, lam: np.ndarray):
        self.task, self.family, self.lam = task, task.family, lam
        self.flat, self.bent = (1 + task.alpha) / 2, (1 - task.alpha) / 2
        degree = lam.size - 1
        first = chebyshev.chebder(to_coefficients(np.eye(degree + 1)))
        first = chebyshev.chebvander(nodes(degree), degree - 1) @ first
        slope = first @ lam
        self.increasing = bool((slope > 0).all())
        self._rate = first
        with np.errstate(divide="ignore", invalid="ignore"):
            by_lam = first / slope[:, None]
            self._second = by_lam @ by_lam

    def newton(self, theta: np.ndarray) -> tuple[float, np.ndarray | None]:
        """Take damped Newton steps; return the first one relative to the curve, and theta."""
        first = np.inf
        if not self.increasing or not self._inside(theta):
            return first, None
        for count in range(_MAX_STEPS):
            metric = np.array([self.family.metric(point) for point in theta])
            factors = self._factors(theta, metric)
            step = self._solve(factors, self._residual(theta, metric))
            size = _fisher_norm(metric, step)
            floor = _ROUNDING * _fisher_norm(metric, theta)
            length = 2 * _fisher_norm(metric, self._rate @ theta)
            relative = max(0.0, size - floor) / max(length, floor)
            first = relative if count == 0 else first
            if not np.isfinite(size):
                return first, None
            if relative <= _LAST_STEP:
                return first, theta + step
            moved = self._damped(theta, step, size, metric, factors)
            if moved is None:
                return first, None
            theta = moved
        return first, None

    def _damped(
        self,
        theta: np.ndarray,
        step: np.ndarray,
        size: float,
        metric: np.ndarray,
        factors: tuple[np.ndarray, np.ndarray],
    ) -> np.ndarray | None:
        """Take the longest of 1, 1/2, 1/4, ... of the step after which the next one is shorter."""
        damping = 1.0
        while damping >= _SMALLEST_DAMPING:
            trial = theta + damping * step
            if self._inside(trial):
                after = self._solve(factors, self._residual(trial))
                if _fisher_norm(metric, after) <= (1 - damping / 2) * size:
                    return trial
            damping /= 2
        return None

    def _inside(self, theta: np.ndarray) -> bool:
        return all(self.family.in_domain(point) for point in theta)

    def _factors(self, theta: np.ndarray, metric: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the LU factors of the Jacobian."""
        inner = theta[1:-1]
        skewness = np.array([self.family.skewness(point) for point in inner])
        g, second = metric[1:-1], self._second[1:-1, 1:-1]
        # [row point, row coordinate, column point, column coordinate]
        jacobian = self.flat * np.einsum("ij,iab->iajb", second, g)
        jacobian += self.bent * np.einsum("ij,jab->iajb", second, g)
        points = np.arange(len(inner))
        turning = np.einsum("iabc,ic->iab", skewness, self._second[1:-1] @ theta)
        jacobian[points, :, points, :] += self.flat * turning
        matrix = jacobian.reshape(inner.size, inner.size)
        return lu_factor(matrix, check_finite=False)

    def _residual(self, theta: np.ndarray, metric: np.ndarray | None = None) -> np.ndarray:
        self.task.spend(len(theta))
        if metric is None:
            metric = np.array([self.family.metric(point) for point in theta])
        eta = np.array([self.family.expectation(point) for point in theta])
        straight = np.einsum("iab,ib->ia", metric, self._second @ theta)
        return (self.flat * straight + self.bent * self._second @ eta)[1:-1]

    def _solve(self, factors: tuple[np.ndarray, np.ndarray], residual: np.ndarray) -> np.ndarray:
        step = np.zeros((self.lam.size, self.family.dim))
        solution = lu_solve(factors, -residual.ravel(), check_finite=False)
        step[1:-1] = solution.reshape(residual.shape)
        return step


def _fisher_norm(metric: np.ndarray, vectors: np.ndarray) -> float:
    """Root mean square of the lengths of one vector at each point."""
    squares = np.einsum("ia,iab,ib->i", vectors, metric, vectors)
    return float(np.sqrt(np.mean(np.maximum(squares, 0.0))))
