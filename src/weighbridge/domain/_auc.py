"""The AUC of held-out scores that distinguish two samples, and its standard error."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def fold_auc(
    scores: Array, codes: Array, weights: Array, tests: list[Array]
) -> tuple[float, Array, float]:
    """Return the AUC over the pairs that share a fold, each row's influence, the standard error.

    With ``a_i`` the weight of row i times that of the other sample in its fold, and the placement
    ``p_i`` the share of the other sample that row i is on the right side of, the AUC is
    ``A = sum_i a_i p_i / sum_i a_i`` over either sample, and the influence is ``a_i (p_i - A)``
    over the same sum (DeLong et al. 1988).
    """
    placement, share = np.zeros(codes.size), np.zeros(codes.size)
    total = 0.0
    for test in tests:
        is_target, weight = codes[test] == 1, weights[test]
        sums = [float(weight[~is_target].sum()), float(weight[is_target].sum())]
        if min(sums) <= 0:
            continue
        placement[test] = _placements(scores[test], is_target, weight, sums)
        share[test] = weight * np.where(is_target, sums[0], sums[1])
        total += sums[0] * sums[1]
    if total <= 0:
        return 0.5, np.zeros(codes.size), 0.5
    share /= total
    auc = min(float(share[codes == 0] @ placement[codes == 0]), 1.0)
    influence = share * (placement - auc)
    # Separate samples, or one row with all of the weight, have influences of zero. Half a misplaced
    # row keeps a few effective rows from looking certain.
    floor = 0.5 / min(_effective_rows(weights[codes == code]) for code in (0, 1))
    return auc, influence, max(standard_error(influence, codes, weights), floor)


def _placements(scores: Array, is_target: Array, weight: Array, sums: list[float]) -> Array:
    """Return the share of the other sample that each row of a fold is on the right side of."""
    _, level = np.unique(scores, return_inverse=True)
    source = np.bincount(level, np.where(is_target, 0.0, weight))
    target = np.bincount(level, np.where(is_target, weight, 0.0))
    source_below = (np.cumsum(source) - source / 2) / sums[0]
    target_above = 1 - (np.cumsum(target) - target / 2) / sums[1]
    return np.where(is_target, source_below[level], target_above[level])


def standard_error(influence: Array, codes: Array, weights: Array) -> float:
    """Return ``sqrt(sum_i influence_i**2)``, corrected for the mean of each sample."""
    variance = 0.0
    for code in (0, 1):
        of_sample = influence[codes == code]
        effective = _effective_rows(weights[codes == code])
        variance += float(of_sample @ of_sample) / max(1 - 1 / effective, 0.5)
    return math.sqrt(variance)


def _effective_rows(weights: Array) -> float:
    share = weights / weights.sum()
    return 1 / float(share @ share)
