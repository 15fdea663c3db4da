"""From a fitted ratio to log ratios and log weights of the source rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from weighbridge.tables import to_numpy
from weighbridge.weighting import Geodesic, log_mean


def source_log_ratio(
    ratio: Any, X: Any, sample_weight: np.ndarray | None, y: Any = None
) -> np.ndarray:
    """Return the log ratio at the rows of `X`; rows whose sample_weight is 0 may have any value."""
    if hasattr(ratio, "score_labels"):
        if y is None:
            raise ValueError(
                f"Got a {type(ratio).__name__}, a ratio in the label, where no labels are at hand; "
                "use a ratio in the features here."
            )
        return np.asarray(ratio.score_labels(y))
    log_ratio = to_numpy(ratio.score_samples(X)).astype(float)
    used = log_ratio if sample_weight is None else log_ratio[sample_weight > 0]
    missing = np.isnan(used).sum()
    if missing:
        raise ValueError(
            f"Got a ratio ({type(ratio).__name__}) that is NaN at {missing} of {used.size} source "
            "rows; look for NaN in X or in the densities there."
        )
    return log_ratio


class ScoredRatio(FrozenEstimator):  # type: ignore[misc, unused-ignore]
    """A fitted ratio that knows its values at one table, and is asked for those of any other."""

    def __init__(self, estimator: Any, table: Any, log_ratio: np.ndarray):
        super().__init__(estimator)
        self.table = table
        self.log_ratio = log_ratio

    def score_samples(self, X: Any) -> Any:
        """Return the log ratio at the rows of `X`."""
        return self.log_ratio if X is self.table else self.estimator.score_samples(X)


def mean_one_log_ratio(log_ratio: np.ndarray, sample_weight: np.ndarray | None) -> np.ndarray:
    """Scale the ratio to mean 1 on the source sample, which is what lam and alpha are about."""
    used = log_ratio if sample_weight is None else log_ratio[sample_weight > 0]
    infinite = np.isposinf(used).sum()
    if infinite:
        raise ValueError(
            f"Got a ratio that is infinite at {infinite} source rows: they lie where the source "
            "density is 0, and no scale gives such a ratio a mean of 1. Correct the densities, "
            "leave the rows out (sample_weight 0), or use normalize=False with alpha > 1, which "
            "bounds every weight."
        )
    log_scale = log_mean(log_ratio, sample_weight)
    if log_scale == -np.inf:
        raise ValueError(
            "Got a ratio that is 0 at every source row: no source row lies where the target is. "
            "These samples cannot be adapted to each other."
        )
    return log_ratio - log_scale


def source_log_weight(
    weighting: Any, log_ratio: np.ndarray, sample_weight: np.ndarray | None
) -> np.ndarray:
    """Return the log weights of the rows that count; rows whose sample_weight is 0 get weight 0."""
    used = log_ratio if sample_weight is None else log_ratio[sample_weight > 0]
    found = np.asarray(weighting(used), dtype=float)
    if found.shape != used.shape:
        raise ValueError(
            f"Got log weights of shape {found.shape} for {used.size} log ratios from the weighting "
            f"{type(weighting).__name__}; it must return one number for each row."
        )
    if sample_weight is None:
        return found
    log_weight = np.full(log_ratio.size, -np.inf)
    log_weight[sample_weight > 0] = found
    return log_weight


def weighting_or_default(weighting: Any) -> Any:
    """Return a copy of a weighting, the full ratio for None; refuse anything else."""
    if weighting is None:
        return Geodesic()
    usable = callable(weighting) and hasattr(weighting, "get_params")
    if isinstance(weighting, type) or not usable:
        raise TypeError(
            f"Got weighting={weighting!r}, but expected a Geodesic or one of its names, e.g. "
            "weighbridge.weighting.RIWERM(0.8), or your own object with get_params (a "
            "sklearn.base.BaseEstimator) that turns log ratios into log weights when called."
        )
    if isinstance(weighting, Geodesic) and np.ndim(weighting.lam) + np.ndim(weighting.alpha):
        raise TypeError(
            f"Got weighting={weighting!r}, but expected one number each for lam and alpha."
        )
    weighting = clone(weighting)
    if not isinstance(weighting, Geodesic):
        source_log_weight(weighting, np.linspace(-1.0, 1.0, 5), None)  # fail before the work
    return weighting
