"""Poisson distributions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln

from weighbridge.manifolds._exponential_family import ExponentialFamily
from weighbridge.manifolds._observations import (
    REACH,
    TAIL,
    Nodes,
    check_number,
    finite_number,
    generator,
    real_line,
)


@dataclass(frozen=True)
class Poisson(ExponentialFamily):
    """Poisson distributions of counts.

    ``F(x) = x``, ``theta = log(rate)``, ``k(x) = -log x!``. One-dimensional, hence flat.

    Examples
    --------
    >>> from weighbridge.manifolds import Poisson
    >>> family = Poisson()
    >>> theta = family.theta(rate=3.0)
    >>> family.metric(theta).round(6)
    array([[3.]])
    >>> family.scalar_curvature(theta, alpha=0)
    0.0
    """

    dim: ClassVar[int] = 1
    domain: ClassVar[str] = "a number whose exponential is a positive double (theta = log(rate))"

    def theta(self, rate: float) -> np.ndarray:
        """Natural parameter of a rate.

        Parameters
        ----------
        rate : float
            Mean count.

        Returns
        -------
        ndarray of shape (1,)
            ``theta``.
        """
        return self.check(np.log([finite_number(rate, "rate", positive=True)]))

    def usual(self, theta: Any) -> dict[str, float]:
        """The ``rate`` of a natural parameter."""
        return {"rate": float(np.exp(self.check(theta)[0]))}

    def in_domain(self, theta: Any) -> bool:
        """Whether the rate is a positive double."""
        with np.errstate(over="ignore", under="ignore"):
            return bool(0 < np.exp(theta[0]) < np.inf)

    def log_partition(self, theta: Any) -> Any:
        """``exp(theta)``."""
        return np.exp(np.asarray(theta))[0]

    def expectation(self, theta: Any) -> np.ndarray:
        """The rate."""
        return np.exp(self.check(theta))

    def natural(self, eta: Any, start: Any = None) -> np.ndarray:
        """Natural parameter of a mean count."""
        eta = self._vector(eta, "eta")
        if not eta[0] > 0:
            raise ValueError(f"Got eta={eta.tolist()}, but a mean count must be above 0.")
        return np.log(eta)

    def metric(self, theta: Any) -> np.ndarray:
        """The variance, equal to the rate."""
        return self.expectation(theta)[:, None]

    def skewness(self, theta: Any) -> np.ndarray:
        """The third central moment, equal to the rate."""
        return self.expectation(theta)[:, None, None]

    def sufficient_statistics(self, x: Any) -> np.ndarray:
        """The count itself."""
        x = real_line(x)
        if not self._inside(x).all():
            raise ValueError(f"Got x with values that are not counts; {self!r} needs 0, 1, 2, ...")
        return x[:, None]

    def log_base_measure(self, x: Any) -> np.ndarray:
        """``-log x!`` for counts, ``-inf`` for other numbers."""
        x = real_line(x)
        inside = self._inside(x)
        return np.where(inside, -gammaln(np.where(inside, x, 0.0) + 1), -np.inf)

    def sample(self, theta: Any, size: int, random_state: Any = None) -> np.ndarray:
        """Independent draws."""
        return generator(random_state).poisson(self.usual(theta)["rate"], size)

    def _quadrature(self, start: np.ndarray, stop: np.ndarray, level: int) -> Nodes:
        """All whole numbers that carry weight."""
        rates = np.array([self.usual(theta)["rate"] for theta in (start, stop)])
        spread = REACH * np.sqrt(rates) + TAIL
        low, high = max(0.0, np.floor(np.min(rates - spread))), np.ceil(np.max(rates + spread))
        check_number(high - low)
        x = np.arange(low, high + 1)
        return x, np.zeros(x.size)

    def _closed_distance(self, start: np.ndarray, stop: np.ndarray) -> float:
        # 2 |sqrt a - sqrt b| for the rates exp(theta)
        half = float(stop[0] - start[0]) / 4
        return 4 * math.exp(float(start[0] + stop[0]) / 4) * abs(math.sinh(half))

    def _inside(self, x: np.ndarray) -> np.ndarray:
        return (x >= 0) & (x == np.floor(x))
