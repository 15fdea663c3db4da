"""Fit procedures to all rows and without each fold, and record what their models predict."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metaestimators import available_if

from weighbridge._estimators import WeightedEstimator, refuse_text, rows_told
from weighbridge._pass_weights import answer_of, fit_with_weights
from weighbridge.domain import Support
from weighbridge.label_shift import AUTO, COVARIATE, LABEL, ByKind, fit_by_kind
from weighbridge.model_selection import (
    SourceRows,
    fixed_steps,
    is_linear_model,
    respond,
    table_rows,
)
from weighbridge.ratios import check_ratio, fit_ratio, is_default, is_fitted
from weighbridge.tables import check_in_memory, refuse_missing, to_numpy

if TYPE_CHECKING:
    from weighbridge.target_risk._problem import RiskProblem

Step = Callable[[], object]
# Predictions of a model for some rows, by the name of the method.
Predictions = dict[str, np.ndarray]


class Replay(BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Model with predictions that were made before. X are row numbers."""

    def __init__(self, predictions: Predictions, classes_: np.ndarray | None = None):
        self.predictions = predictions
        self.classes_ = classes_

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the predictions for rows of these numbers."""
        return self.predictions["predict"][X]


class ReplayClassifier(ClassifierMixin, Replay):  # type: ignore[misc, unused-ignore]
    """Classifier with predictions that were made before. X are row numbers."""

    @available_if(lambda self: "predict_proba" in self.predictions)
    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the class probabilities of rows of these numbers."""
        return self.predictions["predict_proba"][X]

    @available_if(lambda self: "decision_function" in self.predictions)
    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return the decision function at rows of these numbers."""
        return self.predictions["decision_function"][X]


def replay(predictions: Predictions, classes: np.ndarray | None) -> BaseEstimator:
    """Return an estimator that makes these predictions, given row numbers."""
    return (Replay if classes is None else ReplayClassifier)(predictions, classes)


def take_predictions(predictions: Predictions, rows: np.ndarray) -> Predictions:
    """Return the predictions for some of the rows."""
    return {method: array[rows] for method, array in predictions.items()}


def loss_argument(
    predictions: Predictions, response: str, classes: np.ndarray | None
) -> np.ndarray:
    """Return predictions in the form that a row loss takes."""
    array = predictions[response]
    if response == "predict_proba":
        return array
    return respond(replay(predictions, classes), np.arange(len(array)), response, classes)


class HeldOut(NamedTuple):
    """Predictions of one procedure. A frozen model makes all of them."""

    source: Predictions  # each source row by the model that was fitted without its fold
    target: list[Predictions]  # all target rows by each of these models
    final: Predictions  # all target rows by the model that was fitted to all rows
    model: BaseEstimator  # this model

    def at_target_rows(self, rows: np.ndarray) -> HeldOut:
        """Return the same for some of the target rows."""
        target = [take_predictions(predictions, rows) for predictions in self.target]
        return self._replace(target=target, final=take_predictions(self.final, rows))


def record_predictions(model: Any, X: Any, classes: np.ndarray | None) -> Predictions:
    """Predict by every method of a model. Columns of probabilities are those of `classes`."""
    if classes is None:
        return {"predict": answer_of(model, "predict", X)}
    predictions = {}
    if hasattr(model, "predict"):
        predictions["predict"] = answer_of(model, "predict", X, numbers=False)
    if hasattr(model, "predict_proba"):
        predictions["predict_proba"] = respond(model, X, "predict_proba", classes)
    if hasattr(model, "decision_function"):  # a number for each row, each class or each pair
        predictions["decision_function"] = np.asarray(model.decision_function(X))
    return predictions


def base_of(estimator: Any) -> Any:
    """Return the inner estimator of a weighted one, else the estimator itself."""
    return estimator.estimator if isinstance(estimator, WeightedEstimator) else estimator


def check_arguments(estimator: Any, y: Any) -> None:
    """Raise an error, before any work, unless there is an estimator and one label for each row."""
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


def fit_ratio_of(
    estimator: Any,
    X: Any,
    y: Any,
    X_target: Any,
    ratio_and_shift: tuple[Any, str],
    support: Support | None,
    step: Step | None,
) -> ByKind:
    """Return the ratio to use, frozen so that copies stay fitted, and the kind of shift."""
    ratio, shift = ratio_and_shift
    if ratio is None and isinstance(estimator, WeightedEstimator):
        ratio = estimator.ratio
        shift = estimator.shift if shift == AUTO and estimator.shift == LABEL else shift
    numbers = not is_classifier(estimator)
    if ratio is not None and is_fitted(check_ratio(ratio)):
        fitted = ByKind(ratio)
    elif is_default(ratio) and (shift == LABEL or (shift == AUTO and not numbers)):
        fitted = fit_by_kind(shift, X, y, X_target, numbers=numbers, support=support, step=step)
    else:
        fitted = ByKind(fit_ratio(X, X_target, ratio, y=y))
    if isinstance(fitted.ratio, FrozenEstimator):
        return fitted
    return fitted._replace(ratio=FrozenEstimator(fitted.ratio))


def with_ratio(estimator: Any, problem: RiskProblem) -> Any:
    """Return a procedure with a fitted ratio; reject a frozen model that was fitted to the rows."""
    if isinstance(estimator, FrozenEstimator):
        n_known = rows_told(estimator, problem.rows.X)
        if n_known:
            raise ValueError(
                f"Got a frozen model that was fitted to {n_known} of the {problem.rows.y.size} "
                "rows of X: its losses there are too small. Pass rows that it has not seen, or the "
                "model without FrozenEstimator: then it is refitted without each fold."
            )
    if not isinstance(estimator, WeightedEstimator):
        return estimator
    if estimator.ratio is not None and is_fitted(clone(check_ratio(estimator.ratio))):
        return estimator
    # The inner estimator is the same object, by which `share_transformers` recognises it.
    options = {**estimator.get_params(deep=False), "ratio": problem.ratio}
    options |= {"shift": COVARIATE} if "shift" in options else {}  # The ratio has settled it.
    return type(estimator)(**options)


def fit_finals(estimators: Iterable[Any], problem: RiskProblem, step: Step | None) -> list[Any]:
    """Fit a copy of each estimator to all rows. A frozen one is returned as it is."""
    rows, finals = problem.rows, []
    for estimator in estimators:
        procedure = with_ratio(estimator, problem)
        if isinstance(procedure, FrozenEstimator):
            finals.append(procedure)
            continue
        finals.append(_fit(procedure, rows.X, rows.y, rows.sample_weight))
        if step is not None:
            step()
    refuse_text(finals[0], rows.X, problem.ratio)
    return finals


def _fit(estimator: Any, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> Any:
    if isinstance(estimator, WeightedEstimator):
        return clone(estimator).fit(X, y, sample_weight=sample_weight)
    return fit_with_weights(clone(estimator), X, y, sample_weight)


def hold_out(
    estimators: list[Any], finals: list[Any], problem: RiskProblem, step: Step | None
) -> list[HeldOut]:
    """Fit copies of the estimators without each fold; record the predictions of all models."""
    rows, X_target, classes = problem.rows, problem.X_target, problem.rows.classes
    refitted = [model for model in estimators if not isinstance(model, FrozenEstimator)]
    procedures = [with_ratio(model, problem) for model in refitted]
    transformers, procedures = share_transformers(procedures, problem.ratio)
    shared = procedures, transformers, problem.ratio, problem.log_ratio, rows, X_target
    folds = range(problem.n_folds if procedures else 0)
    tasks = (delayed(_predict_fold)(*shared, problem.fold == k) for k in folds)
    by_fold = []
    for predictions in Parallel(n_jobs=problem.question.n_jobs, return_as="generator")(tasks):
        by_fold.append(predictions)
        if step is not None:
            for _ in procedures:
                step()
    # The position of each source row if those of the first fold come first, and so on.
    order = np.argsort(np.argsort(problem.fold, kind="stable"))
    by_procedure = zip(*by_fold, strict=True)
    held_out = []
    for estimator, model in zip(estimators, finals, strict=True):
        final = record_predictions(model, X_target, classes)
        if isinstance(estimator, FrozenEstimator):
            source, targets = record_predictions(model, rows.X, classes), [final]
        else:
            sources, targets = map(list, zip(*next(by_procedure), strict=True))
            arrays = {name: np.concatenate([p[name] for p in sources]) for name in sources[0]}
            source = take_predictions(arrays, order)
        held_out.append(HeldOut(source, targets, final, model))
    return held_out


def _predict_fold(
    estimators: list[Any],
    transformers: list[Any],
    ratio: Any,
    log_ratio: np.ndarray,
    rows: SourceRows,
    X_target: Any,
    is_held_out: np.ndarray,
) -> list[list[Predictions]]:
    """Fit to the other rows; return predictions for the held-out rows and for the target."""
    train = np.flatnonzero(~is_held_out)
    X, X_held_out = table_rows(rows.X, train), table_rows(rows.X, np.flatnonzero(is_held_out))
    for transformer in map(clone, transformers):
        X = transformer.fit_transform(X)
        X_held_out, X_target = transformer.transform(X_held_out), transformer.transform(X_target)
    scored = ScoredRatio(ratio, X, log_ratio[train])
    sample_weight = None if rows.sample_weight is None else rows.sample_weight[train]
    predictions = []
    for estimator in estimators:
        if isinstance(estimator, WeightedEstimator) and estimator.ratio is ratio:
            estimator = clone(estimator).set_params(ratio=scored)
        model = _fit(estimator, X, rows.y[train], sample_weight)
        tables = X_held_out, X_target
        predictions.append([record_predictions(model, table, rows.classes) for table in tables])
    return predictions


def share_transformers(estimators: list[Any], ratio: Any) -> tuple[list[Any], list[Any]]:
    """Split off the transformers that the estimators have in common, to fit them once a fold."""
    base = base_of(estimators[0]) if estimators else None
    steps = fixed_steps(base) if is_linear_model(base) else None
    weighted = [model for model in estimators if isinstance(model, WeightedEstimator)]
    if (
        steps is None
        or any(base_of(model) is not base for model in estimators)
        or any(model.ratio is not ratio for model in weighted)
        # A criterion of the user's may look at the rows before the transformers.
        or any(getattr(model, "criterion", None) is not None for model in weighted)
    ):
        return [], estimators
    return steps[:-1], [
        clone(model).set_params(estimator=steps[-1]) if model in weighted else steps[-1]
        for model in estimators
    ]


class ScoredRatio(FrozenEstimator):  # type: ignore[misc, unused-ignore]
    """Fitted ratio with known log ratios of one table, which transformers may have changed."""

    def __init__(self, estimator: Any, table: Any, log_ratio: np.ndarray):
        super().__init__(estimator)
        self.table = table
        self.log_ratio = log_ratio

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log ratio at the rows of `X`."""
        return self.log_ratio if X is self.table else self.estimator.score_samples(X)
