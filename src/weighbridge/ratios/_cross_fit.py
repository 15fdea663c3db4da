"""Cross-fitting: every row is scored by a model that did not see it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.pipeline import Pipeline

from weighbridge._folds import Fold
from weighbridge.ratios._base import EstimatedRatio
from weighbridge.ratios._logistic import LinearLogOdds
from weighbridge.tables import RowScores, take_rows

# Fits one model, or one model at several penalties, to rows and their samples (0, 1).
FitMembers = Callable[[Any, np.ndarray], list[Any]]


@dataclass(frozen=True)
class Candidate:
    """A way to estimate the ratio, and its view of the table; None for the constant ratio 1."""

    name: str
    fit_members: FitMembers | None
    view: Callable[[Any], Any]
    calibration: str | None = None
    refit: bool = False  # To all rows, once chosen.
    extends: str | None = None  # The simpler candidate whose log loss it must beat.
    settle: Callable[[Any], FitMembers] | None = None  # Fixes for other folds what the first chose.


def fit_single(estimator: Any, X: Any, codes: np.ndarray) -> list[Any]:
    """Return one fitted copy; warnings of a ratio are left to whoever chooses it."""
    model = clone(estimator)
    fit = model._fit_quietly if isinstance(model, EstimatedRatio) else model.fit
    fit(X, codes)
    return [model]


class CrossFitted:
    """Fold models of a candidate; new rows are scored by the mean of their log odds."""

    def __init__(
        self, candidate: Candidate, X: Any, codes: np.ndarray, folds: list[Fold], n_jobs: Any = None
    ):
        self.view, self.log_prior_odds = candidate.view, log_prior_odds(codes)
        self.min_probability = 1 / (2 * codes.size)
        self.models: list[FoldModel] = []
        self.is_refitted = False
        self.held_out = np.zeros(codes.size)  # Log ratios, by the models that did not see the rows.
        if candidate.fit_members is not None:
            fitted = _fit_folds(candidate, candidate.view(X), codes, folds, n_jobs)
            self.models, log_odds, self.member = fitted
            self.calibrator = _fit_calibrator(candidate.calibration, log_odds, codes)
            self.held_out = self._to_log_ratio(log_odds)

    def remember(self, rows: RowScores) -> None:
        """Keep the held-out log ratios with their rows, in place of the bare numbers."""
        rows.remember(self.held_out)
        self.rows = rows
        del self.held_out

    def refit(self, candidate: Candidate, X: Any, codes: np.ndarray) -> None:
        """Score every row by one model that is fitted to all rows."""
        self.view, self.log_prior_odds = candidate.view, log_prior_odds(codes)
        self.is_refitted = True
        if candidate.fit_members is not None:
            model = candidate.fit_members(self.view(X), codes)[self.member]
            self.models = [FoldModel(model, codes, codes)]

    def score(self, X: Any) -> np.ndarray:
        """Return the log ratio, held out at rows of the fit unless the model was refitted."""
        return self._score_new(X) if self.is_refitted else self.held_out_score(X)

    def held_out_score(self, X: Any) -> np.ndarray:
        """Return the held-out log ratio at rows of the fit, and the log ratio at new rows."""
        log_ratio, new = self.rows.find(X)
        if new.size:
            log_ratio[new] = self._score_new(take_rows(X, new))
        return log_ratio

    def _score_new(self, X: Any) -> np.ndarray:
        if not self.models:
            return np.zeros(X.shape[0])
        features = self.view(X)
        log_odds = np.mean([model.log_odds(features) for model in self.models], axis=0)
        return self._to_log_ratio(log_odds)

    def _to_log_ratio(self, log_odds: np.ndarray) -> np.ndarray:
        if isinstance(self.calibrator, IsotonicRegression):
            probability = self.calibrator.predict(expit(log_odds))
            log_odds = _clipped_logit(probability, self.min_probability)
        elif self.calibrator is not None:
            log_odds = self.calibrator.decision_function(log_odds[:, None])
        return log_odds - self.log_prior_odds


class FoldModel:
    """A classifier fitted on one training fold, with odds as if fitted on all rows."""

    def __init__(self, estimator: Any, codes: np.ndarray, train_codes: np.ndarray):
        if hasattr(estimator, "best_estimator_"):  # A search may have chosen class weights.
            refuse_class_weight(estimator.best_estimator_)
        self.estimator = estimator
        self.offset = log_prior_odds(codes) - log_prior_odds(train_codes)
        self.min_probability = 1 / (2 * codes.size)

    def log_odds(self, X: Any) -> np.ndarray:
        """Return the log odds of the target, exact for logistic regression and ratios."""
        last = self.estimator
        while isinstance(last, Pipeline):
            last = last.steps[-1][1]
        is_logistic = isinstance(last, LinearLogOdds | LogisticRegression | LogisticRegressionCV)
        if is_logistic or hasattr(last, "log_prior_odds_"):
            return np.asarray(self.estimator.decision_function(X), dtype=float) + self.offset
        probability = np.asarray(self.estimator.predict_proba(X), dtype=float)[:, 1]
        return _clipped_logit(probability, self.min_probability) + self.offset


def _fit_folds(
    candidate: Candidate, X: Any, codes: np.ndarray, folds: list[Fold], n_jobs: int | None
) -> tuple[list[FoldModel], np.ndarray, int]:
    """Return the fold models of the best member, their held-out log odds, and its index."""
    fit_members, fitted = candidate.fit_members, []
    if candidate.settle is not None:
        fitted = [_fit_fold(fit_members, X, codes, *folds[0])]
        fit_members = candidate.settle(fitted[0][0][0].estimator)
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
    best = int(np.argmin([row_log_losses(member, codes).mean() for member in log_odds]))
    return [models[best] for models, _ in fitted], log_odds[best], best


def _fit_fold(
    fit_members: Any, X: Any, codes: np.ndarray, train: np.ndarray, test: np.ndarray
) -> tuple[list[FoldModel], np.ndarray]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="WB104")  # Said of all rows, not of each fold.
        fitted = fit_members(take_rows(X, train), codes[train])
    models = [FoldModel(model, codes, codes[train]) for model in fitted]
    held_out = take_rows(X, test)
    return models, np.array([model.log_odds(held_out) for model in models])


def _fit_calibrator(method: str | None, log_odds: np.ndarray, codes: np.ndarray) -> Any:
    """Return what maps held-out log odds; "flatten" is "sigmoid" unless that would sharpen them."""
    if method is None:
        return None
    if method == "isotonic":
        return IsotonicRegression(out_of_bounds="clip").fit(expit(log_odds), codes)
    line = LogisticRegression(C=1e6).fit(log_odds[:, None], codes)
    if method == "flatten":
        if line.coef_[0, 0] >= 1:
            return None
        line.coef_ = np.maximum(line.coef_, 0.0)
    return line


def _clipped_logit(probability: np.ndarray, bound: float) -> np.ndarray:
    return logit(np.clip(probability, bound, 1 - bound))


def row_log_losses(log_odds: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the log loss of each row."""
    return np.logaddexp(0, np.where(codes == 1, -log_odds, log_odds))


def log_prior_odds(codes: np.ndarray) -> float:
    """Return log(n_target / n_source)."""
    n_target = int(codes.sum())
    return math.log(n_target / (codes.size - n_target))


def refuse_class_weight(estimator: Any) -> None:
    """Raise ValueError if there are class weights anywhere inside."""
    for key, value in estimator.get_params().items():
        if key.rpartition("__")[2] == "class_weight" and value is not None:
            raise ValueError(
                f"Got {type(estimator).__name__} with {key}={value!r}; class weights undo the "
                f"correction for the sample sizes. Set {key}=None."
            )
