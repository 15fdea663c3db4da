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
from weighbridge.ratios._quadratic import Quadratic, QuadraticRows
from weighbridge.ratios._table import TableEncoder

FloatArray = npt.NDArray[np.float64]

# Squares and products need so many rows for each; wider tables are projected to so many columns.
_ROWS_PER_FEATURE = 5
_MAX_COLUMNS = 300
# Scales are learned from so many rows.
_SCALE_ROWS = 10_000
# Features, or what they are made of, are kept up to so many numbers (64 MB): every estimate asks
# for them again.
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
        self.width = 1 + (d if self.quadratic is None else self.quadratic.scale.size)
        self._n_numbers = d
        self._kept: list[tuple[Any, list[Block] | FloatArray]] = []
        self._room = _KEPT_NUMBERS

    def blocks(self, X: Any, *, keep: bool = True) -> Iterator[Block]:
        """Yield the features of blocks of rows; `keep` says that they will be asked for again."""
        found = self._found(X) if keep else None
        if isinstance(found, list):
            return iter(found)
        return self._made(X, found)

    def _found(self, X: Any) -> list[Block] | FloatArray | None:
        """Return what is kept of a table: its features, the numbers they are made of, or nothing.

        To read a table again takes longer than to multiply its numbers.
        """
        for table, found in self._kept:
            if table is X:
                return found
        n = X.shape[0]
        if n * self.width <= self._room:
            self._room -= n * self.width
            self._kept.append((X, list(self._made(X, None))))
        elif self.quadratic is not None and n * self._n_numbers <= self._room:
            self._room -= n * self._n_numbers
            self._kept.append((X, self._numbers(X)))
        else:
            return None
        return self._kept[-1][1]

    def _made(self, X: Any, numbers: FloatArray | None) -> Iterator[Block]:
        for block in row_blocks(X.shape[0], 4 * self.width):
            some = self._numbers(take_rows(X, block)) if numbers is None else numbers[block]
            phi = np.empty((some.shape[0], self.width))
            phi[:, 0] = 1.0
            if self.quadratic is None:
                phi[:, 1:] = some
            else:
                self.quadratic.transform(some, out=phi[:, 1:])
            yield block, phi

    def times(self, X: Any, coefficients: FloatArray) -> FloatArray:
        """Return the features of all rows times a matrix of coefficients."""
        inner = self._factored(X)
        if inner is not None:
            return coefficients[0] + inner @ coefficients[1:]
        return np.concatenate([phi @ coefficients for _, phi in self.blocks(X)])

    def moments(self, X: Any, values: FloatArray) -> FloatArray:
        """Return the transposed features of all rows times a matrix of values of the rows."""
        inner = self._factored(X)
        if inner is not None:
            return np.vstack([values.sum(axis=0), inner.moments(values)])
        total = np.zeros((self.width, values.shape[1]))
        for block, phi in self.blocks(X):
            total += phi.T @ values[block]
        return total

    def _factored(self, X: Any) -> QuadraticRows | None:
        """Return features that need not be made to be multiplied, where their factors are kept."""
        found = self._found(X)
        if self.quadratic is None or not isinstance(found, np.ndarray):
            return None
        return QuadraticRows(found, self.quadratic)

    def _numbers(self, X: Any) -> FloatArray:
        numbers = self.encoder.numbers(X)
        if self.projection is not None:
            numbers = numbers @ self.projection
        dense = numbers.toarray() if sp.issparse(numbers) else numbers
        # a row far outside counts as one that is merely far: squares of it would swamp the rest
        return np.clip(np.asarray(dense, dtype=np.float64), -8.0, 8.0)


def _projection(width: int) -> FloatArray | None:
    """Return a random projection of a table that is too wide to be smoothed column by column."""
    if width <= _MAX_COLUMNS:
        return None
    rng = np.random.RandomState(0)
    return np.asarray(rng.standard_normal((width, _MAX_COLUMNS)) / np.sqrt(_MAX_COLUMNS))
