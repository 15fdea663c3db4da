"""Estimators that are penalised linear models, after transformers that ignore the labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn import get_config, preprocessing
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object

from weighbridge.model_selection._linear_fit import (
    Likelihood,
    LinearFit,
    logistic,
    normal,
    poisson,
)

LikelihoodOf: TypeAlias = Callable[[np.ndarray], Likelihood]

# Their output depends on neither labels nor weights.
_SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "KBinsDiscretizer")
_ENCODERS = ("OneHotEncoder", "OrdinalEncoder", "PolynomialFeatures", "SplineTransformer")
_FIXED = (PCA, SimpleImputer, *(getattr(preprocessing, name) for name in _SCALERS + _ENCODERS))
CLOSED_FORMS = (
    "LinearRegression, Ridge, LogisticRegression with two classes and without an l1 penalty, "
    "PoissonRegressor, or a pipeline that ends in one after scalers, encoders and other "
    "transformers that ignore the labels"
)
# From this number of rows on, folds and a few candidates take less time than a closed form.
MAX_ROWS = 20_000
# A sparse table with more columns is not made dense.
_MAX_SPARSE = 1_000


def fixed_steps(estimator: BaseEstimator) -> list[BaseEstimator] | None:
    """Return the steps of a pipeline whose transformers ignore labels and weights, else None."""
    try:
        return _checked_steps(estimator)
    except TypeError:
        return None


def _checked_steps(estimator: BaseEstimator) -> list[BaseEstimator]:
    if not isinstance(estimator, Pipeline):
        return [estimator]
    steps = [step for _, step in estimator.steps[:-1] if step not in (None, "passthrough")]
    for step in steps:
        if not _is_fixed(step):
            raise TypeError(
                f"Got a pipeline with {type(step).__name__}, whose output may depend on the labels "
                f"or on weights. The closed form takes {CLOSED_FORMS}."
            )
    return steps + _checked_steps(estimator.steps[-1][1])


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


class LinearDesign(NamedTuple):
    """Scaled features, the diagonal of the penalty, and whether losses are averaged before it."""

    features: np.ndarray
    penalty: np.ndarray
    is_mean: bool

    def fit(self, likelihood: Likelihood) -> LinearFit:
        """Prepare fits with one linear predictor."""
        start = np.linalg.lstsq(self.features, np.full(len(self.features), likelihood.level))[0]
        return LinearFit(likelihood, [self.features], self.penalty, self.is_mean, start)


def linear_design(estimator: BaseEstimator, X: Any, strength: float, is_mean: bool) -> LinearDesign:
    """Apply the fixed steps, then scale the columns, and centre them if there is an intercept."""
    *steps, last = _checked_steps(estimator)
    for step in steps:
        X = clone(step).fit_transform(X)
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
    size = np.sqrt(np.square(features).mean(axis=0))
    scale = features.std(axis=0) if last.fit_intercept else size.copy()
    # The standard deviation of a constant column is a rounding error.
    scale[~(scale > 1e-14 * size)] = 1.0
    penalty = strength / scale**2
    if not last.fit_intercept:
        return LinearDesign(features / scale, penalty, is_mean)
    centred = (features - features.mean(axis=0)) / scale
    Z = np.column_stack([centred, np.ones(len(features))])
    return LinearDesign(Z, np.append(penalty, 0.0), is_mean)


def read_regression(estimator: BaseEstimator) -> tuple[LikelihoodOf, float, bool]:
    """Return likelihood, strength of the penalty, and whether losses are averaged before it."""
    model = _checked_steps(estimator)[-1]
    kind = type(model)
    if kind is LinearRegression and not model.positive:
        return normal, 0.0, False
    if kind is Ridge and not model.positive and np.ndim(model.alpha) == 0:
        return normal, float(model.alpha), False
    if kind is LogisticRegression and _has_plain_penalty(model):
        has_penalty = getattr(model, "penalty", "l2") is not None and np.isfinite(model.C)
        return logistic, 1 / float(model.C) if has_penalty else 0.0, False
    if kind is PoissonRegressor:
        return poisson, float(model.alpha), True
    raise TypeError(f"Got {model!r}, but the closed form takes {CLOSED_FORMS}.")


def _has_plain_penalty(model: LogisticRegression) -> bool:
    """Return True if only the squared norm is penalised, and all classes have weight 1."""
    return (
        getattr(model, "penalty", "l2") in (None, "l2", "deprecated")
        and not getattr(model, "l1_ratio", None)
        and model.class_weight is None
        and not model.dual
        and not (model.solver == "liblinear" and model.fit_intercept)
    )


def likelihood_of(kind: LikelihoodOf, y: np.ndarray) -> Likelihood:
    """Return the likelihood of checked labels, of which two classes become 0 and 1."""
    if kind is poisson and (y < 0).any():
        raise ValueError(
            f"Got a negative label ({y.min():g}). PoissonRegressor needs labels of 0 or more."
        )
    if kind is not logistic:
        return kind(y.astype(float))
    classes, codes = np.unique(y, return_inverse=True)
    if classes.size != 2:
        raise ValueError(
            f"Got {classes.size} classes; the closed form of LogisticRegression takes two. Use "
            "model_selection.CrossValidation() for more."
        )
    return kind(codes.astype(float))


def closed_form(estimator: BaseEstimator) -> LikelihoodOf | None:
    """Return the likelihood of an estimator with exact or approximate leave-one-out, else None."""
    try:
        return read_regression(estimator)[0]
    except TypeError:
        return None


def has_closed_form(
    estimator: BaseEstimator, y: ArrayLike, sample_weight: np.ndarray | None = None
) -> bool:
    """Return True if leave-one-out costs less than folds and a few candidates."""
    kind, labels = closed_form(estimator), np.asarray(y)
    n_rows = len(labels) if sample_weight is None else np.count_nonzero(sample_weight)
    if kind is None or n_rows >= MAX_ROWS:
        return False
    return kind is not logistic or np.unique(labels).size == 2
