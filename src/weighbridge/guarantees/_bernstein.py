"""The bound for bounded weights and one hypothesis, or a few."""

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
    moment,
    source_rows,
)
from weighbridge.weighting import Geodesic


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
