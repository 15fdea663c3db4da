"""The rows that a model was fitted to, recognised in other tables by keys."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from weighbridge.tables import as_numbers, column_labels, exact_keys, is_frame, read_columns

# More rows coincide than by chance if their share is larger by so many standard errors, and by this
# much: a handful among many thousands does no harm.
MIN_STANDARD_ERRORS, MIN_EXCESS = 5, 0.01
# Attributes in which models of scikit-learn keep rows: neighbours, Gaussian processes, support
# vector machines.
KEPT_ROWS = ("_fit_X", "X_train_", "support_vectors_")


class FittedRows:
    """The rows that a model was fitted to, remembered by two 64-bit keys each."""

    def __init__(self, X: Any, sample_weight: np.ndarray | None = None) -> None:
        self.labels = column_names(X)
        used = slice(None) if sample_weight is None else sample_weight > 0
        exact, coarse = (keys[used] for keys in _keys(X))
        self.exact = KeySet(exact)
        self.coarse = self.exact if np.array_equal(exact, coarse) else KeySet(coarse)

    def holds(self, X: Any) -> np.ndarray:
        """Say of each row of `X` whether it is among them, exactly."""
        return self.exact.holds(_keys(_in_order(X, self.labels))[0])

    def share(self, X: Any) -> float:
        """Return the share of the rows of `X` that are among them, exactly."""
        return float(self.holds(X).mean())

    def known_beyond_chance(self, X: Any) -> int:
        """Return how many rows of `X` are among them; 0 where chance explains the number."""
        exact, coarse = _keys(_in_order(X, self.labels))
        return self.exact.beyond_chance(exact) or self.coarse.beyond_chance(coarse)


class KeySet:
    """Keys of rows, and how often they repeat each other."""

    def __init__(self, keys: np.ndarray) -> None:
        self.keys, counts = np.unique(keys, return_counts=True)
        self.n_rows = int(keys.size)
        self.n_alone, self.n_twice = int((counts == 1).sum()), int((counts == 2).sum())

    def holds(self, keys: np.ndarray) -> np.ndarray:
        """Say of each key whether it is among them."""
        if not self.keys.size:
            return np.zeros(keys.size, dtype=bool)
        place = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
        return self.keys[place] == keys

    def beyond_chance(self, keys: np.ndarray) -> int:
        """Return how many keys are among them; 0 where chance explains the number."""
        known = self.holds(keys)
        count, n_new, n = int(known.sum()), int(known.size), self.n_rows
        if not count:
            return 0
        by_chance = 1 - self.n_alone / n
        # one row more on either side: nothing seen is not the same as never
        variance = (self.n_alone * by_chance + 2 * self.n_twice + 1) / n**2
        variance += by_chance * (1 - by_chance) / n_new + 1 / n_new**2
        excess = count / n_new - by_chance
        return count if excess > max(MIN_EXCESS, MIN_STANDARD_ERRORS * math.sqrt(variance)) else 0


def rows_told(model: Any, X: Any) -> int | None:
    """Return how many rows of `X` a model was fitted to; None where it does not tell."""
    while not hasattr(model, "_fitted_rows"):
        if isinstance(model, FrozenEstimator):
            model = model.estimator
        elif isinstance(model, Pipeline) and len(model.steps) > 1:
            X, model = model[:-1].transform(X), model[-1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            break
    if hasattr(model, "_fitted_rows"):
        known: int = model._fitted_rows.known_beyond_chance(X)
        return known
    for name in KEPT_ROWS:
        if hasattr(model, name):
            return FittedRows(getattr(model, name)).known_beyond_chance(X)
    return None


def check_unseen(model: Any, X: Any, X_fit: Any) -> bool:
    """Raise ValueError if `model` was fitted to rows of `X`; return False if this is unknown."""
    if X_fit is None:
        n_seen = rows_told(model, X)
    else:
        _check_same_columns(X, X_fit)
        n_seen = FittedRows(X_fit).known_beyond_chance(X)
    if n_seen:
        raise ValueError(
            f"{n_seen} of {np.shape(X)[0]} calibration rows were used to fit the model. Their "
            "errors are too small, so the prediction sets would be too small. Pass other rows, or "
            "pass an unfitted estimator, so that X is split in two."
        )
    return n_seen is not None


def _check_same_columns(X: Any, X_fit: Any) -> None:
    names, names_fit = column_names(X), column_names(X_fit)
    has_other_names = names and names_fit and set(names) != set(names_fit)
    if has_other_names or np.shape(X)[1:] != np.shape(X_fit)[1:]:
        shapes = f"shape {np.shape(X_fit)} and X of shape {np.shape(X)}"
        raise ValueError(
            f"Got X_fit of {f'columns {names_fit} and X of columns {names}' if names else shapes}, "
            "but expected the same columns in both. Pass the rows that the model was fitted to."
        )


def column_names(X: Any) -> list[Any] | None:
    """Return the names of the columns, text or not; None where they have none."""
    if is_frame(X):
        return column_labels(X)
    return list(X.columns) if hasattr(X, "columns") else None


def _in_order(X: Any, labels: list[Any] | None) -> Any:
    """Bring named columns into a given order; what has other names, or none, goes by position."""
    own = column_names(X)
    if labels is None or own is None or own == labels or set(own) != set(labels):
        return X
    if not is_frame(X):
        return X[labels]
    import narwhals as nw

    return nw.from_native(X, eager_only=True).select(labels).to_native()


def _keys(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return a key of each row as it is, and one of it as float32."""
    with np.errstate(over="ignore"):  # beyond float32 all numbers are one
        if sp.issparse(X):
            return exact_keys(X, None), exact_keys(X.astype(np.float32), None)
        columns = read_columns(X)
        coarse = [
            column if column.dtype == object else column.astype(np.float32).astype(np.float64)
            for column in columns
        ]
        return exact_keys(X, as_numbers(columns)), exact_keys(X, as_numbers(coarse))
