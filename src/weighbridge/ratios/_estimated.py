"""The one ``fit`` of all ratios that are estimated."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from weighbridge._findings import APART, outside_share, warn_if_apart, warn_if_outside
from weighbridge._namespace import array_namespace, is_foreign, to_numpy
from weighbridge.blocks import Rows, as_rows, is_blocks, joined_tables
from weighbridge.ratios._base import DensityRatioMixin, columns_of_fit, whole_or_not_at_all
from weighbridge.ratios._blocks import row_blocks
from weighbridge.ratios._columns import take_rows
from weighbridge.ratios._sample import MOST_FIRST, encoder_of, samples

# With fewer source rows than this the largest of their ratios are anything.
FEW_FOR_LARGEST = 30


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
    # of samples in blocks a method that needs rows in memory gets so many, drawn at random
    _most_rows = MOST_FIRST

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

    def _fit_blocks(self, source: Rows, target: Rows) -> Any:
        """Estimate the ratio from samples in blocks, whose columns `fit_ratio` has compared."""
        self._check_parameters()
        with whole_or_not_at_all(self):
            self._keep_columns(source)
            self._keep_sizes(source.n_rows, target.n_rows)
            at_source, at_target = self._estimate_blocks(source, target)
            self._warn_if_apart(at_source, at_target)
        return self

    def _estimate_blocks(self, source: Rows, target: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Learn the ratio from samples in blocks: from some of their rows, unless told otherwise.

        Returns its logarithm at rows of source and target drawn at random.
        """
        seed = int(check_random_state(getattr(self, "random_state", 0)).randint(2**31 - 1))
        labels = source.names or [str(j) for j in range(source.n_columns)]
        encoder = encoder_of(source, target, labels)
        tables = [
            to_numpy(part.table) if is_foreign(part.table) else part.table
            for part in samples(encoder, source, target, seed, self._most_rows)
        ]
        codes = np.repeat([0, 1], [table.shape[0] for table in tables])
        found = self._estimate(joined_tables(tables), codes)
        # names, where arrays of numbers stand for them, and odds are those of all rows
        self._keep_columns(source)
        self._keep_sizes(source.n_rows, target.n_rows)
        return found

    def _keep_columns(self, rows: Rows) -> None:
        """Remember number and names of the columns."""
        self.n_features_in_ = rows.n_columns
        if rows.names is not None:
            self.feature_names_in_ = np.array(rows.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def score_samples(self, X: Any) -> Any:
        """Return the log density ratio at the rows of `X`, computed in blocks of rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Rows or dask collection of shape \
                (n_samples, n_features)
            Any rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``log p_target(x) - log p_source(x)``, estimated; a dask array for dask rows, an array
            on the same device for rows there.
        """
        check_is_fitted(self)
        if is_blocks(X):
            rows = columns_of_fit(self, as_rows(X))
            with warnings.catch_warnings():  # here: in the threads of blocks it would not be safe
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
                return rows.vector(self._score_table)
        return self._in_blocks(self._checked_rows(X, reset=False), self._score_block)

    def _score_table(self, table: Any) -> Any:
        """Return the log ratio at the rows of one block, whose columns have been compared."""
        scorer = self
        if isinstance(table, np.ndarray) and hasattr(self, "feature_names_in_"):
            # an array of numbers may stand for a block of named columns
            scorer = copy(self)
            del scorer.feature_names_in_
        return scorer._in_blocks(scorer._checked_rows(table, reset=False), scorer._score_block)

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
