"""Fisher-Rao distance between two members of an exponential family."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import quad

from weighbridge.manifolds._alpha_geodesic import AlphaGeodesic
from weighbridge.manifolds._categorical import Categorical
from weighbridge.manifolds._exponential import Exponential
from weighbridge.manifolds._exponential_family import ExponentialFamily
from weighbridge.manifolds._normal import Normal
from weighbridge.manifolds._poisson import Poisson


def fisher_rao_distance(family: ExponentialFamily, start: Any, stop: Any) -> float:
    """Length of the shortest curve between two members of a family, in the Fisher metric.

    In closed form for `Normal`, `Categorical`, `Poisson` and `Exponential`, an integral in the
    other families of dimension 1, and the length of the 0-geodesic otherwise. It is the shortest
    curve within the family; the shortest of all, ``2 arccos BC``, leaves it.

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

    Examples
    --------
    >>> from weighbridge.manifolds import Normal, fisher_rao_distance
    >>> family = Normal()
    >>> start, stop = family.theta(mean=0, sd=1), family.theta(mean=2, sd=0.5)
    >>> round(fisher_rao_distance(family, start, stop), 7)
    2.6124005
    """
    start, stop = family.check(start), family.check(stop)
    for kind, distance in _CLOSED_FORMS.items():
        if isinstance(family, kind):
            return distance(family, start, stop)
    return length_of_shortest(family, start, stop)


def length_of_shortest(family: ExponentialFamily, start: np.ndarray, stop: np.ndarray) -> float:
    """Return the distance without closed forms: what a family that gives only psi has."""
    if np.array_equal(start, stop):
        return 0.0
    if family.dim == 1:
        return _length_of_line(family, start, stop)
    curve = AlphaGeodesic(family, start, stop, 0.0)
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


def _normal(family: Normal, start: np.ndarray, stop: np.ndarray) -> float:
    one, two = family.usual(start), family.usual(stop)
    square = (one["mean"] - two["mean"]) ** 2 + 2 * (one["sd"] - two["sd"]) ** 2
    # arccosh(1 + 2 x^2) = 2 arcsinh x, which keeps the digits of a short distance
    return 2 * math.sqrt(2) * math.asinh(math.sqrt(square / (8 * one["sd"] * two["sd"])))


def _categorical(family: Categorical, start: np.ndarray, stop: np.ndarray) -> float:
    p, q = (np.asarray(family.usual(theta)["probabilities"]) for theta in (start, stop))
    # 2 arccos BC by the chord: the arc cosine loses half the digits of a short arc
    chord = float(np.linalg.norm(np.sqrt(p) - np.sqrt(q)))
    return 4 * math.asin(chord / 2)


def _poisson(family: Poisson, start: np.ndarray, stop: np.ndarray) -> float:
    # 2 |sqrt a - sqrt b| for the rates exp(theta)
    half = float(stop[0] - start[0]) / 4
    return 4 * math.exp(float(start[0] + stop[0]) / 4) * abs(math.sinh(half))


def _exponential(family: Exponential, start: np.ndarray, stop: np.ndarray) -> float:
    return abs(math.log(float(stop[0] / start[0])))


_CLOSED_FORMS: dict[type[ExponentialFamily], Callable[..., float]] = {
    Normal: _normal,
    Categorical: _categorical,
    Poisson: _poisson,
    Exponential: _exponential,
}
