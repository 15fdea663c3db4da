"""Alpha-geodesics between two members of an exponential family, and the Fisher-Rao distance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.integrate import quad

from weighbridge.manifolds._collocation import AlphaGeodesic
from weighbridge.manifolds._exponential_family import ExponentialFamily


def geodesic(
    family: ExponentialFamily, start: Any, stop: Any, alpha: float, lam: Any
) -> np.ndarray:
    """Points of the alpha-geodesic from one member of a family to another.

    The curve with ``theta'' + Gamma^(alpha)(theta', theta') = 0`` that is at `start` for
    ``lam = 0`` and at `stop` for ``lam = 1``; `lam` is its affine parameter. A straight line in
    the natural parameter at ``alpha = 1``, in the expectation parameter at ``alpha = -1``, and the
    shortest curve in the Fisher metric at ``alpha = 0``. In closed form for `Normal`, where one
    exists exactly if ``(alpha - 1) (mean1 - mean2)^2 < 2 (sd1 + sd2)^2`` or the means are equal.

    This curve stays in the family. The weighted densities ``w^(lam, alpha) p`` leave it unless
    ``alpha = 1`` (or the family has all distributions, as on the simplex); see `projected_curve`.

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
        If no such curve exists (`Normal`) or is found. There may be none if ``abs(alpha) > 1``.

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


def fisher_rao_distance(family: ExponentialFamily, start: Any, stop: Any) -> float:
    """Length of the shortest curve between two members of a family, in the Fisher metric.

    In closed form for `Normal`, `Categorical`, `Poisson` and `Exponential`, and for
    `MultivariateNormal` where the means differ along a principal axis of one covariance relative to
    the other (equal means, equal covariances); an integral in the other families of dimension 1,
    and the length of the 0-geodesic otherwise. It is the shortest curve within the family; the
    shortest of all, ``2 arccos BC``, leaves it.

    Parameters
    ----------
    family : ExponentialFamily
        The family.
    start, stop : array of shape (dim,)
        Natural parameters.

    Returns
    -------
    float
        The distance.

    Raises
    ------
    ArithmeticError
        If the two are too far apart for the solver.

    Examples
    --------
    >>> from weighbridge.manifolds import Normal, fisher_rao_distance
    >>> family = Normal()
    >>> start, stop = family.theta(mean=0, sd=1), family.theta(mean=2, sd=0.5)
    >>> round(fisher_rao_distance(family, start, stop), 7)
    2.6124005
    """
    start, stop = family.check(start), family.check(stop)
    if np.array_equal(start, stop):
        return 0.0
    distance = family._closed_distance(start, stop)
    return length_of_shortest(family, start, stop) if distance is None else distance


def length_of_shortest(family: ExponentialFamily, start: np.ndarray, stop: np.ndarray) -> float:
    """Return the distance without closed forms: what a family that gives only psi has."""
    if family.dim == 1:
        return _length_of_line(family, start, stop)
    try:
        curve = AlphaGeodesic(family, start, stop, 0.0)
    except ArithmeticError as error:
        raise ArithmeticError(
            f"The shortest curve between theta={start} and theta={stop} was not found: they are "
            "too far apart for the solver, or x has a mean so large for its spread that no "
            "digits are left. Use ends that are closer, or shift and scale x."
        ) from error
    # the speed is constant; its spread over the curve says how well the equation was solved
    lam = np.linspace(0.0, 1.0, 9)
    speeds = np.array(
        [
            math.sqrt(velocity @ family.metric(theta) @ velocity)
            for theta, velocity in zip(curve.points(lam), curve.velocities(lam), strict=True)
        ]
    )
    if np.ptp(speeds) > 1e-6 * speeds.mean() + 1e-12:
        raise ArithmeticError(
            f"The speed of the shortest curve between theta={start} and theta={stop} came out "
            f"between {speeds.min()} and {speeds.max()}, but it must be constant. Use ends that "
            "are closer; if the family is yours, see that its metric is the derivative of its "
            "expectation."
        )
    return float(np.median(speeds))


def _length_of_line(family: ExponentialFamily, start: np.ndarray, stop: np.ndarray) -> float:
    def speed(lam: float) -> float:
        return math.sqrt(family.metric((1 - lam) * start + lam * stop)[0, 0])

    length, _ = quad(speed, 0.0, 1.0, epsabs=0.0, epsrel=1e-12, limit=200)
    return abs(float(stop[0] - start[0])) * length
