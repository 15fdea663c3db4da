"""Divergences between two members of an exponential family, from the log-partition alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.integrate import quad_vec

from weighbridge.manifolds._exponential_family import ExponentialFamily
from weighbridge.manifolds._observations import one_alpha
from weighbridge.tables import one_number

# Relative error that the difference of log-partitions may have before it is integrated instead.
_CANCELLATION = 1e-13


def divergence(family: ExponentialFamily, theta1: Any, theta2: Any, alpha: float) -> float:
    """Alpha-divergence ``D_alpha[p1 : p2]`` of two members of a family.

    ``4 / (1 - alpha**2) * (1 - exp(-J))`` with ``J = (1 - alpha)/2 psi(theta1) + (1 + alpha)/2
    psi(theta2) - psi((1 - alpha)/2 theta1 + (1 + alpha)/2 theta2)``: ``KL(p1 : p2)`` at
    ``alpha = -1``, ``KL(p2 : p1)`` at 1, ``4 (1 - BC)`` at 0 and half the chi-squared divergence
    of `p2` from `p1` at 3. Accurate for nearly equal parameters and for alpha next to its limits.

    Parameters
    ----------
    family : ExponentialFamily
        The family.
    theta1, theta2 : array of shape (dim,)
        Natural parameters.
    alpha : float
        Which divergence.

    Returns
    -------
    float
        The divergence, never negative; ``inf`` where the mixed parameter is outside the domain.

    Examples
    --------
    >>> from weighbridge.manifolds import Normal, divergence
    >>> family = Normal()
    >>> p, q = family.theta(mean=0, sd=1), family.theta(mean=2, sd=0.5)
    >>> [round(divergence(family, p, q, alpha), 6) for alpha in (-1, 0, 1, 3)]
    [8.806853, 2.392432, 2.318147, 6.932828]
    """
    share = (1 + one_alpha(alpha)) / 2
    gap = _scaled_gap(family, family.check(theta1), family.check(theta2), share)
    exponent = share * (1 - share) * gap
    if exponent == 0 or math.isinf(gap):
        return gap
    if -exponent > 700:  # the divergence itself may still be a double
        log_size = -exponent + math.log(gap / -exponent)
        return math.exp(log_size) if log_size < 709 else math.inf
    return -gap * math.expm1(-exponent) / exponent


def kullback_leibler(family: ExponentialFamily, p: Any, q: Any) -> float:
    """Kullback-Leibler divergence ``KL(p : q)``, the mean under `p` of ``log p - log q``.

    Parameters
    ----------
    family : ExponentialFamily
        The family.
    p, q : array of shape (dim,)
        Natural parameters.

    Returns
    -------
    float
        The divergence.

    Examples
    --------
    >>> from weighbridge.manifolds import Normal, kullback_leibler
    >>> family = Normal()
    >>> source, target = family.theta(mean=0, sd=1), family.theta(mean=2, sd=0.5)
    >>> round(kullback_leibler(family, target, source), 7)
    2.3181472
    """
    return _scaled_gap(family, family.check(p), family.check(q), 0.0)


def renyi_divergence(family: ExponentialFamily, p: Any, q: Any, order: float) -> float:
    """Renyi divergence ``log(integral of p**order q**(1 - order)) / (order - 1)``.

    Parameters
    ----------
    family, p, q
        As in `kullback_leibler`.
    order : float
        A number >= 0; 1 gives ``KL(p : q)``.

    Returns
    -------
    float
        The divergence; ``inf`` where the integral is.

    Examples
    --------
    >>> from weighbridge.manifolds import Normal, renyi_divergence
    >>> family = Normal()
    >>> source, target = family.theta(mean=0, sd=1), family.theta(mean=2, sd=0.5)
    >>> [round(renyi_divergence(family, target, source, order), 6) for order in (0.5, 1, 2)]
    [1.823144, 2.318147, 2.699054]
    """
    order = one_number(order, "order")
    p, q = family.check(p), family.check(q)
    if not 0 <= order < math.inf:
        raise ValueError(
            f"Got order={order}, but a Renyi divergence has a finite order >= 0; use 1 for the "
            "Kullback-Leibler divergence and swap p and q for a negative order."
        )
    if order == 0:  # all members of a family have the same support
        return 0.0
    return order * _scaled_gap(family, q, p, order)


def d2(family: ExponentialFamily, target: Any, source: Any) -> float:
    """Second moment ``d_2(target || source)`` of the density ratio under the source.

    ``exp(psi(2 t - s) - 2 psi(t) + psi(s))``, one more than the chi-squared divergence; n source
    rows weighted by the ratio have about ``n / d_2`` effective rows.

    Parameters
    ----------
    family : ExponentialFamily
        The family.
    target, source : array of shape (dim,)
        Natural parameters.

    Returns
    -------
    float
        A number >= 1; ``inf`` where the ratio has no second moment.

    Examples
    --------
    >>> from weighbridge.manifolds import Normal, d2
    >>> family = Normal()
    >>> source, target = family.theta(mean=0, sd=1), family.theta(mean=2, sd=0.5)
    >>> round(d2(family, target, source), 7), d2(family, source, target)
    (14.8656558, inf)
    """
    log_moment = renyi_divergence(family, target, source, 2.0)
    return math.exp(log_moment) if log_moment < 709 else math.inf


def bhattacharyya(family: ExponentialFamily, p: Any, q: Any) -> float:
    """Bhattacharyya coefficient, the integral of ``sqrt(p q)``.

    Parameters
    ----------
    family, p, q
        As in `kullback_leibler`.

    Returns
    -------
    float
        1 for equal parameters, closer to 0 the farther apart they are.

    Examples
    --------
    >>> from weighbridge.manifolds import Normal, bhattacharyya
    >>> family = Normal()
    >>> p, q = family.theta(mean=0, sd=1), family.theta(mean=2, sd=0.5)
    >>> round(bhattacharyya(family, p, q), 6)
    0.401892
    """
    return math.exp(-_scaled_gap(family, family.check(p), family.check(q), 0.5) / 4)


def _scaled_gap(
    family: ExponentialFamily, theta1: np.ndarray, theta2: np.ndarray, share: float
) -> float:
    """Return ``J / (share (1 - share))``, which has limits where share is 0 or 1."""
    if np.array_equal(theta1, theta2):
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        middle = (1 - share) * theta1 + share * theta2
    if not family.in_domain(middle):
        return math.inf
    gap, error = _difference(family, theta1, theta2, middle, share)
    if error <= _CANCELLATION * gap:
        return gap
    return _integral(family, theta1, theta2, share)


def _difference(
    family: ExponentialFamily,
    theta1: np.ndarray,
    theta2: np.ndarray,
    middle: np.ndarray,
    share: float,
) -> tuple[float, float]:
    """Return the gap as a difference of log-partitions, and what rounding does to it."""
    psi1, psi2 = float(family.log_partition(theta1)), float(family.log_partition(theta2))
    if share in (0.0, 1.0):
        base, other = (theta1, theta2) if share == 0 else (theta2, theta1)
        slopes = family.expectation(base) * (other - base)
        terms = [*(-slopes), psi2 if share == 0 else psi1, -psi1 if share == 0 else -psi2]
        scale = 1.0
    else:
        terms = [(1 - share) * psi1, share * psi2, -float(family.log_partition(middle))]
        scale = share * (1 - share)
    # theta itself has rounding errors, and psi passes them on
    inherited = [np.abs(point * family.expectation(point)).sum() for point in (theta1, theta2)]
    size = sum(abs(term) for term in terms) + (1 + abs(share)) * float(sum(inherited))
    error = 2.0**-52 * size / abs(scale)
    return math.fsum(terms) / scale, error


def _integral(
    family: ExponentialFamily, theta1: np.ndarray, theta2: np.ndarray, share: float
) -> float:
    """Return the gap as an integral of the squared speed of the straight line."""
    step = theta2 - theta1

    def square(base: np.ndarray, fraction: float) -> float:
        return float(step @ family.metric(base + fraction * step) @ step)

    def integrand(v: float) -> float:
        from_first = share * square(theta1, share * v) if share else 0.0
        from_second = (1 - share) * square(theta2, (share - 1) * v) if share != 1 else 0.0
        return v * (from_first + from_second)

    value, error = quad_vec(integrand, 0.0, 1.0, epsabs=0.0, epsrel=1e-13, limit=200)
    if not error <= 1e-9 * abs(value):
        raise ArithmeticError(
            f"The divergence between theta={theta1} and theta={theta2} did not converge: {value} "
            f"with an error of about {error:.1g}. Use parameters farther from the edge of the "
            "domain."
        )
    return float(value)
