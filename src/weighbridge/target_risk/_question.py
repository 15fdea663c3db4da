"""What is asked: by which loss or metric, with which ratio and folds; checked before any work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import get_scorer
from sklearn.utils.metaestimators import available_if

from weighbridge._findings import Estimate
from weighbridge.criteria import ROW_LOSSES, RowLoss
from weighbridge.diagnostics import check_confidence
from weighbridge.ratios import refuse_no_table

if TYPE_CHECKING:
    from weighbridge.target_risk._held_out import HeldOut, Response
    from weighbridge.target_risk._problem import RiskProblem


FloatArray = npt.NDArray[np.float64]

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
}

# Scorers whose best value is 1, by the beginnings of their names.
_AT_MOST_ONE = (
    "average_precision",
    "balanced_accuracy",
    "d2_",
    "explained_variance",
    "f1",
    "jaccard",
    "matthews",
    "precision",
    "r2",
    "recall",
    "roc_auc",
    "top_k_accuracy",
)


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
            return -np.inf, 1.0 if self.name.startswith(_AT_MOST_ONE) else np.inf
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
    if loss is None:
        shown = scoring if isinstance(scoring, str) else "score"
        return Measure(shown, None, scorer=get_scorer(scoring))
    if loss.of_classes != classifier:
        kind = "classifier" if classifier else "regressor"
        raise ValueError(
            f"Got scoring={scoring!r} for a {kind}, which has no such loss; choose another, e.g. "
            f"{'accuracy' if classifier else 'neg_root_mean_squared_error'!r}."
        )
    if not hasattr(estimator, loss.response):
        raise ValueError(
            f"Got scoring={scoring!r} for {type(estimator).__name__}, which has no "
            f"{loss.response}; use 'accuracy', or sklearn.calibration.CalibratedClassifierCV "
            "around it."
        )
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


RESPONSES = ("predict", "predict_proba", "decision_function")
# Draws of the bootstrap, and how many share a pass over the rows.
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
    return {name: Ask(name) for name in RESPONSES if hasattr(estimator, name)}


class Ask:
    """Calls one method; a class, so that other processes can have it."""

    def __init__(self, method: str):
        self.method = method

    def __call__(self, model: Any, X: Any) -> np.ndarray:
        """Return what the model says about rows."""
        return np.asarray(getattr(model, self.method)(X))


def weighted_metric(
    measure: Measure, problem: RiskProblem, said: dict[str, HeldOut], *, toward_target: bool
) -> Estimate:
    """Estimate a metric on the target by weights, with the interval of a Bayesian bootstrap."""
    kind = _ReplayRegressor if problem.rows.classes is None else _ReplayClassifier
    replay = kind({name: part.at_source for name, part in said.items()}, problem.rows.classes)
    rows = np.arange(problem.rows.y.size)

    def metric(weights: FloatArray) -> float:
        try:
            return float(measure.scorer(replay, rows, problem.rows.y, sample_weight=weights))
        except TypeError as error:
            if "sample_weight" not in str(error):
                raise
            raise TypeError(
                "Got a scoring whose metric takes no sample_weight; choose one that does "
                "(roc_auc, f1, r2, ...), or a loss=... of rows."
            ) from error

    shares = problem.shares if toward_target else problem.plain_shares
    value = metric(shares * rows.size)
    draws = [metric(weights) for weights in _drawn_weights(problem, shares, toward_target)]
    inflation = 1 + problem.ess / problem.n_target if toward_target else 1.0
    error = float(np.sqrt(np.var(draws, ddof=1) * inflation))
    return Estimate.normal(value, error, problem.question.confidence, measure.bounds)


def _drawn_weights(
    problem: RiskProblem, shares: FloatArray, toward_target: bool
) -> Iterator[FloatArray]:
    rng = np.random.default_rng(0)  # the same draws for every model
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


DOUBLY_ROBUST, WEIGHTED, CONFIDENCE = "doubly robust", "weighted", "confidence"
METHODS = (DOUBLY_ROBUST, WEIGHTED, CONFIDENCE)


@dataclass(frozen=True)
class Question:
    """What is asked about models, how the work is done, and who hears of it."""

    ratio: Any = None
    scoring: Any = None
    loss: Any = None
    method: str = DOUBLY_ROBUST
    candidates: Any = None
    confidence: float = 0.95
    cv: int = 5
    n_jobs: int | None = None
    random_state: Any = None
    journal: Any = None
    progress: Any = None

    def measure_of(self, estimator: Any) -> Measure:
        """Return what is measured of an estimator; refuse options that make no sense for it."""
        measure = find_measure(self.scoring, self.loss, estimator)
        if self.method not in METHODS:
            raise ValueError(
                f"Got method={self.method!r}, but expected one of {', '.join(METHODS)}."
            )
        check_confidence(self.confidence)
        if self.method == CONFIDENCE and not (measure.row_loss and has_chances(estimator)):
            raise ValueError(
                "Got method='confidence', which needs a classifier with predict_proba and a loss "
                f"that is a mean over rows; use {DOUBLY_ROBUST!r}."
            )
        return measure

    def check_folds(self, n_rows: int) -> None:
        """Refuse a number of outer folds that rows cannot be dealt into."""
        whole = isinstance(self.cv, Integral) and not isinstance(self.cv, bool)
        if not whole or not 2 <= int(self.cv) <= n_rows:
            raise ValueError(
                f"Got cv={self.cv!r}, but expected a whole number of folds from 2 to the {n_rows} "
                "rows of X."
            )


def check_arguments(estimator: Any, y: Any) -> None:
    """Refuse what is not an estimator, and labels that cannot be used, before any work."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(
            f"Got estimator={estimator!r}, but expected an estimator of scikit-learn, e.g. "
            "LogisticRegression()."
        )
    if y is not None:
        refuse_no_table("y", y)
    labels = np.asarray(y)
    if labels.ndim != 1 and not (labels.ndim == 2 and labels.shape[1] == 1):
        raise ValueError(
            f"Got y of shape {labels.shape}, but expected one label for each row of X. The order "
            "is estimator, X, y, X_target."
        )
    missing = sum(value is None or value != value for value in labels.ravel().tolist())
    if missing:
        raise ValueError(
            f"Got {missing} of {labels.size} labels that are missing; leave these rows out: "
            "without a label they cannot be scored."
        )
