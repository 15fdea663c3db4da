"""Scores remembered by row: what a row got when it was held out."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from weighbridge.ratios._columns import read_columns
from weighbridge.ratios._row_order import text_as_number

# A matrix product gives a row other last bits when it comes in another batch. Numbers with
# decimals count as equal within COARSE of their column's spread, or FAINT of the largest spread:
# a column that is smaller than that may be nothing but such bits.
_COARSE = 2.0**-20
_FAINT = 1e-10


class RowScores:
    """A number for each row seen once, found again by the row itself.

    A row is first looked for exactly, and then, if its numbers have decimals, within a millionth of
    each column's spread, where that cannot confuse it with another row. Equal rows share the mean
    of their values. Text stays text even if it looks like numbers; a sparse matrix equals its dense
    form, and is looked for exactly only.
    """

    def __init__(self, X: Any):
        columns = None if sp.issparse(X) else read_columns(X)
        self.is_text = None if columns is None else [c.dtype == object for c in columns]
        numbers = as_numbers(columns)
        self.centre, self.spread = _centre_and_spread(numbers, self.is_text)
        self.known, self.group = sorted_groups(exact_keys(X, numbers))
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
        numbers = as_numbers(None if sp.issparse(X) else read_columns(X, self.is_text))
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


def as_numbers(columns: list[np.ndarray] | None) -> list[np.ndarray] | None:
    """Return the columns as numbers, text by a number made from it."""
    if columns is None:
        return None
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


def sorted_groups(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the different keys, sorted, and for each row the place of its key among them."""
    order = np.argsort(keys)
    in_order = keys[order]
    starts = np.concatenate([[True], in_order[1:] != in_order[:-1]])
    place = np.empty(keys.size, dtype=int)
    place[order] = np.cumsum(starts) - 1
    return in_order[starts], place


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
