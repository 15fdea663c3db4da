"""Cross-fitting: every row is scored by a model that did not see it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed
from scipy.special import logit
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.pipeline import Pipeline

from weighbridge.tables import take_rows

# Trees look at every column at every split; with fewer rows of a sample they have nothing to split.
MAX_TREE_COLUMNS, MIN_TREE_ROWS = 1000, 50
# With more columns than these, fewer values of each are told apart: their number is the cost.
MANY_COLUMNS, FEW_BINS = 100, 64
# AUC of a line, held out, from which on nothing more flexible has anything to add.
ALL_TOLD = 0.999


def small_trees(
    categorical: np.ndarray, seed: int, *, learning_rate: float, max_iter: int, patience: int
) -> HistGradientBoostingClassifier:
    """Return boosted trees of 8 leaves that stop early: there is often little to tell."""
    return HistGradientBoostingClassifier(
        learning_rate=learning_rate,
        max_iter=max_iter,
        max_leaf_nodes=8,
        l2_regularization=1.0,
        max_bins=255 if categorical.size <= MANY_COLUMNS else FEW_BINS,
        early_stopping=True,
        n_iter_no_change=patience,
        categorical_features=categorical if categorical.any() else None,
        random_state=seed,
    )


def deal(group: np.ndarray, codes: np.ndarray, n_folds: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Deal rows, in the order they come, into folds stratified by sample; groups stay together."""
    group = in_order_of_appearance(group)
    if are_categories(group, codes):
        group = np.arange(codes.size)
    has_source, has_target, size = _group_counts(group, codes)
    both = has_source & has_target
    rarest = int(min(has_source.sum(), has_target.sum()))
    if rarest < 2:
        raise ValueError(
            "Got a sample (a class of y) with 1 row, or with copies of 1 row; cross-fitting needs "
            "at least 2 rows of each sample, and a useful ratio a few dozen."
        )
    n_folds = min(n_folds, rarest)
    # what is in both samples first, then each sample by itself from there on: every sample reaches
    # every fold, and the samples can change places
    fold_of_group = np.empty(size.size, dtype=int)
    fold_of_group[both] = np.arange(both.sum()) % n_folds
    for alone in (has_source & ~has_target, has_target & ~has_source):
        fold_of_group[alone] = (both.sum() + np.arange(alone.sum())) % n_folds
    fold_of_row = fold_of_group[group]
    return [
        (np.flatnonzero(fold_of_row != fold), np.flatnonzero(fold_of_row == fold))
        for fold in range(n_folds)
    ]


def are_categories(group: np.ndarray, codes: np.ndarray) -> bool:
    """True where equal rows are no copies: most rows are in both samples, and many times."""
    has_source, has_target, size = _group_counts(group, codes)
    both = has_source & has_target
    return bool(size[both].sum() > max(codes.size / 2, 5 * both.sum()))


def in_order_of_appearance(group: np.ndarray) -> np.ndarray:
    """Number the groups of equal rows anew, in the order in which they first appear."""
    first = np.unique(group, return_index=True)[1]
    return np.argsort(np.argsort(first))[group]


def _group_counts(
    group: np.ndarray, codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each group whether it has source rows, whether target rows, and its size."""
    size = np.bincount(group)
    n_target = np.bincount(group, weights=codes)
    return n_target < size, n_target > 0, size


class Family(Protocol):
    """One model, or one model at several penalties, that can be fitted to rows."""

    def fit_all(self, X: Any, codes: np.ndarray) -> list[Any]:
        """Return the fitted models."""


class Single:
    """The family of one classifier or density ratio."""

    def __init__(self, estimator: Any):
        self.estimator = estimator

    def fit_all(self, X: Any, codes: np.ndarray) -> list[Any]:
        """Return a fitted copy; the warnings of a ratio are for whoever chooses it."""
        model = clone(self.estimator)
        if hasattr(model, "_estimate"):
            model._estimate(X, codes)
            return [model]
        return [model.fit(X, codes)]


def cross_fit(
    family: Family, X: Any, codes: np.ndarray, folds: Any
) -> tuple[list[FoldModel], np.ndarray, int]:
    """Fit a family on each fold; keep its best member."""
    return held_out(fit_folds(family, X, codes, folds), codes, [test for _, test in folds])


Fitted = list[tuple[list["FoldModel"], np.ndarray]]


def fit_folds(
    family: Family, X: Any, codes: np.ndarray, folds: Any, n_jobs: int | None = None
) -> Fitted:
    """Return the models of each fold, and their log odds at the rows held out."""
    return Parallel(n_jobs=n_jobs)(
        delayed(_fit_fold)(family, X, codes, train, test) for train, test in folds
    )


def held_out(
    fitted: Fitted, codes: np.ndarray, tests: list[np.ndarray]
) -> tuple[list[FoldModel], np.ndarray, int]:
    """Return models and held-out log odds of the member with the smallest held-out log loss."""
    log_odds = np.full((len(fitted[0][0]), codes.size), np.nan)
    for test, (_, at_test) in zip(tests, fitted, strict=True):
        log_odds[:, test] = at_test
    missing = np.isnan(log_odds).any(axis=0)
    if missing.any():
        raise ValueError(
            f"Got a cv that leaves {missing.sum()} rows out of every test fold (or a classifier "
            "that returns NaN for them); each row needs a score from a model that did not see it."
        )
    losses = [row_log_losses(m, codes).mean() for m in log_odds] if len(log_odds) > 1 else [0.0]
    best = int(np.argmin(losses))
    return [models[best] for models, _ in fitted], log_odds[best], best


def _fit_fold(
    family: Family, X: Any, codes: np.ndarray, train: np.ndarray, test: np.ndarray
) -> tuple[list[FoldModel], np.ndarray]:
    held_out = take_rows(X, test)
    fitted = family.fit_all(take_rows(X, train), codes[train])
    models = [FoldModel(model, codes, codes[train]) for model in fitted]
    return models, np.array([model.log_odds(held_out) for model in models])


def row_log_losses(log_odds: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the log loss of each row."""
    return np.logaddexp(0, np.where(codes == 1, -log_odds, log_odds))


@dataclass(frozen=True)
class LinearLogOdds:
    """Log odds that are linear in the features."""

    coef: np.ndarray
    intercept: float
    C: float

    def log_odds(self, X: Any) -> np.ndarray:
        """Return the log odds at the rows of a feature matrix."""
        return np.asarray(X @ self.coef).ravel() + self.intercept


class FoldModel:
    """A classifier fitted on one training fold, with odds as if fitted on all rows."""

    def __init__(self, estimator: Any, codes: np.ndarray, labels: np.ndarray):
        if hasattr(estimator, "best_estimator_"):  # a search may have chosen them
            refuse_class_weight(estimator.best_estimator_)
        self.estimator = estimator
        self.offset = log_prior_odds(codes) - log_prior_odds(labels)
        self.edge = smallest_probability(codes)

    def log_odds(self, X: Any) -> np.ndarray:
        """Return the log odds of the target, exact for logistic regression and ratios."""
        if isinstance(self.estimator, LinearLogOdds):
            return self.estimator.log_odds(X) + self.offset
        last = self.estimator
        while isinstance(last, Pipeline):
            last = last.steps[-1][1]
        is_ratio = hasattr(last, "log_prior_odds_")
        if is_ratio or isinstance(last, LogisticRegression | LogisticRegressionCV):
            return np.asarray(self.estimator.decision_function(X), dtype=float) + self.offset
        probability = np.asarray(self.estimator.predict_proba(X), dtype=float)[:, 1]
        return logit(np.clip(probability, self.edge, 1 - self.edge)) + self.offset


def log_prior_odds(codes: np.ndarray) -> float:
    """Log of the number of target rows over the number of source rows."""
    n_target = int(codes.sum())
    return math.log(n_target / (codes.size - n_target))


def smallest_probability(codes: np.ndarray) -> float:
    """Smallest probability that so many rows can show."""
    return 1 / (2 * codes.size)


def refuse_class_weight(estimator: Any) -> None:
    """Refuse class weights, anywhere inside."""
    for key, value in estimator.get_params().items():
        if key.rpartition("__")[2] == "class_weight" and value is not None:
            raise ValueError(
                f"Got {type(estimator).__name__} with {key}={value!r}; class weights undo the "
                f"correction for the sample sizes. Set {key}=None."
            )
