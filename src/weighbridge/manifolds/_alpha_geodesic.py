"""Alpha-geodesics between two members of an exponential family."""

from __future__ import annotations

from typing import Any

import numpy as np

from weighbridge.geodesic import check_lam
from weighbridge.manifolds._collocation import Curve, solve_geodesic
from weighbridge.manifolds._exponential_family import ExponentialFamily
from weighbridge.manifolds._observations import one_alpha


def geodesic(
    family: ExponentialFamily, start: Any, stop: Any, alpha: float, lam: Any
) -> np.ndarray:
    """Points of the alpha-geodesic from one member of a family to another.

    The curve with ``theta'' + Gamma^(alpha)(theta', theta') = 0`` that is at `start` for
    ``lam = 0`` and at `stop` for ``lam = 1``; `lam` is its affine parameter. A straight line in
    the natural parameter at ``alpha = 1``, in the expectation parameter at ``alpha = -1``, and the
    shortest curve in the Fisher metric at ``alpha = 0``.

    This curve stays in the family. The weighted densities ``w^(lam, alpha) p`` leave it unless
    ``alpha = 1`` (or the family is all there is, as on the simplex); see `projected_curve`.

    Parameters
    ----------
    family : ExponentialFamily
        The family.
    start, stop : array of shape (dim,)
        Natural parameters of the two ends.
    alpha : float
        Which connection.
    lam : float or array
        Where on the curve, in [0, 1].

    Returns
    -------
    ndarray of shape (..., dim)
        Natural parameters, with the shape of `lam` before the last axis.

    Raises
    ------
    ArithmeticError
        If no such curve was found. Outside ``-1 <= alpha <= 1`` there may be none.

    Examples
    --------
    >>> from weighbridge.manifolds import Normal, geodesic
    >>> family = Normal()
    >>> start, stop = family.theta(mean=-1, sd=1), family.theta(mean=1, sd=1)
    >>> half_way = family.usual(geodesic(family, start, stop, alpha=0, lam=0.5))
    >>> round(float(half_way["sd"]), 6)  # half a circle in (mean / sqrt 2, sd)
    1.224745
    """
    curve = AlphaGeodesic(family, start, stop, alpha)
    return curve.points(lam)


def geodesic_velocity(
    family: ExponentialFamily, start: Any, stop: Any, alpha: float, lam: Any
) -> np.ndarray:
    """Velocity ``d theta / d lam`` of the alpha-geodesic from one member of a family to another.

    Parameters
    ----------
    family : ExponentialFamily
        The family.
    start, stop : array of shape (dim,)
        Natural parameters of the two ends.
    alpha : float
        Which connection.
    lam : float or array
        Where on the curve, in [0, 1].

    Returns
    -------
    ndarray of shape (..., dim)
        Velocities in natural parameters, with the shape of `lam` before the last axis.

    Raises
    ------
    ArithmeticError
        If no such curve was found. Outside ``-1 <= alpha <= 1`` there may be none.

    Examples
    --------
    >>> from weighbridge.manifolds import Poisson, geodesic_velocity
    >>> family = Poisson()
    >>> start, stop = family.theta(rate=1.0), family.theta(rate=4.0)
    >>> geodesic_velocity(family, start, stop, alpha=-1, lam=[0.0, 1.0])
    array([[3.  ],
           [0.75]])
    """
    return AlphaGeodesic(family, start, stop, alpha).velocities(lam)


class AlphaGeodesic:
    """One alpha-geodesic, solved once and evaluated anywhere."""

    def __init__(self, family: ExponentialFamily, start: Any, stop: Any, alpha: float):
        self.family = family
        self.start, self.stop = family.check(start), family.check(stop)
        alpha = one_alpha(alpha)
        # a curve that stays where it is needs no solver
        self.alpha = 1.0 if np.array_equal(self.start, self.stop) else alpha
        self._curve: Curve | None = None
        if abs(self.alpha) != 1:
            self._curve = solve_geodesic(family, self.start, self.stop, self.alpha)

    def points(self, lam: Any) -> np.ndarray:
        """Return theta at `lam`."""
        lam = _checked(lam)
        if self._curve is not None:
            points = self._curve.points(lam)
        elif self.alpha == -1:
            points = _each(self._natural, _line(*self._expectations(), lam))
        else:
            points = _line(self.start, self.stop, lam)
        # the ends are known, a polynomial or an inverse would round them
        points = np.where((lam == 0)[..., None], self.start, points)
        return np.where((lam == 1)[..., None], self.stop, points)

    def velocities(self, lam: Any) -> np.ndarray:
        """Return d theta / d lam at `lam`."""
        lam = _checked(lam)
        if self._curve is not None:
            return self._curve.velocities(lam)
        if self.alpha == -1:
            first, last = self._expectations()
            rise = last - first
            return _each(lambda theta: self.family._raise(theta, rise), self.points(lam))
        return np.broadcast_to(self.stop - self.start, (*lam.shape, self.family.dim)).copy()

    def _natural(self, eta: np.ndarray) -> np.ndarray:
        try:
            return self.family.natural(eta)
        except ValueError as error:
            raise ArithmeticError(
                f"The expectations between theta={self.start} and theta={self.stop} were rounded "
                "to some that no member of the family has: x has a mean too large for its "
                "spread, or the ends are too near to the boundary. Shift and scale x."
            ) from error

    def _expectations(self) -> tuple[np.ndarray, np.ndarray]:
        return self.family.expectation(self.start), self.family.expectation(self.stop)


def _checked(lam: Any) -> np.ndarray:
    lam = np.asarray(lam, dtype=float)
    check_lam(np, lam)
    return lam


def _line(start: np.ndarray, stop: np.ndarray, lam: np.ndarray) -> np.ndarray:
    return start + lam[..., None] * (stop - start)


def _each(function: Any, rows: np.ndarray) -> np.ndarray:
    """Apply a function of one vector to the vectors along the last axis."""
    flat = [function(row) for row in rows.reshape(-1, rows.shape[-1])]
    return np.reshape(flat, rows.shape)
