"""What every density ratio estimator has in common."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, log_expit, logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from weighbridge._findings import users_line
from weighbridge._folds import row_blocks
from weighbridge.blocks import ArrayRows, Rows, as_rows, is_blocks
from weighbridge.exceptions import WeightWarning
from weighbridge.ratios._encoder import TableEncoder, checked_array, encoder_of
from weighbridge.ratios._overlap import APART, outside_share, warn_if_apart, warn_if_outside
from weighbridge.ratios._sample import MOST_FIRST, Sample, on_host, samples
from weighbridge.tables import (
    array_namespace,
    is_foreign,
    is_frame,
    joined_tables,
    take_rows,
    to_numpy,
    unmasked,
)


@contextmanager
def whole_or_not_at_all(estimator: Any) -> Iterator[None]:
    """Put an estimator back as it was if its fit fails or is interrupted; let kernels underflow."""
    before = vars(estimator).copy()
    try:
        with np.errstate(under="ignore"):
            yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def columns_of_fit(ratio: Any, rows: Rows) -> Rows:
    """Bring named columns in blocks into the order of ``fit``; refuse others."""
    names = getattr(ratio, "feature_names_in_", None)
    if names is not None and rows.names is not None:
        return rows if rows.names == list(names) else rows.select(list(names))
    n_columns = getattr(ratio, "n_features_in_", rows.n_columns)
    if rows.n_columns != n_columns:
        raise ValueError(
            f"X has {rows.n_columns} features, but {type(ratio).__name__} is expecting "
            f"{n_columns} features as input."
        )
    return rows


def _holds_text(X: Any) -> bool:
    """True for an array with text in it, whose columns are looked at one by one."""
    if sp.issparse(X) or is_frame(X):
        return False
    kind = np.asarray(X).dtype.kind
    return kind in "US" or (kind == "O" and any(isinstance(v, str) for v in np.asarray(X).flat))


class DensityRatioMixin(ClassifierMixin, ABC):
    """A density ratio is a two-sample problem: ``y = 0`` marks source rows, ``y = 1`` target rows.

    A concrete class implements ``fit(X, y)`` and ``score_samples(X)``, the log ratio
    ``log p_target(x) - log p_source(x)``. The classifier methods follow from it, so that
    scikit-learn stratifies folds by sample and AUC or log loss compare any two ratios.
    """

    @abstractmethod
    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log density ratio at the rows of `X`."""

    def _coded(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the two labels, and y coded as 0 (source) and 1 (target)."""
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if classes.size > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}. A density ratio compares two samples: y must be 0 for "
                "source rows and 1 for target rows."
            )
        if classes.size < 2:
            raise ValueError(
                f"Got y with one class only ({classes[0]!r}); a density ratio needs source rows "
                "(0) and target rows (1)."
            )
        rarest = np.bincount(codes).min()
        if rarest < 2:
            raise ValueError(
                "Got a sample (a class of y) with 1 row; a density ratio needs at least 2 rows of "
                "each sample, and a useful one a few dozen."
            )
        return classes, codes

    def _keep_domains(self, classes: np.ndarray, sizes: Any) -> None:
        """Store the labels and the log odds of the sample sizes, once all else has succeeded."""
        self.classes_ = classes
        self.log_prior_odds_ = math.log(sizes[1] / sizes[0])

    def _validate(self, X: Any, y: Any = "no_validation", *, reset: bool, **checks: Any) -> Any:
        """Check rows and columns; data frames go through unchanged, to who understands them."""
        if is_frame(X):
            validate_data(self, X, y, reset=reset, skip_check_array=True)
            if isinstance(y, str):
                return X
            y = column_or_1d(y, warn=True)
            assert_all_finite(y)
            check_consistent_length(X, y)
            return X, y
        return validate_data(self, X, y, reset=reset, accept_sparse="csr", **checks)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log odds that a row of the stacked samples comes from the target."""
        return self.score_samples(X) + self.log_prior_odds_

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of source and target for each row."""
        log_odds = self.decision_function(X)
        return np.column_stack([expit(-log_odds), expit(log_odds)])

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the probabilities of source and target."""
        log_odds = self.decision_function(X)
        return np.column_stack([log_expit(-log_odds), log_expit(log_odds)])

    def predict(self, X: Any) -> np.ndarray:
        """Return the likelier sample of each row."""
        log_odds = self.decision_function(X)
        return self.classes_[(log_odds > 0).astype(int)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


# With fewer source rows than this the largest of their ratios are anything.
FEW_FOR_LARGEST = 30


class EstimatedRatio(DensityRatioMixin, BaseEstimator):
    """A ratio that learns from two samples: checks, the work, and a word if they hardly overlap."""

    # a target row whose log ratio exceeds all those of the source by more lies outside
    _log_far = np.log(2)
    _width = 1000  # numbers that scoring one row takes
    # a method that needs rows at once gets so many of each sample, drawn at random
    _most_rows = MOST_FIRST
    _takes_sparse = True
    _finite: Any = "allow-nan"  # which numbers are taken, in the words of scikit-learn

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
            0 for source rows, 1 for target rows; of any other two labels, the larger is the target.

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
            self._warn_if_few(min(at_source.size, at_target.size))
            self._warn_if_apart(at_source, at_target)
        return self

    def _fit_blocks(self, source: Rows, target: Rows) -> Any:
        """Estimate the ratio from samples in blocks, whose columns `fit_ratio` has compared."""
        self._check_parameters()
        with whole_or_not_at_all(self):
            at_source, at_target = self._estimate_blocks(source, target)
            # those of all rows, and names, where arrays of numbers stand for named columns
            self._keep_columns(source)
            self._keep_domains(np.arange(2), (source.n_rows, target.n_rows))
            self._warn_if_few(min(at_source.size, at_target.size))
            self._warn_if_apart(at_source, at_target)
        return self

    def _estimate_blocks(self, source: Rows, target: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Learn the ratio from samples in blocks, by default from some of their rows."""
        encoder = encoder_of(source, target)
        tables = [
            to_numpy(part.table) if is_foreign(part.table) else part.table
            for part in samples(encoder, source, target, self._seed(), self._most_rows)
        ]
        codes = np.repeat([0, 1], [table.shape[0] for table in tables])
        return self._estimate(joined_tables(tables), codes)

    def _seed(self) -> int:
        return int(check_random_state(getattr(self, "random_state", 0)).randint(2**31 - 1))

    def _keep_columns(self, rows: Rows) -> None:
        """Remember number and names of the columns."""
        self.n_features_in_ = rows.n_columns
        if rows.names is not None:
            self.feature_names_in_ = np.array(rows.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    @np.errstate(under="ignore")
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
            ``log p_target(x) - log p_source(x)``, estimated; a dask array for dask rows; for rows
            on a device, an array on the same device.
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

    def _checked_rows(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        """Check rows and columns of a table that may hold text; with `reset` learn the columns."""
        X, y = to_numpy(X) if is_foreign(X) else unmasked(X), unmasked(y, "y")
        if _holds_text(X):
            return self._validate(X, y, reset=reset, dtype=None, ensure_all_finite=False)
        return self._validate(X, y, reset=reset, dtype="numeric", ensure_all_finite=self._finite)

    @abstractmethod
    def _score_block(self, X: Any) -> Any:
        """Return the log ratio at some checked rows."""

    def _in_blocks(self, X: Any, function: Any) -> Any:
        """Apply a function to blocks of rows and put the results together."""
        xp = array_namespace(X)
        if X.shape[0] == 0:
            return xp.zeros(0)
        blocks = row_blocks(X.shape[0], max(2 * X.shape[1], self._width))
        return xp.concat([function(take_rows(X, block)) for block in blocks])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.string = True
        return tags

    def _warn_if_few(self, n_rows: int) -> None:
        """Warn when the smaller sample is too small to see a shift of one standard deviation."""
        # the squared distance of two means of so many columns varies by sqrt(8 columns) / rows
        needed = math.ceil(2 * math.sqrt(8 * self.n_features_in_))
        if n_rows < needed:
            columns = f"{self.n_features_in_:,} column{'s' * (self.n_features_in_ > 1)}"
            warnings.warn(
                f"WB107 {n_rows} rows of one sample are too few for a ratio of {columns}: by "
                "chance alone two samples of this size differ as if they were shifted by a "
                "standard deviation, and a ratio may follow chance, "
                f"or see no shift at all. Use at least {needed:,} rows of each, or fewer columns.",
                WeightWarning,
                stacklevel=users_line(),
            )

    def _warn_if_apart(self, at_source: np.ndarray, at_target: np.ndarray) -> None:
        """Warn when the log ratio just estimated says that the samples hardly overlap."""
        log_mean = float(logsumexp(at_source) - np.log(at_source.size))
        self._outside = outside_share(at_source, at_target, self._log_far)
        if log_mean < np.log(APART):
            warn_if_apart(log_mean)
        elif at_source.size >= FEW_FOR_LARGEST:
            warn_if_outside(self._outside)


class TwoSampleRatio(EstimatedRatio):
    """A ratio whose algorithm sees two samples of standardised numbers.

    A concrete class computes the ratio from them (rows in an order that is random, yet the same
    for the same table however its rows are ordered), and evaluates it at blocks of rows. It learns
    from sums over all rows (`_fit_streams`), or from rows in memory (`_fit_samples`).
    """

    _other_arrays = False  # can it compute with arrays of other libraries, on their device?

    def _fit_samples(self, source: Any, target: Any) -> tuple[Any, Any] | None:
        """Compute the ratio from the rows of the two samples; return its logarithm if known."""
        raise NotImplementedError

    def _fit_streams(self, source: Sample, target: Sample) -> tuple[Any, Any] | None:
        """Compute the ratio from two samples; return its logarithm at the first rows if known."""
        self.n_rows_ = np.array([source.first.shape[0], target.first.shape[0]])
        return self._fit_samples(source.first, target.first)

    @abstractmethod
    def _log_ratio(self, rows: Any) -> Any:
        """Return the log ratio at a block of rows."""

    def _estimate(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        X, y = self._checked_rows(X, y, reset=True)
        classes, codes = self._coded(y)
        self._keep_domains(classes, np.bincount(codes))
        source, target = (
            ArrayRows(take_rows(X, np.flatnonzero(codes == code)), whole=True) for code in (0, 1)
        )
        wide = sp.issparse(X)  # its rows stay sparse
        encoder = TableEncoder().fit(X, codes) if wide else encoder_of(source, target)
        return self._fit_rows(encoder, source, target)

    def _estimate_blocks(self, source: Rows, target: Rows) -> tuple[np.ndarray, np.ndarray]:
        if not self._other_arrays:
            source, target = on_host(source), on_host(target)
        return self._fit_rows(encoder_of(source, target), source, target)

    def _fit_rows(self, encoder: Any, source: Rows, target: Rows) -> tuple[np.ndarray, np.ndarray]:
        self.encoder_ = encoder
        parts = samples(encoder, source, target, self._seed(), self._most_rows)
        self._width = max(encoder.width, 256)
        known = self._fit_streams(*parts)
        if known is None:
            known = tuple(self._in_blocks(part.first, self._log_ratio) for part in parts)
        at_source, at_target = (self._plain_log_ratio(to_numpy(values)) for values in known)
        return at_source, at_target

    def _score_block(self, X: Any) -> Any:
        return self._log_ratio(self.encoder_.numbers(X))

    def _plain_log_ratio(self, log_ratio: np.ndarray) -> np.ndarray:
        """Return log p_target - log p_source from what is estimated."""
        return log_ratio

    def _checked_rows(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        if is_foreign(X) and self._other_arrays:
            return self._checked_array(X, y, reset)
        if sp.issparse(X) and not self._takes_sparse:
            raise TypeError(
                f"Sparse data was passed for X, but dense data is required: {type(self).__name__} "
                "works on dense columns. Use X.toarray(), or a ratio that takes sparse rows: "
                "AutoRatio, ClassifierRatio, ULSIF, KLIEP, KMM or NearestNeighbourRatio."
            )
        return super()._checked_rows(X, y, reset=reset)

    def _checked_array(self, X: Any, y: Any, reset: bool) -> Any:
        X = checked_array(X, type(self).__name__)
        if reset:
            self.n_features_in_ = X.shape[1]
        columns_of_fit(self, ArrayRows(X))
        return X if isinstance(y, str) else (X, to_numpy(y))
