"""A cross-fitted classifier that distinguishes target rows from source rows.

The score of a row is the mean of the log odds of a ridge-penalised logistic regression and of small
histogram boosting with early stopping. Trees are left out for sparse tables, beyond 1,000 columns,
below 50 rows in a sample, and if the AUC of the regression alone is 0.999 or more. Both samples
have the same total weight. Equal rows share a fold, and only rows of one fold are compared, so
identical samples have an AUC of exactly 1/2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state

from weighbridge._findings import Estimate
from weighbridge._folds import assign_folds, one_thread
from weighbridge.domain._auc import Array, fold_auc
from weighbridge.ratios import SEPARABLE_AUC, can_fit_trees, small_trees
from weighbridge.tables import (
    RowScores,
    TableEncoder,
    check_count,
    check_sample_weight,
    shuffled,
    stacked_table,
    take_rows,
)

# Histogram boosting would compute weighted quantiles in each fold, which takes longer than the
# trees. It computes none in columns of few values.
N_BINS = 128
# Prior variance of the log odds of a row, over all standardised columns together.
PRIOR_VARIANCE = 10.0
# The folds are dependent, since any two of them train and test each other. Without shift, this
# doubles the variance of the mean; with a clear shift, the models agree and nothing is added. The
# distance, in standard errors, at which half of the excess is left was chosen by simulation.
HALF_EXCESS_DISTANCE = 4


class DomainRows:
    """Rows of both samples, encoded and split into folds once, for any number of fits."""

    def __init__(
        self,
        X: Any,
        X_target: Any,
        *,
        cv: int = 5,
        max_rows: int = 20_000,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        check_count("cv", cv, 2)
        check_count("max_rows", max_rows, 10)
        stacked, codes = stacked_table(X, X_target)
        self.n_source = int((codes == 0).sum())
        rng = check_random_state(random_state)
        self.indices = np.concatenate([rows[:max_rows] for rows in shuffled(stacked, codes, rng)])
        self.table, self.codes = take_rows(stacked, self.indices), codes[self.indices]
        self.seed = int(rng.randint(2**31 - 1))
        self.encoder = TableEncoder().fit(self.table, self.codes)
        self.folds = assign_folds(RowScores(self.table).group, self.codes, int(cv))
        self.tests = [test for _, test in self.folds]
        self.numbers = self.encoder.numbers(self.table)
        self.trees = small_trees(
            self.encoder.categorical, self.seed, learning_rate=0.1, max_iter=100, patience=5
        )
        self.tree_codes = self._tree_codes()

    def _tree_codes(self) -> Array | None:
        """Return columns of few values for trees, or None if trees are left out."""
        if not can_fit_trees(self.table, self.codes):
            return None
        columns: Array = self.encoder.for_trees(self.table)
        n_bins = min(N_BINS, self.trees.max_bins)
        for j in np.flatnonzero(~self.encoder.categorical):
            columns[:, j] = binned(columns[:, j], n_bins)
        return columns

    def with_weights(self, weights: ArrayLike | None) -> Array:
        """Return weights of these rows: those given for the source, and 1 for the target."""
        result = np.ones(self.codes.size)
        if weights is not None:
            checked = np.asarray(check_sample_weight(weights, self.n_source, "weights"))
            is_source = self.codes == 0
            source = checked[self.indices[is_source]]
            if not source.any():
                raise ValueError(
                    "Got weights that are zero for every source row drawn; raise max_rows, so that "
                    "rows that have weight are among them."
                )
            result[is_source] = source / source.max()
        return result


@dataclass(frozen=True)
class DomainModel:
    """A linear model of the log odds of the target, and trees unless they are left out."""

    coef: Array
    intercept: float
    trees: HistGradientBoostingClassifier | None = None

    def linear_log_odds(self, numbers: Array) -> Array:
        """Return the log odds of the linear model."""
        return np.asarray(numbers @ self.coef).ravel() + self.intercept

    def tree_log_odds(self, tree_codes: Array | None) -> Array | None:
        """Return the log odds of the trees, or None if there are none."""
        if self.trees is None or tree_codes is None:
            return None
        return np.asarray(self.trees.decision_function(tree_codes))

    def splits_by(self, column: int) -> bool:
        """Return True if a tree splits on the column, or if the trees cannot be inspected."""
        if self.trees is None:
            return False
        trees = [tree for stage in getattr(self.trees, "_predictors", []) for tree in stage]
        if not trees:
            return True
        splits = np.concatenate([t.nodes["feature_idx"][t.nodes["is_leaf"] == 0] for t in trees])
        categorical = self.trees.is_categorical_
        if categorical is not None:  # These columns come first in the trees.
            splits = np.argsort(~categorical, kind="stable")[splits]
        return bool((splits == column).any())


class CrossFittedDomain:
    """Models that distinguish target from source, one per fold, and held-out log odds."""

    def __init__(self, rows: DomainRows, weights: ArrayLike | None = None) -> None:
        self.rows = rows
        self.weights = rows.with_weights(weights)
        with one_thread():
            self.models = [self._linear_model(train) for train, _ in rows.folds]
            self.linear = np.empty(rows.codes.size)
            for model, test in zip(self.models, rows.tests, strict=True):
                self.linear[test] = model.linear_log_odds(rows.numbers[test])
            self.trees = self.linear.copy()
            auc, _, _ = fold_auc(self.linear, rows.codes, self.weights, rows.tests)
            if rows.tree_codes is not None and auc < SEPARABLE_AUC:
                self._add_trees(rows.tree_codes)
        self.log_odds = (self.linear + self.trees) / 2

    def _add_trees(self, tree_codes: Array) -> None:
        """Add trees to the models, and their held-out log odds."""
        for k, (train, test) in enumerate(self.rows.folds):
            weight = self._balanced(train)
            if weight is None:
                continue
            trees = clone(self.rows.trees)
            trees.fit(tree_codes[train], self.rows.codes[train], sample_weight=weight)
            self.models[k] = replace(self.models[k], trees=trees)
            self.trees[test] = trees.decision_function(tree_codes[test])

    def _balanced(self, train: Array) -> Array | None:
        """Return weights of equal total for both samples, or None if one has no weight."""
        codes, weight = self.rows.codes[train], self.weights[train].copy()
        for code in (0, 1):
            total = weight[codes == code].sum()
            if total <= 0:  # All of the weight is held out.
                return None
            weight[codes == code] *= codes.size / 2 / total
        return weight

    def _linear_model(self, train: Array) -> DomainModel:
        rows, weight = self.rows, self._balanced(train)
        width = rows.numbers.shape[1]
        if weight is None:
            return DomainModel(np.zeros(width), 0.0)
        linear = LogisticRegression(C=PRIOR_VARIANCE / width, max_iter=1000)
        linear.fit(rows.numbers[train], rows.codes[train], sample_weight=weight)
        return DomainModel(linear.coef_[0], float(linear.intercept_[0]))

    def auc(self, confidence: float = 0.95) -> Estimate:
        """Return the probability that a target row scores higher than a source row."""
        value, _, error = fold_auc(self.log_odds, self.rows.codes, self.weights, self.rows.tests)
        distance = (value - 0.5) / error
        error *= math.sqrt(1 + 1 / (1 + (distance / HALF_EXCESS_DISTANCE) ** 2))
        return Estimate.normal(value, error, confidence, (0.0, 1.0))


def binned(column: Array, n_bins: int) -> Array:
    """Return the bin of each number, with equal counts; NaN stays, and few values stay distinct."""
    known = ~np.isnan(column)
    values = np.unique(column[known])
    if values.size > n_bins:
        levels = np.arange(1, n_bins) / n_bins
        values = np.unique(np.quantile(column[known], levels, method="lower"))
    bins = np.full(column.size, np.nan)
    bins[known] = np.searchsorted(values, column[known], side="right")
    return bins
