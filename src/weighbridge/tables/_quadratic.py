"""Squares and products of standardised numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config

from weighbridge._folds import row_blocks
from weighbridge.tables._encoder import TableEncoder

# Products of columns are made up to this many columns, squares up to that many.
MAX_PRODUCTS = 40
MAX_SQUARES = 1000


def can_be_squared(X: Any) -> bool:
    """Return True for a dense matrix with at most as many columns as squares are made of."""
    return not sp.issparse(X) and X.shape[1] <= MAX_SQUARES


class Quadratic:
    """Columns with their squares and products, standardised; squares alone if they are many."""

    def __init__(self, products: bool = True):
        self.products = products

    def fit(self, X: np.ndarray) -> Quadratic:
        """Learn the scales of the features."""
        n, d = X.shape
        max_numbers = get_config()["working_memory"] * 2**20 / 8 / 2
        self.products &= d <= MAX_PRODUCTS and n * d * (d + 3) / 2 <= max_numbers
        centres, scales = [], []
        for features in self._groups(X):
            centres.append(features.mean(axis=0))
            deviation = features.std(axis=0)
            # A feature that varies by rounding alone does not count.
            varies = deviation > 1e-10 * np.maximum(np.abs(features).max(axis=0), 1e-300)
            scales.append(np.where(varies, 1 / np.where(varies, deviation, 1.0), 0.0))
        self.centre, self.scale = np.concatenate(centres), np.concatenate(scales)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Return the features of some rows."""
        return (np.column_stack(list(self._groups(X))) - self.centre) * self.scale

    def _groups(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the columns, then their products with the first of them, the second and so on."""
        yield X
        if not self.products:
            yield X**2
            return
        for j in range(X.shape[1]):
            yield X[:, j:] * X[:, [j]]


class QuadraticRows:
    """The quadratic features of some rows, as a matrix that is multiplied without being made.

    With the symmetric matrix A of the coefficients of squares and products, the features of a row x
    times the coefficients are x'Ax + b'x, which takes d^2 products and stores nothing.
    """

    def __init__(self, numbers: np.ndarray, quadratic: Quadratic):
        self.numbers, self.quadratic = numbers, quadratic
        self.shape = (numbers.shape[0], quadratic.scale.size)

    def __getitem__(self, rows: Any) -> QuadraticRows:
        return QuadraticRows(self.numbers[rows], self.quadratic)

    def __matmul__(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the features times coefficients, a vector or a matrix."""
        if coefficients.ndim == 2:
            return np.column_stack([self @ column for column in coefficients.T])
        d = self.numbers.shape[1]
        scaled = coefficients * self.quadratic.scale
        square: np.ndarray = scaled[d:]
        if self.quadratic.products:
            square = np.zeros((d, d))
            square[np.triu_indices(d)] = scaled[d:]
        product = np.empty(self.shape[0])
        for block in self._blocks():
            x = self.numbers[block]
            inner = x @ square if self.quadratic.products else x * square
            inner += scaled[:d]
            product[block] = np.einsum("ij,ij->i", inner, x)
        return product - self.quadratic.centre @ scaled

    def moments(self, values: np.ndarray) -> np.ndarray:
        """Return the transposed features times values of the rows, a vector or a matrix."""
        if values.ndim == 2:
            return np.column_stack([self.moments(column) for column in values.T])
        d, products = self.numbers.shape[1], self.quadratic.products
        first, second = np.zeros(d), np.zeros((d, d) if products else d)
        for block in self._blocks():
            x = self.numbers[block]
            weighted = x * values[block, None]
            first += weighted.sum(axis=0)
            second += x.T @ weighted if products else np.einsum("ij,ij->j", x, weighted)
        raw = np.concatenate([first, second[np.triu_indices(d)] if products else second])
        return (raw - self.quadratic.centre * values.sum()) * self.quadratic.scale

    def _blocks(self) -> Iterator[slice]:
        return row_blocks(self.shape[0], 4 * self.numbers.shape[1], cached=True)


class QuadraticFeatures:
    """Numbers of a table with their squares and products; without them if there are too many.

    If `factored`, the result is a `QuadraticRows`, for models that only multiply it.
    """

    def __init__(self, encoder: TableEncoder, *, factored: bool = False):
        self.encoder, self.factored = encoder, factored

    def fit(self, X: Any) -> QuadraticFeatures:
        """Learn the scales of the products from the rows of a table."""
        numbers = self.encoder.numbers(X)
        self.quadratic = Quadratic().fit(numbers) if can_be_squared(numbers) else None
        return self

    def __call__(self, X: Any) -> Any:
        """Return the features of the rows of a table."""
        numbers = self.encoder.numbers(X)
        if self.quadratic is None:
            return numbers
        if self.factored:
            return QuadraticRows(numbers, self.quadratic)
        return self.quadratic.transform(numbers)
