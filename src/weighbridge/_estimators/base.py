"""What the estimators that weight their rows have in common: ratio in, predictions out."""

from __future__ import annotations

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
from weighbridge._pass_weights import is_dask_estimator
from weighbridge.blocks import as_rows, is_blocks, predict_by_blocks
from weighbridge.ratios import AutoRatio, KnownRatio, check_ratio, fit_ratio, is_fitted


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

    estimator: Any
    ratio: Any
    estimator_: Any
    _fitted_rows: FittedRows

    def set_params(self, **params: Any) -> Self:
        """Set parameters, nested ones by ``__``, also those of a default that is not there yet.

        Parameters
        ----------
        **params : dict
            Parameters and their values.

        Returns
        -------
        estimator
            The object itself.
        """
        for name, default in self._defaults.items():
            nested = any(key.startswith(f"{name}__") for key in params)
            if nested and params.get(name, getattr(self, name)) is None:
                params = {**params, name: default()}
        return super().set_params(**params)

    def _fitted_ratio(self, X: Any, X_target: Any) -> Any:
        ratio = None if self.ratio is None else clone(check_ratio(self.ratio))
        ready = ratio is not None and is_fitted(ratio)
        if ready and X_target is not None:
            raise ValueError(
                f"Got X_target although the ratio ({type(ratio).__name__}) is already fitted: the "
                "target sample is used once, to fit the ratio. Leave X_target out, or pass a "
                "ratio that is not fitted."
            )
        if ready:
            return ratio
        if X_target is None and self.ratio is not None and is_fitted(self.ratio):
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
        return fit_ratio(X, X_target, ratio)

    def _copy_features(self) -> None:
        """Take over what the inner estimator knows about its columns."""
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
            elif hasattr(self, name):
                delattr(self, name)

    def _remember_rows(self, X: Any, sample_weight: np.ndarray | None) -> None:
        """Keep keys of the rows; those in blocks are too many to be remembered."""
        if is_blocks(X):
            self.__dict__.pop("_fitted_rows", None)
        else:
            self._fitted_rows = FittedRows(X, sample_weight)

    def _delegate(self, method: str, X: Any) -> Any:
        check_is_fitted(self)
        if is_blocks(X) and not is_dask_estimator(self.estimator_):
            return predict_by_blocks(self.estimator_, as_rows(X), method)
        return getattr(self.estimator_, method)(X)

    @available_if(_estimator_has("predict"))
    def predict(self, X: Any) -> np.ndarray:
        """Predict with the fitted inner estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Any rows, also in blocks.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predictions; a dask array of dask rows.
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
        """Predict logarithms of class probabilities with the fitted inner estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Any rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Their logarithms.
        """
        return self._delegate("predict_log_proba", X)

    @available_if(_estimator_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the decision function of the fitted inner estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Any rows.

        Returns
        -------
        ndarray
            Its values.
        """
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
            Accuracy, R squared, or what else the inner estimator scores by.
        """
        check_is_fitted(self)
        if is_blocks(X) and not is_dask_estimator(self.estimator_):
            raise TypeError(
                "Got rows in blocks, of which no score is taken; compare y with predict(rows) by a "
                "metric of sklearn.metrics."
            )
        if sample_weight is None:
            return self.estimator_.score(X, y)
        return self.estimator_.score(X, y, sample_weight=sample_weight)

    @property
    def classes_(self) -> np.ndarray:
        """Class labels of the fitted inner classifier."""
        return self.estimator_.classes_

    def __sklearn_tags__(self) -> Any:
        return deepcopy(get_tags(self.estimator))


def is_estimated(ratio: Any) -> bool:
    """False for known ratios, which may lack their constant."""
    return not isinstance(innermost(ratio), KnownRatio)


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
