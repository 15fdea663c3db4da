"""A 64-bit key for each row, equal for equal rows, whatever container they come in."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from weighbridge._validation import is_frame


def row_keys(X: Any) -> np.ndarray:
    """Return one 64-bit key per row of `X`.

    The key is a sum over columns of mixed values in which zero counts nothing, so a sparse matrix
    and its dense form agree. Two different rows share a key with probability 2**-64.
    """
    if sp.issparse(X):
        X = sp.csr_array(X)
        mixed = _mix(X.data, X.indices)
        sums = np.concatenate([[np.uint64(0)], np.cumsum(mixed, dtype=np.uint64)])
        return sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    columns = _columns(X)
    keys = np.zeros(len(columns[0]) if columns else 0, dtype=np.uint64)
    for j, column in enumerate(columns):
        keys += _mix(column, j)
    return keys


def _columns(X: Any) -> list[np.ndarray]:
    if is_frame(X):
        import narwhals as nw

        return [column.to_numpy() for column in nw.from_native(X, eager_only=True).iter_columns()]
    return list(np.asarray(X).T)


def _mix(values: np.ndarray, column: Any) -> np.ndarray:
    """Scramble the bits of the values with the number of their column (splitmix64)."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = _hashed_text(values)
    bits = np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64)  # one NaN, one zero
    step = np.asarray(column, dtype=np.uint64) + np.uint64(1)
    with np.errstate(over="ignore"):
        mixed = bits + step * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed = mixed ^ (mixed >> np.uint64(31))
    return np.where(numbers == 0, np.uint64(0), mixed)


def _hashed_text(values: np.ndarray) -> np.ndarray:
    """Replace each value by a number made from its text; the same in every process."""
    distinct, codes = np.unique(np.asarray(values, dtype=object).astype(str), return_inverse=True)
    digests = [hashlib.blake2b(text.encode(), digest_size=6).digest() for text in distinct]
    return np.array([int.from_bytes(digest) for digest in digests], dtype=np.float64)[codes]
