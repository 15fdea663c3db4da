"""Checks of what the families are given, and the random numbers they give back."""

from __future__ import annotations

from typing import Any

import numpy as np

from weighbridge._data import one_number
from weighbridge.geodesic import check_alpha, check_lam


def real_line(x: Any) -> np.ndarray:
    """Observations of one real number each, as a float array of shape (n_samples,)."""
    x = np.asarray(x, dtype=float)
    if x.ndim != 1 or not np.isfinite(x).all():
        raise ValueError(
            f"Got x of shape {x.shape}, but expected one finite number for each observation, an "
            "array of shape (n_samples,)."
        )
    return x


def one_alpha(alpha: Any) -> float:
    """One finite alpha."""
    number = one_number(alpha, "alpha")
    check_alpha(np, np.asarray(number))
    return number


def one_lam(lam: Any) -> float:
    """One lam in [0, 1]."""
    number = one_number(lam, "lam")
    check_lam(np, np.asarray(number))
    return number


def finite_number(value: Any, name: str, positive: bool = False) -> float:
    """One finite number, above 0 if asked."""
    number = one_number(value, name)
    if not np.isfinite(number) or (positive and number <= 0):
        kind = "a finite number above 0" if positive else "a finite number"
        raise ValueError(f"Got {name}={value!r}, but expected {kind}.")
    return number


def in_range(tensor: np.ndarray, name: str, family: Any, theta: Any) -> np.ndarray:
    """Moments that are doubles: none above the largest, no variance below the smallest."""
    lost = name == "metric" and not (np.diag(tensor) > 0).all()
    if lost or not np.isfinite(tensor).all():
        raise ArithmeticError(
            f"The {name} of {family!r} at theta={np.asarray(theta).tolist()} is beyond the range "
            "of floating point numbers. Scale x, or shift it where the family allows."
        )
    return tensor


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
