"""Fisher-Rao distance between two members of an exponential family."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.linalg import solve_triangular

from weighbridge.manifolds._alpha_geodesic import AlphaGeodesic
from weighbridge.manifolds._categorical import Categorical
from weighbridge.manifolds._exponential import Exponential
from weighbridge.manifolds._exponential_family import ExponentialFamily
from weighbridge.manifolds._multivariate_normal import MultivariateNormal
from weighbridge.manifolds._normal import Normal
from weighbridge.manifolds._poisson import Poisson

# Share of a distance that a closed form may leave out.
_NEGLIGIBLE = 1e-9


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
    for kind, distance in _CLOSED_FORMS.items():
        if isinstance(family, kind):
            return distance(family, start, stop)
    return length_of_shortest(family, start, stop)


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


def _normal(family: Normal, start: np.ndarray, stop: np.ndarray) -> float:
    one, two = family.usual(start), family.usual(stop)
    return _arc(one["mean"] - two["mean"], one["sd"], two["sd"])


def _arc(shift: float, sd1: float, sd2: float) -> float:
    """Distance of two normals, ``sqrt(2) arccosh(1 + (shift^2 + 2 (sd1 - sd2)^2)/(4 sd1 sd2))``."""
    # arccosh(1 + 2 x^2) = 2 arcsinh x, which keeps the digits of a short distance
    chord = math.hypot(shift, math.sqrt(2) * (sd1 - sd2))
    return 2 * math.sqrt(2) * math.asinh(chord / math.sqrt(8) / math.sqrt(sd1) / math.sqrt(sd2))


def _multivariate_normal(family: MultivariateNormal, start: np.ndarray, stop: np.ndarray) -> float:
    """In closed form where the two differ by independent coordinates, else by the solver."""
    (mean1, root1), (mean2, root2) = family._moments(start), family._moments(stop)
    shift = solve_triangular(root1, mean2 - mean1)
    half = solve_triangular(root1, root2)
    size, covariance = float(np.linalg.norm(shift)), half @ half.T
    # what is left out below has a Fisher length; no more is lost, by the triangle inequality
    still = _between_covariances(np.linalg.eigvalsh(covariance))
    if size <= _NEGLIGIBLE * still:
        return still
    # the first axis is the direction of the shift
    axes = np.linalg.qr(np.column_stack([shift, np.eye(family.d)]))[0]
    covariance = axes.T @ covariance @ axes
    variance, across = float(covariance[0, 0]), np.linalg.eigvalsh(covariance[1:, 1:])
    distance = math.hypot(_arc(size, 1.0, math.sqrt(variance)), _between_covariances(across))
    mixed = float(np.linalg.norm(covariance[0, 1:]))
    if mixed <= _NEGLIGIBLE * distance * math.sqrt(variance * across.min(initial=np.inf)):
        return distance
    return length_of_shortest(family, start, stop)


def _between_covariances(ratios: np.ndarray) -> float:
    """Distance of two normals with equal means from the eigenvalues of one beside the other."""
    return float(np.linalg.norm(np.log(ratios))) / math.sqrt(2)


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
    MultivariateNormal: _multivariate_normal,
    Categorical: _categorical,
    Poisson: _poisson,
    Exponential: _exponential,
}
