"""The quantile of weighted scores that every row of the target is compared with."""

from __future__ import annotations

import numpy as np

# Sums of weights and products with a decimal coverage are right up to their last bits: a share that
# misses the coverage by less than this reaches it.
SLACK = 1e-12


def thresholds(
    scores: np.ndarray, weights: np.ndarray, ratio: np.ndarray, coverage: float
) -> np.ndarray:
    """Return the quantile of the scores for each new row, infinite where they do not reach it.

    A new row of ratio ``r`` adds its own mass at infinity, so that the scores have the masses
    ``w_i / (sum w + r)``; the threshold is the smallest score up to which they add up to the
    coverage (Tibshirani, Barber, Candes & Ramdas 2019).

    Parameters
    ----------
    scores : ndarray of shape (n_calibration,)
        Scores of the calibration rows.
    weights : ndarray of shape (n_calibration,)
        Their weights, with a positive sum.
    ratio : ndarray of shape (n_samples,)
        Ratio at the new rows, on the scale of the weights; may be infinite.
    coverage : float
        Between 0 and 1.

    Returns
    -------
    ndarray of shape (n_samples,)
        The thresholds.
    """
    order = np.argsort(scores)
    mass = np.cumsum(weights[order])
    needed = coverage * (mass[-1] + ratio) * (1 - SLACK)
    return np.append(scores[order], np.inf)[np.searchsorted(mass, needed)]


def infinite_share_expected(weights: np.ndarray, coverage: float) -> float:
    """Return the share of target rows whose threshold will be infinite, by the calibration rows.

    Weighted by the ratio these rows stand for the target, and a new row like one of them has its
    ratio.
    """
    infinite = weights > (1 - coverage) * (weights.sum() + weights) * (1 + SLACK)
    return float(weights[infinite].sum() / weights.sum())
