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
from sklearn.base import ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state

from weighbridge._findings import Estimate
from weighbridge._folds import assign_folds, one_thread
from weighbridge.ratios import SEPARABLE_AUC, can_fit_trees, small_trees
from weighbridge.tables import (
    RowScores,
    TableEncoder,
    check_sample_weight,
    shuffled,
    stacked_table,
    take_rows,
)

# Histogram boosting would compute weighted quantiles in each fold, which takes longer than the
# trees. It computes none in columns of few values.
N_BINS = 128
N_FOLDS = 5
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
        max_rows: int = 20_000,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        stacked, codes = stacked_table(X, X_target)
        self.n_source = int((codes == 0).sum())
        rng = check_random_state(random_state)
        self.indices = np.concatenate([rows[:max_rows] for rows in shuffled(stacked, codes, rng)])
        self.table, self.codes = take_rows(stacked, self.indices), codes[self.indices]
        self.seed = int(rng.randint(2**31 - 1))
        self.encoder = TableEncoder().fit(self.table, self.codes)
        self.folds = assign_folds(RowScores(self.table).group, self.codes, N_FOLDS)
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
            is_source = self.codes == 0
            checked = check_sample_weight(weights, self.n_source, "weights")
            source = np.asarray(checked)[self.indices[is_source]]
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
    A fold without a model has None in `linear_models` or `tree_models`.
    """

    def __init__(self, rows: DomainRows, weights: ArrayLike | None = None) -> None:
        self.rows, self.weights = rows, rows.with_weights(weights)
        linear = LogisticRegression(C=PRIOR_VARIANCE / rows.numbers.shape[1], max_iter=1000)
        with one_thread():
            self.linear, self.linear_models = self._cross_fit(linear, rows.numbers)
            self.trees = self.linear
            self.tree_models: list[ClassifierMixin | None] = [None] * len(rows.folds)
            auc, _, _ = fold_auc(self.linear, rows.codes, self.weights, rows.tests)
            if rows.tree_codes is not None and auc < SEPARABLE_AUC:
                self.trees, self.tree_models = self._cross_fit(rows.trees, rows.tree_codes)
        self.log_odds = (self.linear + self.trees) / 2

    def _cross_fit(
        self, model: ClassifierMixin, table: np.ndarray
    ) -> tuple[np.ndarray, list[ClassifierMixin | None]]:
        """Return the held-out log odds and the model of each fold, with balanced samples."""
        codes, log_odds = self.rows.codes, np.zeros(self.rows.codes.size)
        models: list[ClassifierMixin | None] = []
        for train, test in self.rows.folds:
            totals = np.bincount(codes[train], self.weights[train], minlength=2)
            if totals.min() <= 0:  # All of the weight of a sample is held out.
                models.append(None)
                continue
            balanced = self.weights[train] * (train.size / 2 / totals)[codes[train]]
            fitted = clone(model).fit(table[train], codes[train], sample_weight=balanced)
            log_odds[test] = fitted.decision_function(table[test])
            models.append(fitted)
        return log_odds, models

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
