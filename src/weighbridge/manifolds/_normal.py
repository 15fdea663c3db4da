"""Normal distributions on the line."""

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
    panels,
    reach,
    real_line,
)
from weighbridge.manifolds._pace import PacedCurve


@dataclass(frozen=True)
class Normal(ExponentialFamily):
    """Normal distributions ``N(mean, sd^2)`` on the line.

    ``F(x) = (x, x^2)``, ``theta = (mean / sd^2, -1 / (2 sd^2))``. A surface of constant negative
    curvature: its scalar curvature is ``alpha^2 - 1`` everywhere.

    The expectations are the means of x and x^2, in which a variance small next to the squared mean
    drowns: `natural` of `expectation` keeps about ``16 - 2 log10(abs(mean) / sd)`` digits of it,
    and so does all that goes through expectations (`project`, geodesics with ``alpha = -1``). Shift
    x to the mean first.

    Examples
    --------
    >>> from weighbridge.manifolds import Normal
    >>> family = Normal()
    >>> theta = family.theta(mean=2.0, sd=0.5)
    >>> theta
    array([ 8., -2.])
    >>> family.expectation(theta)
    array([2.  , 4.25])
    >>> round(family.scalar_curvature(theta, alpha=3), 12)
    8.0
    """

    dim: ClassVar[int] = 2
    domain: ClassVar[str] = "theta[1] < 0 (theta = (mean / sd^2, -1 / (2 sd^2)))"

    def theta(self, mean: float, sd: float) -> np.ndarray:
        """Natural parameters of a mean and a standard deviation.

        Parameters
        ----------
        mean, sd : float
            Mean and standard deviation.

        Returns
        -------
        ndarray of shape (2,)
            ``theta``.
        """
        mean, sd = finite_number(mean, "mean"), finite_number(sd, "sd", positive=True)
        return self.check([mean / sd / sd, -0.5 / sd / sd])

    def usual(self, theta: Any) -> dict[str, float]:
        """The ``mean`` and the standard deviation ``sd`` of natural parameters."""
        mean, variance = self._moments(theta)
        return {"mean": float(mean), "sd": float(np.sqrt(variance))}

    def in_domain(self, theta: Any) -> bool:
        """Whether ``theta[1] < 0``."""
        return bool(np.isfinite(theta).all() and theta[1] < 0)

    def log_partition(self, theta: Any) -> Any:
        """``-theta_1^2 / (4 theta_2) + log(-pi / theta_2) / 2``."""
        first, second = np.asarray(theta)
        return -(first**2) / (4 * second) + 0.5 * np.log(-np.pi / second)

    def expectation(self, theta: Any) -> np.ndarray:
        """``(mean, mean^2 + variance)``."""
        mean, variance = self._moments(theta)
        with np.errstate(over="ignore"):
            return in_range(np.array([mean, mean**2 + variance]), "expectation", self, theta)

    def natural(self, eta: Any, start: Any = None) -> np.ndarray:
        """Natural parameters of the means of x and x^2."""
        mean, square = self._vector(eta, "eta")
        variance = square - mean**2
        if not variance > 0:
            raise ValueError(
                f"Got eta={[float(mean), float(square)]}, but the mean of x^2 must be above the "
                "square of the mean of x."
            )
        return self.check([mean / variance, -0.5 / variance])

    def metric(self, theta: Any) -> np.ndarray:
        """Covariance of ``(x, x^2)``."""
        m, v = self._moments(theta)
        with np.errstate(over="ignore", under="ignore"):
            metric = np.array([[v, 2 * m * v], [2 * m * v, 4 * m**2 * v + 2 * v**2]])
        return in_range(metric, "metric", self, theta)

    def skewness(self, theta: Any) -> np.ndarray:
        """Third central moments of ``(x, x^2)``."""
        m, v = self._moments(theta)
        with np.errstate(over="ignore", under="ignore"):
            one, two, three = 2 * v**2, 8 * m * v**2, 24 * m**2 * v**2 + 8 * v**3
        skewness = np.array([[[0, one], [one, two]], [[one, two], [two, three]]])
        return in_range(skewness, "skewness", self, theta)

    def sufficient_statistics(self, x: Any) -> np.ndarray:
        """``(x, x^2)``."""
        x = real_line(x)
        return np.column_stack([x, x**2])

    def log_base_measure(self, x: Any) -> np.ndarray:
        """0 on the whole line."""
        return np.zeros(real_line(x).shape)

    def log_density(self, x: Any, theta: Any) -> np.ndarray:
        """Log density from mean and variance: ``theta . F(x)`` loses the digits of a large mean."""
        mean, variance = self._moments(theta)
        return -((real_line(x) - mean) ** 2) / (2 * variance) - np.log(2 * np.pi * variance) / 2

    def sample(self, theta: Any, size: int, random_state: Any = None) -> np.ndarray:
        """Independent draws."""
        mean, variance = self._moments(theta)
        return generator(random_state).normal(mean, np.sqrt(variance), size)

    def _quadrature(self, start: np.ndarray, stop: np.ndarray, level: int) -> Nodes:
        """Panels round both means."""
        ends = [self.usual(theta) for theta in (start, stop)]
        means, sds = ([end[name] for end in ends] for name in ("mean", "sd"))
        return panels(means, sds, *reach(means, sds), level)

    def _closed_distance(self, start: np.ndarray, stop: np.ndarray) -> float:
        one, two = self.usual(start), self.usual(stop)
        return distance_of_normals(one["mean"] - two["mean"], one["sd"], two["sd"])

    def _closed_geodesic(self, start: np.ndarray, stop: np.ndarray, alpha: float) -> PacedCurve:
        return geodesic_of_normals(self.usual(start), self.usual(stop), alpha)

    def _frame(self, theta: np.ndarray) -> np.ndarray:
        # x = m + s w and x^2 = m^2 + 2 m s w + s^2 w^2 for a standard normal w; a factorisation of
        # the metric would lose the second term next to the first one
        m, v = self._moments(theta)
        s = np.sqrt(v)
        return np.array([[s, 0.0], [2 * m * s, np.sqrt(2) * v]])

    def _frame_skewness(self, theta: np.ndarray) -> np.ndarray:
        # third moments of w and (w^2 - 1) / sqrt(2), whatever theta is
        one, three = np.sqrt(2), 2 * np.sqrt(2)
        return np.array([[[0, one], [one, 0]], [[one, 0], [0, three]]])

    def _moments(self, theta: Any) -> np.ndarray:
        first, second = self.check(theta)
        with np.errstate(over="ignore", invalid="ignore"):
            variance = -0.5 / second
            moments = np.array([first * variance, variance])
        return in_range(moments, "mean or variance", self, theta)


def distance_of_normals(shift: float, sd1: float, sd2: float) -> float:
    """Return ``sqrt(2) arccosh(1 + (shift^2 + 2 (sd1 - sd2)^2)/(4 sd1 sd2))``."""
    # arccosh(1 + 2 x^2) = 2 arcsinh x, which keeps the digits of a short distance
    chord = math.hypot(shift, math.sqrt(2) * (sd1 - sd2))
    return 2 * math.sqrt(2) * math.asinh(chord / math.sqrt(8) / math.sqrt(sd1) / math.sqrt(sd2))


def geodesic_of_normals(one: dict[str, float], two: dict[str, float], alpha: float) -> PacedCurve:
    """Return the alpha-geodesic, a parabola in mean and variance.

    Along it ``(mean, 1) / sd`` turns evenly, as along a great circle, by an angle that may be
    imaginary, and lam grows by ``sd^(-2 alpha)``.
    """
    (mean1, sd1), (mean2, sd2) = one.values(), two.values()
    unit, shift, total = math.sqrt(sd1) * math.sqrt(sd2), mean1 - mean2, sd1 + sd2
    pull = (alpha - 1) / 2 * (shift / unit) ** 2
    if not pull < (total / unit) ** 2:
        raise ArithmeticError(
            f"No alpha-geodesic exists for alpha={alpha:g} from N(mean={mean1:g}, sd={sd1:g}) to "
            f"N(mean={mean2:g}, sd={sd2:g}): (alpha - 1) (mean1 - mean2)^2 = "
            f"{(alpha - 1) * shift**2:.6g} is not below 2 (sd1 + sd2)^2 = {2 * total**2:.6g}. "
            f"Use an alpha below {1 + 2 * (total / shift) ** 2:.6g}, or projected_curve."
        )
    ends = np.array([[mean1 / sd1, 1 / sd1], [mean2 / sd2, 1 / sd2]])
    # any small angle will do for none: the ratio of two sines is then that of the angles
    angle = 2 * np.arcsin(np.sqrt(complex(pull - ((sd1 - sd2) / unit) ** 2) / 4)) or 1e-100

    def turned(function: Any, x: np.ndarray) -> np.ndarray:
        parts = np.stack([1 - x, x], axis=-1) * angle
        return (function(parts) / np.sin(angle)).real

    def place(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        m, h = np.moveaxis(turned(np.sin, x) @ ends, -1, 0)
        dm, dh = np.moveaxis(turned(lambda part: angle * np.cos(part) * [-1, 1], x) @ ends, -1, 0)
        return np.stack([h * m, -h * h / 2], -1), np.stack([dh * m + h * dm, -h * dh], -1)

    def log_pace(x: np.ndarray) -> np.ndarray:
        return 2 * alpha * np.log(turned(np.sin, x) @ ends[:, 1])

    return PacedCurve(place, log_pace, 1 + int(abs(angle)))
