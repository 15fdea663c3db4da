"""Losses that belong to one row each, and the predictions that they take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy
from sklearn.base import BaseEstimator, is_classifier

from weighbridge._pass_weights import answer_of

# The smallest probability that a log loss is taken of, as in scikit-learn.
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class RowLoss:
    """A loss of one row: the prediction method, and the loss of a prediction."""

    scoring: str
    response: str
    loss: Callable[[np.ndarray, np.ndarray], np.ndarray]
    of_classes: bool = False

    def expected(self, probabilities: np.ndarray, prediction: np.ndarray) -> np.ndarray:
        """Return the mean loss of predictions, if the classes have these probabilities."""
        total = np.zeros(len(probabilities))
        for code, probability in enumerate(probabilities.T):
            total += probability * self.loss(np.full(len(total), code), prediction)
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
    share = _of_true_class(y, prediction) / prediction.sum(axis=-1)
    return np.asarray(-np.log(np.clip(share, _EPS, 1)))


def _zero_one(y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    return np.asarray(prediction.argmax(axis=-1) != y, dtype=float)


def _brier(y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    total = np.square(prediction).sum(axis=-1) - 2 * _of_true_class(y, prediction) + 1
    return np.asarray(total / 2 if prediction.shape[-1] == 2 else total)


def _of_true_class(y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
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
        # Not of scikit-learn: margins between -1 and 1, read as probabilities.
        RowLoss("neg_squared_margin", "decision_function", _brier, True),
    )
}


def row_loss(scoring: object, estimator: BaseEstimator) -> RowLoss | None:
    """Return the loss of this name for this kind of estimator; None for any other metric."""
    loss = ROW_LOSSES.get(scoring) if isinstance(scoring, str) else None
    return loss if loss is not None and loss.of_classes == is_classifier(estimator) else None


def default_scoring(estimator: BaseEstimator) -> str:
    """Return the name of the loss to select by if none is given."""
    if not is_classifier(estimator):
        return "neg_mean_squared_error"
    if hasattr(estimator, "predict_proba"):
        return "neg_brier_score"
    return "neg_squared_margin" if hasattr(estimator, "decision_function") else "accuracy"


def respond(
    estimator: BaseEstimator, X: object, response: str, classes: np.ndarray | None
) -> np.ndarray:
    """Predict one number for each row, or one for each row and class."""
    if classes is None:
        return answer_of(estimator, response, X)
    if response == "decision_function" and estimator.classes_.size > 2:
        response = "predict"  # there may be one margin for each class, or for each pair
    prediction = answer_of(estimator, response, X, numbers=response != "predict")
    if response == "predict":
        return np.asarray(prediction[:, None] == classes, dtype=float)
    if response == "decision_function":
        # Margins become probabilities: 0 up to -1, 1 from 1.
        second = np.clip((1 + prediction) / 2, 0, 1)
        prediction = np.column_stack([1 - second, second])
    out = np.zeros((prediction.shape[0], classes.size))
    is_known = np.isin(estimator.classes_, classes)  # others have sample weight 0 in every row
    out[:, np.searchsorted(classes, estimator.classes_[is_known])] = prediction[:, is_known]
    return out
