"""The one ``fit`` of all ratios that are estimated."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator

from weighbridge._overlap import APART, warn_if_apart, warn_if_outside
from weighbridge.ratios._base import DensityRatioMixin, whole_or_not_at_all


class EstimatedRatio(DensityRatioMixin, BaseEstimator):
    """A ratio that learns from two samples: checks, the work, and a word if they hardly overlap."""

    # a target row whose log ratio exceeds all those of the source by more lies outside
    _log_far = np.log(2)

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense, before any work."""

    @abstractmethod
    def _estimate(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Learn the ratio; return its logarithm at the source and the target rows."""

    def fit(self, X: Any, y: Any) -> Any:
        """Estimate the ratio.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Source and target rows.
        y : array-like of shape (n_samples,)
            0 for source rows, 1 for target rows; of any other two labels the larger is the target.

        Returns
        -------
        density ratio
            The fitted object.
        """
        self._check_parameters()
        with whole_or_not_at_all(self):
            at_source, at_target = self._estimate(X, y)
            self._warn_if_apart(at_source, at_target)
        return self

    def _warn_if_apart(self, at_source: np.ndarray, at_target: np.ndarray) -> None:
        """Warn when the log ratio just estimated says that the samples hardly overlap."""
        log_mean = float(logsumexp(at_source) - np.log(at_source.size))
        if log_mean < np.log(APART):
            warn_if_apart(log_mean, stacklevel=4)
        else:
            share = (at_target > at_source.max() + self._log_far).mean()
            warn_if_outside(float(share), stacklevel=4)
