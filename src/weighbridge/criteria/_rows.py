"""What every criterion knows about the source rows, and the losses that belong to one row each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import xlogy
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _num_samples

from weighbridge._pass_weights import answer_of
from weighbridge.tables import (
    FloatArray,
    check_sample_weight,
    is_frame,
    take_rows,
    unmasked,
)
from weighbridge.weighting import (
    RIWERM,
    mean_one,
    mean_one_log_ratio,
    source_log_weight,
    weighting_or_default,
)


@dataclass(frozen=True)
class SourceRows:
    """Labelled source rows that count, their log ratios and their weights in validation."""

    X: Any
    y: np.ndarray
    log_ratio: FloatArray
    sample_weight: FloatArray | None
    validation: FloatArray
    classes: np.ndarray | None
    kept: np.ndarray | None = field(default=None, repr=False)

    @cached_property
    def codes(self) -> np.ndarray:
        """Labels as numbers."""
        if self.classes is None:
            return self.y.astype(float)
        return np.searchsorted(self.classes, self.y)

    @property
    def unit_weights(self) -> FloatArray:
        """Weight of each row in the mean of the losses."""
        return self.delivered(self.validation)

    def delivered(self, weights: FloatArray) -> FloatArray:
        """Return what a fit gets: importance weights times the rows' own."""
        return weights if self.sample_weight is None else weights * self.sample_weight


def source_rows(
    estimator: Any, X: Any, y: Any, log_ratio: Any, sample_weight: Any, validation: Any
) -> SourceRows:
    """Check the rows and leave out those whose own weight is 0."""
    X = np.asarray(X) if isinstance(X, list | tuple) else indexable(X)[0]
    X, y = unmasked(X), unmasked(y, "y")
    n = _num_samples(X)
    if n < 2:
        raise ValueError(
            f"Got n_samples={n} source rows; choosing a weighting holds rows out and takes at "
            "least 2, and a few dozen to be of use."
        )
    y, log_ratio = np.asarray(y), np.asarray(unmasked(log_ratio, "log_ratio"), dtype=float)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(
            f"Got y of shape {y.shape}; choosing a weighting takes one label for each row. Fit "
            "one model for each output."
        )
    if y.shape != (n,) or log_ratio.shape != (n,):
        raise ValueError(
            f"Got X with {n} rows, y of shape {y.shape} and log_ratio of shape "
            f"{log_ratio.shape}; all need one entry for each row."
        )
    sample_weight = check_sample_weight(sample_weight, n)
    kept = None
    if sample_weight is not None and not sample_weight.all():
        kept = np.flatnonzero(sample_weight > 0)
        X, y = table_rows(X, kept), y[kept]
        log_ratio, sample_weight = log_ratio[kept], sample_weight[kept]
    log_ratio = mean_one_log_ratio(log_ratio, sample_weight)
    weighting = weighting_or_default(RIWERM(0.9) if validation is None else validation)
    weights = mean_one(source_log_weight(weighting, log_ratio, sample_weight), sample_weight)
    classes = _classes(estimator, y)
    return SourceRows(X, y, log_ratio, sample_weight, weights, classes, kept)


def table_rows(X: Any, numbers: np.ndarray) -> Any:
    """Return some rows of any table, in its own container."""
    return take_rows(X, numbers) if is_frame(X) else _safe_indexing(X, numbers)


def _classes(estimator: Any, y: np.ndarray) -> np.ndarray | None:
    if not is_classifier(estimator):
        _check_numbers(y)
        return None
    kind = type_of_target(y)
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"Unknown label type: {kind}. A classifier needs one class for each row.")
    classes = np.unique(y)
    if classes.size < 2:
        raise ValueError(
            f"Got only one class ({classes[0]!r}) in all {y.size} source rows that count; a "
            "classifier needs rows of at least two classes."
        )
    return classes


def _check_numbers(y: np.ndarray) -> None:
    try:
        finite = np.isfinite(y.astype(float))
    except (TypeError, ValueError):
        raise ValueError(
            f"Got y of type {y.dtype} that is not numbers; a regressor needs one number for each "
            "row."
        ) from None
    if not finite.all():
        raise ValueError(
            f"Got y with NaN or infinite values in {int((~finite).sum())} of {y.size} source rows "
            "that count; leave these rows out."
        )


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
        return answer_of(estimator, response, X)
    if response == "decision_function" and estimator.classes_.size > 2:
        response = "predict"  # a vote: there may be one margin for each class, or for each pair
    prediction = answer_of(estimator, response, X, numbers=response != "predict")
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
