"""Standardised numbers from arrays of other libraries (torch, cupy), on their own device."""

from __future__ import annotations

from typing import Any

import numpy as np

from weighbridge._namespace import array_namespace, device_of
from weighbridge.blocks import Block, Rows
from weighbridge.ratios._column_sums import (
    ColumnSums,
    centre_and_variance,
    device_sums,
    target_is_lower,
)
from weighbridge.ratios._row_keys import RowKeys


class ArrayEncoder:
    """What `TableEncoder` does, for an array without gaps."""

    def fit_rows(self, source: Rows, target: Rows, labels: list[str]) -> ArrayEncoder:
        """Learn means and scales from two samples in blocks."""
        del labels
        sums = [rows.sum(_device_sums) for rows in (source, target)]
        both = sums[0] + sums[1]
        self.low, self.high = both.low, both.high
        self.target_is_lower = target_is_lower(*sums)
        exponent, centre, variance = centre_and_variance(*sums)
        constant = ~(both.low < both.high)
        deviation = np.sqrt(np.where(constant, 1.0, variance))
        self.centre = np.ldexp(centre, exponent)
        self.scale = np.where(constant, 0.0, np.ldexp(1 / deviation, -exponent))
        return self

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.scale.shape[0])

    def numbers(self, X: Any) -> Any:
        """Return the rows as standardised numbers."""
        xp, device = array_namespace(X), X.device
        centre, scale = (xp.asarray(part, device=device) for part in (self.centre, self.scale))
        return (X - centre) * scale

    def numbers_and_keys(self, X: Any, row_keys: RowKeys) -> tuple[Any, Any]:
        """Return the rows as standardised numbers, and their keys."""
        return self.numbers(X), row_keys(X)


def _device_sums(block: Block) -> ColumnSums:
    return device_sums(checked_array(block.table, "a density ratio"))


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


def take(X: Any, rows: np.ndarray) -> Any:
    """Return some rows of an array of any library."""
    xp = array_namespace(X)
    if xp is np:
        return X[rows]
    return xp.take(X, xp.asarray(rows, device=device_of(xp, X)), axis=0)
