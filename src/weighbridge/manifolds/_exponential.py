"""Exponential distributions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from weighbridge.manifolds._exponential_family import ExponentialFamily
from weighbridge.manifolds._observations import (
    Nodes,
    finite_number,
    generator,
    in_range,
    log_line,
    positive_line,
    real_line,
)


@dataclass(frozen=True)
class Exponential(ExponentialFamily):
    """Exponential distributions, of density ``rate exp(-rate x)`` for ``x >= 0``.

    ``F(x) = x``, ``theta = -rate``. One-dimensional, hence flat.

    Examples
    --------
    >>> from weighbridge.manifolds import Exponential
    >>> family = Exponential()
    >>> theta = family.theta(rate=2.0)
    >>> family.expectation(theta), family.metric(theta)
    (array([0.5]), array([[0.25]]))
    >>> family.scalar_curvature(theta, alpha=0)
    0.0
    """

    dim: ClassVar[int] = 1
    domain: ClassVar[str] = "theta < 0 (theta = -rate)"

    def theta(self, rate: float) -> np.ndarray:
        """Natural parameter of a rate.

        Parameters
        ----------
        rate : float
            Rate, the reciprocal of the mean.

        Returns
        -------
        ndarray of shape (1,)
            ``theta``.
        """
        return np.array([-finite_number(rate, "rate", positive=True)])

    def usual(self, theta: Any) -> dict[str, float]:
        """The ``rate`` of a natural parameter."""
        return {"rate": float(-self.check(theta)[0])}

    def in_domain(self, theta: Any) -> bool:
        """Whether theta is below 0."""
        return bool(np.isfinite(theta).all() and theta[0] < 0)

    def log_partition(self, theta: Any) -> Any:
        """``-log(-theta)``."""
        return -np.log(-np.asarray(theta))[0]

    def expectation(self, theta: Any) -> np.ndarray:
        """The mean, ``1 / rate``."""
        return -1 / self.check(theta)

    def natural(self, eta: Any, start: Any = None) -> np.ndarray:
        """Natural parameter of a mean."""
        eta = self._vector(eta, "eta")
        if not eta[0] > 0:
            raise ValueError(f"Got eta={eta.tolist()}, but the mean must be above 0.")
        return -1 / eta

    def metric(self, theta: Any) -> np.ndarray:
        """The variance, ``1 / rate^2``."""
        with np.errstate(over="ignore", under="ignore"):
            return in_range(self.expectation(theta)[:, None] ** 2, "metric", self, theta)

    def skewness(self, theta: Any) -> np.ndarray:
        """The third central moment, ``2 / rate^3``."""
        with np.errstate(over="ignore", under="ignore"):
            cube = 2 * self.expectation(theta)[:, None, None] ** 3
        return in_range(cube, "skewness", self, theta)

    def sufficient_statistics(self, x: Any) -> np.ndarray:
        """The observation itself."""
        return positive_line(x, self, zero=True)[:, None]

    def log_base_measure(self, x: Any) -> np.ndarray:
        """0 from 0 on, ``-inf`` below."""
        return np.where(real_line(x) >= 0, 0.0, -np.inf)

    def sample(self, theta: Any, size: int, random_state: Any = None) -> np.ndarray:
        """Independent draws."""
        return generator(random_state).exponential(self.expectation(theta)[0], size)

    def _quadrature(self, start: np.ndarray, stop: np.ndarray, level: int) -> Nodes:
        """Panels of the logarithm of x."""
        return log_line([(1.0, self.usual(theta)["rate"]) for theta in (start, stop)], level)

    def _closed_distance(self, start: np.ndarray, stop: np.ndarray) -> float:
        return abs(math.log(float(stop[0] / start[0])))
