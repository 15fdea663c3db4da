"""Scores remembered by row: what a row got when it was held out."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from weighbridge._validation import is_frame

# Numbers are compared to 23 bits: a transformer's matrix product gives a row other last bits when
# it comes in another batch. What is below NOISE times the largest column is 0 up to rounding.
_DROPPED_BITS = np.uint64(29)
_HALF = np.uint64(1 << 28)
_NOISE = 1e-14


class RowScores:
    """A number for each row seen once, found again by the row itself.

    Equal rows share the mean of their values. Rows are equal if their numbers agree to seven digits
    (whole numbers: exactly) and their text agrees; a sparse matrix equals its dense form.
    """

    def __init__(self, X: Any):
        columns = _columns(X)
        self.is_text = None if columns is None else [_is_text(column) for column in columns]
        self.noise = _NOISE * _scale(X, columns, self.is_text)
        self.row_keys = self.keys(X)

    def remember(self, values: np.ndarray) -> None:
        """Keep one value for each row given at birth."""
        self.known, place = np.unique(self.row_keys, return_inverse=True)
        self.value = np.bincount(place, weights=values) / np.bincount(place)
        del self.row_keys  # one array of keys is enough

    def find(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the value of each row, and the positions of rows that were never seen."""
        keys = self.keys(X)
        place = np.minimum(np.searchsorted(self.known, keys), self.known.size - 1)
        return self.value[place], np.flatnonzero(self.known[place] != keys)

    def keys(self, X: Any) -> np.ndarray:
        """Return a 64-bit key for each row: a sum over columns in which zero counts nothing."""
        columns = _columns(X)
        if columns is None:
            X = sp.csr_array(X, copy=True)
            X.sum_duplicates()
            mixed = _mix(X.data.astype(np.float64), X.indices, self.noise)
            sums = np.concatenate([[np.uint64(0)], np.cumsum(mixed, dtype=np.uint64)])
            return sums[X.indptr[1:]] - sums[X.indptr[:-1]]
        keys = np.zeros(len(columns[0]) if columns else 0, dtype=np.uint64)
        for j, column in enumerate(columns):
            text = self.is_text is not None and self.is_text[j]
            numbers = _text_as_number(column) if text else np.asarray(column, dtype=np.float64)
            keys += _mix(numbers, j, self.noise)
        return keys


def _columns(X: Any) -> list[np.ndarray] | None:
    """Return the columns of `X`; None for a sparse matrix."""
    if sp.issparse(X):
        return None
    if is_frame(X):
        import narwhals as nw

        return [column.to_numpy() for column in nw.from_native(X, eager_only=True).iter_columns()]
    return list(np.asarray(X).T)


def _is_text(column: np.ndarray) -> bool:
    """Numbers, booleans and dates are numbers; the rest is text even if it looks like numbers."""
    return column.dtype.kind not in "biufM"


def _scale(X: Any, columns: list[np.ndarray] | None, is_text: list[bool] | None) -> float:
    """Typical size of the largest column of numbers."""
    if columns is None:
        return float(np.median(np.abs(X.data))) if X.nnz else 0.0
    scale = 0.0
    for column, text in zip(columns, is_text or [], strict=True):
        if not text and column.size:
            size = np.nanmedian(np.append(np.abs(np.asarray(column, dtype=np.float64)), 0.0))
            scale = max(scale, float(size) if np.isfinite(size) else 0.0)
    return scale


def _mix(numbers: np.ndarray, column: Any, noise: float) -> np.ndarray:
    """Scramble the bits of the numbers with the number of their column (splitmix64)."""
    numbers = np.where(np.abs(numbers) <= noise, 0.0, numbers)
    bits = np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64)  # one NaN for all
    rounded = ((bits + _HALF) >> _DROPPED_BITS) << _DROPPED_BITS
    bits = np.where(numbers == np.rint(numbers), bits, rounded)
    step = np.asarray(column, dtype=np.uint64) + np.uint64(1)
    with np.errstate(over="ignore"):
        mixed = bits + step * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed = mixed ^ (mixed >> np.uint64(31))
    return np.where(numbers == 0, np.uint64(0), mixed)


def _text_as_number(column: np.ndarray) -> np.ndarray:
    """Replace each value by a number made from its text; the same in every process."""
    distinct, codes = np.unique(np.asarray(column, dtype=object).astype(str), return_inverse=True)
    digests = [hashlib.blake2b(text.encode(), digest_size=6).digest() for text in distinct]
    numbers = np.array([1 + int.from_bytes(digest) for digest in digests], dtype=np.float64)
    return numbers[codes]
