"""Curves between two normal distributions: what weighted training rows are a sample of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from weighbridge._data import check_count
from weighbridge.manifolds import Normal, interpolate_densities, projected_curve
from weighbridge.pictures._bridge import Arch
from weighbridge.pictures._picture import Picture

ALPHAS = (-1.0, 0.0, 1.0, 3.0)
# Nodes of integrals over both densities, and how many standard deviations they reach.
_NODES = 2001
_REACH = 12.0
# Before a curve is divided evenly, lam goes in equal steps of its log odds, almost to 0 and to 1.
_FINE = np.concatenate([[0.0], expit(np.linspace(-35, 35, 101)), [1.0]])


@dataclass(frozen=True)
class HalfPlane(Picture):
    """Curves of weighted densities, projected on the normal ones by `compute_half_plane`.

    Parameters
    ----------
    alpha : ndarray of shape (n_curves,)
        Which curves.
    lam : ndarray of shape (n_curves, n_points)
        Where on each curve.
    mean, sd : ndarray of shape (n_curves, n_points)
        Mean and standard deviation of the weighted densities, from training to deployment.
    distance : ndarray of shape (n_curves, n_points)
        Divergence (Kullback-Leibler) of a weighted density from the normal one with its mean and
        standard deviation: how far it has left the family.

    Examples
    --------
    >>> from weighbridge.plotting import compute_half_plane
    >>> compute_half_plane((0, 1), (2, 1), n_points=3).mean[:, 1].round(9)
    array([1., 1., 1., 1.])
    """

    alpha: np.ndarray
    lam: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    distance: np.ndarray


def compute_half_plane(
    start: Any, stop: Any, *, alphas: Sequence[float] = ALPHAS, n_points: int = 61
) -> HalfPlane:
    """Follow the weighted densities from one normal distribution to another.

    Parameters
    ----------
    start, stop : (float, float)
        Mean and standard deviation of training and of deployment.
    alphas : sequence of float, default=(-1, 0, 1, 3)
        Which curves: mixture, straight, power and relative.
    n_points : int, default=61
        Points of each curve, about equally far apart.

    Returns
    -------
    HalfPlane
        Mean, standard deviation and distance from the normal family along each curve.

    Examples
    --------
    >>> from weighbridge.plotting import compute_half_plane
    >>> plane = compute_half_plane((0, 1), (2, 0.5))
    >>> dict(zip(plane.alpha.tolist(), plane.distance.max(axis=1).round(2).tolist()))
    {-1.0: 0.22, 0.0: 0.16, 1.0: 0.0, 3.0: 0.07}
    """
    check_count("n_points", n_points, 3)
    if not len(alphas):
        raise ValueError("Got alphas=(), but expected at least one curve to follow.")
    family = Normal()
    first, last = (family.theta(*_pair(*end)) for end in ((start, "start"), (stop, "stop")))
    curves = [_curve(family, first, last, float(alpha), n_points) for alpha in alphas]
    columns = (np.array(column) for column in zip(*curves, strict=True))
    return HalfPlane(np.array(alphas, dtype=float), *columns)


def _pair(end: Any, name: str) -> tuple[float, float]:
    if np.shape(end) != (2,):
        raise ValueError(f"Got {name}={end!r}, but expected a pair: mean and standard deviation.")
    return end[0], end[1]


def _curve(
    family: Normal, start: np.ndarray, stop: np.ndarray, alpha: float, n_points: int
) -> tuple[np.ndarray, ...]:
    """Return lam, mean, standard deviation and distance along one curve."""
    places = np.column_stack(_moments(family, start, stop, alpha, _FINE)[1:])
    steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    lam = Arch(_FINE, np.concatenate([[0.0], np.cumsum(steps)])).even(n_points)
    theta, mean, sd = _moments(family, start, stop, alpha, lam)
    if alpha == 1:  # the curve stays in the family
        return lam, mean, sd, np.zeros(lam.size)
    x = np.linspace((mean - _REACH * sd).min(), (mean + _REACH * sd).max(), _NODES)
    step = np.full(_NODES, x[1] - x[0])
    source, target = (family.log_density(x, end) for end in (start, stop))
    density = interpolate_densities(source, target, lam, alpha, step).log_density
    normal = np.array([family.log_density(x, row) for row in theta])
    distance = (np.exp(density) * (density - normal)) @ step
    # the ends are normal themselves, and a divergence is never below 0
    return lam, mean, sd, np.maximum(distance, 0.0) * (lam > 0) * (lam < 1)


def _moments(
    family: Normal, start: np.ndarray, stop: np.ndarray, alpha: float, lam: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    theta = projected_curve(family, start, stop, lam, alpha).theta
    usual = [family.usual(row) for row in theta]
    mean, sd = (np.array([row[name] for row in usual]) for name in ("mean", "sd"))
    return theta, mean, sd
