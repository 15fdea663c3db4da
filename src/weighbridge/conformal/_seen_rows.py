"""Refuse to calibrate a model on rows that it was fitted to."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import _num_samples

from weighbridge._fitted_rows import FittedRows, known_rows


def refuse_seen_rows(model: Any, X: Any, X_fit: Any) -> None:
    """Raise where more rows of `X` than chance explains were used to fit `model`.

    Parameters
    ----------
    model : fitted estimator
        May remember its rows itself.
    X : table
        Calibration rows.
    X_fit : table or None
        The rows that the model was fitted to, where the caller has them.
    """
    if X_fit is None:
        seen = known_rows(model, X)
    else:
        if _num_columns(X_fit) != _num_columns(X):
            raise ValueError(
                f"Got X_fit with {_num_columns(X_fit)} columns and X with {_num_columns(X)}; "
                "X_fit has the rows that the model was fitted to, with the same columns."
            )
        seen = FittedRows(X_fit).known_beyond_chance(X)
    if seen:
        raise ValueError(
            f"Got {seen} of {_num_samples(X)} calibration rows that the model was fitted to: their "
            "errors are too small, and so would be every set. Calibrate on rows that the model "
            "has not seen, or pass an estimator that is not fitted: then the rows are split."
        )


def _num_columns(X: Any) -> int:
    return int(X.shape[1]) if hasattr(X, "shape") else len(X[0])
