"""The base of estimators that weight their rows: ratio, predictions and other delegation."""

from __future__ import annotations

import warnings
from copy import deepcopy
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from weighbridge._estimators.fitted_rows import FittedRows
from weighbridge.ratios import AutoRatio, KnownRatio, check_ratio, fit_ratio, is_fitted
from weighbridge.tables import (
    check_in_memory,
    is_frame,
    numbers_as_text,
    numbers_meant,
    take_rows,
    unmasked,
)


def tables_in_memory(X: Any, X_target: Any) -> tuple[Any, Any]:
    """Return source and target rows with NaN for masked values; refuse tables of an engine."""
    for name, rows in (("X", X), ("X_target", X_target)):
        if rows is not None:
            check_in_memory(name, rows)
    return unmasked(X), unmasked(X_target)


def refuse_text(model: Any, X: Any, ratio: Any) -> None:
    """Refuse a frame whose text a fitted model reads as numbers: to the ratio it is categories."""
    for name in numbers_as_text(X) if is_estimated(ratio) and is_frame(X) else ():
        import narwhals as nw

        few = nw.from_native(take_rows(X, slice(9)), eager_only=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model.predict(few.with_columns(nw.lit("a word").alias(name)).to_native())
            except Exception as error:  # noqa: BLE001 - a model may refuse words in any way
                if "could not convert string to float" in str(error):
                    what = f"{type(model).__name__} reads them as such"
                    raise TypeError(numbers_meant(f'"{name}"', what)) from None


def _estimator_has(attribute: str) -> Any:
    """Offer a method exactly where the inner estimator has it."""

    def check(self: Any) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), attribute)
        return True

    return check


class WeightedEstimator(MetaEstimatorMixin, BaseEstimator):
    """Abstract: an inner estimator, a ratio, and every method that only passes things on.

    Members set ``estimator`` and ``ratio`` in the constructor, and ``estimator_`` in ``fit``.
    """

    # A request that the caller need not repeat: the target sample is always wanted.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"X_target": True}

    # What None stands for, where nested parameters can be set.
    _defaults: ClassVar[dict[str, Any]] = {"ratio": AutoRatio}

    # Whether one label a row is all that is taken, whatever the inner estimator takes.
    _single_output: ClassVar[bool] = False

    # What changed, for members without such a parameter.
    shift: str = "covariate"

    estimator: Any
    ratio: Any
    estimator_: Any
    _fitted_rows: FittedRows

    def set_params(self, **params: Any) -> Self:
        """Set parameters, nested ones with ``__``, even those of a default ratio or weighting.

        Parameters
        ----------
        **params : dict
            Parameters and their values.

        Returns
        -------
        estimator
            The object itself.
        """
        if "weighting" in self._defaults and (unknown := {"lam", "alpha"} & {*params}):
            name = min(unknown)
            raise ValueError(
                f"Invalid parameter {name!r} for estimator {type(self).__name__}: it belongs to "
                f"the weighting, weighting__{name}. A search over it would fit the ratio anew in "
                "each fold; weighbridge.for_target(...) prepares a model and a score for searches."
            )
        for name, default in self._defaults.items():
            nested = any(key.startswith(f"{name}__") for key in params)
            given = params.get(name, getattr(self, name))
            if nested and (given is None or (name == "ratio" and isinstance(given, str))):
                params = {**params, name: default() if given is None else check_ratio(given)}
        return super().set_params(**params)

    def _fitted_ratio(self, X: Any, X_target: Any, y: Any = None) -> Any:
        ratio = None if self.ratio is None else clone(check_ratio(self.ratio))
        ready = is_fitted(ratio)
        if ready and X_target is not None:
            raise ValueError(
                f"Got X_target although the ratio ({type(ratio).__name__}) is already fitted: the "
                "target sample is used once, to fit the ratio. Leave X_target out, or pass a "
                "ratio that is not fitted."
            )
        if ready:
            return ratio
        if X_target is None and is_fitted(self.ratio):
            raise ValueError(
                f"Got no target sample, and a ratio ({type(ratio).__name__}) that is fitted but "
                "not frozen: every clone forgets its fit. Wrap it: "
                "ratio=sklearn.frozen.FrozenEstimator(ratio)."
            )
        if X_target is None:
            raise ValueError(
                "Got no target sample. Pass it to fit (X_target=...), or construct the estimator "
                "with a ratio that needs none: ratio=sklearn.frozen.FrozenEstimator(fit_ratio(X, "
                "X_target)) or weighbridge.ratios.KnownRatio(...)."
            )
        return fit_ratio(X, X_target, ratio, y=y)

    def _copy_features(self) -> None:
        """Take over what the inner estimator knows about its columns."""
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
            elif hasattr(self, name):
                delattr(self, name)

    def _delegate(self, method: str, X: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.estimator_, method)(unmasked(X))

    @available_if(_estimator_has("predict"))
    def predict(self, X: Any) -> np.ndarray:
        """Predict with the fitted inner estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Any rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predictions.
        """
        return self._delegate("predict", X)

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict class probabilities with the fitted inner estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Any rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probabilities.
        """
        return self._delegate("predict_proba", X)

    @available_if(_estimator_has("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of `predict_proba`, from the fitted inner estimator."""
        return self._delegate("predict_log_proba", X)

    @available_if(_estimator_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the decision function of the fitted inner estimator at any rows."""
        return self._delegate("decision_function", X)

    @available_if(_estimator_has("score"))
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the inner estimator's own score, not weighted toward the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Any rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows in the score.

        Returns
        -------
        float
            Accuracy, R squared, or whatever else the inner estimator scores by.
        """
        check_is_fitted(self)
        X, y = unmasked(X), unmasked(y, "y")
        if sample_weight is None:
            return self.estimator_.score(X, y)
        return self.estimator_.score(X, y, sample_weight=unmasked(sample_weight, "sample_weight"))

    @property
    def classes_(self) -> np.ndarray:
        """Class labels of the fitted inner classifier."""
        return self.estimator_.classes_

    def __sklearn_tags__(self) -> Any:
        tags = deepcopy(get_tags(self.estimator))
        if self._single_output:
            tags.target_tags.multi_output = False
            if tags.classifier_tags is not None:
                tags.classifier_tags.multi_label = False
        return tags


class JudgedRatio(FrozenEstimator):  # type: ignore[misc, unused-ignore]
    """A fitted ratio, with the share of its target rows that lie outside the source."""

    def __init__(self, estimator: Any, outside_share: float | None):
        super().__init__(estimator)
        self.outside_share = outside_share


def is_estimated(ratio: Any) -> bool:
    """False for known ratios, which may lack their constant."""
    return not isinstance(innermost(ratio), KnownRatio)


def share_beyond(ratio: Any) -> float | None:
    """Return the share of target rows with a far larger ratio than nearly all source rows."""
    return getattr(innermost(ratio), "extreme_share_", None)


def innermost(ratio: Any) -> Any:
    """Return the ratio itself, out of pipelines, frozen estimators and finished searches."""
    while True:
        if isinstance(ratio, Pipeline):
            ratio = ratio.steps[-1][1]
        elif isinstance(ratio, FrozenEstimator):
            ratio = ratio.estimator
        elif hasattr(ratio, "best_estimator_"):
            ratio = ratio.best_estimator_
        else:
            return ratio
