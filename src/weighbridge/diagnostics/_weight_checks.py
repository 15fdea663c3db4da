"""What weights must be: numbers >= 0, not all of them 0."""

from __future__ import annotations

import numpy as np


def check_stretch(weights: np.ndarray, name: str = "weights") -> np.ndarray:
    """Return some of the weights as floats, or refuse what is none; all of them may be 0."""
    array = as_floats(weights, name)
    refuse_bad(array, name)
    return array


def refuse_all_zero(total: float, name: str) -> None:
    """Refuse weights whose sum, or largest, is 0."""
    if total == 0:
        raise ValueError(f"Got {name} that are 0 for every row; at least one row must have weight.")


def as_floats(array: np.ndarray, name: str) -> np.ndarray:
    """Return numbers as a new float array; refuse text and the like."""
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"Got {name} of dtype {array.dtype}, but expected numbers >= 0, one for each row."
        )
    return array.astype(np.float64)


def refuse_bad(array: np.ndarray, name: str) -> None:
    """Refuse NaN, infinity and negative numbers."""
    if not np.isfinite(array).all():
        raise ValueError(
            f"Got {name} with NaN or infinite values in {int(np.sum(~np.isfinite(array)))} of "
            f"{array.size} rows; replace them by numbers >= 0 (0 leaves a row out)."
        )
    if (array < 0).any():
        raise ValueError(
            f"Got {name} with a negative value ({array.min():g}); weights are numbers >= 0. If "
            "these are logarithms, take exp first."
        )
