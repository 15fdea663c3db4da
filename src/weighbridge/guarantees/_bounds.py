"""Two bounds: for any weights and a class of hypotheses, for bounded weights and a few."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weighbridge._validation import one_number
from weighbridge.guarantees._learning_bound import LearningBound
from weighbridge.guarantees._second_moment import second_moment_bound
from weighbridge.guarantees._terms import (
    Weighting,
    bias_term,
    check_delta,
    largest_weight,
    moment,
    source_rows,
)


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
    bias = bias_term(log_ratio, log_weight, log_losses)
    size = pseudo_dimension * math.log(2 * n * math.e / pseudo_dimension) + math.log(4 / delta)
    complexity = 2**1.25 * (size / n) ** 0.375
    return LearningBound(
        bias=bias,
        second_moment=second_moment,
        complexity=complexity,
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
    log_ratio : array-like of shape (n,)
        Log density ratios at the source rows, of a ratio with mean 1 under the source. A sample
        mean far from 1 (by 10 % and 5 standard errors) gives a `WeightWarning`.
    weighting : callable
        From log ratios to log weights, e.g. a `Geodesic` with ``alpha > 1`` and ``lam < 1``.
    losses : array-like of shape (n,), optional
        Loss of the hypothesis at the source rows, in [0, 1]. Default: the worst case over all
        losses in [0, 1].
    delta : float, default=0.05
        The bound may fail with this probability.
    n_hypotheses : int, default=1
        The hypothesis was chosen by this sample among so many; ``L = log(4 n_hypotheses / delta)``.
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
    largest = largest_weight(weighting, weight_bound, log_weight)
    n = log_ratio.size
    bias = bias_term(log_ratio, log_weight, log_losses)
    level = math.log(4 * n_hypotheses / delta)
    if losses is None:  # the variance of w l is at most its second moment, and that at most w's
        variance = moment(log_weight, log_losses) * n / (n - 1)
    else:
        variance = float(np.exp(log_weight + log_losses).var(ddof=1))
    complexity = math.sqrt(2 * level / n)
    remainder = 7 * largest * level / (3 * (n - 1))
    return LearningBound(
        bias=bias,
        second_moment=variance,
        complexity=complexity,
        remainder=remainder,
        delta=float(delta),
        n=n,
        form="bernstein",
        plug_in=("bias",) if (log_weight != log_ratio).any() else (),
    )
