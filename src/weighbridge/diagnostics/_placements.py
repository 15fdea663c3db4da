"""The area under the ROC curve of held-out scores, and how each row moves it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class FoldAuc:
    """AUC over all pairs of a source and a target row that share a fold.

    Scores of different folds come from different models and are never compared.

    Parameters
    ----------
    value : float
        The AUC; 1/2 where no fold has weight in both samples.
    influence : array of shape (n_rows,)
        First-order effect of each row; its squares add up to the variance.
    standard_error : float
        DeLong's standard error, for rows that have weights.
    """

    value: float
    influence: Array
    standard_error: float


def fold_auc(scores: Array, codes: Array, weights: Array, tests: list[Array]) -> FoldAuc:
    """Return the weighted AUC of held-out scores, from the placements of the rows.

    The placement of a target row is the share of the source below it, that of a source row the
    share of the target above it, ties counted by half (DeLong et al. 1988); one sort a fold. The
    AUC is a mean of placements, and its variance that of two independent means.
    """
    placement, share = np.zeros(codes.size), np.zeros(codes.size)
    total = 0.0
    for test in tests:
        is_target = codes[test] == 1
        weight = weights[test]
        sums = [float(weight[~is_target].sum()), float(weight[is_target].sum())]
        if min(sums) <= 0:
            continue
        placement[test] = _placements(scores[test], is_target, weight, sums)
        share[test] = weight * np.where(is_target, sums[0], sums[1])
        total += sums[0] * sums[1]
    if total <= 0:
        return FoldAuc(0.5, np.zeros(codes.size), 0.5)
    share /= total
    # pairs counted from the side of the source; from the target's it is the same number
    value = min(float(share[codes == 0] @ placement[codes == 0]), 1.0)
    influence = share * (placement - value)
    # Samples that are apart without exception, or one row that carries all weight, have influences
    # of zero; half a misplaced row keeps a handful of effective rows from looking certain.
    floor = 0.5 / min(_effective_rows(weights[codes == code]) for code in (0, 1))
    return FoldAuc(value, influence, max(standard_error(influence, codes, weights), floor))


def _placements(scores: Array, is_target: Array, weight: Array, sums: list[float]) -> Array:
    """Return the share of the other sample that a row is on the right side of, in one fold."""
    _, level = np.unique(scores, return_inverse=True)
    source = np.bincount(level, np.where(is_target, 0.0, weight))
    target = np.bincount(level, np.where(is_target, weight, 0.0))
    source_below = (np.cumsum(source) - source / 2) / sums[0]
    target_above = 1 - (np.cumsum(target) - target / 2) / sums[1]
    return np.where(is_target, source_below[level], target_above[level])


def standard_error(influence: Array, codes: Array, weights: Array) -> float:
    """Return the root of the sum of squares, corrected for the mean taken out of each sample."""
    variance = 0.0
    for code in (0, 1):
        part = influence[codes == code]
        effective = _effective_rows(weights[codes == code])
        variance += float(part @ part) / max(1 - 1 / effective, 0.5)
    return math.sqrt(variance)


def _effective_rows(weights: Array) -> float:
    share = weights / weights.sum()
    return 1 / float(share @ share)
