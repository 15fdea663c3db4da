"""Gamma distributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import bernoulli, digamma, loggamma, polygamma

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

# From here on trigamma - 1/a loses digits; ten terms of its asymptotic series do not.
_LARGE = 20.0
_BERNOULLI = bernoulli(20)[2::2]


@dataclass(frozen=True)
class Gamma(ExponentialFamily):
    """Gamma distributions, of density proportional to ``x^(shape - 1) exp(-rate x)``.

    ``F(x) = (log x, x)`` for ``x > 0``, ``theta = (shape, -rate)``, ``k(x) = -log x``. The
    curvature depends on the shape alone and tends to that of the normals for large shapes.

    Examples
    --------
    >>> from weighbridge.manifolds import Gamma
    >>> family = Gamma()
    >>> theta = family.theta(shape=1.0, rate=2.0)
    >>> family.metric(theta).round(4)
    array([[1.6449, 0.5   ],
           [0.5   , 0.25  ]])
    >>> round(family.scalar_curvature(theta, alpha=0), 7)
    -0.9126074
    """

    dim: ClassVar[int] = 2
    domain: ClassVar[str] = "theta[0] > 0 and theta[1] < 0 (theta = (shape, -rate))"

    def theta(self, shape: float, rate: float) -> np.ndarray:
        """Natural parameters of a shape and a rate.

        Parameters
        ----------
        shape, rate : float
            Shape and rate (the reciprocal of the scale), both above 0.

        Returns
        -------
        ndarray of shape (2,)
            ``theta``.
        """
        return np.array(
            [
                finite_number(shape, "shape", positive=True),
                -finite_number(rate, "rate", positive=True),
            ]
        )

    def usual(self, theta: Any) -> dict[str, float]:
        """The ``shape`` and ``rate`` of natural parameters."""
        shape, rate = self._shape_and_rate(theta)
        return {"shape": float(shape), "rate": float(rate)}

    def in_domain(self, theta: Any) -> bool:
        """Whether shape and rate are above 0."""
        return bool(np.isfinite(theta).all() and theta[0] > 0 > theta[1])

    def log_partition(self, theta: Any) -> Any:
        """``log Gamma(theta_1) - theta_1 log(-theta_2)``."""
        first, second = np.asarray(theta)
        return loggamma(first) - first * np.log(-second)

    def expectation(self, theta: Any) -> np.ndarray:
        """The means of ``log x`` and of ``x``."""
        shape, rate = self._shape_and_rate(theta)
        with np.errstate(over="ignore"):
            means = np.array([digamma(shape) - np.log(rate), shape / rate])
        return in_range(means, "expectation", self, theta)

    def natural(self, eta: Any, start: Any = None) -> np.ndarray:
        """Natural parameters of the means of ``log x`` and of ``x``."""
        log_mean, mean = self._vector(eta, "eta")
        gap = np.log(mean) - log_mean if mean > 0 else 0.0
        if not gap > 0:
            raise ValueError(
                f"Got eta={[float(log_mean), float(mean)]}, but the mean of x must be above 0 and "
                "its logarithm above the mean of log x."
            )
        # 1/(2 a) < log a - digamma(a) < 1/a brackets the shape within a factor of 2
        shape = brentq(
            lambda a: np.log(a) - digamma(a) - gap, 0.5 / gap, 1 / gap, xtol=1e-300, rtol=1e-15
        )
        return self.check([shape, -shape / mean])

    def metric(self, theta: Any) -> np.ndarray:
        """Covariance of ``(log x, x)``."""
        shape, rate = self._shape_and_rate(theta)
        with np.errstate(over="ignore", under="ignore"):
            metric = [[polygamma(1, shape), 1 / rate], [1 / rate, shape / rate / rate]]
        return in_range(np.array(metric), "metric", self, theta)

    def skewness(self, theta: Any) -> np.ndarray:
        """Third central moments of ``(log x, x)``."""
        shape, rate = self._shape_and_rate(theta)
        with np.errstate(over="ignore", under="ignore"):
            corner, mixed, cube = polygamma(2, shape), rate**-2, 2 * shape * rate**-3
        skewness = np.array([[[corner, 0], [0, mixed]], [[0, mixed], [mixed, cube]]])
        return in_range(skewness, "skewness", self, theta)

    def sufficient_statistics(self, x: Any) -> np.ndarray:
        """``(log x, x)``."""
        x = positive_line(x, self)
        return np.column_stack([np.log(x), x])

    def log_base_measure(self, x: Any) -> np.ndarray:
        """``-log x`` above 0, ``-inf`` elsewhere."""
        x = real_line(x)
        return np.where(x > 0, -np.log(np.where(x > 0, x, 1.0)), -np.inf)

    def sample(self, theta: Any, size: int, random_state: Any = None) -> np.ndarray:
        """Independent draws."""
        shape, rate = self._shape_and_rate(theta)
        return generator(random_state).gamma(shape, 1 / rate, size)

    def _quadrature(self, start: np.ndarray, stop: np.ndarray, level: int) -> Nodes:
        """Panels of the logarithm of x."""
        ends = [self.usual(theta) for theta in (start, stop)]
        return log_line([(end["shape"], end["rate"]) for end in ends], level)

    def _frame(self, theta: np.ndarray) -> np.ndarray:
        # x, then the part of log x that is not linear in it; its variance is known without the
        # difference that a factorisation of the metric would take
        shape, rate = self._shape_and_rate(theta)
        root = np.sqrt(shape)
        return np.array([[1 / root, np.sqrt(_rests(shape)[0])], [root / rate, 0.0]])

    def _frame_skewness(self, theta: np.ndarray) -> np.ndarray:
        shape, _ = self._shape_and_rate(theta)
        variance, third = _rests(shape)
        one, mixed = 2 / np.sqrt(shape), -1 / (shape * np.sqrt(variance))
        return np.array([[[one, mixed], [mixed, 0]], [[mixed, 0], [0, third * variance**-1.5]]])

    def _shape_and_rate(self, theta: Any) -> tuple[np.float64, np.float64]:
        first, second = self.check(theta)
        return first, -second


def _rests(shape: np.float64) -> tuple[float, float]:
    """``trigamma(a) - 1/a`` and its derivative: cumulants of ``log x - x / mean`` at unit rate."""
    if shape < _LARGE:
        return polygamma(1, shape) - 1 / shape, polygamma(2, shape) + 1 / shape**2
    # trigamma(a) ~ 1/a + 1/(2 a^2) + sum B_2k / a^(2k + 1)
    even = np.arange(2, 2 * _BERNOULLI.size + 1, 2)
    terms = _BERNOULLI * shape ** -(even - 1.0)
    return (
        float(0.5 + terms.sum()) / shape / shape,
        float(-1 - ((even + 1) * terms).sum()) / shape / shape / shape,
    )
