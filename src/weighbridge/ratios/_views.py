"""What a model sees of a table: standardised numbers, their products, codes for trees, or all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config

from weighbridge.blocks import row_blocks
from weighbridge.ratios._encoder import TableEncoder

# Products of columns up to this many columns, squares up to that many.
MAX_PRODUCTS = 40
MAX_SQUARES = 1000


class Quadratic:
    """Columns with their squares and products, standardised; squares only where these are many."""

    def __init__(self, products: bool = True):
        self.products = products

    def fit(self, X: np.ndarray) -> Quadratic:
        """Learn the scales of the features."""
        n, d = X.shape
        numbers = get_config()["working_memory"] * 2**20 / 8 / 2
        self.products &= d <= MAX_PRODUCTS and n * d * (d + 3) / 2 <= numbers
        centres, scales = [], []
        for block in self._blocks(X):
            centres.append(block.mean(axis=0))
            deviation = block.std(axis=0)
            # a feature that rounding alone makes vary counts nothing
            varies = deviation > 1e-10 * np.maximum(np.abs(block).max(axis=0), 1e-300)
            scales.append(np.where(varies, 1 / np.where(varies, deviation, 1.0), 0.0))
        self.centre, self.scale = np.concatenate(centres), np.concatenate(scales)
        return self

    def transform(self, X: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the features of some rows, or write them into an array."""
        features = np.empty((X.shape[0], self.scale.size)) if out is None else out
        start = 0
        for block in self._blocks(X):
            part = slice(start, start + block.shape[1])
            np.subtract(block, self.centre[part], out=features[:, part])
            features[:, part] *= self.scale[part]
            start = part.stop
        return features

    def _blocks(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the columns, then their products with the first of them, the second and so on."""
        yield X
        if not self.products:
            yield X**2
            return
        for j in range(X.shape[1]):
            yield X[:, j:] * X[:, [j]]


class QuadraticRows:
    """The quadratic features of some rows, as a matrix that is multiplied without being made."""

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


def can_be_squared(X: Any) -> bool:
    """True for a dense matrix of no more columns than squares are made of."""
    return not sp.issparse(X) and X.shape[1] <= MAX_SQUARES


class View:
    """The table as it is."""

    def __call__(self, X: Any) -> Any:
        """Return what the model sees of some rows."""
        return X


class NumbersView(View):
    """Standardised numbers, for linear models and kernels."""

    def __init__(self, encoder: TableEncoder):
        self.encoder = encoder

    def __call__(self, X: Any) -> Any:
        """Return the rows as numbers."""
        return self.encoder.numbers(X)


class QuadraticView(NumbersView):
    """Standardised numbers with their squares and products; without, where there are too many."""

    def fit(self, X: Any) -> QuadraticView:
        """Learn the scales of the products from the rows of a table."""
        numbers = super().__call__(X)
        self.quadratic = Quadratic().fit(numbers) if can_be_squared(numbers) else None
        return self

    def __call__(self, X: Any) -> Any:
        """Return numbers, squares and products."""
        numbers = super().__call__(X)
        return numbers if self.quadratic is None else self.quadratic.transform(numbers)


class FactoredView(QuadraticView):
    """The same, for a model that only multiplies them: they are not made."""

    def __call__(self, X: Any) -> Any:
        """Return numbers, squares and products as a matrix that can be multiplied."""
        numbers = NumbersView.__call__(self, X)
        return numbers if self.quadratic is None else QuadraticRows(numbers, self.quadratic)


class TreesView(NumbersView):
    """Numbers with their gaps, and codes of categories."""

    def __call__(self, X: Any) -> Any:
        """Return numbers and codes."""
        return self.encoder.for_trees(X)
