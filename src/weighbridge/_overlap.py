"""Can the weights be trusted? Effective sample size, Pareto k-hat, and the warning."""

from __future__ import annotations

import math
import sys
import warnings

import numpy as np

from weighbridge.exceptions import OverlapWarning

# A mean over fewer effective rows than this says little about any distribution.
FEW_ROWS = 20
# With fewer rows the limit for k-hat lies next to the 1/2 that k-hat is drawn to.
FEW_FOR_TAIL = 250
# The mean of an estimated ratio over the source sample; 1 if all is well.
APART = 0.1
# Share of target rows whose ratio exceeds by far that of next to all source rows; with fewer source
# rows than this the largest of their ratios are anything.
OUTSIDE = 1 / 3
FEW_FOR_LARGEST = 30


def effective_sample_size(weights: np.ndarray) -> float:
    """Kish's effective sample size, ``sum(w)**2 / sum(w**2)``."""
    weights = np.asarray(weights, dtype=float)
    scaled = weights / weights.max()
    return float(scaled.sum() ** 2 / (scaled**2).sum())


def pareto_k(weights: np.ndarray) -> float:
    """Shape k of the generalised Pareto distribution fitted to the largest weights.

    The tail is the largest ``min(n / 5, 3 sqrt(n))`` weights; the fit is the quasi-Bayesian one of
    Zhang & Stephens (2009), drawn towards 1/2 by ten pseudo-observations as in Pareto-smoothed
    importance sampling. NaN where fewer than five weights exceed the threshold. The variance of a
    weighted mean is infinite from k = 1/2 on, its value meaningless from about 0.7 on.
    """
    weights = np.sort(np.asarray(weights, dtype=float))
    tail = min(math.ceil(min(weights.size / 5, 3 * math.sqrt(weights.size))), weights.size - 1)
    if tail < 5:
        return math.nan
    excess = weights[-tail:] - weights[-tail - 1]
    excess = excess[excess > 0]
    if excess.size < 5:
        return math.nan
    k = _zhang_stephens(excess / excess[-1])
    return (excess.size * k + 10 * 0.5) / (excess.size + 10)


def _zhang_stephens(excess: np.ndarray) -> float:
    """Posterior mean of the shape, for sorted exceedances whose largest is 1."""
    n = excess.size
    m = 30 + int(math.sqrt(n))
    quartile = excess[int(n / 4 + 0.5) - 1]
    grid = 1 + (1 - np.sqrt(m / (np.arange(1, m + 1) - 0.5))) / (3 * quartile)
    shape = np.log1p(-grid[:, None] * excess).mean(axis=1)
    profile = n * (np.log(-grid / shape) - shape - 1)
    posterior = np.exp(profile - profile.max())
    theta = (posterior * grid).sum() / posterior.sum()
    return float(np.log1p(-theta * excess).mean())


def pareto_threshold(n: int) -> float:
    """Largest k-hat at which n weights are still reliable: ``min(1 - 1/log10(n), 0.7)``."""
    return min(1 - 1 / math.log10(n), 0.7) if n > 10 else 0.0


def users_line() -> int:
    """Return the stacklevel, seen from a function that warns, of the line outside this package."""
    level, frame = 1, sys._getframe(1)
    # scikit-learn puts a frame of its own around a fit that callbacks may listen to
    ours = ("weighbridge.", "sklearn.callback.")
    while frame.f_back is not None and frame.f_globals["__name__"].startswith(ours):
        level, frame = level + 1, frame.f_back
    return level


def warn_if_apart(log_mean_ratio: float) -> None:
    """Warn when an estimated ratio is almost 0 on the whole source sample.

    Scaling it to mean 1 afterwards would hide that the samples have nothing in common.
    """
    if log_mean_ratio < math.log(APART):
        warnings.warn(
            f"WB302 the estimated ratio averages {math.exp(log_mean_ratio):.1e} on the source "
            "rows, where a density ratio averages 1: almost no source row lies where the target "
            "is. Check that X and X_target have the same columns in the same units (an "
            "ImportanceWeighted model goes outside a pipeline), and whether one feature (an id, a "
            "date) tells them apart.",
            OverlapWarning,
            stacklevel=users_line(),
        )


def outside_share(
    at_source: np.ndarray, at_target: np.ndarray, log_far: float, rank: int = 5
) -> float:
    """Return the share of target rows whose log ratio exceeds the source's by far.

    The source's is the fifth largest: a few rows on the wrong side are no overlap.
    """
    rank = min(rank, max(1, at_source.size // 20))
    largest = np.partition(at_source, -rank)[-rank]
    return float((at_target > largest + log_far).mean())


def warn_if_outside(share: float) -> None:
    """Warn when many target rows have a far larger ratio than next to all source rows."""
    if share > OUTSIDE:
        warnings.warn(
            f"WB302 {share:.0%} of the target rows have a far larger ratio than all but a few "
            "source rows: hardly any source row lies where they are, and no weights can stand for "
            "them. Check that X and "
            "X_target have the same columns in the same units, and whether one feature (an id, a "
            "date) tells them apart.",
            OverlapWarning,
            stacklevel=users_line(),
        )


def warn_if_untrustworthy(weights: np.ndarray, own: np.ndarray | None, log_cap: float) -> None:
    """Warn when few rows carry the weights, or a weight without a useful cap has a heavy tail.

    `weights` include the user's `own`, which may be uneven without any lack of overlap.
    """
    ess = effective_sample_size(weights)
    before = weights.size if own is None else effective_sample_size(own)
    if ess < min(FEW_ROWS, before / 2):
        warnings.warn(
            f"WB303 the weights are worth {ess:.1f} of {weights.size} rows, and the largest "
            f"carries {weights.max() / weights.sum():.0%} of the total: a few rows decide the fit. "
            "Move toward the unweighted model (a smaller lam, or alpha > 1, which caps every "
            "weight: RIWERM(0.8) caps them at 5, before they are scaled to mean 1), or check "
            "whether one feature alone tells the samples apart, and that the ratio is on the log "
            "scale.",
            OverlapWarning,
            stacklevel=users_line(),
        )
        return
    # A cap below n/20 guarantees 20 effective rows. The shape of a tail is a guess with few rows,
    # and beside the point where the weights are nearly even.
    capped = log_cap <= math.log(weights.size / FEW_ROWS)
    if capped or weights.size < FEW_FOR_TAIL or ess > 0.7 * before:
        return
    k, limit = pareto_k(weights), pareto_threshold(weights.size)
    if k > limit:
        warnings.warn(
            f"WB301 the weights have a heavy tail (Pareto k-hat {k:.2f}, reliable below "
            f"{limit:.2f}; worth {ess:.1f} of {weights.size} rows): another sample would give "
            "quite another fit. Use alpha > 1, which caps every weight, a smaller lam, or more "
            "source rows where the target lies.",
            OverlapWarning,
            stacklevel=users_line(),
        )
