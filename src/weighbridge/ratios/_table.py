"""From any table to standardised numbers: gaps, categories, scales."""

from __future__ import annotations

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

# Categories rarer than this share one level; so do those beyond the most frequent ones.
RARE = 5
MAX_LEVELS = 50
# A column whose standard deviation exceeds its quartile range so far is its outliers alone.
MAX_SPREAD = 1e8
# Trees find no threshold in a column without a value, which a fold may be left with.
FEW_VALUES = 20


class TableEncoder:
    """Numbers from a table, the same way at every call.

    Numbers are centred, and scaled by their standard deviation (both samples count alike, however
    many rows they have); a column without variation counts nothing. A missing number becomes the
    mean and is marked in a column of its own. A category becomes one column of 0 and 1 for each of
    its levels, which puts two levels as far apart as two typical numbers; levels with fewer than 5
    rows, and those beyond the 50 most frequent, share one, and a level never seen in ``fit`` has
    none. A sparse matrix is scaled and not centred, and may hold no missing values.
    """

    def fit(self, X: Any, codes: np.ndarray) -> TableEncoder:
        """Learn scales and levels from the rows of both samples (codes 0 and 1)."""
        self.is_text: list[bool] = []
        self.labels = column_labels(X)
        self.sparse = sp.issparse(X)
        if self.sparse:
            self.scale = _sparse_scale(X, codes)
            return self
        numbers, texts = self._split(X, first=True)
        gaps = np.isnan(numbers)
        # a column without any value has nothing to mark
        self.gappy = gaps.any(axis=0) & ~gaps.all(axis=0)
        self.gap_value = _gap_value(numbers)
        self.centre, self.scale = self._centre_and_scale(numbers, codes)
        self.varies = self.scale > 0
        self.levels = [_frequent_levels(text) for text in texts]
        return self

    def numbers(self, X: Any) -> Any:
        """Return the rows as standardised numbers without gaps."""
        if self.sparse:
            return _finite_sparse(X) @ _diagonal(self.scale)
        numbers, texts = self._split(X)
        gaps = np.isnan(numbers)
        with np.errstate(invalid="ignore", over="ignore"):
            standard = (numbers * self.halved - self.centre) * self.scale
        standard[gaps] = 0.0
        # kernels of rows this far away are 0; squares stay finite
        np.clip(standard, -1e100, 1e100, out=standard)
        blocks = [standard[:, self.varies], gaps[:, self.gappy].astype(np.float64)]
        encoded = np.hstack([*blocks, *self._one_hot(texts)])
        return encoded if encoded.shape[1] else np.zeros((X.shape[0], 1))

    def for_trees(self, X: Any) -> np.ndarray:
        """Return numbers as they are, with NaN, then a code for each category; trees take both.

        In a column of hardly any value the missing ones are a number below all others.
        """
        numbers, texts = self._split(X)
        few = np.isfinite(self.gap_value)
        if few.any():
            part = numbers[:, few]
            numbers[:, few] = np.where(np.isnan(part), self.gap_value[few], part)
        codes = [
            _level_codes(text, levels) for text, levels in zip(texts, self.levels, strict=True)
        ]
        return np.column_stack([numbers, *codes]) if codes else numbers

    @property
    def categorical(self) -> np.ndarray:
        """Mark the columns of `for_trees` that are categories."""
        n_numbers = self.scale.size
        return np.arange(n_numbers + len(self.levels)) >= n_numbers

    @property
    def width(self) -> int:
        """Number of columns of `numbers`."""
        if self.sparse:
            return self.scale.size
        return int(self.varies.sum() + self.gappy.sum() + sum(len(v) for v in self.levels))

    def _split(self, X: Any, first: bool = False) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the numbers as one matrix and the text columns."""
        if sp.issparse(X):
            X = X.toarray()
        if is_numeric_array(X) and (first or not any(self.is_text)):
            X = np.array(X, dtype=np.float64)
            if first:
                self.is_text, self.number_labels = [False] * X.shape[1], self.labels
                self.order = np.arange(X.shape[1])
            X = X[:, self.order]  # a frame in fit, its numbers now
            _refuse_infinite(X, self.number_labels)
            return X, []
        columns = read_columns(X, None if first else self.is_text)
        if first:
            self.is_text = [column.dtype == object for column in columns]
            # named columns in the order of their names: trees break ties by place
            named = is_frame(X)
            self.order = np.argsort(self.labels) if named else np.arange(len(columns))
        number_places = [j for j in self.order if not self.is_text[j]]
        self.number_labels = [self.labels[j] for j in number_places]
        numbers = np.empty((X.shape[0], len(number_places)))
        for k, j in enumerate(number_places):
            numbers[:, k] = columns[j]
        _refuse_infinite(numbers, self.number_labels)
        return numbers, [columns[j] for j in self.order if self.is_text[j]]

    def _centre_and_scale(
        self, numbers: np.ndarray, codes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return means, and inverse standard deviations (0 for a constant column).

        The columns are first multiplied by a power of 2 that brings them near 1, which is exact,
        and keeps the squares of very large and very small numbers from over- or underflowing.
        """
        if numbers.shape[1] == 0:
            self.halved = np.ones(0)
            return np.zeros(0), np.zeros(0)
        known = ~np.isnan(numbers)
        largest = np.nan_to_num(np.fmax.reduce(np.abs(numbers), axis=0))
        self.halved = np.ldexp(1.0, np.clip(-np.frexp(largest)[1], -1000, 1000))
        near_one = numbers * self.halved
        means, squares = [], []
        near_one[~known] = 0.0
        for code in (0, 1):
            part, there = near_one[codes == code], known[codes == code]
            n = np.maximum(there.sum(axis=0), 1)
            mean = part.sum(axis=0) / n
            means.append(np.where(there.any(axis=0), mean, np.nan))
            part -= mean
            part *= there
            squares.append(np.einsum("ij,ij->j", part, part) / n)
        means = [np.where(np.isnan(a), b, a) for a, b in (means, means[::-1])]
        centre = np.nan_to_num((means[0] + means[1]) / 2)
        variance = (squares[0] + squares[1]) / 2 + (means[0] - means[1]) ** 2 / 4
        lowest = np.fmin.reduce(numbers, axis=0)
        highest = np.fmax.reduce(numbers, axis=0)
        constant = ~(lowest < highest)
        deviation = np.sqrt(np.where(constant, 1.0, variance))
        self._refuse_outliers(near_one, known, np.where(constant, 0.0, deviation))
        return centre, np.where(constant, 0.0, 1 / deviation)

    def _refuse_outliers(
        self, near_one: np.ndarray, known: np.ndarray, deviation: np.ndarray
    ) -> None:
        step = max(1, near_one.shape[0] // 2000)
        few = np.where(known, near_one, np.nan)[::step]
        suspect = np.flatnonzero(deviation > 0)
        few = few[:, suspect]
        few = np.where(np.isnan(few).all(axis=0), 0.0, few)
        low, high = np.nanpercentile(few, [25, 75], axis=0) if suspect.size else (0.0, 0.0)
        width = np.asarray(high - low)
        bad = suspect[(width > 0) & (deviation[suspect] > MAX_SPREAD * width)]
        if bad.size:
            label = self.number_labels[bad[0]]
            raise ValueError(
                f"Column {label!r} holds values so far from its others that these cannot be told "
                "apart beside them (standard deviation over quartile range exceeds 1e8). Remove "
                "or correct the extreme values, or take logarithms."
            )

    def _one_hot(self, texts: list[np.ndarray]) -> list[np.ndarray]:
        blocks = []
        for text, levels in zip(texts, self.levels, strict=True):
            codes = _level_codes(text, levels)
            blocks.append((codes[:, None] == np.arange(levels.size)).astype(np.float64))
        return blocks


def _gap_value(numbers: np.ndarray) -> np.ndarray:
    """Return for each column what trees see for a missing value: NaN, unless values are few."""
    few = (~np.isnan(numbers)).sum(axis=0) < FEW_VALUES
    few &= np.isnan(numbers).any(axis=0)
    lowest = np.nan_to_num(np.fmin.reduce(numbers, axis=0))
    with np.errstate(over="ignore"):
        below = np.maximum(lowest - np.maximum(np.abs(lowest), 1), np.finfo(float).min)
    return np.where(few, below, np.nan)


# Levels of one column: what a missing value and a rare level are called there.
_MISSING, _OTHERS = "\0missing", "\0others"


def _frequent_levels(text: np.ndarray) -> np.ndarray:
    """Return the levels that have a column of their own, sorted."""
    distinct, places = distinct_values(text)
    # two texts may be one to NumPy, which drops trailing zero characters
    levels, inverse = np.unique(_with_missing(distinct), return_inverse=True)
    counts = np.bincount(inverse[places], minlength=levels.size)
    by_count = np.argsort(-counts, kind="stable")[:MAX_LEVELS]
    least = min(RARE, max(2, text.size // 10))  # a handful of rows has no room for rare levels
    kept = by_count[counts[by_count] >= least]
    others = [_OTHERS] if kept.size < levels.size else []
    return np.sort(np.append(levels[kept], others).astype(str))


def _with_missing(text: np.ndarray) -> np.ndarray:
    return np.array([_MISSING if value is None else value for value in text], dtype=str)


def _level_codes(text: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return the number of each value's level; the level of the others, or NaN, where it has none.

    NaN is what a category never seen gets where every level of ``fit`` has a column of its own.
    """
    distinct, places = distinct_values(text)
    values = _with_missing(distinct)
    level = np.minimum(np.searchsorted(levels, values), levels.size - 1)
    codes = level.astype(np.float64)
    others = np.flatnonzero(levels == _OTHERS)
    codes[levels[level] != values] = others[0] if others.size else np.nan
    return codes[places]


def _sparse_scale(X: Any, codes: np.ndarray) -> np.ndarray:
    X = _finite_sparse(X)
    largest = abs(X).max(axis=0).toarray().ravel()
    near_one = np.ldexp(1.0, np.clip(-np.frexp(largest)[1], -1000, 1000))
    X = X @ _diagonal(near_one)
    moments = []
    for code in (0, 1):
        part = X[codes == code]
        mean = np.asarray(part.mean(axis=0)).ravel()
        moments.append((mean, np.asarray(part.multiply(part).mean(axis=0)).ravel() - mean**2))
    (mean_s, var_s), (mean_t, var_t) = moments
    variance = np.maximum((var_s + var_t) / 2, 0) + (mean_s - mean_t) ** 2 / 4
    varies = variance > 1e-12 * np.maximum(mean_s**2, mean_t**2)
    return np.where(varies, near_one / np.sqrt(np.where(varies, variance, 1.0)), 0.0)


def _finite_sparse(X: Any) -> Any:
    X = sp.csr_array(X, dtype=np.float64)
    if not np.isfinite(X.data).all():
        raise ValueError(
            "Got a sparse matrix with NaN or infinite values; a sparse table has no place for "
            "missing values. Impute them."
        )
    return X


def _diagonal(values: np.ndarray) -> Any:
    return sp.dia_array((values[None, :], [0]), shape=(values.size, values.size))


def _refuse_infinite(numbers: np.ndarray, labels: list[str]) -> None:
    infinite = np.isinf(numbers).any(axis=0)
    if infinite.any():
        raise ValueError(
            f"Got infinity in column {labels[int(np.argmax(infinite))]!r}; replace it by a number, "
            "or by NaN if it is missing."
        )
