"""What is asked: by which loss or metric, with which ratio and folds; checked before any work."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import get_scorer

from weighbridge.label_shift import AUTO, check_shift
from weighbridge.model_selection import ROW_LOSSES, RowLoss
from weighbridge.tables import check_confidence, check_in_memory, refuse_missing, to_numpy

# Scorers by what people call the number behind them.
NAMES = {
    "accuracy": "error",
    "neg_log_loss": "log loss",
    "neg_brier_score": "Brier score",
    "neg_squared_margin": "squared margin",
    "neg_mean_squared_error": "MSE",
    "neg_root_mean_squared_error": "RMSE",
    "neg_mean_absolute_error": "MAE",
    "neg_mean_poisson_deviance": "Poisson deviance",
    "roc_auc": "AUC",
    "roc_auc_ovr": "AUC (one vs rest)",
    "f1": "F1",
    "f1_macro": "macro F1",
    "balanced_accuracy": "balanced accuracy",
    "r2": "R²",
}

# Scorers between 0 and 1, and others whose best value is 1, by the beginnings of their names.
_SHARES = re.compile("average_prec|balanced_acc|f1|jaccard|precision|recall|roc_auc|top_k_accuracy")
_AT_MOST_ONE = re.compile("d2_|explained_variance|matthews|r2")
# What rows can be ranked by.
_RANKS = {"roc_auc": ("predict_proba", "decision_function"), "roc_auc_ovr": ("predict_proba",)}


@dataclass(frozen=True)
class Measure:
    """A measure of how well a model does."""

    name: str
    row_loss: RowLoss | None
    root: bool = False
    scorer: Any = None

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        if self.row_loss is None:
            if _SHARES.match(self.name):
                return 0.0, 1.0
            return -np.inf, 1.0 if _AT_MOST_ONE.match(self.name) else np.inf
        if self.row_loss.scoring not in ROW_LOSSES:
            return -np.inf, np.inf
        return 0.0, 1.0 if self.row_loss.scoring == "accuracy" else np.inf


def find_measure(scoring: Any, loss_of_rows: Any, estimator: Any) -> Measure:
    """Return the measure of a name, a scorer, or a function ``loss(y, prediction)`` of rows."""
    classifier = is_classifier(estimator)
    if loss_of_rows is not None:
        return _own_measure(scoring, loss_of_rows, classifier)
    if scoring is None:
        scoring = "accuracy" if classifier else "neg_root_mean_squared_error"
    root = isinstance(scoring, str) and scoring == "neg_root_mean_squared_error"
    name = "neg_mean_squared_error" if root else scoring
    loss = ROW_LOSSES.get(name) if isinstance(name, str) else None
    if loss is not None and loss.of_classes != classifier:
        kind = "classifier" if classifier else "regressor"
        raise ValueError(
            f"Got scoring={scoring!r} for a {kind}, which has no such loss; choose another, e.g. "
            f"{'accuracy' if classifier else 'neg_root_mean_squared_error'!r}."
        )
    needs = _RANKS.get(str(scoring), ("predict",)) if loss is None else (loss.response,)
    if not any(hasattr(estimator, each) for each in needs):
        raise ValueError(
            f"Got scoring={scoring!r} for {type(estimator).__name__}, which has no "
            f"{' or '.join(needs)}; use 'accuracy', or wrap it in "
            "sklearn.calibration.CalibratedClassifierCV."
        )
    if loss is None:
        shown = scoring if isinstance(scoring, str) else "score"
        return Measure(shown, None, scorer=get_scorer(scoring))
    return Measure(NAMES[scoring], loss, root)


def _own_measure(scoring: Any, function: Any, classifier: bool) -> Measure:
    if scoring is not None:
        raise ValueError(f"Got scoring={scoring!r} and a loss as well; give only one of them.")
    if not callable(function):
        raise TypeError(
            f"Got loss={function!r}, but expected a function loss(y, prediction) that returns one "
            "number for each row. Names of scikit-learn's scorers go into scoring=..."
        )
    return Measure(_name(function), _own_loss(function, classifier))


def _name(function: Any) -> str:
    name = getattr(function, "__name__", "loss")
    return "loss" if name == "<lambda>" else str(name)


def _own_loss(function: Callable[..., Any], classifier: bool) -> RowLoss:
    """Wrap a function of labels and predictions; of classes it gets their places, not names."""

    def loss(y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
        values = np.asarray(function(y, prediction), dtype=float)
        if values.shape != y.shape or not np.isfinite(values).all():
            raise ValueError(
                f"Got a loss that returns an array of shape {values.shape} for {y.size} rows, or "
                "values that are not finite; it must return one finite number for each row."
            )
        return values

    response = "predict_proba" if classifier else "predict"
    return RowLoss(_name(function), response, loss, classifier)


CALIBRATED, DOUBLY_ROBUST, WEIGHTED = "calibrated", "doubly robust", "weighted"
METHODS = (CALIBRATED, DOUBLY_ROBUST, WEIGHTED)


@dataclass(frozen=True)
class Question:
    """What is asked about models, how the work is done, and who hears of it."""

    ratio: Any = None
    scoring: Any = None
    loss: Any = None
    method: str = CALIBRATED
    candidates: Any = None
    worthwhile: float | None = None
    confidence: float = 0.95
    cv: int = 5
    n_jobs: int | None = None
    random_state: Any = None
    progress: Any = None
    shift: str = AUTO
    metrics: Mapping[str, str] = field(default_factory=dict)  # scorers by the names asked for

    def metrics_of(self, estimator: Any) -> dict[str, Measure]:
        """Return the metrics asked for, by their names."""
        return {name: find_measure(each, None, estimator) for name, each in self.metrics.items()}

    def measure_of(self, estimator: Any) -> Measure:
        """Return what is measured of an estimator; refuse options that make no sense for it."""
        measure = find_measure(self.scoring, self.loss, estimator)
        self.metrics_of(estimator)
        if self.method not in METHODS:
            raise ValueError(
                f"Got method={self.method!r}, but expected one of {', '.join(METHODS)}."
            )
        check_confidence(self.confidence)
        check_shift(self.shift)
        return measure

    def check_folds(self, n_rows: int) -> None:
        """Refuse a number of outer folds that rows cannot be dealt into."""
        cv: Any = self.cv
        whole = isinstance(cv, Integral) and not isinstance(cv, bool)
        if not whole or not 2 <= int(cv) <= n_rows:
            raise ValueError(
                f"Got cv={self.cv!r}, but expected a whole number of folds from 2 to the {n_rows} "
                "rows of X."
            )


def check_arguments(estimator: Any, y: Any) -> None:
    """Refuse what is not an estimator, and labels that cannot be used, before any work."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(
            f"Got estimator={estimator!r}, but expected a scikit-learn estimator, e.g. "
            "LogisticRegression()."
        )
    if y is not None:
        check_in_memory("y", y)
    labels = to_numpy(y)
    if labels.ndim != 1 and not (labels.ndim == 2 and labels.shape[1] == 1):
        raise ValueError(
            f"Got y of shape {labels.shape}, but expected one label for each row of X. The order "
            "is estimator, X, y, X_target."
        )
    refuse_missing(labels)
