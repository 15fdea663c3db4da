"""Means along an alpha-geodesic, and the divergence that goes with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from weighbridge.geodesic._derivatives import unit_legendre
from weighbridge.geodesic._log_weight import (
    as_float64,
    check_alpha,
    check_lam,
    log_weight,
)

_LEGENDRE = unit_legendre(12)


def log_f_mean(log_a: Any, log_b: Any, lam: Any, alpha: Any) -> Any:
    """Log of the f-interpolation ``m_f^(lam, alpha)(a, b)`` of two positive numbers.

    ``m = ((1 - lam) a**k + lam b**k) ** (1/k)`` with ``k = (1 - alpha) / 2``, the geometric mean at
    ``alpha = 1`` (Kimura & Hino, Definition 4.1): arithmetic at -1, harmonic at 3.

    Parameters
    ----------
    log_a, log_b : float or array
        Logarithms of the two ends; ``-inf`` stands for 0.
    lam, alpha : float or array
        Position and curve; everything broadcasts.

    Returns
    -------
    array
        ``log m``.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.geodesic import log_f_mean
    >>> np.exp(log_f_mean(np.log(2), np.log(8), lam=0.5, alpha=[-1, 0, 1, 3])).round(4)
    array([5. , 4.5, 4. , 3.2])
    """
    log_a, log_b, lam, alpha = _arrays(log_a=log_a, log_b=log_b, lam=lam, alpha=alpha)
    check_lam(lam)
    check_alpha(alpha)
    _check_logarithms(log_a, "log_a")
    _check_logarithms(log_b, "log_b")
    log_a, log_b, lam, alpha = np.broadcast_arrays(log_a, log_b, lam, alpha)
    k = (1 - alpha) / 2
    vanishing = log_a == -np.inf
    with np.errstate(all="ignore"):
        gap = np.where(vanishing, np.zeros_like(log_a), log_b - log_a)
        # a = 0 leaves lam**(1/k) b where powers are positive, and 0 where one of them is infinite
        only_b = np.where(k > 0, log_b + np.log(lam) / k, -np.inf)
        only_b = np.where(lam == 1, log_b, only_b)
        mean = log_a + log_weight(gap, lam, alpha)
    return np.where(vanishing, only_b, mean)[()]


def alpha_representation(log_m: Any, alpha: Any) -> Any:
    """Alpha-representation ``f_alpha(m)`` of positive numbers, given by their logarithms.

    ``m ** ((1 - alpha) / 2)``, and ``log m`` at ``alpha = 1`` (Kimura & Hino, equation 10 and
    Definition 4.3). The representation of ``-alpha`` is the dual coordinate ``eta`` (equation 17):
    the gradient of ``psi = (1 - alpha)/2 sum m``, whose Legendre dual is ``(1 + alpha)/2 sum m``,
    for every alpha but 1 and -1.

    Parameters
    ----------
    log_m, alpha : float or array
        Logarithms (``-inf`` stands for 0) and representation; both broadcast.

    Returns
    -------
    array
        ``f_alpha(m)``; ``inf`` for ``m = 0`` and ``alpha > 1``.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.geodesic import alpha_representation
    >>> alpha_representation(np.log(4.0), alpha=[-1, 0, 1, 3]).round(4)
    array([4.    , 2.    , 1.3863, 0.25  ])
    """
    log_m, alpha = _arrays(log_m=log_m, alpha=alpha)
    check_alpha(alpha)
    _check_logarithms(log_m, "log_m")
    log_m, alpha = np.broadcast_arrays(log_m, alpha)
    with np.errstate(all="ignore"):
        value = np.where(alpha == 1, log_m, np.exp((1 - alpha) / 2 * log_m))
    if np.any((log_m > -np.inf) & (alpha != 1) & ((value == 0) | (value == np.inf))):
        raise ValueError(
            "Got log_m and alpha for which m ** ((1 - alpha)/2) leaves the range of double "
            "precision; add a constant to log_m, or use an alpha nearer to 1."
        )
    return value[()]


def from_alpha_representation(value: Any, alpha: Any) -> Any:
    """Log of the numbers with this alpha-representation, the inverse of `alpha_representation`.

    Parameters
    ----------
    value, alpha : float or array
        ``f_alpha(m)`` and the representation; both broadcast.

    Returns
    -------
    array
        ``log m``.

    Examples
    --------
    >>> from weighbridge.geodesic import from_alpha_representation
    >>> from_alpha_representation([4.0, 2.0, 1.3863, 0.25], alpha=[-1, 0, 1, 3]).round(4)
    array([1.3863, 1.3863, 1.3863, 1.3863])
    """
    value, alpha = _arrays(value=value, alpha=alpha)
    check_alpha(alpha)
    value, alpha = np.broadcast_arrays(value, alpha)
    k = np.where(alpha == 1, np.ones_like(alpha), (1 - alpha) / 2)
    with np.errstate(all="ignore"):
        log_m = np.where(alpha == 1, value, np.log(value) / k)
    if np.any(np.isnan(log_m) | (log_m == np.inf)):
        raise ValueError(
            "Got a value that represents no finite number m >= 0; it must be a number >= 0, inf "
            "only for alpha > 1 and 0 only for alpha < 1, and at alpha = 1 any but +inf."
        )
    return log_m[()]


def alpha_geodesic(p: Any, q: Any, lam: Any, alpha: Any) -> Any:
    """Point of the alpha-geodesic from one probability vector to another.

    The f-interpolation of the two vectors, divided by its sum (Kimura & Hino, Definition 4.4).

    Parameters
    ----------
    p, q : array of shape (..., n_cells)
        Probability vectors along the last axis.
    lam, alpha : float or array
        Position and curve; they broadcast against the axes of `p` and `q` before the last.

    Returns
    -------
    array of shape (..., n_cells)
        Probability vectors.

    Examples
    --------
    >>> from weighbridge.geodesic import alpha_geodesic
    >>> alpha_geodesic([0.9, 0.1], [0.1, 0.9], lam=[0.0, 0.5, 1.0], alpha=3)
    array([[0.9, 0.1],
           [0.5, 0.5],
           [0.1, 0.9]])
    """
    p, q, lam, alpha = _arrays(p=p, q=q, lam=lam, alpha=alpha)
    _check_probabilities(p, "p")
    _check_probabilities(q, "q")
    with np.errstate(divide="ignore"):
        log_p, log_q = np.log(p), np.log(q)
    log_mean = log_f_mean(log_p, log_q, lam[..., None], alpha[..., None])
    top = np.max(log_mean, axis=-1, keepdims=True)
    if np.any(top == -np.inf):
        raise ValueError(
            "Got p and q with no cell in common, and alpha >= 1: the curve between them is 0 "
            "everywhere. Use alpha < 1."
        )
    mean = np.exp(log_mean - top)
    return mean / np.sum(mean, axis=-1, keepdims=True)


def alpha_divergence(p: Any, q: Any, alpha: Any) -> Any:
    """Alpha-divergence ``D_alpha[p : q]`` of two probability vectors.

    ``4 / (1 - alpha**2) * (1 - sum(p**((1 - alpha)/2) * q**((1 + alpha)/2)))``, with the limits
    ``KL(p : q)`` at ``alpha = -1`` and ``KL(q : p)`` at ``alpha = 1``. Accurate for nearly equal
    vectors and for alpha next to its limits.

    Parameters
    ----------
    p, q : array of shape (..., n_cells)
        Probability vectors along the last axis.
    alpha : float or array
        Broadcasts against the axes of `p` and `q` before the last.

    Returns
    -------
    array
        The divergence, never negative; ``inf`` where cells of probability 0 make it so.

    Examples
    --------
    >>> from weighbridge.geodesic import alpha_divergence
    >>> alpha_divergence([0.5, 0.5], [0.9, 0.1], alpha=[-1, 0, 1]).round(6)
    array([0.510826, 0.422291, 0.368064])
    """
    p, q, alpha = _arrays(p=p, q=q, alpha=alpha)
    _check_probabilities(p, "p")
    _check_probabilities(q, "q")
    check_alpha(alpha)
    p, q, alpha = np.broadcast_arrays(p, q, alpha[..., None])
    # D_alpha[p : q] = D_-alpha[q : p]: turn it so that the exponent k of the ratio is at most 1/2
    turn = alpha < 0
    p, q = np.where(turn, q, p), np.where(turn, p, q)
    k = (1 - np.abs(alpha)) / 2
    with np.errstate(all="ignore"):
        terms = _divergence_terms(p, q, k)
    return np.sum(terms, axis=-1)


def _divergence_terms(p: Any, q: Any, k: Any) -> Any:
    """Return ``(k p + (1 - k) q - p**k q**(1 - k)) / (k (1 - k))``, each term >= 0."""
    step = (p - q) / q
    # for p near q the difference of two logarithms would cancel
    ell = np.where(np.abs(step) <= 0.5, np.log1p(step), np.log(p) - np.log(q))
    growth = np.where(k == 0, ell, np.expm1(k * ell) / k)
    direct = (p - q - np.where(q == 0, np.zeros_like(q), q * growth)) / (1 - k)
    # for p near q the three terms cancel; their integral form is a sum of positive terms
    close = (np.abs(ell) <= 1) & (np.abs(k * ell) <= 1)
    safe = np.where(close, ell, np.zeros_like(ell))
    total = np.zeros_like(ell)
    for node, weight in _LEGENDRE:
        u = node * safe
        total = total + weight * np.exp(k * u) * np.expm1((1 - k) * u)
    return np.where(close, q * safe * total / (1 - k), direct)


def _check_logarithms(value: Any, name: str) -> None:
    if np.any(np.isnan(value) | (value == np.inf)):
        raise ValueError(
            f"Got {name} with NaN or +inf; it must hold logarithms of finite numbers (-inf for 0)."
        )


def _check_probabilities(p: Any, name: str) -> None:
    if p.ndim == 0 or np.any(~(p >= 0) | (p == np.inf)):
        raise ValueError(
            f"Got {name} that is not a vector of probabilities; every entry must be a finite "
            "number >= 0."
        )
    total = np.sum(p, axis=-1)
    off = float(np.max(np.abs(total - 1)))
    if off > 1e-6:
        raise ValueError(
            f"Got {name} that sums to 1 only up to {off:.3g}; divide it by its sum first."
        )


def _arrays(**values: Any) -> list[np.ndarray]:
    return [as_float64(value, name) for name, value in values.items()]
