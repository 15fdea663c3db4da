"""Metrics of rows as a whole (AUC, R squared, F1, ...), weighted toward the target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils.metaestimators import available_if

from weighbridge._findings import Estimate
from weighbridge.target_risk._held_out import HeldOut, Response
from weighbridge.target_risk._labels import FloatArray
from weighbridge.target_risk._problem import RiskProblem

METHODS = ("predict", "predict_proba", "decision_function")
# Draws of the bootstrap; so many share a pass over the rows.
N_DRAWS = 200
AT_ONCE = 20


def _has_said(method: str) -> Any:
    return lambda self: method in self.said


class _Replay(BaseEstimator):
    """Answers with predictions that were made before; its X are row numbers."""

    def __init__(self, said: dict[str, np.ndarray], classes: np.ndarray | None):
        self.said = said
        self.classes = classes

    @property
    def classes_(self) -> np.ndarray | None:
        return self.classes

    @available_if(_has_said("predict"))
    def predict(self, rows: np.ndarray) -> np.ndarray:
        return self.said["predict"][rows]

    @available_if(_has_said("predict_proba"))
    def predict_proba(self, rows: np.ndarray) -> np.ndarray:
        return self.said["predict_proba"][rows]

    @available_if(_has_said("decision_function"))
    def decision_function(self, rows: np.ndarray) -> np.ndarray:
        return self.said["decision_function"][rows]


class _ReplayClassifier(ClassifierMixin, _Replay):
    pass


class _ReplayRegressor(RegressorMixin, _Replay):
    pass


def raw_responses(estimator: Any) -> dict[str, Response]:
    """Return everything an estimator can say, to be asked of its copies."""
    return {name: Ask(name) for name in METHODS if hasattr(estimator, name)}


class Ask:
    """Calls one method; a class, so that other processes can have it."""

    def __init__(self, method: str):
        self.method = method

    def __call__(self, model: Any, X: Any) -> np.ndarray:
        """Return what the model says about rows."""
        return np.asarray(getattr(model, self.method)(X))


def weighted_metric(
    scorer: Any,
    problem: RiskProblem,
    said: dict[str, HeldOut],
    confidence: float,
    seed: int,
    *,
    bounds: tuple[float, float],
    toward_target: bool = True,
) -> Estimate:
    """Estimate a metric on the target by weights, with the interval of a Bayesian bootstrap."""
    kind = _ReplayRegressor if problem.rows.classes is None else _ReplayClassifier
    replay = kind({name: part.at_source for name, part in said.items()}, problem.rows.classes)
    rows = np.arange(problem.rows.y.size)

    def metric(weights: FloatArray) -> float:
        try:
            return float(scorer(replay, rows, problem.rows.y, sample_weight=weights))
        except TypeError as error:
            if "sample_weight" not in str(error):
                raise
            raise TypeError(
                "Got a scoring whose metric takes no sample_weight; choose one that does "
                "(roc_auc, f1, r2, ...), or a loss=... of rows."
            ) from error

    shares = problem.shares if toward_target else problem.plain_shares
    value = metric(shares * rows.size)
    draws = [metric(weights) for weights in _drawn_weights(problem, shares, seed, toward_target)]
    inflation = 1 + problem.ess / problem.n_target if toward_target else 1.0
    error = float(np.sqrt(np.var(draws, ddof=1) * inflation))
    return Estimate.normal(value, error, confidence, bounds)


def _drawn_weights(
    problem: RiskProblem, shares: FloatArray, seed: int, toward_target: bool
) -> Iterator[FloatArray]:
    rng = np.random.default_rng(seed)
    n = problem.rows.y.size
    for _ in range(N_DRAWS // AT_ONCE):
        source = rng.exponential(size=(n, AT_ONCE))
        weights = shares[:, None] * source
        if toward_target and problem.ratio_influence is not None:
            target = rng.exponential(size=(problem.n_target, AT_ONCE))
            moved = problem.ratio_influence.moved(source - 1, target - 1)
            weights *= np.exp(moved - moved.max(axis=0))
        yield from (weights / weights.mean(axis=0)).T


def has_chances(estimator: Any) -> bool:
    """True for classifiers that give probabilities."""
    return is_classifier(estimator) and hasattr(estimator, "predict_proba")
