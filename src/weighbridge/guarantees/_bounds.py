"""Bounds for a class of hypotheses under any weights, and for one, or a few, under bounded ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weighbridge._data import one_number
from weighbridge.geodesic import log_weight_bounds
from weighbridge.guarantees._terms import (
    LearningBound,
    Weighting,
    bias_term,
    check_delta,
    check_log_ratio,
    moment,
    source_rows,
)
from weighbridge.weighting import Geodesic, log_mean


def second_moment_bound(weighting: Weighting, d2: float) -> float:
    """Largest second moment ``E[w**2]`` that a weight can have at a given ``d2 = E[r**2]``.

    ``1 + lam**2 (d2 - 1)`` for a `Geodesic` with ``alpha >= -1``. For ``alpha < -1`` weights are
    larger than those of the mixture, and no such bound holds.

    Parameters
    ----------
    weighting : Geodesic
        The weighting.
    d2 : float
        Second moment of the ratio under the source, at least 1.

    Returns
    -------
    float
        The bound; it is attained at ``alpha = -1``.

    Examples
    --------
    >>> from weighbridge import Geodesic
    >>> from weighbridge.guarantees import second_moment_bound
    >>> second_moment_bound(Geodesic(lam=0.5, alpha=3), d2=5.0)
    2.0
    """
    if not isinstance(weighting, Geodesic):
        raise TypeError(
            f"Got weighting of type {type(weighting).__name__} with d2, which bounds the second "
            "moment of a Geodesic only; leave d2 out."
        )
    if weighting.alpha < -1:
        raise ValueError(
            f"Got alpha={weighting.alpha} with d2, which bounds the second moment for alpha >= -1 "
            "only; use such an alpha, or leave d2 out."
        )
    if not 1 <= one_number(d2, "d2") < math.inf:
        raise ValueError(
            f"Got d2={d2}, but the second moment of a density ratio is a finite number of at "
            "least 1."
        )
    return float(1 + weighting.lam**2 * (d2 - 1))


def d2_from_ratios(log_ratio: Any) -> float:
    """Estimate ``d2 = E[r**2]`` under the source from log ratios at source rows.

    The ratios are scaled to mean 1 first. Few rows miss the largest ratios, so that the estimate is
    usually too low where d2 is large; it is never above the number of rows.

    Parameters
    ----------
    log_ratio : array-like of shape (n,)
        Log density ratios at the source rows; a constant does not matter.

    Returns
    -------
    float
        The mean square of the ratios, ``n / ESS``.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.guarantees import d2_from_ratios
    >>> round(d2_from_ratios(np.log([0.5, 1.5])), 6)
    1.25
    """
    log_ratio = check_log_ratio(log_ratio)
    return float(np.exp(log_mean(2 * (log_ratio - log_mean(log_ratio)))))


def learning_bound(
    log_ratio: Any,
    weighting: Weighting,
    *,
    pseudo_dimension: float,
    losses: Any = None,
    delta: float = 0.05,
    d2: float | None = None,
) -> LearningBound:
    """Bound the gap between target risk and weighted risk for all hypotheses of a class at once.

    For a loss ``l`` in [0, 1], with probability ``1 - delta`` (Cortes, Mansour & Mohri 2010;
    Appendix C of Kimura & Hino, with the loss inside the expectation),

    ``|R - R_w| <= |E[(r - w) l]| + 2**(5/4) * sqrt(max(E[w**2 l**2], mean(w**2 l**2)))
    * ((p log(2 n e / p) + log(4 / delta)) / n) ** (3/8)``.

    It holds for unbounded weights as well, and is often vacuous: look at it, do not act on it.

    Parameters
    ----------
    log_ratio : array-like of shape (n,)
        Log density ratios at the source rows, of a ratio with mean 1 under the source. A sample
        mean far from 1 (by 10 % and 5 standard errors) gives a `WeightWarning`.
    weighting : callable
        From log ratios to log weights, e.g. a `Geodesic`.
    pseudo_dimension : float
        ``p`` of the functions ``x -> w(x) l(h(x), y(x))``, between 1 and ``2 n``. For a linear
        classifier with 0-1 loss, the number of coefficients, the intercept included.
    losses : array-like of shape (n,), optional
        Loss of the hypothesis in question at the source rows, in [0, 1]. Default: the worst case
        over all losses in [0, 1].
    delta : float, default=0.05
        The bound may fail with this probability.
    d2 : float, optional
        ``E[r**2]`` under the source, where it is known. It bounds the second moment of a
        `Geodesic` with ``alpha >= -1``, which otherwise is estimated from the sample.

    Returns
    -------
    LearningBound
        The bound and its parts.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.weighting import IWERM
    >>> from weighbridge.guarantees import learning_bound
    >>> log_ratio = np.random.default_rng(0).standard_normal(100_000) - 0.5
    >>> bound = learning_bound(log_ratio, IWERM(), pseudo_dimension=3, d2=np.e)
    >>> print(bound)
    gap <= 0.212 with probability 0.95
    """
    log_ratio, log_weight, log_losses = source_rows(log_ratio, weighting, losses)
    check_delta(delta)
    n = log_ratio.size
    if not 1 <= one_number(pseudo_dimension, "pseudo_dimension") <= 2 * n:
        raise ValueError(
            f"Got pseudo_dimension={pseudo_dimension}, but it must lie in [1, 2 n] = [1, {2 * n}]: "
            "with fewer rows the theorem says nothing. Use more rows or a smaller class."
        )
    second_moment = moment(log_weight, log_losses)
    plug_in = ["second moment"]
    if d2 is not None:
        second_moment = max(second_moment, second_moment_bound(weighting, d2))
        plug_in = []
    size = pseudo_dimension * math.log(2 * n * math.e / pseudo_dimension) + math.log(4 / delta)
    return LearningBound(
        bias=bias_term(log_ratio, log_weight, log_losses),
        second_moment=second_moment,
        complexity=2**1.25 * (size / n) ** 0.375,
        remainder=0.0,
        delta=float(delta),
        n=n,
        form="cortes",
        # a weight that is the ratio has no bias, in any sample
        plug_in=tuple(["bias"] * bool((log_weight != log_ratio).any()) + plug_in),
    )


def bernstein_bound(
    log_ratio: Any,
    weighting: Weighting,
    *,
    losses: Any = None,
    delta: float = 0.05,
    n_hypotheses: int = 1,
    weight_bound: float | None = None,
) -> LearningBound:
    """Bound the gap between target risk and weighted risk where the weights are bounded.

    For a hypothesis fixed before the sample was seen and a loss ``l`` in [0, 1], with probability
    ``1 - delta`` (Maurer & Pontil 2009, on both sides),

    ``|R - R_w| <= |E[(r - w) l]| + sqrt(2 V L / n) + 7 M L / (3 (n - 1))``, ``L = log(4 / delta)``,

    ``V`` being the sample variance of ``w l`` and ``M`` the largest weight that any ratio can get,
    ``(1 - lam) ** (-2 / (alpha - 1))``.

    Parameters
    ----------
    weighting : callable
        From log ratios to log weights, e.g. a `Geodesic` with ``alpha > 1`` and ``lam < 1``.
    log_ratio, losses, delta
        As in `learning_bound`.
    n_hypotheses : int, default=1
        The hypothesis was chosen by this sample among that many;
        ``L = log(4 n_hypotheses / delta)``.
    weight_bound : float, optional
        ``M`` of a weighting that is not a `Geodesic`; for one it may not be below the largest
        weight that some ratio gets.

    Returns
    -------
    LearningBound
        The bound and its parts.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.weighting import RIWERM
    >>> from weighbridge.guarantees import bernstein_bound
    >>> log_ratio = np.random.default_rng(0).standard_normal(10_000) - 0.5
    >>> print(bernstein_bound(log_ratio, RIWERM(0.5)))
    gap <= 0.315 with probability 0.95; the bias is an estimate from the sample
    """
    log_ratio, log_weight, log_losses = source_rows(log_ratio, weighting, losses)
    check_delta(delta)
    if not one_number(n_hypotheses, "n_hypotheses") >= 1 or n_hypotheses % 1 != 0:
        raise ValueError(
            f"Got n_hypotheses={n_hypotheses}, but it must be a whole number of at least 1."
        )
    largest = _largest_weight(weighting, weight_bound, log_weight)
    n = log_ratio.size
    level = math.log(4 * n_hypotheses / delta)
    if losses is None:  # the variance of w l is at most its second moment, and that at most w's
        variance = moment(log_weight, log_losses) * n / (n - 1)
    else:
        variance = float(np.exp(log_weight + log_losses).var(ddof=1))
    return LearningBound(
        bias=bias_term(log_ratio, log_weight, log_losses),
        second_moment=variance,
        complexity=math.sqrt(2 * level / n),
        remainder=7 * largest * level / (3 * (n - 1)),
        delta=float(delta),
        n=n,
        form="bernstein",
        plug_in=("bias",) if (log_weight != log_ratio).any() else (),
    )


def _largest_weight(
    weighting: Weighting, weight_bound: float | None, log_weight: np.ndarray
) -> float:
    """Largest weight that any ratio can get, not the largest in the sample."""
    if weight_bound is None:
        return _geodesic_bound(weighting)
    weight_bound = one_number(weight_bound, "weight_bound")
    if isinstance(weighting, Geodesic):
        _check_geodesic_bound(weighting, weight_bound)
    largest = float(np.exp(log_weight.max()))
    # a weight at its bound may round to the number above it
    if not 0 < weight_bound < math.inf or largest > weight_bound * (1 + 1e-12):
        raise ValueError(
            f"Got weight_bound={weight_bound}, but the largest weight here is {largest:g}, and "
            "the bound must be a finite number not below any weight that can occur."
        )
    return weight_bound


def _check_geodesic_bound(weighting: Geodesic, weight_bound: float) -> None:
    """Refuse a bound below the largest weight that some ratio gets."""
    known = float(np.exp(log_weight_bounds(weighting.lam, weighting.alpha)[1]))
    if weight_bound < known * (1 - 1e-12):
        raise ValueError(
            f"Got weight_bound={weight_bound:g}, but weights of {weighting!r} go up to {known:g}, "
            "and the largest one in the sample is not a bound. Leave weight_bound out, with "
            "alpha > 1 and lam < 1; if the ratio itself is known to be bounded, pass a function, "
            "lambda log_ratio: weighting(log_ratio), and its bound."
        )


def _geodesic_bound(weighting: Weighting) -> float:
    if not isinstance(weighting, Geodesic):
        raise TypeError(
            f"Got weighting of type {type(weighting).__name__}, whose largest weight is not known; "
            "pass it as weight_bound."
        )
    largest = float(np.exp(log_weight_bounds(weighting.lam, weighting.alpha)[1]))
    if largest == math.inf:
        raise ValueError(
            f"Got weighting={weighting!r}, whose weights have no upper bound; use alpha > 1 with "
            "lam < 1, e.g. RIWERM(0.8), or learning_bound, which takes any weights."
        )
    return largest
