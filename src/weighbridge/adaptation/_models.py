"""Models by name: a preparation of the columns and a learner behind it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

from weighbridge._estimators import WeightedEstimator
from weighbridge._findings import Option, Problem, nearest, shown
from weighbridge._pass_weights import weight_parameter
from weighbridge.adaptation._own_model import call_own, failure_of
from weighbridge.exceptions import InputError

CLASSIFICATION = "classification"
# Levels with fewer rows share a column.
_RARE_LEVEL = 10
_LINEAR = ("linear", "svm")

# name: (classifier, regressor), each made from a seed
MODELS: dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]] = {
    "linear": (lambda seed: LogisticRegression(max_iter=1000), lambda seed: Ridge()),
    "boosting": (
        lambda seed: HistGradientBoostingClassifier(random_state=seed),
        lambda seed: HistGradientBoostingRegressor(random_state=seed),
    ),
    "forest": (
        lambda seed: RandomForestClassifier(min_samples_leaf=5, random_state=seed),
        lambda seed: RandomForestRegressor(min_samples_leaf=5, random_state=seed),
    ),
    "svm": (lambda seed: SVC(random_state=seed), lambda seed: SVR()),
}


def make_model(
    model: Any, task: str, kinds: dict[str, str], *, seed: int, option: Option
) -> tuple[str, Any]:
    """Return the name of a model and the estimator, which takes the table as it is."""
    if isinstance(model, str) and model in MODELS:
        made = MODELS[model][task != CLASSIFICATION](seed)
        return model, Pipeline(
            [("prepare", preparation(kinds, linear=model in _LINEAR)), ("model", made)]
        )
    found = _imported(model, option) if isinstance(model, str) else model
    name = model if isinstance(model, str) else type(found).__name__
    _check_model(name, found, task, option)
    if isinstance(found, Pipeline):
        return name, found
    return name, make_pipeline(preparation(kinds, linear=True), found)


def preparation(kinds: dict[str, str], *, linear: bool) -> ColumnTransformer:
    """Return the transformer of the columns."""
    numbers = [name for name, kind in kinds.items() if kind == "numeric"]
    texts = [name for name, kind in kinds.items() if kind != "numeric"]
    as_numbers: Any = "passthrough"
    if linear:
        as_numbers = make_pipeline(
            SimpleImputer(strategy="median", add_indicator=True), StandardScaler()
        )
    levels = OneHotEncoder(
        min_frequency=_RARE_LEVEL, handle_unknown="infrequent_if_exist", sparse_output=False
    )
    parts = [("numbers", as_numbers, numbers), ("levels", levels, texts)]
    return ColumnTransformer([part for part in parts if part[2]], verbose_feature_names_out=False)


def _imported(name: str, option: Option) -> Any:
    """Return the object behind ``module:object``; a class or a function is called."""
    module, _, attribute = name.partition(":")
    if not attribute:
        near = nearest(name, MODELS)
        raise _refused(
            f"there is no model {shown(name)}.",
            (f"models: {', '.join(MODELS)}, or module:object",),
            option("model", near[0] if near else "linear"),
        )
    # as `python -m` does: a module in the present folder can be named
    sys.path.insert(0, "")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise _refused(
            f"{shown(name)} cannot be imported: {error}.",
            (),
            option("model", "module:object")
            + ", a module that Python finds and an estimator in it",
        ) from error
    # code that is not ours can raise anything
    except Exception as error:
        raise failure_of(name, "when it is imported", error, option) from error
    finally:
        sys.path.remove("")
    if isinstance(found, BaseEstimator) or not callable(found):
        return found
    return call_own(name, "when it is made", found, option)


def _check_model(name: str, model: Any, task: str, option: Option) -> None:
    if not hasattr(model, "fit") or not hasattr(model, "predict"):
        raise _refused(
            f"{shown(name)} is a {type(model).__name__} without fit and predict.",
            (),
            option("model", "linear") + ", or an estimator of scikit-learn",
        )
    if isinstance(model, WeightedEstimator):
        raise _refused(
            f"{type(model).__name__} weights its rows itself, as is done here for any model.",
            (),
            f"pass the estimator inside it, and {option('lam', '0.8')} or {option('alpha', '3')}; "
            "a weighting of your own goes into assess(model, X, y, X_target)",
        )
    wrong = is_regressor(model) if task == CLASSIFICATION else is_classifier(model)
    if wrong:
        kind = "regressor" if task == CLASSIFICATION else "classifier"
        raise _refused(
            f"{shown(name)} is a {kind}, and the task is {task}.",
            (),
            option("task", "regression" if task == CLASSIFICATION else CLASSIFICATION)
            + ", or another model",
        )
    try:
        weight_parameter(model)
    except (TypeError, ValueError):
        raise _refused(
            f"{type(model).__name__} cannot be fitted with row weights.",
            ("weights are never replaced by resampling behind your back",),
            f"{option('model', 'linear')} or boosting, or a model whose fit takes sample_weight",
            code="WB701",
        ) from None


def _refused(message: str, evidence: tuple[str, ...], help: str, code: str = "WB702") -> InputError:
    return InputError([Problem(code, message, evidence, help, "usage")])


# name: scorer of scikit-learn
METRICS = {
    CLASSIFICATION: {
        "error": "accuracy",
        "log_loss": "neg_log_loss",
        "brier": "neg_brier_score",
    },
    "regression": {
        "rmse": "neg_root_mean_squared_error",
        "mse": "neg_mean_squared_error",
        "mae": "neg_mean_absolute_error",
    },
}


def find_metric(metric: str | None, task: str, option: Option) -> tuple[str, str]:
    """Return the name of a metric and its scorer; by default errors, or the root mean square."""
    known = METRICS[task]
    if metric is None:
        metric = next(iter(known))
    if metric in known:
        return metric, known[metric]
    other = METRICS["regression" if task == CLASSIFICATION else CLASSIFICATION]
    why = (
        f"{shown(metric)} is not a metric of {task}."
        if metric in other
        else (f"there is no metric {shown(metric)} that is a mean over rows.")
    )
    near = nearest(str(metric), known)
    raise InputError(
        [
            Problem(
                "WB703",
                why,
                (f"metrics: {', '.join(known)}",),
                option("metric", near[0] if near else next(iter(known))),
                "usage",
            )
        ]
    )
