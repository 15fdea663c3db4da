"""A classifier that tells target rows from source rows, cross-fitted, and its AUC."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
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
    one_number,
    shuffled,
    stacked_table,
    take_rows,
)

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class FoldAuc:
    """AUC over all pairs of a source and a target row that share a fold."""

    value: float
    influence: Array
    standard_error: float


def fold_auc(scores: Array, codes: Array, weights: Array, tests: list[Array]) -> FoldAuc:
    """Return the weighted AUC of held-out scores, from the placements of the rows."""
    placement, share = np.zeros(codes.size), np.zeros(codes.size)
    total = 0.0
    for test in tests:
        is_target = codes[test] == 1
        weight = weights[test]
        sums = [float(weight[~is_target].sum()), float(weight[is_target].sum())]
        if min(sums) <= 0:
            continue
        placement[test] = _placements(scores[test], is_target, weight, sums)
        share[test] = weight * np.where(is_target, sums[0], sums[1])
        total += sums[0] * sums[1]
    if total <= 0:
        return FoldAuc(0.5, np.zeros(codes.size), 0.5)
    share /= total
    # pairs counted from the side of the source; from the target's it is the same number
    value = min(float(share[codes == 0] @ placement[codes == 0]), 1.0)
    influence = share * (placement - value)
    # Samples that are apart without exception, or one row that carries all weight, have influences
    # of zero; half a misplaced row keeps a handful of effective rows from looking certain.
    floor = 0.5 / min(_effective_rows(weights[codes == code]) for code in (0, 1))
    return FoldAuc(value, influence, max(standard_error(influence, codes, weights), floor))


def _placements(scores: Array, is_target: Array, weight: Array, sums: list[float]) -> Array:
    """Return the share of the other sample that a row is on the right side of, in one fold."""
    _, level = np.unique(scores, return_inverse=True)
    source = np.bincount(level, np.where(is_target, 0.0, weight))
    target = np.bincount(level, np.where(is_target, weight, 0.0))
    source_below = (np.cumsum(source) - source / 2) / sums[0]
    target_above = 1 - (np.cumsum(target) - target / 2) / sums[1]
    return np.where(is_target, source_below[level], target_above[level])


def standard_error(influence: Array, codes: Array, weights: Array) -> float:
    """Return the root of the sum of squares, corrected for the mean taken out of each sample."""
    variance = 0.0
    for code in (0, 1):
        part = influence[codes == code]
        effective = _effective_rows(weights[codes == code])
        variance += float(part @ part) / max(1 - 1 / effective, 0.5)
    return math.sqrt(variance)


def _effective_rows(weights: Array) -> float:
    share = weights / weights.sum()
    return 1 / float(share @ share)


# Values that a column keeps for trees. Histogram boosting would find weighted quantiles in each
# fold, which takes longer than the trees, and finds none in columns of few values.
N_BINS = 128
# Prior variance of the log odds of a row, all standardised columns together.
PRIOR_VARIANCE = 10.0


def domain_auc(
    X: Any,
    X_target: Any,
    weights: Any = None,
    *,
    cv: int = 5,
    max_rows: int = 20_000,
    confidence: float = 0.95,
    random_state: Any = 0,
) -> Estimate:
    """AUC of a cross-fitted classifier that tells the target rows from the source rows.

    It is the chance that a target row gets a higher score than a source row, from models that saw
    neither: 1/2 where the classifier finds no difference, 1 where it separates the samples.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_source, n_features)
        Source rows; text and missing values are taken as they are.
    X_target : same type, of shape (n_target, n_features)
        Target rows.
    weights : array-like of shape (n_source,), optional
        Weights of the source rows. The classifier is fitted *anew* with them, so that 1/2 means
        that weighting removed every difference that it can find.
    cv : int, default=5
        Number of folds.
    max_rows : int, default=20_000
        A sample with more rows is represented by that many of them, drawn at random.
    confidence : float, default=0.95
        Level of the interval.
    random_state : int, RandomState instance or None, default=0
        Draws rows, deals folds and splits for early stopping.

    Returns
    -------
    Estimate
        The AUC with its standard error and interval.

    Notes
    -----
    The score is the mean of the log odds of a ridge-penalised logistic regression and of small
    histogram boosting with early stopping (left out for sparse tables, beyond 1,000 columns, below
    50 rows in a sample, and where the AUC of the regression alone is 0.999 or more). Both samples
    have the same total weight. Equal rows share a fold, and only rows of one fold are compared;
    identical samples have an AUC of 1/2 exactly.

    The standard error is DeLong's, with the weights in the influence of each row, and never below
    what half a misplaced row of the smaller (effective) sample makes. The folds are dependent: any
    two of them train and test each other. Without shift, where models learn nothing but the chance
    difference of their rows, the variance of the mean is therefore twice that of independent folds;
    with a clear shift the models agree, and the excess vanishes. The variance is multiplied by
    ``1 + 1 / (1 + (z / 4)**2)``, z being the distance of the AUC from 1/2 in standard errors; the 4
    was found by simulation.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.diagnostics import domain_auc
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (2000, 1)), rng.normal(1, 1, (2000, 1))
    >>> auc = domain_auc(X, X_target)  # 0.76 is the best that any classifier can do
    >>> auc.low < 0.76 < auc.high
    True
    >>> weighted = domain_auc(X, X_target, np.exp(X[:, 0] - 0.5))  # the true ratio
    >>> weighted.low < 0.5 < weighted.high
    True
    """
    confidence = check_confidence(confidence)
    rows = DomainRows(X, X_target, cv=cv, max_rows=max_rows, random_state=random_state)
    return CrossFittedDomain(rows, weights).auc(confidence)


class DomainRows:
    """Rows of both samples, encoded and dealt into folds once, for any number of fits."""

    def __init__(
        self,
        X: Any,
        X_target: Any,
        *,
        cv: int = 5,
        max_rows: int = 20_000,
        random_state: Any = 0,
    ) -> None:
        check_count("cv", cv, 2)
        check_count("max_rows", max_rows, 10)
        stacked, codes = stacked_table(X, X_target)
        self.n_source = int((codes == 0).sum())
        rng = check_random_state(random_state)
        self.places = np.concatenate([rows[:max_rows] for rows in shuffled(stacked, codes, rng)])
        self.table, self.codes = take_rows(stacked, self.places), codes[self.places]
        self.seed = int(rng.randint(2**31 - 1))
        self.encoder = TableEncoder().fit(self.table, self.codes)
        self.folds = assign_folds(RowScores(self.table).group, self.codes, int(cv))
        self.numbers = self.encoder.numbers(self.table)
        self.trees = small_trees(
            self.encoder.categorical, self.seed, learning_rate=0.1, max_iter=100, patience=5
        )
        self.tree_codes = self._tree_codes()

    @property
    def tests(self) -> list[Array]:
        """Positions of the held-out rows of each fold."""
        return [test for _, test in self.folds]

    def _tree_codes(self) -> Array | None:
        """Return columns of few values for trees, or None where trees are left out."""
        if not can_fit_trees(self.table, self.codes):
            return None
        columns = self.encoder.for_trees(self.table)
        n_bins = min(N_BINS, self.trees.max_bins)
        for j in np.flatnonzero(~self.encoder.categorical):
            columns[:, j] = binned(columns[:, j], n_bins)
        return columns

    def of_source(self, weights: Any) -> Array:
        """Return weights for the rows kept here: those given for the source, 1 for the target."""
        kept = np.ones(self.codes.size)
        if weights is not None:
            weights = check_sample_weight(weights, self.n_source, "weights")
            is_source = self.codes == 0
            source = weights[self.places[is_source]]
            if not source.any():
                raise ValueError(
                    "Got weights that are zero for every source row drawn; raise max_rows, so that "
                    "rows that have weight are among them."
                )
            kept[is_source] = source / source.max()
        return kept


@dataclass(frozen=True)
class DomainModel:
    """Log odds of the target, the mean of a linear model's and of trees'."""

    coef: Array
    intercept: float
    trees: Any

    def linear_part(self, numbers: Any) -> Array:
        """Return the log odds of the linear model."""
        return np.asarray(numbers @ self.coef).ravel() + self.intercept

    def tree_part(self, tree_codes: Array | None) -> Array | None:
        """Return the log odds of the trees, None where there are none."""
        if self.trees is None or tree_codes is None:
            return None
        return np.asarray(self.trees.decision_function(tree_codes))

    def splits_by(self, column: int) -> bool:
        """Return whether any tree looks at a column; true of trees that do not tell."""
        if self.trees is None:
            return False
        nodes = [tree.nodes for stage in getattr(self.trees, "_predictors", []) for tree in stage]
        if not nodes:
            return True
        splits = np.concatenate([each["feature_idx"][each["is_leaf"] == 0] for each in nodes])
        categorical = self.trees.is_categorical_
        if categorical is not None:  # they come first in the trees
            splits = np.argsort(~categorical, kind="stable")[splits]
        return bool((splits == column).any())


def mean_log_odds(linear: Array, trees: Array | None) -> Array:
    """Return the mean of the two parts of a model."""
    return linear if trees is None else (linear + trees) / 2


class CrossFittedDomain:
    """Fold models that tell target from source, and the log odds of the rows they did not see."""

    def __init__(self, rows: DomainRows, weights: Any = None) -> None:
        self.rows = rows
        self.weights = rows.of_source(weights)
        with one_thread():
            self.models = [self._fit_line(train) for train, _ in rows.folds]
            self.linear = np.empty(rows.codes.size)
            for model, test in zip(self.models, rows.tests, strict=True):
                self.linear[test] = model.linear_part(rows.numbers[test])
            self.trees = self.linear.copy()
            by_line = fold_auc(self.linear, rows.codes, self.weights, rows.tests)
            if rows.tree_codes is not None and by_line.value < SEPARABLE_AUC:
                self._add_trees(rows.tree_codes)
        self.log_odds = mean_log_odds(self.linear, self.trees)

    def _add_trees(self, tree_codes: Array) -> None:
        """Add trees to the models, and their log odds."""
        for k, (train, test) in enumerate(self.rows.folds):
            self.models[k] = model = self._fit_trees(self.models[k], train)
            trees = model.tree_part(tree_codes[test])
            self.trees[test] = self.linear[test] if trees is None else trees

    def _balanced(self, train: Array) -> Array | None:
        """Return weights with which both samples count alike; None where one has no weight."""
        codes, weight = self.rows.codes[train], self.weights[train].copy()
        for code in (0, 1):
            total = weight[codes == code].sum()
            if total <= 0:  # all weight is held out: nothing to learn from
                return None
            weight[codes == code] *= codes.size / 2 / total
        return weight

    def _fit_line(self, train: Array) -> DomainModel:
        rows, weight = self.rows, self._balanced(train)
        width = rows.numbers.shape[1]
        if weight is None:
            return DomainModel(np.zeros(width), 0.0, None)
        linear = LogisticRegression(C=PRIOR_VARIANCE / width, max_iter=1000)
        linear.fit(rows.numbers[train], rows.codes[train], sample_weight=weight)
        return DomainModel(linear.coef_[0], float(linear.intercept_[0]), None)

    def _fit_trees(self, model: DomainModel, train: Array) -> DomainModel:
        rows, weight = self.rows, self._balanced(train)
        if weight is None or rows.tree_codes is None:
            return model
        trees = clone(rows.trees)
        trees.fit(rows.tree_codes[train], rows.codes[train], sample_weight=weight)
        return replace(model, trees=trees)

    def auc(self, confidence: float = 0.95) -> Estimate:
        """Return the AUC with its interval."""
        found = fold_auc(self.log_odds, self.rows.codes, self.weights, self.rows.tests)
        distance = (found.value - 0.5) / found.standard_error
        # the dependence of the folds widens the interval (see `domain_auc`)
        error = found.standard_error * math.sqrt(1 + 1 / (1 + (distance / 4) ** 2))
        return Estimate.normal(found.value, error, confidence, (0.0, 1.0))


def binned(column: Array, n_bins: int) -> Array:
    """Return numbers of bins of about equally many rows; NaN stays, few values stay apart."""
    known = ~np.isnan(column)
    values = np.unique(column[known])
    if values.size > n_bins:
        levels = np.arange(1, n_bins) / n_bins
        values = np.unique(np.quantile(column[known], levels, method="lower"))
    places = np.full(column.size, np.nan)
    places[known] = np.searchsorted(values, column[known], side="right")
    return places


def check_confidence(confidence: Any) -> float:
    """Return the confidence of an interval, or refuse one outside of 0 and 1."""
    number = one_number(confidence, "confidence")
    if not 0 < number < 1:
        raise ValueError(
            f"Got confidence={number!r}, but expected a number between 0 and 1, e.g. 0.95."
        )
    return number
