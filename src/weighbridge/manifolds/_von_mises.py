"""Von Mises distributions on the circle."""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import factorial2, ive

from weighbridge.manifolds._exponential_family import ExponentialFamily
from weighbridge.manifolds._observations import (
    Nodes,
    check_number,
    finite_number,
    generator,
    real_line,
)

# From here on 1 - A^2 - A/kappa would cancel; the asymptotic series of log I_0 does not.
_LARGE = 25.0
_TERMS = 32


@dataclass(frozen=True)
class VonMises(ExponentialFamily):
    """Von Mises distributions of angles, of density proportional to ``exp(kappa cos(x - mean))``.

    ``F(x) = (cos x, sin x)``, ``theta = kappa (cos mean, sin mean)``; it is a density on any
    interval of length ``2 pi``, and ``theta = 0`` is the uniform one. The curvature depends on the
    concentration ``kappa`` alone.

    Examples
    --------
    >>> from weighbridge.manifolds import VonMises
    >>> family = VonMises()
    >>> theta = family.theta(mean=0.0, concentration=1.0)
    >>> family.expectation(theta).round(6)
    array([0.44639, 0.     ])
    >>> round(family.scalar_curvature(theta, alpha=0), 7)
    -0.1241865
    """

    dim: ClassVar[int] = 2
    domain: ClassVar[str] = "finite numbers (theta = concentration * (cos mean, sin mean))"

    def theta(self, mean: float, concentration: float) -> np.ndarray:
        """Natural parameters of a mean direction and a concentration.

        Parameters
        ----------
        mean : float
            Mean direction, in radians.
        concentration : float
            Concentration ``kappa >= 0``.

        Returns
        -------
        ndarray of shape (2,)
            ``theta``.
        """
        mean, kappa = finite_number(mean, "mean"), finite_number(concentration, "concentration")
        if kappa < 0:
            raise ValueError(f"Got concentration={kappa}, but expected a number >= 0.")
        return kappa * np.array([np.cos(mean), np.sin(mean)])

    def usual(self, theta: Any) -> dict[str, float]:
        """The ``mean`` direction and the ``concentration`` of natural parameters.

        The mean is in radians, between -pi and pi, and 0 for the uniform one.
        """
        first, second = self.check(theta)
        return {
            "mean": float(np.arctan2(second, first)),
            "concentration": float(np.hypot(first, second)),
        }

    def in_domain(self, theta: Any) -> bool:
        """Whether the numbers are finite."""
        return bool(np.isfinite(theta).all())

    def log_partition(self, theta: Any) -> Any:
        """``log(2 pi I_0(kappa))``."""
        theta = np.asarray(theta)
        if not np.iscomplexobj(theta):
            kappa = np.hypot(*theta)
            return np.log(2 * np.pi * ive(0, kappa)) + kappa
        kappa = np.sqrt(theta @ theta)
        # ive leaves the phase of exp(kappa) in; without it the logarithm stays on its branch
        return np.log(2 * np.pi * ive(0, kappa) * np.exp(-1j * kappa.imag)) + kappa

    def expectation(self, theta: Any) -> np.ndarray:
        """``A(kappa)`` in the mean direction, with ``A = I_1 / I_0``."""
        kappa, unit = self._polar(theta)
        return _radial(kappa)[0] * unit

    def natural(self, eta: Any, start: Any = None) -> np.ndarray:
        """Natural parameters of the means of ``cos x`` and ``sin x``."""
        eta = self._vector(eta, "eta")
        length = float(np.hypot(*eta))
        if not length < 1:
            raise ValueError(
                f"Got eta={eta.tolist()}, but the mean of points on the circle lies inside it."
            )
        if length == 0:
            return np.zeros(2)
        # Amos's bounds on I_1 / I_0, turned round
        rest = (1 - length) * (1 + length)
        low, high = 2 * length / np.sqrt(rest) * (1 - 1e-12), 2 * length / rest * (1 + 1e-12)
        kappa = brentq(lambda k: _radial(k)[0] - length, low, high, xtol=1e-300, rtol=1e-15)
        return eta * (kappa / length)

    def metric(self, theta: Any) -> np.ndarray:
        """``A'`` along the mean direction, ``A / kappa`` across it."""
        kappa, unit = self._polar(theta)
        along = np.outer(unit, unit)
        _, across, second, _, _ = _radial(kappa)
        return second * along + across * (np.eye(2) - along)

    def skewness(self, theta: Any) -> np.ndarray:
        """``A''`` along the mean direction, ``(A / kappa)'`` for two vectors across it."""
        kappa, unit = self._polar(theta)
        along = np.outer(unit, unit)
        _, _, _, third, slope = _radial(kappa)
        pair = np.multiply.outer(np.eye(2) - along, unit)
        mixed = pair + pair.transpose(0, 2, 1) + pair.transpose(2, 0, 1)
        return third * np.multiply.outer(along, unit) + slope * mixed

    def sufficient_statistics(self, x: Any) -> np.ndarray:
        """``(cos x, sin x)``."""
        x = real_line(x)
        return np.column_stack([np.cos(x), np.sin(x)])

    def log_base_measure(self, x: Any) -> np.ndarray:
        """0 for every angle."""
        return np.zeros(real_line(x).shape)

    def sample(self, theta: Any, size: int, random_state: Any = None) -> np.ndarray:
        """Independent draws, between -pi and pi."""
        usual = self.usual(theta)
        return generator(random_state).vonmises(usual["mean"], usual["concentration"], size)

    def _quadrature(self, start: np.ndarray, stop: np.ndarray, level: int) -> Nodes:
        """Points spread evenly on the circle."""
        # the trapezoidal rule on a circle converges faster than any power
        sharpest = max(self.usual(theta)["concentration"] for theta in (start, stop))
        n = 64 * 2**level * int(np.ceil(1 + np.sqrt(sharpest)))
        check_number(n)
        return 2 * np.pi * np.arange(n) / n - np.pi, np.full(n, np.log(2 * np.pi / n))

    def _polar(self, theta: Any) -> tuple[float, np.ndarray]:
        theta = self.check(theta)
        kappa = float(np.hypot(*theta))
        return kappa, theta / kappa if kappa > 0 else np.array([1.0, 0.0])


def _radial(kappa: float) -> tuple[float, float, float, float, float]:
    """``A``, ``A / kappa``, ``A'``, ``A''`` and ``(A / kappa)'`` for ``A = (log I_0)'``."""
    if kappa == 0:
        return 0.0, 0.5, 0.5, 0.0, 0.0
    if kappa > _LARGE:
        first, second, third = _asymptotic(kappa)
        return first, first / kappa, second, third, (second - first / kappa) / kappa
    zero, one, two = ive([0, 1, 2], kappa)
    first = one / zero
    # 1 - 2 A / kappa = I_2 / I_0: no cancellation for small kappa
    slope = (two / zero - first**2) / kappa
    second = first / kappa + kappa * slope
    return first, first / kappa, second, -slope - 2 * first * second, slope


def _log_series() -> np.ndarray:
    """Coefficients of kappa^-n in the logarithm of ``sum ((2n - 1)!!)^2 / (n! (8 kappa)^n)``."""
    a = [factorial2(2 * n - 1, exact=True) ** 2 / (factorial(n) * 8**n) for n in range(1, _TERMS)]
    b: list[float] = []
    for n in range(1, _TERMS):
        b.append(a[n - 1] - sum(j * b[j - 1] * a[n - 1 - j] for j in range(1, n)) / n)
    return np.array(b)


_SERIES = _log_series()


def _asymptotic(kappa: float) -> tuple[float, float, float]:
    """First three derivatives of ``kappa - log(kappa)/2 + sum b_n kappa^-n``."""
    n = np.arange(1, _TERMS)
    terms = n * _SERIES * kappa ** -n.astype(float)
    return (
        float(1 - (0.5 + terms.sum()) / kappa),
        float((0.5 + ((n + 1) * terms).sum()) / kappa**2),
        float(-(1 + ((n + 1) * (n + 2) * terms).sum()) / kappa**3),
    )
