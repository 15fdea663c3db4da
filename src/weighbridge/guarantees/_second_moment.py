"""d2, the second moment of the ratio, and what it says of the weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weighbridge._validation import one_number
from weighbridge.guarantees._terms import Weighting, check_log_ratio
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
