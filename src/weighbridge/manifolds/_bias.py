"""The geometric bias of a weighting (Kimura & Hino, section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from weighbridge.manifolds._collocation import AlphaGeodesic
from weighbridge.manifolds._exponential_family import ExponentialFamily
from weighbridge.manifolds._observations import one_alpha, one_lam


@dataclass(frozen=True, eq=False)
class GeometricBias:
    """Bias of a weighting, split along and across the alpha-geodesic; see `geometric_bias`.

    Attributes
    ----------
    geodesic : float
        ``1 - lam``, the coefficient of `e_1`.
    curvature : float
        ``(1 - lam)`` times the scalar curvature of the alpha-connection at the target, the
        coefficient of `e_2`.
    e_1 : ndarray of shape (dim,) or None
        Unit vector at the target along the alpha-geodesic from the source, in natural coordinates;
        None if there is none.
    e_2 : ndarray of shape (dim,) or None
        A unit vector orthogonal to `e_1` in the Fisher metric. None without `e_1`, and in dimension
        1, where there is none.
    reason : str
        Why there is no `e_1`: source and target are equal, no alpha-geodesic exists (which is known
        only between normals), or none was found. Empty if there is one.

    Examples
    --------
    >>> from weighbridge.manifolds import Poisson, geometric_bias
    >>> family = Poisson()
    >>> source, target = family.theta(rate=1), family.theta(rate=4)
    >>> geometric_bias(family, source, target, lam=0.5, alpha=1).vector
    array([0.25])
    >>> geometric_bias(family, source, source, lam=0.5, alpha=1).reason
    'Source and target are equal.'
    """

    geodesic: float
    curvature: float
    e_1: np.ndarray | None
    e_2: np.ndarray | None
    reason: str = ""

    @property
    def vector(self) -> np.ndarray | None:
        """The whole bias, ``geodesic * e_1 + curvature * e_2``; None without a direction."""
        if self.e_1 is None:
            return None
        along = self.geodesic * self.e_1
        return along if self.e_2 is None else along + self.curvature * self.e_2


def geometric_bias(
    family: ExponentialFamily, source: Any, target: Any, lam: float, alpha: float
) -> GeometricBias:
    """Geodesic and curvature bias of the weighting ``(lam, alpha)`` from source to target.

    The geodesic bias is ``(1 - lam) e_1``, the curvature bias ``(1 - lam) S e_2`` with ``S`` the
    trace of the Ricci tensor of the alpha-connection (Kimura & Hino, Propositions 4.2 and 4.3). The
    paper does not say where ``S`` is taken; here it is the target, which the bias is measured
    from, so that both numbers exist for every pair.

    The curvature of the alpha-connection is ``(1 - alpha**2)`` times the Riemannian one: the
    paper's proof has the factor ``(1 - alpha**2) / 4`` and its result prints
    ``(1 - alpha**2) / 2``, twice as much. The curvature bias vanishes for AIWERM (``alpha = 1``)
    and for the mixture (``alpha = -1``) alike; RIWERM (``alpha = 3``) between normals has
    ``8 (1 - lam)``.

    Parameters
    ----------
    family : ExponentialFamily
        The family of both densities.
    source, target : array of shape (dim,)
        Natural parameters.
    lam, alpha : float
        The weighting.

    Returns
    -------
    GeometricBias
        Both numbers, the two directions and their sum.

    Examples
    --------
    >>> from weighbridge.manifolds import Normal, geometric_bias
    >>> family = Normal()
    >>> source, target = family.theta(mean=0, sd=1), family.theta(mean=1, sd=1)
    >>> riwerm = geometric_bias(family, source, target, lam=0.5, alpha=3)
    >>> riwerm.geodesic, round(riwerm.curvature, 12)
    (0.5, 4.0)
    >>> riwerm.vector.round(3)
    array([-6.928,  2.514])
    >>> geometric_bias(family, source, target, lam=0.5, alpha=1).curvature
    0.0
    """
    source, target = family.check(source), family.check(target)
    lam, alpha = one_lam(lam), one_alpha(alpha)
    left = 1.0 - lam
    scalar = family.scalar_curvature(target, alpha) if abs(alpha) != 1 else 0.0
    try:
        return GeometricBias(left, left * scalar, *_frame(family, source, target, alpha))
    except ArithmeticError as error:  # the two numbers stand, the directions are not known
        return GeometricBias(left, left * scalar, None, None, str(error))


def _frame(
    family: ExponentialFamily, source: np.ndarray, target: np.ndarray, alpha: float
) -> tuple[np.ndarray, np.ndarray | None]:
    if np.array_equal(source, target):
        raise ArithmeticError("Source and target are equal.")
    velocity = AlphaGeodesic(family, source, target, alpha).velocities(1.0)
    # with the metric g = K K', vectors are orthonormal if they are K'^-1 times orthonormal ones
    factor = family._frame(target)
    along = factor.T @ velocity
    along /= np.linalg.norm(along)
    e_1 = np.linalg.solve(factor.T, along)
    if family.dim == 1:
        return e_1, None
    axis = np.zeros(family.dim)
    axis[np.argmin(np.abs(along))] = 1.0
    across = axis - (axis @ along) * along
    across /= np.linalg.norm(across)
    return e_1, np.linalg.solve(factor.T, across)
