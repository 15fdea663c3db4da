"""Fisher-Rao distance between two members of an exponential family."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.integrate import quad

from weighbridge.manifolds._collocation import AlphaGeodesic
from weighbridge.manifolds._exponential_family import ExponentialFamily


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
