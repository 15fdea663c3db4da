"""Features of a table that labels and ratios are smoothed by: numbers, squares, products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from weighbridge.ratios._blocks import row_blocks
from weighbridge.ratios._columns import take_rows
from weighbridge.ratios._fit_ratio import stack_samples
from weighbridge.ratios._logistic import Quadratic
from weighbridge.ratios._table import TableEncoder

FloatArray = npt.NDArray[np.float64]

# Squares and products need so many rows for each; wider tables are projected to so many columns.
_ROWS_PER_FEATURE = 5
_MAX_COLUMNS = 300
# Scales are learned from so many rows.
_SCALE_ROWS = 10_000
# Features of up to so many numbers (64 MB) are kept: every estimate asks for them again.
_KEPT_NUMBERS = 8_000_000

Block = tuple[slice, FloatArray]


class Features:
    """A constant, standardised numbers, and as many of their squares and products as rows allow.

    Parameters
    ----------
    X, X_target : tables
        The two samples, which both count alike for the scales.
    """

    def __init__(self, X: Any, X_target: Any):
        stacked, codes = stack_samples(X, X_target)
        self.encoder = TableEncoder().fit(stacked, codes)
        self.projection = _projection(self.encoder.width)
        step = max(1, codes.size // _SCALE_ROWS)
        some = self._numbers(take_rows(stacked, np.arange(0, codes.size, step)))
        self.quadratic = None
        d, room = some.shape[1], int(np.bincount(codes).min()) / _ROWS_PER_FEATURE
        if self.projection is None and 2 * d <= room:
            self.quadratic = Quadratic(products=d * (d + 3) / 2 <= room).fit(some)
        self.width = 1 + self._features(some[:1]).shape[1]
        self._kept: list[tuple[Any, list[Block]]] = []
        self._room = _KEPT_NUMBERS

    def blocks(self, X: Any) -> Iterator[Block]:
        """Yield the features of blocks of rows."""
        for table, found in self._kept:
            if table is X:
                return iter(found)
        size = X.shape[0] * self.width
        if size > self._room:
            return self._made(X)
        self._room -= size
        self._kept.append((X, list(self._made(X))))
        return iter(self._kept[-1][1])

    def _made(self, X: Any) -> Iterator[Block]:
        for block in row_blocks(X.shape[0], 4 * self.width):
            inner = self._features(self._numbers(take_rows(X, block)))
            yield block, np.hstack([np.ones((inner.shape[0], 1)), inner])

    def times(self, X: Any, coefficients: FloatArray) -> FloatArray:
        """Return the features of all rows times a matrix of coefficients."""
        return np.concatenate([phi @ coefficients for _, phi in self.blocks(X)])

    def _numbers(self, X: Any) -> FloatArray:
        numbers = self.encoder.numbers(X)
        if self.projection is not None:
            numbers = numbers @ self.projection
        dense = numbers.toarray() if sp.issparse(numbers) else numbers
        # a row far outside counts as one that is merely far: squares of it would swamp the rest
        return np.clip(np.asarray(dense, dtype=np.float64), -8.0, 8.0)

    def _features(self, numbers: FloatArray) -> FloatArray:
        if self.quadratic is None:
            return numbers
        return np.asarray(self.quadratic.transform(numbers))


def _projection(width: int) -> FloatArray | None:
    """Return a random projection of a table that is too wide to be smoothed column by column."""
    if width <= _MAX_COLUMNS:
        return None
    rng = np.random.RandomState(0)
    return np.asarray(rng.standard_normal((width, _MAX_COLUMNS)) / np.sqrt(_MAX_COLUMNS))
