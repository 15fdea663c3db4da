"""The curve of weighted densities, normalised, and its projection onto a family."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from weighbridge.geodesic import check_lam, log_f_mean
from weighbridge.manifolds._exponential_family import ExponentialFamily
from weighbridge.manifolds._observations import one_alpha

_LEVELS = 6
# Fisher distance between the answers of two levels of nodes; what the nodes may miss of a density.
_AGREEMENT = 1e-9


class InterpolatedDensity(NamedTuple):
    """A normalised f-interpolation of two densities; see `interpolate_densities`.

    Attributes
    ----------
    log_density : ndarray of shape (..., n_nodes)
        Log of the density at the nodes.
    log_normaliser : ndarray of shape (...)
        Log of ``Z``, the integral before normalisation.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.manifolds import interpolate_densities
    >>> result = interpolate_densities(np.log([0.5, 0.5]), np.log([0.9, 0.1]), 0.5, -1, [1, 1])
    >>> np.exp(result.log_density)
    array([0.7, 0.3])
    """

    log_density: np.ndarray
    log_normaliser: np.ndarray


class ProjectedCurve(NamedTuple):
    """The curve of weighted densities projected onto a family; see `projected_curve`.

    Attributes
    ----------
    theta : ndarray of shape (..., dim)
        Natural parameters.
    log_normaliser : ndarray of shape (...)
        Log of ``Z``, the mass of the weighted density before normalisation.

    Examples
    --------
    >>> from weighbridge.manifolds import Poisson, projected_curve
    >>> family = Poisson()
    >>> curve = projected_curve(family, family.theta(rate=1), family.theta(rate=4), 0.5, alpha=1)
    >>> round(family.usual(curve.theta)["rate"], 9)
    2.0
    """

    theta: np.ndarray
    log_normaliser: np.ndarray


def interpolate_densities(
    log_source: Any, log_target: Any, lam: Any, alpha: float, weights: Any
) -> InterpolatedDensity:
    """Normalised f-interpolation of two densities given at quadrature nodes.

    ``m_f^(lam, alpha)(p, q) / Z``: what a source sample weighted by ``w^(lam, alpha)`` is a sample
    of (Kimura & Hino, Definition 4.4, for densities).

    Parameters
    ----------
    log_source, log_target : array of shape (n_nodes,)
        Logarithms of the two densities at the nodes.
    lam : float or array
        Where on the curve.
    alpha : float
        Which curve.
    weights : array of shape (n_nodes,)
        Weights of the nodes in an integral; ones for a sum.

    Returns
    -------
    InterpolatedDensity
        ``log_density``, with the shape of `lam` before the nodes, and ``log_normaliser``.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.manifolds import interpolate_densities
    >>> x = np.linspace(-10, 10, 2001)
    >>> log_p, log_q = (-((x - m) ** 2) / 2 - np.log(2 * np.pi) / 2 for m in (0, 2))
    >>> curve = interpolate_densities(log_p, log_q, lam=0.5, alpha=1, weights=np.full(2001, 0.01))
    >>> float(np.exp(curve.log_normaliser).round(6))  # the Bhattacharyya coefficient
    0.606531
    """
    log_p, log_q, weights = (
        np.asarray(values, dtype=float) for values in (log_source, log_target, weights)
    )
    if log_p.ndim != 1 or not log_p.shape == log_q.shape == weights.shape:
        raise ValueError(
            f"Got log_source, log_target and weights of shapes {log_p.shape}, {log_q.shape} and "
            f"{weights.shape}; each must hold one number for each node."
        )
    if not log_p.size:
        raise ValueError("Got no nodes; give the two densities at one node or more.")
    if not ((weights >= 0) & np.isfinite(weights)).all():
        raise ValueError("Got weights with negative, infinite or NaN values; use numbers >= 0.")
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)
    lam = np.asarray(lam, dtype=float)
    check_lam(lam)
    return _interpolate(log_p, log_q, lam, one_alpha(alpha), log_weights)


def project(family: ExponentialFamily, x: Any, log_mass: Any) -> np.ndarray:
    """Member of a family with the same expectations as weighted points.

    The m-projection: of all members the nearest in ``KL(points : member)``, the maximum likelihood
    fit. The points are quadrature nodes with ``log_mass = log_density + log(weights)``, or a source
    sample with its `log_weight`.

    Parameters
    ----------
    family : ExponentialFamily
        The family; it must have `sufficient_statistics`.
    x : array of shape (n_points,) or (n_points, n_features)
        The points.
    log_mass : array of shape (..., n_points)
        Log of the mass at each point, up to a constant.

    Returns
    -------
    ndarray of shape (..., dim)
        Natural parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.manifolds import Normal, project
    >>> family = Normal()
    >>> family.usual(project(family, [0.0, 1.0, 2.0], np.log([1.0, 2.0, 1.0])))["mean"]
    1.0
    """
    statistics = family.sufficient_statistics(x)
    log_mass = np.asarray(log_mass, dtype=float)
    if log_mass.ndim == 0 or log_mass.shape[-1] != len(statistics):
        raise ValueError(
            f"Got log_mass of shape {log_mass.shape} for {len(statistics)} points; its last axis "
            "must hold one number for each point."
        )
    top = np.max(log_mass, axis=-1, keepdims=True)
    if not np.isfinite(top).all():
        raise ValueError(
            "Got log_mass with NaN or +inf, or -inf at every point; at least one point must have "
            "mass."
        )
    mass = np.exp(log_mass - top)
    eta = (mass / mass.sum(axis=-1, keepdims=True)) @ statistics
    rows = [_member(family, row) for row in eta.reshape(-1, family.dim)]
    return np.reshape(rows, eta.shape)


def _member(family: ExponentialFamily, eta: np.ndarray) -> np.ndarray:
    try:
        return family.natural(eta)
    except ValueError as error:
        raise ValueError(
            f"Got points on which the means of the sufficient statistics are {eta.tolist()}, but "
            f"no member of {family!r} has them: too few points have mass, or x has a mean too "
            "large for its spread. Use more points, or shift and scale x."
        ) from error


def projected_curve(
    family: ExponentialFamily, start: Any, stop: Any, lam: Any, alpha: float
) -> ProjectedCurve:
    """Curve of the weighted densities, projected back onto the family.

    Unless ``alpha = 1`` the densities ``w^(lam, alpha) p`` leave the family of their ends. At each
    `lam` this is the member with the same expectations, by quadrature, good to about nine digits.

    Parameters
    ----------
    family : ExponentialFamily
        One of this module's families; `MultivariateNormal` in one or two dimensions. For others
        see `interpolate_densities` and `project`.
    start, stop : array of shape (dim,)
        Natural parameters of source and target.
    lam, alpha
        As in `interpolate_densities`.

    Returns
    -------
    ProjectedCurve
        ``theta``, with the shape of `lam` before the last axis, and ``log_normaliser``.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.manifolds import Normal, projected_curve
    >>> family = Normal()
    >>> start, stop = family.theta(mean=0, sd=1), family.theta(mean=2, sd=0.5)
    >>> curve = projected_curve(family, start, stop, lam=0.5, alpha=3)
    >>> {name: round(value, 6) for name, value in family.usual(curve.theta).items()}
    {'mean': 1.516456, 'sd': 0.522223}
    >>> float(np.exp(curve.log_normaliser).round(6))
    0.258458
    """
    start, stop = family.check(start), family.check(stop)
    lam, alpha = np.asarray(lam, dtype=float), one_alpha(alpha)
    check_lam(lam)
    coarse, _ = _project_at(family, start, stop, lam, alpha, 0)
    for level in range(1, _LEVELS):
        fine, masses = _project_at(family, start, stop, lam, alpha, level)
        if _distance(family, coarse, fine) <= _AGREEMENT:
            _check_masses(start, stop, masses)
            return fine
        coarse = fine
    raise ArithmeticError(
        f"The projection for alpha={alpha:g} between theta={start} and theta={stop} did not "
        "settle as nodes were added. Use ends that are closer or an alpha nearer to 1."
    )


def _check_masses(start: np.ndarray, stop: np.ndarray, masses: np.ndarray) -> None:
    """Refuse nodes that miss part of a density: they end too early at every level alike."""
    if not np.abs(masses - 1).max() <= _AGREEMENT:
        raise ArithmeticError(
            f"The densities of theta={start} and theta={stop} have masses {masses[0]:.10g} and "
            f"{masses[1]:.10g} on the nodes, but both must be 1: part of one lies where x is not "
            "a double, or its logarithm lost its digits. Use ends farther from the boundary of the "
            "family, e.g. for Gamma a shape above 0.04."
        )


def _project_at(
    family: ExponentialFamily,
    start: np.ndarray,
    stop: np.ndarray,
    lam: np.ndarray,
    alpha: float,
    level: int,
) -> tuple[ProjectedCurve, np.ndarray]:
    """Return the curve and the mass that the nodes find in each of the two densities."""
    x, log_weights = family._quadrature(start, stop, level)
    log_p, log_q = family.log_density(x, start), family.log_density(x, stop)
    masses = np.exp([logsumexp(log_density + log_weights) for log_density in (log_p, log_q)])
    theta, log_z = np.empty((lam.size, family.dim)), np.empty(lam.size)
    # one lam at a time: the nodes of a plane are many
    for row, value in enumerate(lam.ravel()):
        density = _interpolate(log_p, log_q, value, alpha, log_weights)
        theta[row] = project(family, x, density.log_density + log_weights)
        log_z[row] = density.log_normaliser
    curve = ProjectedCurve(theta.reshape(*lam.shape, family.dim), log_z.reshape(lam.shape))
    return curve, masses


def _interpolate(
    log_p: np.ndarray, log_q: np.ndarray, lam: Any, alpha: float, log_weights: np.ndarray
) -> InterpolatedDensity:
    log_mean = log_f_mean(log_p, log_q, np.asarray(lam)[..., None], alpha)
    log_z = logsumexp(log_mean + log_weights, axis=-1)
    if not np.isfinite(log_z).all():
        raise ValueError(
            "Got two densities with no node in common, and alpha >= 1: the curve between them is 0 "
            "everywhere. Use alpha < 1, or nodes where both have mass."
        )
    return InterpolatedDensity(log_mean - log_z[..., None], np.asarray(log_z))


def _distance(family: ExponentialFamily, one: ProjectedCurve, two: ProjectedCurve) -> float:
    """Largest difference of the two answers: Fisher length for theta, relative for Z."""
    largest = float(np.max(np.abs(one.log_normaliser - two.log_normaliser), initial=0.0))
    pairs = (answer.theta.reshape(-1, family.dim) for answer in (one, two))
    for first, second in zip(*pairs, strict=True):
        step = second - first
        largest = max(largest, float(np.sqrt(step @ family.metric(second) @ step)))
    return largest
