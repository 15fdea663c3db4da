"""An order of rows that depends on what they hold, not on how they came.

Random choices (folds, centres) are made in this order, so that a table in another row order, with
its named columns in another order, or in other units gets the same answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from weighbridge._validation import is_frame
from weighbridge.ratios._columns import (
    column_labels,
    distinct_values,
    is_numeric_array,
    read_columns,
)

# Columns that break a tie; different rows that agree in so many are left as they came.
MOST_KEYS = 100


def shuffled(X: Any, codes: np.ndarray, rng: np.random.RandomState) -> tuple[np.ndarray, ...]:
    """Return the positions of the source rows and of the target rows, each in a random order.

    The samples can change places without a change of their order.
    """
    order, seed = canonical_order(X), int(rng.randint(2**31 - 1))
    return shuffled_samples(order, codes, seed)


def shuffled_samples(order: np.ndarray, codes: np.ndarray, seed: int) -> tuple[np.ndarray, ...]:
    """Return the positions of source and target rows, shuffled from a given order.

    Each sample has a shuffle of its own: with one for both, rows of equal rank would share a fold,
    and training and held-out folds the same chance deviations. Which has which is decided by the
    order of the rows, not by what the samples are called.
    """
    in_order = codes[order]
    samples = [order[in_order == code] for code in (0, 1)]
    mean_place = [np.flatnonzero(in_order == code).mean() for code in (0, 1)]
    lower = int(mean_place[1] < mean_place[0])
    return tuple(
        sample[np.random.RandomState(seed + (code == lower)).permutation(sample.size)]
        for code, sample in enumerate(samples)
    )


def canonical_order(X: Any) -> np.ndarray:
    """Return the positions of the rows, sorted by a generic projection of their columns.

    Each column is scaled to [0, 1] and counts 1 plus its mean, which tells columns apart without
    regard to their names and places. Rows with the same projection are sorted by their columns, in
    the order of the names where these have any.
    """
    if sp.issparse(X):
        X = sp.csc_array(X, dtype=np.float64)
        largest = abs(X).max(axis=0).toarray().ravel()
        scale = 1 / np.where(largest > 0, largest, 1.0)
        direction = 1 + np.asarray(X.mean(axis=0)).ravel() * scale
        return _sorted(X @ (direction * scale), lambda j, rows: X[:, [j]].toarray()[rows, 0], X)
    if is_numeric_array(X):
        columns = list(np.asarray(X, dtype=np.float64).T)
    else:
        columns = [
            text_as_number(column) if column.dtype == object else column
            for column in read_columns(X)
        ]
    projection = np.zeros(X.shape[0])
    for column in columns:
        scaled = _within_range(column)
        projection += (1 + scaled.mean()) * scaled
    return _sorted(projection, lambda j, rows: columns[j][rows], X)


def _sorted(projection: np.ndarray, values: Callable[[Any, Any], np.ndarray], X: Any) -> np.ndarray:
    """Sort by the projection, to nine decimals, and rows that tie by their columns."""
    rounded = np.rint(projection * 1e9)
    order = np.argsort(rounded)
    same = rounded[order][1:] == rounded[order][:-1]
    tied = np.concatenate([[False], same]) | np.concatenate([same, [False]])
    if not tied.any():
        return order
    labels = column_labels(X)
    by_name = np.argsort(labels) if is_frame(X) else np.arange(len(labels))
    rows = np.sort(order[tied])
    keys = [values(j, rows) for j in by_name[:MOST_KEYS][::-1]]
    order[tied] = rows[np.lexsort([*keys, rounded[rows]])]
    return order


def text_code(text: str) -> int:
    """Return a 48-bit number made from a text, the same in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest())


def _within_range(column: np.ndarray) -> np.ndarray:
    """Map a column to [0, 1] by its range, missing values to 2: the same in any unit."""
    known = np.isfinite(column)
    if not known.any():
        return np.full(column.size, 2.0)
    low, high = column[known].min(), column[known].max()
    width = high / 2 - low / 2  # no overflow
    if width == 0:
        return np.where(known, 0.0, 2.0)
    return np.where(known, (column / 2 - low / 2) / width, 2.0)


def text_as_number(column: np.ndarray) -> np.ndarray:
    """Replace each text by a number made from it, a missing one by NaN."""
    distinct, places = distinct_values(column)
    numbers = [np.nan if text is None else text_code(str(text)) for text in distinct]
    return np.array(numbers, dtype=np.float64)[places]
