"""A fitted model that takes tables as they come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if

from weighbridge._tables import features_of


def _inner_has(name: str) -> Callable[[Any], bool]:
    return lambda self: hasattr(self.estimator, name)


class TableModel(BaseEstimator):
    """A fitted model, and the columns it takes out of any data frame.

    Categories, booleans, dates and missing values come to the model as they did when it was fitted,
    whatever library or type they have in the frame.

    Parameters
    ----------
    estimator : fitted estimator
        Takes the columns of `features` as they were read; `weighbridge.adapt` fitted it.
    features : dict of str to {"numeric", "category"}
        The columns, by name.

    Examples
    --------
    >>> from weighbridge import adapt
    >>> from weighbridge.datasets import make_clinic
    >>> data = make_clinic(300, 200, random_state=0)
    >>> train = data.X[["age", "site"]].assign(readmitted=data.y)
    >>> model = adapt(train, data.X_target[["age", "site"]], label="readmitted").model
    >>> model.features
    {'age': 'numeric', 'site': 'category'}
    >>> model.predict(data.X_target[["site", "age"]]).shape  # in any order
    (200,)
    """

    def __init__(self, estimator: Any, features: dict[str, str]):
        self.estimator = estimator
        self.features = features

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        return self.estimator.__sklearn_tags__()

    @property
    def classes_(self) -> np.ndarray:
        """The classes, where it is a classifier."""
        return np.asarray(self.estimator.classes_)

    def predict(self, X: Any) -> np.ndarray:
        """Predict labels.

        Parameters
        ----------
        X : data frame
            With the columns of `features`, in any order.

        Returns
        -------
        ndarray of shape (n_rows,)
            Classes or numbers.
        """
        return np.asarray(self.estimator.predict(features_of(X, self.features)))

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the chance of each class.

        Parameters
        ----------
        X : data frame
            With the columns of `features`, in any order.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            In the order of `classes_`.
        """
        return np.asarray(self.estimator.predict_proba(features_of(X, self.features)))

    @available_if(_inner_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Return what decides between the classes.

        Parameters
        ----------
        X : data frame
            With the columns of `features`, in any order.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            As the inner model gives it.
        """
        return np.asarray(self.estimator.decision_function(features_of(X, self.features)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score of the inner model: accuracy, or R squared.

        Parameters
        ----------
        X : data frame
            With the columns of `features`, in any order.
        y : array-like of shape (n_rows,)
            Labels.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows.

        Returns
        -------
        float
            More is better.
        """
        rows = features_of(X, self.features)
        return float(self.estimator.score(rows, y, sample_weight=sample_weight))
