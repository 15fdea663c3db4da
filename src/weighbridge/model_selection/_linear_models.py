"""Estimators that are penalised linear models, after transformers that ignore the labels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn import get_config, linear_model, preprocessing
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object

from weighbridge.model_selection._linear_fit import (
    Likelihood,
    LinearFit,
    huber,
    logistic,
    normal,
    poisson,
    tweedie,
)

Family: TypeAlias = Callable[[np.ndarray], Likelihood]

# Their output depends on neither labels nor weights.
_SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "KBinsDiscretizer")
_ENCODERS = ("OneHotEncoder", "OrdinalEncoder", "PolynomialFeatures", "SplineTransformer")
_FIXED = (PCA, SimpleImputer, *(getattr(preprocessing, name) for name in _SCALERS + _ENCODERS))
PIPELINES = (
    "or a pipeline that ends in one after scalers, encoders and other transformers that ignore the "
    "labels"
)
_TAKEN = (
    "LinearRegression, Ridge, LogisticRegression without an l1 penalty (of more than two classes "
    "not by liblinear or one against the rest), PoissonRegressor, GammaRegressor, "
    f"TweedieRegressor, HuberRegressor, {PIPELINES}"
)
# From this number of rows on, folds and a few candidates take less time than a closed form.
MAX_ROWS = 20_000
# A sparse table with more columns is not made dense.
_MAX_SPARSE = 1_000


def fixed_steps(estimator: BaseEstimator) -> list[BaseEstimator] | None:
    """Return the steps of a pipeline whose transformers ignore labels and weights, else None."""
    if not isinstance(estimator, Pipeline):
        return [estimator]
    steps = [step for _, step in estimator.steps[:-1] if step not in (None, "passthrough")]
    last = fixed_steps(estimator.steps[-1][1])
    return None if last is None or not all(map(_is_fixed, steps)) else steps + last


def _is_fixed(step: BaseEstimator) -> bool:
    if get_config()["enable_metadata_routing"]:
        fit = getattr(get_routing_for_object(step), "fit", None)
        if fit is not None and fit.requests.get("sample_weight"):
            return False
    if isinstance(step, ColumnTransformer):
        members = [member for _, member, _ in step.transformers] + [step.remainder]
    elif isinstance(step, FeatureUnion):
        members = [member for _, member in step.transformer_list]
    elif isinstance(step, Pipeline):
        members = [member for _, member in step.steps]
    else:
        return isinstance(step, _FIXED)
    return all(isinstance(member, str) or _is_fixed(member) for member in members)


def _read(estimator: BaseEstimator) -> tuple[Family, float, bool]:
    """Return likelihood, strength of the penalty, and whether losses are averaged before it."""
    model: Any = (fixed_steps(estimator) or [None])[-1]
    kind = type(model)
    if kind is linear_model.LinearRegression and not model.positive:
        return normal, 0.0, False
    if kind is linear_model.Ridge and not model.positive and np.ndim(model.alpha) == 0:
        return normal, float(model.alpha), False
    if kind is linear_model.LogisticRegression and _has_plain_penalty(model):
        has_penalty = getattr(model, "penalty", "l2") is not None and np.isfinite(model.C)
        return logistic, 1 / float(model.C) if has_penalty else 0.0, False
    if kind is linear_model.PoissonRegressor:
        return poisson, float(model.alpha), True
    if kind in (linear_model.GammaRegressor, linear_model.TweedieRegressor):
        power, link = float(getattr(model, "power", 2)), getattr(model, "link", "log")
        has_log_link = link == "log" or (link == "auto" and power > 0)
        family = partial(tweedie, power=power, has_log_link=has_log_link)
        return family, float(model.alpha), True
    if kind is linear_model.HuberRegressor:  # whose penalty scikit-learn does not halve
        return partial(huber, epsilon=float(model.epsilon)), 2 * float(model.alpha), False
    raise TypeError(f"Got {estimator!r}, but a linear model with a smooth loss is one of {_TAKEN}.")


def _has_plain_penalty(model: linear_model.LogisticRegression) -> bool:
    """Return True if only the squared norm is penalised, and all classes have weight 1."""
    return (
        getattr(model, "penalty", "l2") in (None, "l2", "deprecated")
        and not getattr(model, "l1_ratio", None)
        and model.class_weight is None
        and not model.dual
        and not (model.solver == "liblinear" and model.fit_intercept)
    )


def linear_fit(estimator: BaseEstimator, X: Any, codes: np.ndarray) -> LinearFit:
    """Apply the fixed steps, then scale the columns, and centre them if there is an intercept."""
    family, strength, is_mean = _read(estimator)
    *transformers, last = fixed_steps(estimator) or []
    for step in transformers:
        X = clone(step).fit_transform(X)
    features = _dense(X)
    size = np.sqrt(np.square(features).mean(axis=0))
    scale = features.std(axis=0) if last.fit_intercept else size.copy()
    # The standard deviation of a constant column is a rounding error.
    scale[~(scale > 1e-14 * size)] = 1.0
    penalty = strength / scale**2
    if last.fit_intercept:
        features = features - features.mean(axis=0)
    features = features / scale
    if last.fit_intercept:
        features, penalty = np.column_stack([features, np.ones(len(features))]), [*penalty, 0.0]
    return LinearFit(family(codes.astype(float)), features, penalty, is_mean=is_mean)


def _dense(X: Any) -> np.ndarray:
    if issparse(X) and X.shape[1] > _MAX_SPARSE:
        raise ValueError(
            f"Got a sparse table of {X.shape[1]} columns, which the closed form would make dense. "
            "Use CrossValidation()."
        )
    features = X.toarray() if issparse(X) else np.asarray(X, dtype=float)
    if features.ndim != 2 or not np.isfinite(features).all():
        raise ValueError(
            f"Got features of shape {features.shape} with missing or infinite values. A linear "
            "model needs a table of numbers."
        )
    return features


def closed_form(estimator: BaseEstimator) -> Family | None:
    """Return the likelihood of an estimator with exact or approximate leave-one-out, else None."""
    try:
        family, _, _ = _read(estimator)
    except TypeError:
        return None
    return family if family in (normal, logistic, poisson) else None


def has_closed_form(
    estimator: BaseEstimator, y: ArrayLike, sample_weight: np.ndarray | None = None
) -> bool:
    """Return True if leave-one-out costs less than folds and a few candidates."""
    family, labels = closed_form(estimator), np.asarray(y)
    n_rows = len(labels) if sample_weight is None else np.count_nonzero(sample_weight)
    if family is None or n_rows >= MAX_ROWS:
        return False
    return family is not logistic or np.unique(labels).size == 2
