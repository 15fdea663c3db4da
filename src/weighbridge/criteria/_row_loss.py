"""Losses that belong to one row each, by the names of scikit-learn's scorers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy
from sklearn.base import is_classifier

# The smallest probability that a log loss is taken of, as in scikit-learn.
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class RowLoss:
    """A loss of one row: how to predict, and what the prediction costs."""

    scoring: str
    response: str
    loss: Callable[[np.ndarray, np.ndarray], np.ndarray]
    of_classes: bool = False

    def expected(self, chances: np.ndarray, prediction: np.ndarray) -> np.ndarray:
        """Return the loss of predictions, averaged over the classes with their chances."""
        total = np.zeros(len(chances))
        for code, chance in enumerate(chances.T):
            total += chance * self.loss(np.full(len(chances), code), prediction)
        return total


def _squared(y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    return np.asarray(np.square(y - prediction))


def _absolute(y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(y - prediction))


def _poisson(y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    mean = np.maximum(prediction, _EPS)
    deviance = 2 * (xlogy(y, y / mean) - y + mean)
    return np.where(prediction < 0, np.inf, deviance)


def _log(y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    share = _of_own_class(y, prediction) / prediction.sum(axis=-1)
    return np.asarray(-np.log(np.clip(share, _EPS, 1)))


def _zero_one(y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    return np.asarray(prediction.argmax(axis=-1) != y, dtype=float)


def _brier(y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    total = np.square(prediction).sum(axis=-1) - 2 * _of_own_class(y, prediction) + 1
    return np.asarray(total / 2 if prediction.shape[-1] == 2 else total)


def _of_own_class(y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    return np.take_along_axis(prediction, y[:, None], axis=-1)[:, 0]


ROW_LOSSES = {
    loss.scoring: loss
    for loss in (
        RowLoss("neg_mean_squared_error", "predict", _squared),
        RowLoss("neg_mean_absolute_error", "predict", _absolute),
        RowLoss("neg_mean_poisson_deviance", "predict", _poisson),
        RowLoss("neg_log_loss", "predict_proba", _log, True),
        RowLoss("neg_brier_score", "predict_proba", _brier, True),
        RowLoss("accuracy", "predict", _zero_one, True),
        # ours: margins between -1 and 1 read as chances, for machines that give no probabilities
        RowLoss("neg_squared_margin", "decision_function", _brier, True),
    )
}


def row_loss(scoring: Any, estimator: Any) -> RowLoss | None:
    """Return the loss of this name for this kind of estimator; None for any other metric."""
    loss = ROW_LOSSES.get(scoring) if isinstance(scoring, str) else None
    return loss if loss is not None and loss.of_classes == is_classifier(estimator) else None


def default_scoring(estimator: Any) -> str:
    """Return the loss to select by where the user names none."""
    if not is_classifier(estimator):
        return "neg_mean_squared_error"
    if hasattr(estimator, "predict_proba"):
        return "neg_brier_score"
    return "neg_squared_margin" if hasattr(estimator, "decision_function") else "accuracy"


def respond(estimator: Any, X: Any, response: str, classes: np.ndarray | None) -> np.ndarray:
    """Predict: one number a row, or for classes one number a row and class."""
    if classes is None:
        return np.asarray(getattr(estimator, response)(X)).astype(float)
    if response == "decision_function" and estimator.classes_.size > 2:
        response = "predict"  # a vote: there may be one margin for each class, or for each pair
    prediction = np.asarray(getattr(estimator, response)(X))
    if response == "predict":
        return np.asarray(prediction[:, None] == classes, dtype=float)
    if response == "decision_function":
        # margins as chances: 0 at -1 and beyond, 1 at 1 and beyond
        second = np.clip((1 + prediction) / 2, 0, 1)
        prediction = np.column_stack([1 - second, second])
    out = np.zeros((prediction.shape[0], classes.size))
    counted = np.isin(estimator.classes_, classes)  # others occur in rows of own weight 0 only
    out[:, np.searchsorted(classes, estimator.classes_[counted])] = prediction[:, counted]
    return out
