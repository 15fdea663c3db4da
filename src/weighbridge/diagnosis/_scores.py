"""The log ratio of both samples, and the weights that a weighting makes of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import BaseEstimator

from weighbridge._findings import Estimate
from weighbridge.diagnosis._columns import Samples
from weighbridge.ratios import source_log_ratio
from weighbridge.tables import to_numpy
from weighbridge.weighting import (
    Geodesic,
    log_mean,
    mean_one_log_ratio,
    source_weights,
)


class RatioScores:
    """The log ratio of the rows of two samples, scaled to mean 1 over the source.

    `log_ratio` and `log_ratio_target` have one value per row, and `by_features` the log ratio of
    the source rows by their features alone. `mean_ratio` is the mean over the source before
    scaling.
    """

    def __init__(self, ratio: BaseEstimator, samples: Samples, confidence: float):
        self.sample_weight = samples.sample_weight
        raw = source_log_ratio(ratio, samples.X, self.sample_weight, samples.y)
        self.log_ratio = mean_one_log_ratio(raw, self.sample_weight)
        raw_target = _checked_log_ratio(ratio, samples.X_target, "target")
        by_features = raw
        if hasattr(ratio, "score_labels"):
            by_features = _checked_log_ratio(ratio, samples.X, "source")
        log_scale = log_mean(raw, self.sample_weight)
        self.by_features, self.log_ratio_target = by_features - log_scale, raw_target - log_scale
        self.mean_ratio = _mean_ratio(by_features, confidence)

    def importance_weights(self, weighting: BaseEstimator | None) -> np.ndarray:
        """Return the weights that should make the samples alike; None is the full ratio."""
        weighting = Geodesic() if weighting is None else weighting
        return source_weights(weighting, self.log_ratio, self.sample_weight)

    def fit_weights(self, weighting: BaseEstimator | None) -> np.ndarray:
        """Return the importance weights times the sample weights, which a fit gets."""
        weights = self.importance_weights(weighting)
        return weights if self.sample_weight is None else self.sample_weight * weights


def _checked_log_ratio(ratio: BaseEstimator, X: Any, sample: str) -> np.ndarray:
    """Return the log ratio of each row of a sample; raise ValueError if it is NaN or infinite."""
    log_ratio = to_numpy(ratio.score_samples(X)).astype(float)
    if log_ratio.ndim != 1:
        raise ValueError(
            f"Got log ratios of shape {log_ratio.shape} from {type(ratio).__name__}, but expected "
            f"one number for each {sample} row."
        )
    n_bad = int(np.sum(np.isnan(log_ratio) | (log_ratio == math.inf)))
    if n_bad:
        raise ValueError(
            f"Got a ratio ({type(ratio).__name__}) that is NaN or infinite at {n_bad} of "
            f"{log_ratio.size} {sample} rows; every row needs a finite log ratio, or -inf for a "
            "ratio of 0."
        )
    return log_ratio


def _mean_ratio(log_ratio: np.ndarray, confidence: float) -> Estimate:
    """Return the mean of the ratio over source rows, with the interval of a normal mean."""
    largest = float(log_ratio.max())
    if largest == -math.inf:
        return Estimate(0.0, 0.0, 0.0, 0.0)
    scaled = np.exp(log_ratio - largest)
    mean = float(scaled.mean())
    relative_error = float(scaled.std(ddof=1)) / math.sqrt(scaled.size) / mean
    with np.errstate(over="ignore"):
        value = float(np.exp(largest + math.log(mean)))
    step = float(ndtri((1 + confidence) / 2)) * relative_error
    # 0 * inf would be NaN.
    error, low = (factor * value if factor > 0 else 0.0 for factor in (relative_error, 1 - step))
    return Estimate(value, error, low, (1 + step) * value)


def weighting_name(weighting: BaseEstimator | None) -> str:
    """Return the name of a weighting in a report; None is the full ratio."""
    if weighting is None:
        return "full"
    if not isinstance(weighting, Geodesic):
        parameters = (f"{key}={value!r}" for key, value in weighting.get_params().items())
        return f"{type(weighting).__name__}({', '.join(parameters)})"
    if weighting.lam in (0, 1):
        return "none" if weighting.lam == 0 else "full"
    return f"lam {weighting.lam:.2f}, alpha {weighting.alpha:.2f}"
