"""What every density ratio estimator has in common."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.special import expit, log_expit
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from weighbridge._validation import is_frame
from weighbridge.blocks import Rows
from weighbridge.ratios._columns import holds_text, unmasked
from weighbridge.ratios._cross_fit import log_prior_odds


@contextmanager
def whole_or_not_at_all(estimator: Any) -> Iterator[None]:
    """Put an estimator back as it was if its fit fails or is interrupted."""
    before = vars(estimator).copy()
    try:
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
                "each sample, and a useful one some dozens."
            )
        return classes, codes

    def _keep_domains(self, classes: np.ndarray, codes: np.ndarray) -> None:
        """Store the labels and the log odds of the sample sizes, once all else has succeeded."""
        self.classes_ = classes
        self.log_prior_odds_ = log_prior_odds(codes)

    def _keep_sizes(self, n_source: int, n_target: int) -> None:
        """Store the same for samples that are not stacked."""
        self.classes_ = np.arange(2)
        self.log_prior_odds_ = math.log(n_target / n_source)

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

    def _validate_table(
        self, X: Any, y: Any = "no_validation", *, reset: bool, ensure_all_finite: Any
    ) -> Any:
        """Check rows and columns of a table that may hold text."""
        if isinstance(X, np.ma.MaskedArray):
            X = unmasked(X)
        if holds_text(X):
            return self._validate(X, y, reset=reset, dtype=None, ensure_all_finite=False)
        return self._validate(
            X, y, reset=reset, dtype="numeric", ensure_all_finite=ensure_all_finite
        )

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
