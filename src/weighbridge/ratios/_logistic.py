"""Logistic regression at a range of penalties, on features made once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.linear_model import LogisticRegression

# Inverse penalties, strongest penalty first; each fit starts from the one before.
PENALTIES = tuple(10.0**power for power in range(-4, 4))
# Products of columns up to this many columns, squares up to that many.
MAX_PRODUCTS = 40
MAX_SQUARES = 1000


@dataclass(frozen=True)
class LinearLogOdds:
    """Log odds that are linear in the features."""

    coef: np.ndarray
    intercept: float
    C: float

    def log_odds(self, X: Any) -> np.ndarray:
        """Return the log odds at the rows of a feature matrix."""
        return np.asarray(X @ self.coef).ravel() + self.intercept


class LogisticPath:
    """The family of logistic regressions over all penalties."""

    def fit_all(self, X: Any, codes: np.ndarray) -> list[LinearLogOdds]:
        """Return one model for each penalty."""
        model = LogisticRegression(C=PENALTIES[0], max_iter=1000, warm_start=True)
        fitted = []
        for C in PENALTIES:
            model.set_params(C=C).fit(X, codes)
            fitted.append(LinearLogOdds(model.coef_[0].copy(), float(model.intercept_[0]), C))
        return fitted


class Quadratic:
    """Columns with their squares and products, standardised; squares only where these are many.

    Parameters
    ----------
    products : bool, default=True
        False leaves products out, however few they are.
    """

    def __init__(self, products: bool = True):
        self.products = products

    def fit(self, X: np.ndarray) -> Quadratic:
        """Learn the scales of the features."""
        n, d = X.shape
        numbers = get_config()["working_memory"] * 2**20 / 8 / 2
        self.products &= d <= MAX_PRODUCTS and n * d * (d + 3) / 2 <= numbers
        features = self._features(X)
        self.centre = features.mean(axis=0)
        deviation = features.std(axis=0)
        # a feature that rounding alone makes vary counts nothing
        varies = deviation > 1e-10 * np.maximum(np.abs(features).max(axis=0), 1e-300)
        self.scale = np.where(varies, 1 / np.where(varies, deviation, 1.0), 0.0)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Return the features of some rows."""
        features = self._features(X)
        features -= self.centre
        features *= self.scale
        return features

    def _features(self, X: np.ndarray) -> np.ndarray:
        d = X.shape[1]
        if not self.products:
            return np.hstack([X, X**2])
        left, right = np.triu_indices(d)
        features = np.empty((X.shape[0], d + left.size))
        features[:, :d] = X
        np.multiply(X[:, left], X[:, right], out=features[:, d:])
        return features


def can_be_squared(X: Any) -> bool:
    """True for a dense matrix of no more columns than squares are made of."""
    return not sp.issparse(X) and X.shape[1] <= MAX_SQUARES
