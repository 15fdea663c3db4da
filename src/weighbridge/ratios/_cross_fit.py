"""Cross-fitting: every row is scored by a model that did not see it."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.special import logit
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.pipeline import Pipeline

from weighbridge._folds import Fold
from weighbridge.ratios._base import EstimatedRatio
from weighbridge.tables import RowScores, take_rows

# Trees look at every column at every split; with fewer rows of a sample there is nothing to split.
MAX_TREE_COLUMNS, MIN_TREE_ROWS = 1000, 50
# With more columns than these, fewer values of each are distinguished: their number is the cost.
MANY_COLUMNS, FEW_BINS = 100, 64
# Held-out AUC of a linear model from which on nothing more flexible has anything to add.
SEPARABLE_AUC = 0.999

# Fits one model, or one model at several penalties, to rows and their samples (0, 1).
FitMembers = Callable[[Any, np.ndarray], list[Any]]


def small_trees(
    categorical: np.ndarray, seed: int, *, learning_rate: float, max_iter: int, patience: int
) -> HistGradientBoostingClassifier:
    """Return boosted trees of 8 leaves that stop early, since shifts are often simple."""
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


def fit_single(estimator: Any, X: Any, codes: np.ndarray) -> list[Any]:
    """Return one fitted copy; warnings of a ratio are left to whoever chooses it."""
    model = clone(estimator)
    if not isinstance(model, EstimatedRatio):
        return [model.fit(X, codes)]
    model._fit_quietly(X, codes)
    return [model]


def cross_fit(
    fit_members: FitMembers,
    X: Any,
    codes: np.ndarray,
    folds: list[Fold],
    *,
    settle: Callable[[Any], FitMembers] | None = None,
    n_jobs: int | None = None,
) -> tuple[list[FoldModel], np.ndarray, int]:
    """Fit the members on each fold and keep the one with the smallest held-out log loss.

    Returns the model of each fold, the held-out log odds of all rows, and which member it is. If
    `settle` is given, it turns the model of the first fold into what fits the other folds.
    """
    fitted = []
    if settle is not None:
        fitted = [_fit_fold(fit_members, X, codes, *folds[0])]
        fit_members = settle(fitted[0][0][0].estimator)
    fitted += Parallel(n_jobs=n_jobs)(
        delayed(_fit_fold)(fit_members, X, codes, *fold) for fold in folds[len(fitted) :]
    )
    log_odds = np.full((len(fitted[0][0]), codes.size), np.nan)
    for (_, test), (_, at_test) in zip(folds, fitted, strict=True):
        log_odds[:, test] = at_test
    missing = np.isnan(log_odds).any(axis=0).sum()
    if missing:
        raise ValueError(
            f"Got a cv that leaves {missing} rows out of every test fold (or a classifier "
            "that returns NaN for them); each row needs a score from a model that did not see it."
        )
    best = 0
    if len(log_odds) > 1:
        best = int(np.argmin([row_log_losses(member, codes).mean() for member in log_odds]))
    return [models[best] for models, _ in fitted], log_odds[best], best


def _fit_fold(
    fit_members: FitMembers, X: Any, codes: np.ndarray, train: np.ndarray, test: np.ndarray
) -> tuple[list[FoldModel], np.ndarray]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="WB104")  # Said of all rows, not of each fold.
        fitted = fit_members(take_rows(X, train), codes[train])
    models = [FoldModel(model, codes, codes[train]) for model in fitted]
    held_out = take_rows(X, test)
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

    def __init__(self, estimator: Any, codes: np.ndarray, train_codes: np.ndarray):
        if hasattr(estimator, "best_estimator_"):  # A search may have chosen class weights.
            refuse_class_weight(estimator.best_estimator_)
        self.estimator = estimator
        self.offset = log_prior_odds(codes) - log_prior_odds(train_codes)
        self.min_probability = min_probability(codes)

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
        bound = self.min_probability
        return logit(np.clip(probability, bound, 1 - bound)) + self.offset


def log_prior_odds(codes: np.ndarray) -> float:
    """Return log(n_target / n_source)."""
    n_target = int(codes.sum())
    return math.log(n_target / (codes.size - n_target))


def min_probability(codes: np.ndarray) -> float:
    """Return the bound to which probabilities are clipped, 1 / (2 n)."""
    return 1 / (2 * codes.size)


def refuse_class_weight(estimator: Any) -> None:
    """Raise ValueError if there are class weights anywhere inside."""
    for key, value in estimator.get_params().items():
        if key.rpartition("__")[2] == "class_weight" and value is not None:
            raise ValueError(
                f"Got {type(estimator).__name__} with {key}={value!r}; class weights undo the "
                f"correction for the sample sizes. Set {key}=None."
            )


class CrossFittedRatio(EstimatedRatio):
    """A ratio that scores the rows of the fit by models that did not see them.

    New rows are scored by the mean log odds of `fold_models_`, which see ``view_(X)``.
    """

    fold_models_: list[FoldModel]
    view_: Callable[[Any], Any]
    held_out_: RowScores | None  # The log ratio at rows of the fit; None if they count as new.

    @abstractmethod
    def _to_log_ratio(self, log_odds: np.ndarray) -> np.ndarray:
        """Return calibrated log odds, minus those of the sample sizes."""

    def _score(self, X: Any) -> np.ndarray:
        if self.held_out_ is None:
            log_ratio, new = np.empty(X.shape[0]), np.arange(X.shape[0])
        else:
            log_ratio, new = self.held_out_.find(X)
        if new.size:
            features = self.view_(take_rows(X, new))
            log_odds = np.mean([model.log_odds(features) for model in self.fold_models_], axis=0)
            log_ratio[new] = self._to_log_ratio(log_odds)
        return log_ratio
