"""A cross-fitted classifier that distinguishes target rows from source rows.

The score of a row is the mean of the log odds of a ridge-penalised logistic regression and of small
histogram boosting with early stopping. Trees are left out for sparse tables, beyond 1,000 columns,
below 50 rows in a sample, and if the AUC of the regression alone is 0.999 or more. Both samples
have the same total weight. Equal rows share a fold, and only rows of one fold are compared, so
identical samples have an AUC of exactly 1/2.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state

from weighbridge._findings import Estimate
from weighbridge._folds import assign_folds, one_thread
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
        X: ArrayLike,
        X_target: ArrayLike,
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
        self.tree_codes: np.ndarray | None = None
        if can_fit_trees(self.table, self.codes):
            self.tree_codes = self.encoder.for_trees(self.table)
            for j in np.flatnonzero(~self.encoder.categorical):
                n_bins = min(N_BINS, self.trees.max_bins)
                self.tree_codes[:, j] = binned(self.tree_codes[:, j], n_bins)

    def with_weights(self, weights: ArrayLike | None) -> np.ndarray:
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


class CrossFittedDomain:
    """Models that distinguish target from source, one per fold, and held-out log odds.

    `linear` and `trees` are the log odds of the two models at each row, and `log_odds` their mean.
    `coefficients` and `tree_models` belong to the folds; a fold without trees has None.
    """

    def __init__(self, rows: DomainRows, weights: ArrayLike | None = None) -> None:
        self.rows = rows
        self.weights = rows.with_weights(weights)
        self.coefficients: list[np.ndarray] = []
        self.tree_models: list[HistGradientBoostingClassifier | None] = [None] * len(rows.folds)
        with one_thread():
            self.linear = np.empty(rows.codes.size)
            for train, test in rows.folds:
                coef, intercept = self._linear_model(train)
                self.linear[test] = np.asarray(rows.numbers[test] @ coef).ravel() + intercept
                self.coefficients.append(coef)
            self.trees = self.linear.copy()
            auc, _, _ = fold_auc(self.linear, rows.codes, self.weights, rows.tests)
            if rows.tree_codes is not None and auc < SEPARABLE_AUC:
                self._add_trees(rows.tree_codes)
        self.log_odds = (self.linear + self.trees) / 2

    def _linear_model(self, train: np.ndarray) -> tuple[np.ndarray, float]:
        rows, weight = self.rows, self._balanced(train)
        width = rows.numbers.shape[1]
        if weight is None:
            return np.zeros(width), 0.0
        linear = LogisticRegression(C=PRIOR_VARIANCE / width, max_iter=1000)
        linear.fit(rows.numbers[train], rows.codes[train], sample_weight=weight)
        return linear.coef_[0], float(linear.intercept_[0])

    def _add_trees(self, tree_codes: np.ndarray) -> None:
        for k, (train, test) in enumerate(self.rows.folds):
            weight = self._balanced(train)
            if weight is not None:
                trees = clone(self.rows.trees)
                trees.fit(tree_codes[train], self.rows.codes[train], sample_weight=weight)
                self.tree_models[k] = trees
                self.trees[test] = trees.decision_function(tree_codes[test])

    def _balanced(self, train: np.ndarray) -> np.ndarray | None:
        """Return weights of equal total for both samples, or None if one has no weight."""
        codes, weight = self.rows.codes[train], self.weights[train].copy()
        for code in (0, 1):
            total = weight[codes == code].sum()
            if total <= 0:  # All of the weight is held out.
                return None
            weight[codes == code] *= codes.size / 2 / total
        return weight

    def auc(self, confidence: float = 0.95) -> Estimate:
        """Return the probability that a target row scores higher than a source row."""
        value, _, error = fold_auc(self.log_odds, self.rows.codes, self.weights, self.rows.tests)
        distance = (value - 0.5) / error
        error *= math.sqrt(1 + 1 / (1 + (distance / HALF_EXCESS_DISTANCE) ** 2))
        return Estimate.normal(value, error, confidence, (0.0, 1.0))


def binned(column: np.ndarray, n_bins: int) -> np.ndarray:
    """Return the bin of each number, with equal counts; NaN stays, and few values stay distinct."""
    known = ~np.isnan(column)
    values = np.unique(column[known])
    if values.size > n_bins:
        levels = np.arange(1, n_bins) / n_bins
        values = np.unique(np.quantile(column[known], levels, method="lower"))
    bins = np.full(column.size, np.nan)
    bins[known] = np.searchsorted(values, column[known], side="right")
    return bins


def fold_auc(
    scores: np.ndarray, codes: np.ndarray, weights: np.ndarray, tests: list[np.ndarray]
) -> tuple[float, np.ndarray, float]:
    """Return the AUC over the pairs that share a fold, each row's influence, the standard error.

    With ``a_i`` the weight of row i times that of the other sample in its fold, and the placement
    ``p_i`` the share of the other sample that row i is on the right side of, the AUC is
    ``A = sum_i a_i p_i / sum_i a_i`` over either sample, and the influence is ``a_i (p_i - A)``
    over the same sum (DeLong et al. 1988).
    """
    placement, share = np.zeros(codes.size), np.zeros(codes.size)
    total = 0.0
    for test in tests:
        is_target, weight = codes[test] == 1, weights[test]
        n_source, n_target = float(weight[~is_target].sum()), float(weight[is_target].sum())
        if min(n_source, n_target) <= 0:
            continue
        placement[test] = _placements(scores[test], is_target, weight, n_source, n_target)
        share[test] = weight * np.where(is_target, n_source, n_target)
        total += n_source * n_target
    if total <= 0:
        return 0.5, np.zeros(codes.size), 0.5
    share /= total
    auc = min(float(share[codes == 0] @ placement[codes == 0]), 1.0)
    influence = share * (placement - auc)
    # Separate samples, or one row with all of the weight, have influences of zero. Half a misplaced
    # row keeps a few effective rows from looking certain.
    floor = 0.5 / min(_effective_rows(weights[codes == code]) for code in (0, 1))
    return auc, influence, max(standard_error(influence, codes, weights), floor)


def _placements(
    scores: np.ndarray, is_target: np.ndarray, weight: np.ndarray, n_source: float, n_target: float
) -> np.ndarray:
    _, level = np.unique(scores, return_inverse=True)
    source = np.bincount(level, np.where(is_target, 0.0, weight))
    target = np.bincount(level, np.where(is_target, weight, 0.0))
    source_below = (np.cumsum(source) - source / 2) / n_source
    target_above = 1 - (np.cumsum(target) - target / 2) / n_target
    return np.where(is_target, source_below[level], target_above[level])


def standard_error(influence: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> float:
    """Return ``sqrt(sum_i influence_i**2)``, corrected for the mean of each sample."""
    variance = 0.0
    for code in (0, 1):
        of_sample = influence[codes == code]
        effective = _effective_rows(weights[codes == code])
        variance += float(of_sample @ of_sample) / max(1 - 1 / effective, 0.5)
    return math.sqrt(variance)


def _effective_rows(weights: np.ndarray) -> float:
    share = weights / weights.sum()
    return 1 / float(share @ share)
