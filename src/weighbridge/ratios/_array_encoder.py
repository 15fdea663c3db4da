"""Standardised numbers from arrays of other libraries (torch, cupy), on their own device."""

from __future__ import annotations

from typing import Any

import numpy as np

from weighbridge._namespace import array_namespace, device_of, to_numpy


class ArrayEncoder:
    """What `TableEncoder` does, for an array without gaps."""

    def fit(self, X: Any, codes: np.ndarray) -> ArrayEncoder:
        """Learn means and scales from the rows of both samples (codes 0 and 1)."""
        xp = array_namespace(X)
        means, variances = [], []
        for code in (0, 1):
            part = take(X, np.flatnonzero(codes == code))
            means.append(xp.mean(part, axis=0))
            variances.append(xp.mean((part - means[-1]) ** 2, axis=0))
        variance = (variances[0] + variances[1]) / 2 + (means[0] - means[1]) ** 2 / 4
        constant = xp.max(X, axis=0) == xp.min(X, axis=0)
        one = xp.ones_like(variance)
        self.centre = (means[0] + means[1]) / 2
        self.scale = xp.where(constant, 0 * one, 1 / xp.sqrt(xp.where(constant, one, variance)))
        return self

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.scale.shape[0])

    def numbers(self, X: Any) -> Any:
        """Return the rows as standardised numbers."""
        return (X - self.centre) * self.scale


def checked_array(X: Any, name: str) -> Any:
    """Return an array of another library as float64, or say what is wrong with it."""
    xp = array_namespace(X)
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: rows are samples, columns are "
            "features. Reshape one feature to (-1, 1)."
        )
    X = xp.astype(X, xp.float64)
    if not bool(xp.all(xp.isfinite(X))):
        raise ValueError(
            f"Got NaN or infinite values in a {type(X).__name__}; {name} takes missing values from "
            "NumPy arrays and data frames only."
        )
    return X


def canonical_array_order(X: Any) -> np.ndarray:
    """Return the positions of the rows in the order of `canonical_order`."""
    xp = array_namespace(X)
    low, high = xp.min(X, axis=0), xp.max(X, axis=0)
    width = high - low
    scaled = (X - low) / xp.where(width > 0, width, xp.ones_like(width))
    return np.argsort(to_numpy(scaled @ (1 + xp.mean(scaled, axis=0))))


def take(X: Any, rows: np.ndarray) -> Any:
    """Return some rows of an array of any library."""
    xp = array_namespace(X)
    if xp is np:
        return X[rows]
    return xp.take(X, xp.asarray(rows, device=device_of(xp, X)), axis=0)
