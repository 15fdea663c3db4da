"""Derivatives of the log weight in the log ratio, in lam and in alpha, and autograd by them."""

from __future__ import annotations

import functools
import math
import sys
from typing import Any

import numpy as np

from weighbridge.geodesic._log_weight import (
    FAR,
    NAMES,
    NEAR,
    as_float64,
    elementwise,
    exponent,
    half_gap,
    overwrite,
)
from weighbridge.geodesic._log_weight import log_weight as _without_gradient


def unit_legendre(n: int) -> list[tuple[float, float]]:
    """Return n pairs (node, weight) that integrate polynomials of degree 2n - 1 over [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return [(float(0.5 * (x + 1)), float(0.5 * w)) for x, w in zip(nodes, weights, strict=True)]


# Ten Gauss-Legendre nodes integrate p(1 - p) over |t| <= 1 to the last bit: its poles are pi away.
_LEGENDRE = unit_legendre(10)
# exp(-t) underflows beyond FAR; numerator and denominator are multiplied by exp(SHIFT) there.
_SHIFT = 600.0
# From here on p*t - K loses digits and the form with log(lam) taken out does not.
_LONG = 30.0


@functools.wraps(_without_gradient, assigned=("__doc__",))
def log_weight(log_ratio: Any, lam: Any, alpha: Any) -> Any:
    inputs = (log_ratio, lam, alpha)
    wanted = tuple(getattr(value, "requires_grad", False) is True for value in inputs)
    if any(wanted):  # Such a value is a tensor, so torch is imported.
        return _with_gradient(sys.modules["torch"]).apply(wanted, *inputs)[0]
    return _without_gradient(*inputs)


@functools.cache
def _with_gradient(torch: Any) -> Any:
    """Return the log weight as a function of autograd: branches of the formula have no gradient."""

    class LogWeight(torch.autograd.Function):
        @staticmethod
        def forward(wanted: tuple[bool, ...], *inputs: Any) -> Any:
            plain = [value.detach() if hasattr(value, "detach") else value for value in inputs]
            result = _without_gradient(*plain)
            arrays = [as_float64(value, name) for value, name in zip(plain, NAMES, strict=True)]
            slopes = [
                torch.as_tensor(derivative(*arrays), device=result.device)
                for derivative, is_wanted in zip(_DERIVATIVES, wanted, strict=True)
                if is_wanted
            ]
            return result, *slopes

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.mark_non_differentiable(*output[1:])
            ctx.save_for_backward(*output[1:])
            ctx.likes = [
                (value.shape, value.dtype) if is_wanted else None
                for value, is_wanted in zip(inputs[1:], inputs[0], strict=True)
            ]

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, gradient: Any, *_: Any) -> tuple[Any, ...]:
            slopes, found = iter(ctx.saved_tensors), [None]
            for like in ctx.likes:
                part = None
                if like is not None:
                    part = gradient.double() * next(slopes)
                    # A weight of 0 has no slope in its logarithm, steep as that may be.
                    part = torch.where(gradient == 0, 0.0, part).sum_to_size(like[0]).to(like[1])
                found.append(part)
            return tuple(found)

    return LogWeight


def log_weight_d_log_ratio(log_ratio: Any, lam: Any, alpha: Any) -> Any:
    """Derivative of the log weight in the log ratio, a number in [0, 1].

    It is ``p = sigmoid(k * log_ratio + logit(lam))`` with ``k = (1 - alpha) / 2``: an error in the
    log ratio is never amplified on its way to the log weight.

    Parameters
    ----------
    log_ratio, lam, alpha : float or array
        As in `log_weight`; they broadcast.

    Returns
    -------
    array
        ``d log w / d log r``.

    Examples
    --------
    >>> from weighbridge.geodesic import log_weight_d_log_ratio
    >>> log_weight_d_log_ratio([-5.0, 0.0, 5.0], lam=0.5, alpha=3).round(4)  # flat at the top
    array([0.9933, 0.5   , 0.0067])
    """
    return elementwise(_d_log_ratio, log_ratio, lam, alpha)


def log_weight_d_lam(log_ratio: Any, lam: Any, alpha: Any) -> Any:
    """Derivative of the log weight in lam; it has the sign of the log ratio.

    ``expm1(t) / (k (1 - lam + lam exp(t)))`` with ``k = (1 - alpha) / 2``, ``t = k * log_ratio``,
    and ``log_ratio`` itself at ``alpha = 1``.

    Parameters
    ----------
    log_ratio, lam, alpha : float or array
        As in `log_weight`; they broadcast.

    Returns
    -------
    array
        ``d log w / d lam``.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.geodesic import log_weight_d_lam
    >>> log_weight_d_lam(np.log([0.5, 1.0, 2.0]), lam=0.5, alpha=-1).round(4)  # (r - 1)/mean(1, r)
    array([-0.6667,  0.    ,  0.6667])
    """
    return elementwise(_d_lam, log_ratio, lam, alpha)


def log_weight_d_alpha(log_ratio: Any, lam: Any, alpha: Any) -> Any:
    """Derivative of the log weight in alpha; it is never positive.

    ``-(p log_ratio - log w) / (2 k)``, and ``-lam (1 - lam) log_ratio**2 / 4`` at ``alpha = 1``.

    Parameters
    ----------
    log_ratio, lam, alpha : float or array
        As in `log_weight`; they broadcast.

    Returns
    -------
    array
        ``d log w / d alpha``.

    Examples
    --------
    >>> from weighbridge.geodesic import log_weight_d_alpha
    >>> log_weight_d_alpha([-2.0, 0.0, 2.0], lam=0.5, alpha=1)
    array([-0.25, -0.  , -0.25])
    """
    return elementwise(_d_alpha, log_ratio, lam, alpha)


_DERIVATIVES = (log_weight_d_log_ratio, log_weight_d_lam, log_weight_d_alpha)


def share(t: Any, lam: Any) -> Any:
    """Return ``p = sigmoid(t + logit(lam))`` without forming the logit."""
    part = lam * np.exp(t)
    out = part / ((1 - lam) + part)
    out = overwrite(out, t > 0, lambda t, lam: lam / (lam + (1 - lam) * np.exp(-t)), t, lam)
    out = overwrite(out, t > FAR, _far_share, t, lam)
    out = overwrite(out, lam == 0, np.zeros_like, t)
    return overwrite(out, lam == 1, np.ones_like, t)


def _far_share(t: Any, lam: Any) -> Any:
    part = lam * math.exp(_SHIFT)
    return part / (part + (1 - lam) * np.exp(_SHIFT - t))


def _d_log_ratio(s: Any, lam: Any, alpha: Any, work: Any) -> Any:
    k, _ = half_gap(alpha)
    return share(exponent(np, k, s), lam)


def _d_lam(s: Any, lam: Any, alpha: Any, work: Any) -> Any:
    k, _ = half_gap(alpha)
    t = exponent(np, k, s)
    out = np.expm1(t) / ((1 - lam) + lam * np.exp(t)) / k
    out = overwrite(out, t > 0, _d_lam_above, t, lam, k)
    out = overwrite(out, t > FAR, _d_lam_far, t, lam, k)
    return overwrite(out, np.abs(t) < NEAR, lambda s, t, lam: s * (1 + (0.5 - lam) * t), s, t, lam)


def _d_lam_above(t: Any, lam: Any, k: Any) -> Any:
    return -np.expm1(-t) / ((1 - lam) * np.exp(-t) + lam) / k


def _d_lam_far(t: Any, lam: Any, k: Any) -> Any:
    scale = math.exp(_SHIFT)
    return (scale / k) / ((1 - lam) * np.exp(_SHIFT - t) + lam * scale)


def _d_alpha(s: Any, lam: Any, alpha: Any, work: Any) -> Any:
    k, _ = half_gap(alpha)
    t = exponent(np, k, s)
    # p*s - log w is the same at (1 - lam, -s); with lam <= 1/2 nothing cancels
    small = np.where(lam > 0.5, 1 - lam, lam)
    turned = np.where(lam > 0.5, -t, t)
    p = share(turned, small)
    u = turned + np.log(small)
    growth = small * np.expm1(turned)
    growth = overwrite(growth, turned > FAR, lambda u, lam: np.exp(u) - lam, u, small)
    out = _product(p, turned) - np.log1p(growth)
    out = overwrite(out, (turned > _LONG) & (u > 0), _long_gap, turned, small)
    out = -out / k / k / 2
    out = overwrite(out, np.abs(t) < 1, _short_d_alpha, s, turned, small)
    return overwrite(out, small == 0, np.zeros_like, s)


def _product(p: Any, t: Any) -> Any:
    return overwrite(p * t, p == 0, np.zeros_like, p)


def _long_gap(t: Any, lam: Any) -> Any:
    log_lam = np.log(lam)
    rest = (1 - lam) * np.exp(-(t + log_lam))
    return -log_lam - np.log1p(rest) - _product(rest / (1 + rest), t)


def _short_d_alpha(s: Any, t: Any, lam: Any) -> Any:
    # p*t - K(t) is the integral of u p(u)(1 - p(u)) from 0 to t: a sum of positive terms
    total = np.zeros_like(t)
    for node, weight in _LEGENDRE:
        p = share(node * t, lam)
        total = total + (node * weight) * p * (1 - p)
    return -(s * total) * s / 2
