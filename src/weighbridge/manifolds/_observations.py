"""Checks of what the families are given, and the random numbers they give back."""

from __future__ import annotations

from typing import Any

import numpy as np


def real_line(x: Any) -> np.ndarray:
    """Observations of one real number each, as a float array of shape (n_samples,)."""
    x = np.asarray(x, dtype=float)
    if x.ndim != 1 or not np.isfinite(x).all():
        raise ValueError(
            f"Got x of shape {x.shape}, but expected one finite number for each observation, an "
            "array of shape (n_samples,)."
        )
    return x


def finite_number(value: Any, name: str, positive: bool = False) -> float:
    """One finite number, above 0 if asked."""
    number = float(value)
    if not np.isfinite(number) or (positive and number <= 0):
        kind = "a finite number above 0" if positive else "a finite number"
        raise ValueError(f"Got {name}={value!r}, but expected {kind}.")
    return number


def generator(random_state: Any) -> Any:
    """A source of random numbers: the one given, or a new one for an integer or None."""
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        return random_state
    return np.random.default_rng(random_state)


def positive_line(x: Any, family: Any, zero: bool = False) -> np.ndarray:
    """Observations above 0, or from 0 on with `zero`."""
    x = real_line(x)
    if not ((x >= 0) if zero else (x > 0)).all():
        kind = "0 or above" if zero else "above 0"
        raise ValueError(f"Got x down to {x.min()}, but {family!r} needs observations {kind}.")
    return x


def whole_number(value: Any, name: str, least: int) -> int:
    """A whole number, not below `least`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise TypeError(f"Got {name}={value!r}, but expected a whole number.")
    if value < least:
        raise ValueError(f"Got {name}={value}, but expected {least} or more.")
    return int(value)
