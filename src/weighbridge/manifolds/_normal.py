"""Normal distributions on the line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from weighbridge.manifolds._exponential_family import ExponentialFamily
from weighbridge.manifolds._observations import finite_number, generator, real_line


@dataclass(frozen=True)
class Normal(ExponentialFamily):
    """Normal distributions ``N(mean, sd^2)`` on the line.

    ``F(x) = (x, x^2)``, ``theta = (mean / sd^2, -1 / (2 sd^2))``. A surface of constant negative
    curvature: its scalar curvature is ``alpha^2 - 1`` everywhere.

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
        """Mean and standard deviation.

        Parameters
        ----------
        theta : array of shape (2,)
            Natural parameters.

        Returns
        -------
        dict
            ``mean`` and ``sd``.
        """
        mean, variance = self._moments(theta)
        return {"mean": mean, "sd": float(np.sqrt(variance))}

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
        return np.array([mean, mean**2 + variance])

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
        return np.array([[v, 2 * m * v], [2 * m * v, 4 * m**2 * v + 2 * v**2]])

    def skewness(self, theta: Any) -> np.ndarray:
        """Third central moments of ``(x, x^2)``."""
        m, v = self._moments(theta)
        one, two, three = 2 * v**2, 8 * m * v**2, 24 * m**2 * v**2 + 8 * v**3
        return np.array([[[0, one], [one, two]], [[one, two], [two, three]]])

    def sufficient_statistics(self, x: Any) -> np.ndarray:
        """``(x, x^2)``."""
        x = real_line(x)
        return np.column_stack([x, x**2])

    def log_base_measure(self, x: Any) -> np.ndarray:
        """0 on the whole line."""
        return np.zeros(real_line(x).shape)

    def sample(self, theta: Any, size: int, random_state: Any = None) -> np.ndarray:
        """Independent draws."""
        mean, variance = self._moments(theta)
        return generator(random_state).normal(mean, np.sqrt(variance), size)

    def _orthonormal_skewness(self, theta: np.ndarray) -> np.ndarray:
        # shifts and scales of x are isometries: the standard normal's, whatever theta is
        standard = np.array([0.0, -0.5])
        return super()._orthonormal_skewness(standard)

    def _moments(self, theta: Any) -> tuple[float, float]:
        first, second = self.check(theta)
        variance = -0.5 / second
        return float(first * variance), float(variance)
