"""What all pictures refuse in the same words."""

from __future__ import annotations

from typing import Any

import numpy as np


def check_made(value: Any, kind: type, name: str, maker: str) -> Any:
    """Refuse what was not made for a picture, and say what makes it."""
    if not isinstance(value, kind):
        raise TypeError(
            f"Got {name} of type {type(value).__name__}, but expected a {kind.__name__}, which "
            f"comes from {maker}."
        )
    return value


def check_log_ratio(values: Any, name: str) -> np.ndarray:
    """Refuse what is not one number for each row; infinite ones are numbers."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"Got {name} of type {type(values).__name__} that is not numbers, but expected one "
            "log ratio for each row."
        ) from None
    if array.ndim != 1 or array.size == 0:
        raise ValueError(
            f"Got {name} of shape {array.shape}, but expected one number for each row."
        )
    if np.isnan(array).any():
        raise ValueError(
            f"Got NaN in {name} in {int(np.isnan(array).sum())} of {array.size} rows; every row "
            "needs a log ratio (-inf for a ratio of 0)."
        )
    return array
