"""The one ``fit`` of all ratios that are estimated."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from weighbridge._namespace import array_namespace
from weighbridge._overlap import (
    APART,
    FEW_FOR_LARGEST,
    outside_share,
    warn_if_apart,
    warn_if_outside,
)
from weighbridge.ratios._base import DensityRatioMixin, whole_or_not_at_all
from weighbridge.ratios._blocks import row_blocks
from weighbridge.ratios._columns import take_rows


class Outside(NamedTuple):
    """Shares of the target rows that lie outside the source, by two measures.

    Their ratio is far larger than those of all source rows but the `most` extreme few, or of all
    but a single one.
    """

    of_most: float
    of_all: float


class EstimatedRatio(DensityRatioMixin, BaseEstimator):
    """A ratio that learns from two samples: checks, the work, and a word if they hardly overlap."""

    # a target row whose log ratio exceeds all those of the source by more lies outside
    _log_far = np.log(2)
    _width = 1000  # numbers that scoring one row takes

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
        if getattr(y, "ndim", 1) == 2 and y.shape[1] > 1:
            raise ValueError(
                f"y should be a 1d array, got an array of shape {y.shape} instead: y says "
                "which rows of X are source (0) and target (1). Two samples go into fit_ratio(X, "
                "X_target)."
            )
        self._check_parameters()
        with whole_or_not_at_all(self):
            at_source, at_target = self._estimate(X, y)
            self._warn_if_apart(at_source, at_target)
        return self

    def score_samples(self, X: Any) -> Any:
        """Return the log density ratio at the rows of `X`, computed in blocks of rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Any rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``log p_target(x) - log p_source(x)``, estimated.
        """
        check_is_fitted(self)
        return self._in_blocks(self._checked_rows(X, reset=False), self._score_block)

    @abstractmethod
    def _checked_rows(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        """Check rows and columns; with `reset` learn the columns."""

    @abstractmethod
    def _score_block(self, X: Any) -> Any:
        """Return the log ratio at some checked rows."""

    def _in_blocks(self, X: Any, function: Any) -> Any:
        """Apply a function to blocks of rows and put the results together."""
        xp = array_namespace(X)
        cut = take_rows if xp is np else (lambda X, block: X[block, :])
        if X.shape[0] == 0:
            return xp.zeros(0)
        blocks = row_blocks(X.shape[0], max(2 * X.shape[1], self._width))
        return xp.concat([function(cut(X, block)) for block in blocks])

    def _warn_if_apart(self, at_source: np.ndarray, at_target: np.ndarray) -> None:
        """Warn when the log ratio just estimated says that the samples hardly overlap."""
        log_mean = float(logsumexp(at_source) - np.log(at_source.size))
        share = outside_share(at_source, at_target, self._log_far)
        self._outside = Outside(share, outside_share(at_source, at_target, self._log_far, rank=2))
        if log_mean < np.log(APART):
            warn_if_apart(log_mean)
        elif at_source.size >= FEW_FOR_LARGEST:
            warn_if_outside(share)
