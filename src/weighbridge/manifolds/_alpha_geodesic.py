"""Alpha-geodesics between two members of an exponential family."""

from __future__ import annotations

from typing import Any

import numpy as np

from weighbridge.manifolds._collocation import AlphaGeodesic
from weighbridge.manifolds._exponential_family import ExponentialFamily


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
    return AlphaGeodesic(family, start, stop, alpha).points(lam)


def geodesic_velocity(
    family: ExponentialFamily, start: Any, stop: Any, alpha: float, lam: Any
) -> np.ndarray:
    """Velocity ``d theta / d lam`` of the alpha-geodesic from one member of a family to another.

    Parameters
    ----------
    family, start, stop, alpha, lam
        As in `geodesic`.

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
