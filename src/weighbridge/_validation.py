"""Checks of arguments that several modules share."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

# With fewer rows of a sample no interval says anything.
FEWEST_ROWS = 20


def one_number(value: Any, name: str) -> float:
    """One real number; neither a sequence nor a text that looks like one."""
    if not isinstance(value, Real) and (
        np.ndim(value) or np.asarray(value).dtype.kind not in "iuf"
    ):
        remedy = "; call once for each" if np.ndim(value) else ""
        raise ValueError(f"Got {name}={value!r}, but expected one number{remedy}.")
    return float(value)


def check_sample_weight(sample_weight: Any, n_samples: int) -> np.ndarray | None:
    """Return the user's row weights as a new float array, or None where there are none."""
    if sample_weight is None:
        return None
    try:
        weight = np.array(sample_weight)
        if weight.dtype.kind == "c":
            raise TypeError
        weight = weight.astype(float)
    except (TypeError, ValueError):
        raise TypeError(
            f"Got sample_weight of type {type(sample_weight).__name__} that is not numbers; "
            "it must hold one number >= 0 for each row."
        ) from None
    if weight.ndim == 0:
        weight = np.full(n_samples, float(weight))
    if weight.shape != (n_samples,):
        raise ValueError(
            f"Got sample_weight of shape {weight.shape} for {n_samples} rows of X; it must be a "
            f"1-D array of shape ({n_samples},)."
            + (" Target rows go in by name: X_target=..." if weight.ndim == 2 else "")
        )
    if not np.isfinite(weight).all():
        raise ValueError(
            f"Got sample_weight with NaN or infinite values in {np.sum(~np.isfinite(weight))} "
            "rows; replace them by numbers >= 0."
        )
    if (weight < 0).any():
        raise ValueError(
            f"Got sample_weight with a negative value ({weight.min():g}); weights must be >= 0. "
            "Use 0 to leave a row out."
        )
    if not weight.any():
        raise ValueError(
            "Got sample_weight that is zero for every row; at least one row must have weight."
        )
    if weight.max() > np.finfo(float).max / n_samples:
        raise ValueError(
            "Got sample_weight whose sum is too large for a double; divide it by its maximum."
        )
    return weight


def is_frame(X: Any) -> bool:
    """True for a data frame with named columns, of any library that narwhals knows.

    Names that are not text count for nothing, as in scikit-learn: such a frame is an array.
    """
    if isinstance(X, np.ndarray | list | tuple):
        return False
    import narwhals as nw

    if nw.dependencies.is_polars_lazyframe(X):
        raise TypeError("Got a polars LazyFrame, whose rows are not there yet; call .collect().")
    if not nw.dependencies.is_into_dataframe(X):
        return False
    try:
        names = nw.from_native(X, eager_only=True).columns
    except nw.exceptions.DuplicateError:
        raise ValueError(
            f"Got a data frame with repeated column names: {sorted(map(str, X.columns))}; rename "
            "them, so that columns can be matched by name."
        ) from None
    return all(isinstance(name, str) for name in names)
