"""The error that the estimate of a ratio adds to what is weighted by it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from weighbridge.ratios._columns import take_rows
from weighbridge.target_risk._features import Features, FloatArray

# The information of larger samples is that of so many rows.
_INFORMATION_ROWS = 20_000


class RatioInfluence:
    """How the estimate of the ratio moves with the rows it was made from.

    The ratio counts as a logistic model of the two samples in `features`: its log ratio at x moves
    by ``phi(x)' H^-1 phi_i (d_i - p_i)`` with row i, d being 1 for target rows, p their fitted
    chance, H the information. Nothing is fitted anew.

    Parameters
    ----------
    features : Features
        What the ratio is taken to depend on.
    X, X_target : tables
        The two samples.
    log_ratio, log_ratio_target : ndarray
        The estimated log ratio at their rows.
    """

    def __init__(
        self,
        features: Features,
        X: Any,
        X_target: Any,
        log_ratio: FloatArray,
        log_ratio_target: FloatArray,
    ):
        self.features, self.X, self.X_target = features, X, X_target
        odds = np.log(log_ratio_target.size / log_ratio.size)
        self.scores = -expit(log_ratio + odds), expit(-(log_ratio_target + odds))
        information = np.eye(features.width)
        for table, log_odds in ((X, log_ratio + odds), (X_target, log_ratio_target + odds)):
            # a mean over rows: of many, every k-th stands for k of them
            step = max(1, log_odds.size // _INFORMATION_ROWS)
            some = table if step == 1 else take_rows(table, np.arange(0, log_odds.size, step))
            spread = (expit(log_odds) * expit(-log_odds))[::step]
            spread *= log_odds.size / spread.size
            for block, phi in features.blocks(some, keep=step == 1):
                information += (phi * spread[block, None]).T @ phi
        self.information = information

    def of(self, contributions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what the ratio's own error adds to weighted means, row by row of both samples.

        `contributions` are the weighted, centred terms of the means, one column for each.
        """
        gradient = self.features.moments(self.X, contributions)
        coefficients = np.asarray(np.linalg.solve(self.information, gradient), dtype=np.float64)
        return (
            self.scores[0][:, None] * self.features.times(self.X, coefficients),
            self.scores[1][:, None] * self.features.times(self.X_target, coefficients),
        )

    def moved(self, source: FloatArray, target: FloatArray) -> FloatArray:
        """Return by how much the log ratio at the source rows moves if rows count so much more.

        One column for each way of counting.
        """
        total = self.features.moments(self.X, source * self.scores[0][:, None])
        total += self.features.moments(self.X_target, target * self.scores[1][:, None])
        moved = np.asarray(np.linalg.solve(self.information, total), dtype=np.float64)
        return self.features.times(self.X, moved)
