"""Estimators that are penalised linear models, after transformers that ignore the labels."""

from __future__ import annotations

from typing import Any

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
    LOGISTIC,
    NORMAL,
    POISSON,
    Likelihood,
    LinearFit,
)

# Their output depends on neither labels nor weights.
_SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "KBinsDiscretizer")
_ENCODERS = ("OneHotEncoder", "OrdinalEncoder", "PolynomialFeatures", "SplineTransformer")
_FIXED = (PCA, SimpleImputer, *(getattr(preprocessing, name) for name in _SCALERS + _ENCODERS))
_TAKEN = (
    "LinearRegression, Ridge, LogisticRegression without an l1 penalty or class weights, "
    "PoissonRegressor, or a pipeline that ends in one after scalers, encoders and other "
    "transformers that ignore the labels"
)
_OTHERWISE = "Use CrossValidation() for any other."
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


def _read(estimator: BaseEstimator) -> tuple[Likelihood, float, bool] | None:
    """Return likelihood, strength of the penalty, and whether losses are averaged before it."""
    model: Any = (fixed_steps(estimator) or [None])[-1]
    kind = type(model)
    if kind is linear_model.LinearRegression and not model.positive:
        return NORMAL, 0.0, False
    if kind is linear_model.Ridge and not model.positive and np.ndim(model.alpha) == 0:
        return NORMAL, float(model.alpha), False
    if kind is linear_model.LogisticRegression and _has_plain_penalty(model):
        has_penalty = getattr(model, "penalty", "l2") is not None and np.isfinite(model.C)
        return LOGISTIC, 1 / float(model.C) if has_penalty else 0.0, False
    if kind is linear_model.PoissonRegressor:
        return POISSON, float(model.alpha), True
    return None


def _has_plain_penalty(model: linear_model.LogisticRegression) -> bool:
    """Return True if only the squared norm is penalised, and all classes have weight 1."""
    return (
        getattr(model, "penalty", "l2") in (None, "l2", "deprecated")
        and not getattr(model, "l1_ratio", None)
        and model.class_weight is None
        and not model.dual
        and not (model.solver == "liblinear" and model.fit_intercept)
    )


def is_linear_model(estimator: BaseEstimator) -> bool:
    """Return True for the models of `linear_fit`."""
    return _read(estimator) is not None


def has_closed_form(estimator: BaseEstimator, y: ArrayLike) -> bool:
    """Return True if leave-one-out costs less than folds and a few candidates."""
    model, labels = _read(estimator), np.asarray(y)
    if model is None or len(labels) >= MAX_ROWS:
        return False
    return model[0] != LOGISTIC or np.unique(labels).size == 2


def linear_fit(estimator: BaseEstimator, X: Any, codes: np.ndarray) -> LinearFit:
    """Apply the fixed steps, then scale the columns, and centre them if there is an intercept."""
    model = _read(estimator)
    if model is None:
        raise TypeError(f"Got {estimator!r}, but this criterion takes {_TAKEN}. {_OTHERWISE}")
    likelihood, strength, is_mean = model
    if likelihood == LOGISTIC and codes.max() > 1:
        raise ValueError(
            f"Got {codes.max() + 1} classes, but this criterion takes LogisticRegression with two. "
            + _OTHERWISE
        )
    if likelihood == POISSON and (codes < 0).any():
        raise ValueError(
            f"Got a negative label ({codes.min():g}). PoissonRegressor needs labels of 0 or more."
        )
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
        centred = (features - features.mean(axis=0)) / scale
        features = np.column_stack([centred, np.ones(len(centred))])
        penalty = np.append(penalty, 0.0)
    else:
        features = features / scale
    return LinearFit(likelihood, features, codes.astype(float), penalty, is_mean=is_mean)


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
