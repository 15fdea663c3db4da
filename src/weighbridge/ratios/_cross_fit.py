"""Cross-fitting: every row is scored by a model that did not see it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state


def deal(
    row_keys: np.ndarray, codes: np.ndarray, n_folds: int, random_state: Any
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Deal rows into folds, stratified by sample; equal rows stay together.

    Rows are repeated by a bootstrap, by oversampling or as whole-number weights, and a model that
    has seen a row's copy has seen the row. Values of categories are also equal rows, but many of
    them and in both samples: they are dealt singly, or no model would know a held-out category.
    """
    group = np.unique(row_keys, return_inverse=True)[1]
    has_source, has_target, size = _group_counts(group, codes)
    both = has_source & has_target
    if size[both].sum() > max(codes.size / 2, 5 * both.sum()):
        group = np.arange(codes.size)
        has_source, has_target, size = _group_counts(group, codes)
    rarest = int(min(has_source.sum(), has_target.sum()))
    if rarest < 2:
        raise ValueError(
            "Got a sample (a class of y) with 1 row, or with copies of 1 row; cross-fitting needs "
            "at least 2 rows of each sample, and a useful ratio some dozens."
        )
    n_folds = min(n_folds, rarest)
    # source only, both, target only: each sample is one stretch, and a stretch reaches every fold
    stratum = has_target * 1 + (has_target & ~has_source) * 1
    shuffled = check_random_state(random_state).permutation(size.size)
    in_turn = shuffled[np.argsort(stratum[shuffled], kind="stable")]
    fold_of_group = np.empty(size.size, dtype=int)
    fold_of_group[in_turn] = np.arange(size.size) % n_folds
    fold_of_row = fold_of_group[group]
    return [
        (np.flatnonzero(fold_of_row != fold), np.flatnonzero(fold_of_row == fold))
        for fold in range(n_folds)
    ]


def _group_counts(
    group: np.ndarray, codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each group whether it has source rows, whether target rows, and its size."""
    size = np.bincount(group)
    n_target = np.bincount(group, weights=codes)
    return n_target < size, n_target > 0, size


def cross_fit(
    candidates: list[Any], X: Any, codes: np.ndarray, folds: list[tuple[np.ndarray, np.ndarray]]
) -> tuple[list[Any], np.ndarray]:
    """Fit each candidate on each fold; keep the one with the smallest held-out log loss.

    Returns its models, one per fold, and its out-of-fold log odds, as if every training fold had
    the sample sizes of the whole.
    """
    log_odds = np.full((len(candidates), codes.size), np.nan)
    models: list[list[Any]] = [[] for _ in candidates]
    for train, test in folds:
        rows, labels, held_out = _safe_indexing(X, train), codes[train], _safe_indexing(X, test)
        for row, candidate in enumerate(candidates):
            model = FoldModel(clone(candidate).fit(rows, labels), codes, labels)
            log_odds[row, test] = model.log_odds(held_out)
            models[row].append(model)
    missing = np.isnan(log_odds).any(axis=0)
    if missing.any():
        raise ValueError(
            f"Got a cv that leaves {missing.sum()} rows out of every test fold (or a classifier "
            "that returns NaN for them); each row needs a score from a model that did not see it."
        )
    signed = np.where(codes == 1, log_odds, -log_odds)
    best = int(np.argmin(np.logaddexp(0, -signed).mean(axis=1)))
    return models[best], log_odds[best]


class FoldModel:
    """A classifier fitted on one training fold, with odds as if fitted on all rows.

    Parameters
    ----------
    estimator : fitted classifier
        Trained on the rows of the fold.
    codes : array of shape (n_samples,)
        0 or 1 for all rows.
    labels : array of shape (n_training,)
        0 or 1 for the rows of the fold.
    """

    def __init__(self, estimator: Any, codes: np.ndarray, labels: np.ndarray):
        refuse_class_weight(getattr(estimator, "best_estimator_", estimator))
        self.estimator = estimator
        self.offset = log_prior_odds(codes) - log_prior_odds(labels)
        self.edge = smallest_probability(codes)

    def log_odds(self, X: Any) -> np.ndarray:
        """Return the log odds of the target, exact for logistic regression."""
        last = self.estimator
        while isinstance(last, Pipeline):
            last = last.steps[-1][1]
        if isinstance(last, LogisticRegression | LogisticRegressionCV):
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
