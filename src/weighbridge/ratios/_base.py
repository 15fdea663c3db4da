"""What every density ratio estimator has in common."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
from weighbridge.exceptions import WeightWarning
from weighbridge.ratios._overlap import extreme_share, warn_if_apart, warn_if_outside
from weighbridge.tables import (
    TableEncoder,
    is_foreign,
    is_frame,
    shuffled,
    take_rows,
    to_numpy,
    unmasked,
)

# With fewer source rows than this, the largest ratios are too noisy to judge overlap.
MIN_ROWS_FOR_LARGEST = 30


@contextmanager
def whole_or_not_at_all(estimator: BaseEstimator) -> Iterator[None]:
    """Put an estimator back as it was if its fit fails or is interrupted; let kernels underflow."""
    before = vars(estimator).copy()
    try:
        with np.errstate(under="ignore"):
            yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


class DensityRatioMixin(ClassifierMixin, ABC):
    """A density ratio is a two-sample problem: ``y = 0`` marks source rows, ``y = 1`` target rows.

    A concrete class implements ``fit(X, y)`` and ``score_samples(X)``, the log ratio
    ``log p_target(x) - log p_source(x)``. The classifier methods follow from it, so that
    scikit-learn stratifies folds by sample and AUC or log loss compare any two ratios.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels of source and target rows.
    log_prior_odds_ : float
        ``log(n_target / n_source)``.
    """

    _takes_sparse = True
    _finite: bool | str = "allow-nan"  # Passed on to scikit-learn as `ensure_all_finite`.

    @abstractmethod
    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log density ratio at the rows of `X`."""

    def _coded(self, y: Any) -> np.ndarray:
        """Return y as 0 (source) and 1 (target); learn the labels and the sizes of the samples."""
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
        sizes = np.bincount(codes)
        if sizes.min() < 2:
            raise ValueError(
                "Got a sample (a class of y) with 1 row; a density ratio needs at least 2 rows of "
                "each sample, and a useful one a few dozen."
            )
        self.classes_ = classes
        self.log_prior_odds_ = math.log(sizes[1] / sizes[0])
        return codes

    def _checked_rows(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        """Check the rows of any table, and y if given; with `reset` learn the columns."""
        if sp.issparse(X) and not self._takes_sparse:
            raise TypeError(
                f"Sparse data was passed for X, but dense data is required: {type(self).__name__} "
                "works on dense columns. Use X.toarray(), or a ratio that takes sparse rows: "
                "AutoRatio, ClassifierRatio, ULSIF, KLIEP, KMM or NearestNeighbourRatio."
            )
        X, y = to_numpy(X) if is_foreign(X) else unmasked(X), unmasked(y, "y")
        if is_frame(X):  # It stays one, since its columns differ in type.
            validate_data(self, X, y, reset=reset, skip_check_array=True)
            if isinstance(y, str):
                return X
            y = column_or_1d(y, warn=True)
            assert_all_finite(y)
            check_consistent_length(X, y)
            return X, y
        dtype, finite = (None, False) if _holds_text(X) else ("numeric", self._finite)
        checks = {"accept_sparse": "csr", "dtype": dtype, "ensure_all_finite": finite}
        return validate_data(self, X, y, reset=reset, **checks)

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


class EstimatedRatio(DensityRatioMixin, BaseEstimator):
    """A ratio that learns from two samples. Its hooks are the three abstract methods."""

    # A target row whose log ratio exceeds all those of the source by more has an extreme ratio.
    _log_extreme = math.log(2)
    _row_width = 1000  # Numbers in memory while one row is scored.

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise an error if a parameter makes no sense, before any work."""

    @abstractmethod
    def _estimate(self, X: Any, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Learn the ratio; return its logarithm at source and target rows."""

    @abstractmethod
    def _score(self, X: Any) -> np.ndarray:
        """Return the log ratio at some checked rows."""

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
        with whole_or_not_at_all(self):
            at_source, at_target = self._fit_quietly(X, y)
            self._warn_if_few(min(at_source.size, at_target.size))
            self._warn_if_apart(at_source, at_target)
        return self

    def _fit_quietly(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Fit without warnings about the result, for whoever compares several ratios."""
        if getattr(y, "ndim", 1) == 2 and y.shape[1] > 1:
            raise ValueError(
                f"y should be a 1d array, got an array of shape {y.shape} instead: y says "
                "which rows of X are source (0) and target (1). Two samples go into fit_ratio(X, "
                "X_target)."
            )
        self._check_parameters()
        X, y = self._checked_rows(X, y, reset=True)
        return self._estimate(X, self._coded(y))

    @np.errstate(under="ignore")
    def score_samples(self, X: Any) -> Any:
        """Return the log density ratio at the rows of `X`.

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
        return self._in_blocks(self._checked_rows(X, reset=False), self._score)

    def _in_blocks(self, X: Any, function: Callable[[Any], np.ndarray]) -> np.ndarray:
        """Apply a function to blocks of rows that fit into memory, and join the results."""
        blocks = row_blocks(X.shape[0], max(2 * X.shape[1], self._row_width))
        return np.concatenate([np.zeros(0), *(function(take_rows(X, block)) for block in blocks)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.string = True
        return tags

    def _warn_if_few(self, n_rows: int) -> None:
        """Warn if the smaller sample is too small to show a shift of one standard deviation."""
        # The squared distance of two means of d columns varies by sqrt(8 d) / n.
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
        """Warn if the log ratio just estimated shows that the samples hardly overlap."""
        log_mean = float(logsumexp(at_source) - np.log(at_source.size))
        self.extreme_share_ = extreme_share(at_source, at_target, self._log_extreme)
        if not warn_if_apart(log_mean) and at_source.size >= MIN_ROWS_FOR_LARGEST:
            warn_if_outside(self.extreme_share_)


def _holds_text(X: Any) -> bool:
    """Return True for an array with text in it, whose columns are looked at one by one."""
    if sp.issparse(X) or is_frame(X):
        return False
    kind = np.asarray(X).dtype.kind
    return kind in "US" or (kind == "O" and any(isinstance(v, str) for v in np.asarray(X).flat))


class TwoSampleRatio(EstimatedRatio):
    """A ratio whose algorithm sees two samples of standardised numbers, in random order."""

    @abstractmethod
    def _fit_samples(self, source: Any, target: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """Learn the ratio; return its logarithm at both samples if that is known by now."""

    @abstractmethod
    def _log_ratio(self, numbers: Any) -> np.ndarray:
        """Return the log ratio at rows of standardised numbers."""

    def _estimate(self, X: Any, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.encoder_ = TableEncoder().fit(X, codes)
        self._row_width = max(self.encoder_.width, 256)
        rng = check_random_state(getattr(self, "random_state", 0))
        samples = [self.encoder_.numbers(take_rows(X, rows)) for rows in shuffled(X, codes, rng)]
        known = self._fit_samples(*samples)
        at_source, at_target = known or (self._in_blocks(s, self._log_ratio) for s in samples)
        return at_source, at_target

    def _score(self, X: Any) -> np.ndarray:
        return self._log_ratio(self.encoder_.numbers(X))
