"""Rows known by what they hold: a canonical order, and values found again by the row itself.

Folds and samples that start from this order are the same for a table in another row order or in
other units.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from weighbridge.tables._columns import (
    column_labels,
    distinct_values,
    is_frame,
    read_columns,
)

# Columns that break a tie; different rows that agree in so many are left as they came.
MOST_KEYS = 100


def shuffled(X: Any, codes: np.ndarray, rng: np.random.RandomState) -> tuple[np.ndarray, ...]:
    """Return the positions of the source rows and of the target rows, each in a random order."""
    order, seed = canonical_order(X), int(rng.randint(2**31 - 1))
    return shuffled_samples(order, codes, seed)


def shuffled_samples(order: np.ndarray, codes: np.ndarray, seed: int) -> tuple[np.ndarray, ...]:
    """Return the positions of source and target rows, shuffled from a given order."""
    in_order = codes[order]
    samples = [order[in_order == code] for code in (0, 1)]
    mean_place = [np.flatnonzero(in_order == code).mean() for code in (0, 1)]
    lower = int(mean_place[1] < mean_place[0])
    return tuple(
        sample[np.random.RandomState(seed + (code == lower)).permutation(sample.size)]
        for code, sample in enumerate(samples)
    )


def canonical_order(X: Any) -> np.ndarray:
    """Return the positions of the rows, sorted by a generic projection of their columns."""
    if sp.issparse(X):
        X = sp.csc_array(X, dtype=np.float64)
        low, high = (part.toarray().ravel() for part in (X.min(axis=0), X.max(axis=0)))
        width = high / 2 - low / 2  # no overflow
        scale = np.where(width > 0, 0.5 / np.where(width > 0, width, 1.0), 0.0)
        # the same projection as of a dense table
        direction = 1 + (np.asarray(X.mean(axis=0)).ravel() - low) * scale
        projection = X @ (direction * scale) - (low * scale) @ direction
        return _sorted(projection, lambda j, rows: X[:, [j]].toarray()[rows, 0], X)
    columns = as_numbers(read_columns(X))
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


# A matrix product gives a row other last bits when it comes in another batch. Numbers with
# decimals count as equal within COARSE of their column's spread, or FAINT of the largest spread:
# a column that is smaller than that may be nothing but such bits.
_COARSE = 2.0**-20
_FAINT = 1e-10


class RowScores:
    """A number for each row seen once, found again by the row itself."""

    def __init__(self, X: Any):
        columns = None if sp.issparse(X) else read_columns(X)
        self.is_text = None if columns is None else [c.dtype == object for c in columns]
        numbers = None if columns is None else as_numbers(columns)
        self.centre, self.spread = _centre_and_spread(numbers, self.is_text)
        self.known, self.group = np.unique(exact_keys(X, numbers), return_inverse=True)
        self.coarse_row_keys = self._coarse(numbers)

    def remember(self, values: np.ndarray) -> None:
        """Keep one value for each row given at birth."""
        self.value = np.bincount(self.group, weights=values) / np.bincount(self.group)
        if self.coarse_row_keys is not None:
            of_group = np.empty(self.known.size, dtype=self.coarse_row_keys.dtype)
            of_group[self.group] = self.coarse_row_keys
            self.coarse_row_keys = of_group
        del self.group

    def _coarse_table(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the coarse keys that only one row has, and their values; made when needed."""
        row_keys = self.coarse_row_keys  # another thread may be through with them
        if row_keys is not None:
            keys, owner, count = np.unique(row_keys, return_index=True, return_counts=True)
            alone = count == 1  # no other row is so near
            self.coarse_known, self.coarse_value = keys[alone], self.value[owner[alone]]
            self.coarse_row_keys = None
        return self.coarse_known, self.coarse_value

    def find(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the value of each row, and the positions of rows that were never seen."""
        numbers = None if sp.issparse(X) else as_numbers(read_columns(X, self.is_text))
        value, new = _look_up(self.known, self.value, exact_keys(X, numbers))
        coarse = self._coarse(numbers) if new.size else None
        if coarse is None:
            return value, new
        known, known_value = self._coarse_table()
        if not known.size:
            return value, new
        value[new], still_new = _look_up(known, known_value, coarse[new])
        return value, new[still_new]

    def _coarse(self, numbers: list[np.ndarray] | None) -> np.ndarray | None:
        """Return a key that forgives the last bits; None where every number is whole or text."""
        if numbers is None or not any(self.spread):
            return None
        faint = _FAINT * max(self.spread)
        coarse = [
            np.rint((column - centre) / max(_COARSE * spread, faint)) if spread > 0 else column
            for column, centre, spread in zip(numbers, self.centre, self.spread, strict=True)
        ]
        return _sum_of_keys(coarse)


def as_numbers(columns: list[np.ndarray]) -> list[np.ndarray]:
    """Return the columns as numbers, text by a number made from it."""
    return [text_as_number(c) if c.dtype == object else c for c in columns]


def exact_keys(X: Any, numbers: list[np.ndarray] | None) -> np.ndarray:
    """Return a 64-bit key for each row: a sum over columns in which zero counts nothing."""
    if numbers is not None:
        return _sum_of_keys(numbers)
    X = sp.csr_array(X, copy=True)
    X.sum_duplicates()
    mixed = _mix(X.data.astype(np.float64), X.indices)
    sums = np.concatenate([[np.uint64(0)], np.cumsum(mixed, dtype=np.uint64)])
    return sums[X.indptr[1:]] - sums[X.indptr[:-1]]


def _look_up(
    known: np.ndarray, value: np.ndarray, keys: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    place = np.minimum(np.searchsorted(known, keys), known.size - 1)
    return value[place], np.flatnonzero(known[place] != keys)


def _centre_and_spread(
    numbers: list[np.ndarray] | None, is_text: list[bool] | None
) -> tuple[list[float], list[float]]:
    """Return median and spread of each column with decimals; (0, 0) for whole numbers and text."""
    if numbers is None or is_text is None:
        return [], []
    centre, spread = [], []
    for column, text in zip(numbers, is_text, strict=True):
        finite = column[np.isfinite(column)]
        if text or (finite == np.rint(finite)).all():
            centre.append(0.0)
            spread.append(0.0)
        else:
            few = finite[:: max(1, finite.size // 2000)]
            low, middle, high = np.percentile(few, [10, 50, 90])
            centre.append(float(middle))
            spread.append(float(high - low) or float(np.ptp(finite)))
    return centre, spread


def _sum_of_keys(columns: list[np.ndarray]) -> np.ndarray:
    keys = np.zeros(len(columns[0]) if columns else 0, dtype=np.uint64)
    for j, column in enumerate(columns):
        keys += _mix(column, j)
    return keys


def _mix(numbers: np.ndarray, column: Any) -> np.ndarray:
    """Scramble the bits of the numbers with the number of their column (splitmix64)."""
    bits = np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64)  # one NaN, one zero
    step = np.asarray(column, dtype=np.uint64) + np.uint64(1)
    with np.errstate(over="ignore"):
        mixed = bits + step * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed = mixed ^ (mixed >> np.uint64(31))
    return np.where(numbers == 0, np.uint64(0), mixed)
