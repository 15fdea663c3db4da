"""Which rows a model was fitted to, so that it is not judged by them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from weighbridge._namespace import is_foreign, to_numpy
from weighbridge.ratios._columns import read_columns
from weighbridge.ratios._row_scores import as_numbers, exact_keys

# More rows coincide than by chance if their share is larger by so many standard errors, and by this
# much: a handful among many thousands does no harm.
ERRORS = 5
MARGIN = 0.01

# Where models of scikit-learn keep rows: neighbours, Gaussian processes, support vector machines.
KEPT_ROWS = ("_fit_X", "X_train_", "support_vectors_")


class FittedRows:
    """The rows that a model was fitted to, remembered by a 64-bit key each.

    Rows are compared as they came, exactly; a sparse matrix equals its dense form, a data frame an
    array of its values.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The rows.
    own : ndarray of shape (n_samples,), optional
        Own weights of the rows; one of weight 0 was not used.

    Attributes
    ----------
    keys : ndarray of uint64
        The different keys, sorted.
    n_rows : int
        Number of rows.
    n_alone, n_twice : int
        Number of keys that occur once, and twice. ``1 - n_alone / n_rows`` estimates the share of
        new rows of the same distribution that equal one of these by chance (Good 1953).
    """

    def __init__(self, X: Any, own: np.ndarray | None = None) -> None:
        keys = _keys(X)
        if own is not None:
            keys = keys[own > 0]
        self.keys, counts = np.unique(keys, return_counts=True)
        self.n_rows = int(keys.size)
        self.n_alone, self.n_twice = int((counts == 1).sum()), int((counts == 2).sum())

    def holds(self, X: Any) -> np.ndarray:
        """Say of each row of `X` whether it is among them."""
        keys = _keys(X)
        if not self.keys.size:
            return np.zeros(keys.size, dtype=bool)
        place = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
        return self.keys[place] == keys

    def share(self, X: Any) -> float:
        """Return the share of the rows of `X` that are among them."""
        return float(self.holds(X).mean())

    def known_beyond_chance(self, X: Any) -> int:
        """Return how many rows of `X` are among them; 0 where chance explains the number.

        New rows of the same distribution are among them as often as these repeat each other; the
        error of that estimate and that of the share itself are allowed for.
        """
        known = self.holds(X)
        count, n_new, n = int(known.sum()), int(known.size), self.n_rows
        if not count:
            return 0
        by_chance = 1 - self.n_alone / n
        # one row more on either side: nothing seen is not the same as never
        variance = (self.n_alone * by_chance + 2 * self.n_twice + 1) / n**2
        variance += by_chance * (1 - by_chance) / n_new + 1 / n_new**2
        excess = count / n_new - by_chance
        return count if excess > max(MARGIN, ERRORS * math.sqrt(variance)) else 0


def known_rows(model: Any, X: Any) -> int:
    """Return how many rows of `X` a model was fitted to, as far as it tells, else 0."""
    while True:
        if hasattr(model, "_fitted_rows"):
            known: int = model._fitted_rows.known_beyond_chance(X)
            return known
        if isinstance(model, FrozenEstimator):
            model = model.estimator
        elif isinstance(model, Pipeline) and len(model.steps) > 1:
            X, model = model[:-1].transform(X), model[-1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            break
    for name in KEPT_ROWS:
        if hasattr(model, name):
            return FittedRows(getattr(model, name)).known_beyond_chance(X)
    return 0


def _keys(X: Any) -> np.ndarray:
    if is_foreign(X):
        X = to_numpy(X)
    return exact_keys(X, None if sp.issparse(X) else as_numbers(read_columns(X)))
