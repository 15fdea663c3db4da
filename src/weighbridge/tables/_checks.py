"""Checks of arguments that several modules share."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from weighbridge._arrays import to_numpy, unmasked

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


def check_confidence(confidence: Any, name: str = "confidence") -> float:
    """Return a confidence, coverage or share; raise ValueError unless it is between 0 and 1."""
    number = one_number(confidence, name)
    if not 0 < number < 1:
        raise ValueError(
            f"Got {name}={number!r}, but expected a number between 0 and 1, e.g. 0.95."
        )
    return number


def check_sample_weight(
    sample_weight: Any, n_samples: int, name: str = "sample_weight"
) -> np.ndarray | None:
    """Return the user's row weights as a new float array, or None where there are none."""
    if sample_weight is None:
        return None
    try:
        weight = np.array(unmasked(sample_weight))
        if weight.dtype.kind == "c":
            raise TypeError
        weight = weight.astype(float)
    except (TypeError, ValueError):
        raise TypeError(
            f"Got {name} of type {type(sample_weight).__name__} that is not numbers; "
            "it must hold one number >= 0 for each row."
        ) from None
    if weight.ndim == 0:
        weight = np.full(n_samples, float(weight))
    if weight.shape != (n_samples,):
        raise ValueError(
            f"Got {name} of shape {weight.shape} for {n_samples} rows of X; it must be a "
            f"1-D array of shape ({n_samples},)."
            + (" Target rows go in by name: X_target=..." if weight.ndim == 2 else "")
        )
    refuse_bad(weight, name)
    refuse_all_zero(float(weight.any()), name)
    if weight.max() > np.finfo(float).max / n_samples:
        raise ValueError(
            f"Got {name} whose sum is too large for a double; divide it by its maximum."
        )
    return weight


# Squares of smaller numbers underflow.
SMALLEST = 1e-100


def check_count(name: str, value: Any, least: int) -> None:
    """Refuse what is no whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"Got {name}={value!r}, but expected a whole number >= {least}.")


def check_positive(name: str, value: Any) -> None:
    """Refuse what is no positive number."""
    if not isinstance(value, Real) or not SMALLEST <= float(value) < np.inf:
        raise ValueError(f"Got {name}={value!r}, but expected a positive number.")


def check_positive_grid(name: str, values: Any) -> None:
    """Refuse what is neither None nor a non-empty sequence of positive numbers."""
    if values is None:
        return
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        numbers = np.array([])
    usable = (numbers >= SMALLEST) & np.isfinite(numbers)
    if numbers.ndim != 1 or numbers.size == 0 or not usable.all():
        raise ValueError(
            f"Got {name}={values!r}, but expected a sequence of positive numbers, or None."
        )


def check_weights(
    weights: Any, n_rows: int | None = None, name: str = "weights", *, can_be_zero: bool = False
) -> np.ndarray:
    """Return weights over a power of 2, so that their squares neither over- nor underflow."""
    array = as_floats(to_numpy(weights), name)
    if array.ndim != 1 or array.size == 0 or n_rows not in (None, array.size):
        expected = "one number for each row" if n_rows is None else f"({n_rows},), one for each row"
        raise ValueError(f"Got {name} of shape {array.shape}, but expected {expected}.")
    refuse_bad(array, name)
    if not can_be_zero:
        refuse_all_zero(array.max(), name)
    return np.ldexp(array, -int(np.frexp(array.max())[1]))


def refuse_all_zero(total: float, name: str) -> None:
    """Refuse weights whose sum, or largest, is 0."""
    if total == 0:
        raise ValueError(f"Got {name} of zero for every row; at least one must have weight.")


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
            f"{array.size} rows; replace them with numbers >= 0 (0 leaves a row out)."
        )
    if (array < 0).any():
        raise ValueError(
            f"Got {name} with a negative value ({array.min():g}); weights are numbers >= 0. If "
            "these are logarithms, take exp first."
        )
