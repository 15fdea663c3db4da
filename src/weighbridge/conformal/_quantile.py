"""Weighted conformal quantiles, and whether they are finite.

Calibration row i has the weight ``w_i`` and a new row the weight r, which is placed at infinity.
The quantile at a coverage c is the smallest score s with ``sum_{s_i <= s} w_i >= c (sum w + r)``
(Tibshirani, Barber, Candes & Ramdas 2019).
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from weighbridge._findings import Finding, percent, users_line
from weighbridge.conformal._rows import LabelledRows
from weighbridge.exceptions import OverlapWarning
from weighbridge.ratios import effective_sample_size, source_log_ratio
from weighbridge.weighting import log_mean, mean_one_log_ratio

# Relative rounding error of sums of weights, and of their products with a decimal coverage.
ROUNDING = 1e-12
# Above this share of infinite sets, the calibration describes itself rather than the target.
MAX_INFINITE_SHARE = 0.5


def calibration_weights(ratio: Any, rows: LabelledRows) -> tuple[np.ndarray, float]:
    """Return the ratio times the sample weights, with mean 1, and the log of its mean before."""
    log_ratio = source_log_ratio(ratio, rows.X, None, rows.y)
    if rows.sample_weight is not None:
        log_ratio = log_ratio + np.log(rows.sample_weight) - np.log(rows.sample_weight.mean())
    return np.exp(mean_one_log_ratio(log_ratio, None)), float(log_mean(log_ratio))


def weighted_quantile(
    scores: np.ndarray, weights: np.ndarray, ratio: np.ndarray, coverage: float
) -> np.ndarray:
    """Return the quantile of the scores for each ratio, infinite if no score is large enough."""
    order = np.argsort(scores)
    cumulated = np.cumsum(weights[order])
    needed = coverage * (cumulated[-1] + ratio) * (1 - ROUNDING)
    return np.append(scores[order], np.inf)[np.searchsorted(cumulated, needed)]


def infinite_share(limits: np.ndarray) -> float:
    """Return the share of rows for which the limits of all classes are infinite."""
    return float(np.isinf(limits).all(axis=1).mean())


def infinite_finding(
    weights: np.ndarray, coverage: float, limits: np.ndarray | None
) -> Finding | None:
    """Return WB307 if the limits at target rows, or those expected, are mostly infinite."""
    subject = "of the prediction sets on the target are infinite"
    if limits is not None and limits.shape[1] == 1:
        share = infinite_share(limits)
    else:  # The weight of calibration rows estimates the share of the target like them.
        is_infinite = weights > (1 - coverage) * (weights.sum() + weights) * (1 + ROUNDING)
        share = float(weights[is_infinite].sum() / weights.sum())
        if limits is not None:
            subject = "of the target has classes that are in every set"
    if share <= MAX_INFINITE_SHARE:
        return None
    ess, needed = effective_sample_size(weights), math.ceil(coverage / (1 - coverage) - ROUNDING)
    cause = f"but a coverage of {coverage:.4g} needs at least {needed}"
    if ess >= needed:
        cause = f"enough for a coverage of {coverage:.4g}, but most target rows have a larger ratio"
    return Finding(
        "WB307",
        "warning",
        f"{percent(share)} {subject}. The {weights.size} calibration rows have an effective sample "
        f"size of {ess:.1f}, {cause}.",
        "Calibrate on more rows like those in the target, reduce the coverage, or check whether "
        "one feature alone distinguishes the samples.",
    )


def warn_if_infinite(weights: np.ndarray, coverage: float, limits: np.ndarray | None) -> None:
    """Warn if the limits at target rows, or those expected, are mostly infinite."""
    finding = infinite_finding(weights, coverage, limits)
    if finding is not None:
        text = f"{finding.code} {finding.message} {finding.help}"
        warnings.warn(text, OverlapWarning, stacklevel=users_line())
