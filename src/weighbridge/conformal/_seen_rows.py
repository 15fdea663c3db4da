"""Refuse to calibrate a model on rows that it was fitted to."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from weighbridge._fitted_rows import FittedRows, column_names, rows_told


def refuse_seen_rows(model: Any, X: Any, X_fit: Any) -> bool:
    """Raise where more rows of `X` than chance explains were used to fit `model`.

    Parameters
    ----------
    model : fitted estimator
        May remember its rows itself.
    X : table
        Calibration rows.
    X_fit : table or None
        The rows that the model was fitted to, where the caller has them.

    Returns
    -------
    bool
        Whether it could be checked: False where the model does not tell its rows, nor the caller.
    """
    if X_fit is None:
        seen = rows_told(model, X)
    else:
        _check_columns(X, X_fit)
        seen = FittedRows(X_fit).known_beyond_chance(X)
    if seen:
        raise ValueError(
            f"Got {seen} of {_num_samples(X)} calibration rows that the model was fitted to: their "
            "errors are too small, and so would be every set. Calibrate on rows that the model "
            "has not seen, or pass an estimator that is not fitted: then the rows are split."
        )
    return seen is not None


def _check_columns(X: Any, X_fit: Any) -> None:
    n, n_fit = (_num_columns(part) for part in (X, X_fit))
    if n != n_fit:
        raise ValueError(
            f"Got X_fit with {n_fit} columns and X with {n}; X_fit has the rows that the model was "
            "fitted to, with the same columns."
        )
    names, names_fit = column_names(X), column_names(X_fit)
    if names is not None and names_fit is not None and set(names) != set(names_fit):
        raise ValueError(
            f"Got X_fit with columns {names_fit} and X with columns {names}; X_fit has the rows "
            "that the model was fitted to, with the same columns."
        )


def _num_columns(X: Any) -> int:
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    return int(shape[1]) if len(shape) == 2 else 0
