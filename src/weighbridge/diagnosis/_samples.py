"""The samples that are diagnosed, and the log ratio of their rows."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from weighbridge._findings import Estimate
from weighbridge.ratios import source_log_ratio
from weighbridge.tables import (
    FEWEST_ROWS,
    check_sample_weight,
    read_features,
    refuse_missing,
    stacked_table,
    take_rows,
    target_like_source,
    to_numpy,
)
from weighbridge.weighting import log_mean, mean_one_log_ratio


class Samples(NamedTuple):
    """Source rows of positive weight and target rows, with their columns in one order."""

    X: Any
    X_target: Any
    y: Any
    sample_weight: np.ndarray | None


def read_samples(
    X: Any, X_target: Any, y: Any = None, sample_weight: ArrayLike | None = None
) -> Samples:
    """Match the columns and drop rows of weight 0; refuse few rows and missing labels."""
    n_source, n_target = np.bincount(stacked_table(X, X_target)[1]).tolist()
    X_target = target_like_source(X, X_target)
    weight = check_sample_weight(sample_weight, n_source)
    if weight is not None and not weight.all():
        used = np.flatnonzero(weight)
        y = _take(y, used) if y is not None and np.shape(y)[:1] == (n_source,) else y
        X, weight, n_source = _take(X, used), weight[used], used.size
    counted = "" if weight is None else " that count"
    for rows, n_rows in ((f"rows{counted} in X", n_source), ("rows in X_target", n_target)):
        if n_rows < FEWEST_ROWS:
            raise ValueError(
                f"Got {n_rows} {rows}; at least {FEWEST_ROWS} are needed to say anything about a "
                "shift. Collect more rows; target rows need no labels."
            )
    if y is not None:
        refuse_missing(y)
    for _ in read_features(X, X_target):  # This refuses infinite values.
        pass
    return Samples(X, X_target, y, weight)


def _take(values: Any, rows: np.ndarray) -> Any:
    if isinstance(values, list | tuple):
        return [values[row] for row in rows]
    return take_rows(sp.csr_array(values) if sp.issparse(values) else values, rows)


def score_rows(
    ratio: BaseEstimator, samples: Samples
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return the log ratio of both samples, scaled to a mean ratio of 1, and the log of the scale.

    The first is that of the source rows, the second the same by their features alone, which differs
    for a ratio in the label, and the third that of the target rows.
    """
    raw = source_log_ratio(ratio, samples.X, samples.sample_weight, samples.y)
    log_ratio = mean_one_log_ratio(raw, samples.sample_weight)
    log_scale = float(log_mean(raw, samples.sample_weight))
    if hasattr(ratio, "score_labels"):
        raw = _finite_log_ratio(ratio, samples.X, "source")
    target = _finite_log_ratio(ratio, samples.X_target, "target")
    return log_ratio, raw - log_scale, target - log_scale, log_scale


def _finite_log_ratio(ratio: BaseEstimator, X: Any, sample: str) -> np.ndarray:
    log_ratio = to_numpy(ratio.score_samples(X)).astype(float)
    n_bad = int(np.sum(np.isnan(log_ratio) | (log_ratio == math.inf)))
    if n_bad:
        raise ValueError(
            f"Got a ratio ({type(ratio).__name__}) that is NaN or infinite at {n_bad} of "
            f"{log_ratio.size} {sample} rows; every row needs a finite log ratio, or -inf for a "
            "ratio of 0."
        )
    return log_ratio


def estimate_mean_ratio(log_ratio: np.ndarray, confidence: float) -> Estimate:
    """Return the mean of the ratio over source rows, with the interval of a normal mean."""
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = np.exp(log_ratio)
        mean, error = float(ratio.mean()), float(ratio.std(ddof=1)) / math.sqrt(ratio.size)
    error = error if math.isfinite(error) else math.inf
    return Estimate.normal(mean, error, confidence, (0.0, math.inf))
