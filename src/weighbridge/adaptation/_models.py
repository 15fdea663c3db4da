"""Models by name, each behind a preparation of the columns; and the user's, whose code may fail."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from pickle import PicklingError
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
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

from weighbridge._data import check_sample_weight
from weighbridge._estimators import WeightedEstimator
from weighbridge._findings import Option, Problem, escaped, nearest, shown, shown_file
from weighbridge._pass_weights import fit_with_weights, weight_parameter
from weighbridge.exceptions import InputError

CLASSIFICATION = "classification"
# Levels with fewer rows share a column.
_RARE_LEVEL = 10
_LINEAR = ("linear", "svm")

# Rows that a model on trial predicts, and letters of a message that are shown.
_ASKED = 20
_LONGEST = 300

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
        raise _failure_of(name, "when it is imported", error, option) from error
    finally:
        sys.path.remove("")
    if isinstance(found, BaseEstimator) or not callable(found):
        return found
    return _call_own(name, "when it is made", found, option)


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


def _call_own(name: str, doing: str, call: Callable[[], Any], option: Option) -> Any:
    """Return what code of the user's own returns; whatever it raises is told as its own failure."""
    try:
        return call()
    except (InputError, MemoryError):
        raise
    # code that is not ours can raise anything
    except Exception as error:
        raise _failure_of(name, doing, error, option) from error


def try_model(name: str, model: Any, X: Any, y: Any, weight: Any, option: Option) -> None:
    """Fit a model once and let it predict a few rows, before all the work that rests on it."""
    weights = check_sample_weight(weight, len(X))
    weights = np.ones(len(X)) if weights is None else weights
    tried = clone(model)
    _call_own(name, "when it is fitted", lambda: fit_with_weights(tried, X, y, weights), option)
    few = X.head(_ASKED)
    predicted = _call_own(name, "when it predicts", lambda: np.shape(tried.predict(few)), option)
    if predicted != (len(few),):
        raise _failed(
            f"{shown(name)} predicts an array of shape {predicted} for {len(few)} rows.",
            (f"expected: one prediction for each row, shape ({len(few)},)",),
            option,
        )


@contextmanager
def blamed(models: Mapping[str, Any], option: Option) -> Iterator[None]:
    """Tell a failure inside one of these models as its own; any other goes on as it is."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    # code that is not ours can raise anything
    except Exception as error:
        for name, model in models.items():
            if _went_through(error, name, model):
                raise _failure_of(name, "in the middle of the work", error, option) from error
        raise


def _failure_of(name: str, doing: str, error: Exception, option: Option) -> InputError:
    """Return the failure of a model in words: which, when, and what it said."""
    said = escaped(" ".join(f"{type(error).__name__}: {error}".split())).rstrip(": .")
    said = said if len(said) <= _LONGEST else said[: _LONGEST - 1] + "…"
    message = f"the model {shown(name)} fails {doing}: {said}."
    return _failed(message, tuple(_place(error, name)), option)


def _failed(message: str, evidence: tuple[str, ...], option: Option) -> InputError:
    help = f"correct the model, or take another: {option('model', 'linear')}"
    return InputError([Problem("WB706", message, evidence, help)])


def _place(error: Exception, name: str) -> Iterator[str]:
    """Yield the last line of the user's own module that was reached."""
    file = _file_of_module(name)
    frames = [each for each in traceback.extract_tb(error.__traceback__) if each.filename == file]
    if frames:
        yield f"in {shown_file(Path(file).name)} line {frames[-1].lineno}, {frames[-1].name}"


def _went_through(error: Exception, name: str, model: Any) -> bool:
    """Return whether an error came up through the code of a model, here or in another process."""
    if isinstance(error, PicklingError):  # named models can be sent to other processes
        return True
    text = "".join(traceback.format_exception(error))
    return any(f'File "{file}"' in text for file in _files(name, model))


def _files(name: str, model: Any) -> set[str]:
    """Return the files of a model's code, without those that every model of scikit-learn has."""
    parts = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    kinds = [
        kind
        for part in parts
        for kind in type(part).__mro__
        if kind.__module__.partition(".")[0] not in ("sklearn", "builtins", "weighbridge")
    ]
    found = {_file_of_module(name)}
    for kind in kinds:
        try:
            found.add(inspect.getfile(kind))
        except (OSError, TypeError):  # compiled, or typed into a prompt
            continue
    return found - {""}


def _file_of_module(name: str) -> str:
    return getattr(sys.modules.get(name.partition(":")[0]), "__file__", None) or ""
