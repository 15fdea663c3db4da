"""How weights reach an estimator, and what it answers: one way for each, with errors in words."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object
from sklearn.utils.validation import _num_samples, has_fit_parameter

from weighbridge.tables import column_labels, is_frame, read_columns


def fit_with_weights(estimator: Any, X: Any, y: Any, weights: np.ndarray | None) -> Any:
    """Fit `estimator`, which the caller owns, with one weight per row; None is without any."""
    if weights is None:
        with naming_text(estimator, X):
            return estimator.fit(X, y)
    name = weight_parameter(estimator)
    if get_config()["enable_metadata_routing"]:
        _request_weights(estimator, wanted=True)
        name = "sample_weight"
    with naming_text(estimator, X):
        return estimator.fit(X, y, **{name: weights})


@contextmanager
def naming_text(estimator: Any, X: Any) -> Iterator[None]:
    """Name the columns of text, where an estimator refuses one."""
    try:
        yield
    except ValueError as error:
        columns = zip(column_labels(X), read_columns(X), strict=True) if is_frame(X) else ()
        texts = [name for name, column in columns if column.dtype == object]
        if "could not convert string to float" not in str(error) or not texts:
            raise
        raise ValueError(
            f"Got text in the columns {texts}; {type(estimator).__name__} does not take it, or not "
            "all of it. Encode every such column in a pipeline, with make_column_transformer("
            "(OneHotEncoder(handle_unknown='ignore'), [...]), remainder='passthrough'), or leave "
            "it out."
        ) from error


def weight_parameter(estimator: Any) -> str:
    """Return the name under which ``estimator.fit`` takes weights, e.g. ``svc__sample_weight``."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        if not hasattr(last, "fit"):
            raise ValueError(
                f"The last step of the pipeline, {name!r}, is {last!r} and takes no row weights; a "
                "pipeline must end in an estimator."
            )
        return f"{name}__{weight_parameter(last)}"
    if isinstance(estimator, FrozenEstimator):
        raise ValueError(
            "Got a FrozenEstimator, whose fit does nothing; pass the estimator that is to be "
            "fitted with weights."
        )
    # members are asked even where the estimator itself takes weights: some would drop them there
    names = {weight_parameter(inner) for inner in _predictors(estimator)}
    kind: Any = type(estimator)
    takes_weights = _fit_takes_weights(kind) or has_fit_parameter(estimator, "sample_weight")
    if not (takes_weights or (names and _takes_any_parameter(estimator))):
        raise ValueError(
            f"{type(estimator).__name__} cannot be fitted with row weights: its fit has no "
            "sample_weight. Weights are never replaced by resampling behind your back; use an "
            "estimator whose fit takes sample_weight (most linear models, trees, forests, "
            "boosting, SVC and SVR do)."
        )
    names |= {"sample_weight"} if takes_weights else set()
    if len(names) == 1:
        return names.pop()
    if get_config()["enable_metadata_routing"]:
        return "sample_weight"
    raise ValueError(
        f"{type(estimator).__name__} passes row weights on under one name, but its members want "
        f"{sorted(names)}; switch scikit-learn's metadata routing on "
        "(sklearn.set_config(enable_metadata_routing=True)), or put the pipeline around it."
    )


@cache
def _fit_takes_weights(kind: type) -> bool:
    """Look at the signature once a class: it takes as long as a small fit."""
    return has_fit_parameter(kind, "sample_weight")


def _takes_any_parameter(estimator: Any) -> bool:
    """True for fit(X, y, **params), the way of scikit-learn's searches and ensembles."""
    parameters = inspect.signature(estimator.fit).parameters.values()
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


def _inner_estimators(estimator: Any) -> Iterator[Any]:
    if not hasattr(estimator, "get_params") or isinstance(estimator, type):
        return
    for value in estimator.get_params(deep=False).values():
        if hasattr(value, "fit"):
            yield value
        elif isinstance(value, list):
            members = (part for item in value if isinstance(item, tuple) for part in item)
            yield from (part for part in members if hasattr(part, "fit"))


def _predictors(estimator: Any) -> Iterator[Any]:
    """Yield the members that are fitted to y; a density (score_samples) is not."""
    for inner in _inner_estimators(estimator):
        fitted_to_y = hasattr(inner, "predict") and not hasattr(inner, "score_samples")
        if fitted_to_y and not isinstance(inner, FrozenEstimator):
            yield inner


def _request_weights(estimator: Any, wanted: bool) -> None:
    """With metadata routing on, ask for the weights where they belong and nowhere else."""
    if isinstance(estimator, Pipeline):
        for _, step in estimator.steps[:-1]:
            _request_weights(step, wanted=False)
        _request_weights(estimator.steps[-1][1], wanted)
        _request(estimator, "score", wanted)
        return
    for method in ("fit", "score"):
        _request(estimator, method, wanted)
    for inner in _inner_estimators(estimator):
        _request_weights(inner, wanted and hasattr(inner, "predict"))


def _request(estimator: Any, method: str, wanted: bool) -> None:
    """Ask for the weights in ``estimator.method``, or decline them where nothing was said."""
    setter = getattr(estimator, f"set_{method}_request", None)
    if setter is None or "sample_weight" not in inspect.signature(setter).parameters:
        return
    routing = get_routing_for_object(estimator)
    plain = isinstance(routing, MetadataRequest)
    unset = not plain or getattr(routing, method).requests.get("sample_weight") is None
    if unset or (wanted and method == "fit"):
        setter(sample_weight=wanted)


class AnswerError(ValueError):
    """An answer of a model that no rows explain: the model itself is wrong."""


# Probabilities of a row add up to 1 within this, as numbers of single precision do.
_SUM = 1e-3


def answer_of(model: Any, method: str, X: Any, *, numbers: bool = True) -> np.ndarray:
    """Ask a model about rows; refuse other shapes than it promises, and numbers that are none."""
    answer, n = np.asarray(getattr(model, method)(X)), _num_samples(X)
    shape = (n, len(model.classes_)) if method == "predict_proba" else (n,)
    answer = answer[:, 0] if answer.shape == (n, 1) and shape == (n,) else answer
    problem = "" if answer.shape == shape else f"has shape {answer.shape}, not {shape}"
    if numbers and not problem:
        try:  # objects may hold numbers; text and complex numbers are none
            casting: Any = "unsafe" if answer.dtype == object else "same_kind"
            answer = answer.astype(float, casting=casting)
            problem = _number_problem(answer)
        except (TypeError, ValueError):
            problem = f"is of type {answer.dtype}, not numbers"
    if problem:
        name = type(model.steps[-1][1] if hasattr(model, "steps") else model).__name__
        raise AnswerError(f"Got {name}, whose {method} {problem}; correct the model.")
    return answer


def _number_problem(answer: np.ndarray) -> str:
    """Say what is wrong with numbers; those of classes are probabilities."""
    rows = answer if answer.ndim == 2 else answer[:, None]
    bad = int((~np.isfinite(rows).all(axis=1)).sum())
    if bad:
        return f"is NaN or infinite in {bad} of {len(rows)} rows"
    chances = answer.ndim == 2 and rows.size
    if chances and max(np.abs(rows.sum(axis=1) - 1).max(), -rows.min()) > _SUM:
        return "has rows that are not numbers between 0 and 1 with a sum of 1"
    return ""


def count_parameters(estimator: Any, n_columns: int) -> int:
    """Return the number of coefficients of a fitted linear model, else of columns, plus 1."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    coefficients = getattr(last, "coef_", None)
    return (n_columns if coefficients is None else int(np.size(coefficients))) + 1
