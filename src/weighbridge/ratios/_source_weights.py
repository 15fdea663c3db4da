"""From a fitted ratio to log ratios and log weights of the source rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from weighbridge.tables import to_numpy


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
