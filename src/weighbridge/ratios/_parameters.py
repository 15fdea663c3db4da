"""Checks of parameters that several ratios share."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

# Squares of smaller numbers underflow.
SMALLEST = 1e-100


def check_count(name: str, value: Any, least: int) -> None:
    """Refuse what is no whole number of at least `least`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
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
