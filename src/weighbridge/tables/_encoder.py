"""From any table to standardised numbers: missing values, categories, scales."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from weighbridge._findings import listed, users_line
from weighbridge.exceptions import WeightWarning
from weighbridge.tables._columns import (
    column_labels,
    distinct_values,
    is_frame,
    is_numeric_array,
    numbers_as_text,
    read_columns,
)

# Categories with fewer rows share one level, and so do those beyond the most frequent ones.
RARE_ROWS = 5
MAX_LEVELS = 50
# If the standard deviation of a column exceeds its quartile range by more, outliers are all of it.
MAX_SPREAD = 1e8
# Trees find no threshold in a column without a value, which a fold may be left with.
FEW_VALUES = 20
# Number of rows from which the quartiles of a column are estimated.
QUARTILE_ROWS = 2000
# Text with different decimals in more than this share of the rows is no category.
MAX_DECIMAL_SHARE = 0.9
# Names of the levels of missing values and of rare ones.
_MISSING, _OTHERS = "\0missing", "\0others"


class TableEncoder:
    """Standardised numbers from the rows of a table, the same way at every call."""

    sparse_centre: Any = None  # Sparse rows are not centred, which would fill them.

    def fit(self, X: Any, codes: np.ndarray) -> TableEncoder:
        """Learn scales and levels from the rows of both samples (codes 0 and 1)."""
        self.sparse, self.labels = sp.issparse(X), column_labels(X)
        self.is_text, self.levels = [False] * len(self.labels), []
        if self.sparse:
            return self._fit_sparse(finite_sparse(X), codes)
        self._find_text(X)
        numbers, texts = self.split(X)
        known = np.count_nonzero(~np.isnan(numbers), axis=0)
        low, high = (find.reduce(numbers, axis=0, initial=np.nan) for find in (np.fmin, np.fmax))
        # A column without any value has nothing to mark.
        self.gappy = (known < codes.size) & (known > 0)
        self.gap_value = _gap_value(low, known, codes.size)
        exponent = _exponent(low, high)
        self.halved = np.ldexp(1.0, -exponent)
        self.centre, variance = _centre_and_variance(np.ldexp(numbers, -exponent), codes)
        constant = ~(low < high)
        deviation = np.sqrt(np.where(constant, 1.0, variance))
        self._refuse_outliers(numbers, codes, np.where(constant, 0.0, deviation))
        self.scale = np.where(constant, 0.0, 1 / deviation)
        self.varies = self.scale > 0
        self.levels = [_frequent_levels(text) for text in texts]
        return self

    def _fit_sparse(self, X: Any, codes: np.ndarray) -> TableEncoder:
        low, high = (part.toarray().ravel() for part in (X.min(axis=0), X.max(axis=0)))
        near_one = np.ldexp(1.0, -_exponent(low, high))
        X = X @ _diagonal(near_one)
        means, variances = [], []
        for code in (0, 1):
            rows = X[codes == code]
            means.append(np.asarray(rows.mean(axis=0)).ravel())
            squares = np.asarray(rows.multiply(rows).mean(axis=0)).ravel()
            variances.append(squares - means[-1] ** 2)
        variance = np.maximum(sum(variances) / 2, 0) + (means[0] - means[1]) ** 2 / 4
        varies = variance > 1e-12 * np.maximum(means[0] ** 2, means[1] ** 2)
        scale = np.where(varies, 1 / np.sqrt(np.where(varies, variance, 1.0)), 0.0)
        self.scale, self.sparse_centre = near_one * scale, (means[0] + means[1]) / 2 * scale
        return self

    def _find_text(self, X: Any) -> None:
        """Find the text columns. Named columns are used in the order of their names."""
        if not is_numeric_array(X):
            self.is_text = [column.dtype == object for column in read_columns(X)]
            pairs = zip(self.labels, self.is_text, strict=True)
            _warn_of_numbers_as_text(X, [label for label, text in pairs if not text])
        self.order = np.argsort(self.labels) if is_frame(X) else np.arange(len(self.labels))
        self.number_labels = [self.labels[j] for j in self.order if not self.is_text[j]]

    def numbers(self, X: Any) -> Any:
        """Return the rows as standardised numbers without missing values."""
        if self.sparse:
            return finite_sparse(X) @ _diagonal(self.scale)
        numbers, texts = self.split(X)
        gaps = np.isnan(numbers)
        with np.errstate(invalid="ignore", over="ignore"):
            standard = numbers * self.halved
            standard -= self.centre
            standard *= self.scale
        standard[gaps] = 0.0
        # Kernels of rows this far away are 0; squares stay finite.
        np.clip(standard, -1e100, 1e100, out=standard)
        if not texts and self.varies.all() and not self.gappy.any() and standard.shape[1]:
            return standard
        columns = [standard[:, self.varies], gaps[:, self.gappy].astype(np.float64)]
        for text, levels in zip(texts, self.levels, strict=True):
            codes = _level_codes(text, levels)
            columns.append((codes[:, None] == np.arange(levels.size)).astype(np.float64))
        encoded = np.hstack(columns)
        return encoded if encoded.shape[1] else np.zeros((numbers.shape[0], 1))

    def for_trees(self, X: Any) -> np.ndarray:
        """Return the numbers with NaN, then a code for each category; trees take both."""
        numbers, texts = self.split(X)
        few = np.isfinite(self.gap_value)
        if few.any():
            scarce = numbers[:, few]
            numbers[:, few] = np.where(np.isnan(scarce), self.gap_value[few], scarce)
        codes = [_level_codes(text, lev) for text, lev in zip(texts, self.levels, strict=True)]
        return np.column_stack([numbers, *codes]) if codes else numbers

    def columns_of_features(self) -> list[tuple[np.ndarray, int]]:
        """Return for each feature its columns of `numbers` and its column of `for_trees`."""
        n_features = len(self.labels)
        if self.sparse:
            return [(np.array([j]), j) for j in range(n_features)]
        is_number = ~np.array(self.is_text)[self.order]
        numbers, texts = self.order[is_number], self.order[~is_number]
        owners = [numbers[self.varies], numbers[self.gappy]]
        owners += [np.full(len(v), j) for j, v in zip(texts, self.levels, strict=True)]
        owner, index = np.concatenate(owners), np.argsort(np.concatenate([numbers, texts]))
        return [(np.flatnonzero(owner == j), int(index[j])) for j in range(n_features)]

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

    def split(self, X: Any) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the numbers as one matrix, and the text columns."""
        if sp.issparse(X):
            X = finite_sparse(X).toarray()
        if is_numeric_array(X) and not any(self.is_text):
            # An array of numbers may stand for a frame that was seen in fit.
            numbers = np.asarray(X, dtype=np.float64)[:, self.order]
            refuse_infinite(numbers, self.number_labels)
            return numbers, []
        columns = read_columns(X, self.is_text)
        places = [j for j in self.order if not self.is_text[j]]
        numbers = np.empty((X.shape[0], len(places)))
        for k, j in enumerate(places):
            numbers[:, k] = columns[j]
        refuse_infinite(numbers, self.number_labels)
        return numbers, [columns[j] for j in self.order if self.is_text[j]]

    def _refuse_outliers(
        self, numbers: np.ndarray, codes: np.ndarray, deviation: np.ndarray
    ) -> None:
        suspect = np.flatnonzero(deviation > 0)
        if not suspect.size:
            return
        step = max(1, codes.size // QUARTILE_ROWS)
        few = np.concatenate([numbers[codes == code][::step] for code in (0, 1)])
        few = (few * self.halved)[:, suspect]
        few = np.where(np.isnan(few).all(axis=0), 0.0, few)
        # nanpercentile goes through the columns one by one.
        quartiles = np.nanpercentile if np.isnan(few).any() else np.percentile
        low, high = quartiles(few, [25, 75], axis=0)
        width = high - low
        bad = suspect[(width > 0) & (deviation[suspect] > MAX_SPREAD * width)]
        if bad.size:
            raise ValueError(
                f"Column {self.number_labels[bad[0]]!r} holds values so far from its others that "
                "these cannot be told apart next to them (standard deviation over quartile range "
                "exceeds 1e8). Remove or correct the extreme values, or take logarithms."
            )


def _exponent(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the exponent of 2 by which each column is scaled, so that no square overflows."""
    largest = np.nan_to_num(np.fmax(np.abs(low), np.abs(high)))
    return np.where(largest > 0, np.clip(np.frexp(largest)[1], -1000, 1000), -1000)


def _centre_and_variance(numbers: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (m_0 + m_1) / 2 and (v_0 + v_1) / 2 + (m_0 - m_1)^2 / 4 of the two samples."""
    means, variances = [], []
    for code in (0, 1):
        rows = numbers[codes == code]
        gaps = np.isnan(rows)
        has_gaps = bool(gaps.any())
        known = np.count_nonzero(~gaps, axis=0)
        if has_gaps:
            rows[gaps] = 0.0
        mean = rows.sum(axis=0) / np.maximum(known, 1)
        rows -= mean
        if has_gaps:
            rows[gaps] = 0.0
        variances.append(np.einsum("ij,ij->j", rows, rows) / np.maximum(known, 1))
        means.append(np.where(known > 0, mean, np.nan))
    means = [np.where(np.isnan(a), b, a) for a, b in (means, means[::-1])]
    centre = np.nan_to_num((means[0] + means[1]) / 2)
    return centre, sum(variances) / 2 + (means[0] - means[1]) ** 2 / 4


def _gap_value(low: np.ndarray, known: np.ndarray, n_rows: int) -> np.ndarray:
    """Return what trees see for a missing value: NaN, unless values are few."""
    few = (known < FEW_VALUES) & (known < n_rows)
    lowest = np.nan_to_num(low)
    with np.errstate(over="ignore"):
        below = np.maximum(lowest - np.maximum(np.abs(lowest), 1), np.finfo(float).min)
    return np.where(few, below, np.nan)


def _warn_of_numbers_as_text(table: Any, numeric: list[str]) -> None:
    """Warn of text that is read as numbers; refuse text in a frame that is no category."""
    parsed = numbers_as_text(table)
    names = [name for name in parsed if name in numeric]
    if names:
        message = numbers_meant(listed(names), "are read as numbers")
        warnings.warn(message, WeightWarning, stacklevel=users_line())
    for name, numbers in parsed.items() if is_frame(table) else ():
        if np.unique(numbers[numbers % 1 > 0]).size > MAX_DECIMAL_SHARE * numbers.size:
            raise TypeError(numbers_meant(f'"{name}"', "have decimals in nearly every row"))


def numbers_meant(names: str, what: str) -> str:
    """Return the message of WB104, about columns of text that should be numbers."""
    return (
        f"WB104 Got text in column {names}: its values are numbers in every row, and {what}. "
        "Convert it to float; pass codes in a data frame, with a letter in front."
    )


def _frequent_levels(text: np.ndarray) -> np.ndarray:
    """Return the levels that get a column of their own, sorted."""
    values, place = distinct_values(text)
    # Two texts may be one to NumPy, which drops trailing zero characters.
    levels, inverse = np.unique(_with_missing(values), return_inverse=True)
    counts = np.bincount(inverse[place], minlength=levels.size)
    by_count = np.argsort(-counts, kind="stable")[:MAX_LEVELS]
    # A handful of rows has no room for rare levels.
    least = min(RARE_ROWS, max(2, text.size // 10))
    frequent = by_count[counts[by_count] >= least]
    others = [_OTHERS] if frequent.size < levels.size else []
    return np.unique(np.append(levels[frequent], others).astype(str))


def _with_missing(text: np.ndarray) -> np.ndarray:
    return np.array([_MISSING if value is None else value for value in text], dtype=str)


def _level_codes(text: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return the index of each value's level; that of the others (or NaN) for unknown values."""
    distinct, places = distinct_values(text)
    values = _with_missing(distinct)
    level = np.minimum(np.searchsorted(levels, values), levels.size - 1)
    codes = level.astype(np.float64)
    others = np.flatnonzero(levels == _OTHERS)
    codes[levels[level] != values] = others[0] if others.size else np.nan
    return codes[places]


def finite_sparse(X: Any) -> Any:
    """Return a sparse table of float64; raise ValueError if a value is missing or infinite."""
    X = sp.csr_array(X, dtype=np.float64)
    if not np.isfinite(X.data).all():
        raise ValueError(
            "Got a sparse matrix with NaN or infinite values; a sparse table has no place for "
            "missing values. Impute them."
        )
    return X


def _diagonal(values: np.ndarray) -> Any:
    return sp.dia_array((values[None, :], [0]), shape=(values.size, values.size))


def refuse_infinite(numbers: np.ndarray, labels: list[str]) -> None:
    """Raise ValueError if a number is infinite, and name its column."""
    infinite = np.isinf(numbers).any(axis=0)
    if infinite.any():
        raise ValueError(
            f"Got infinity in column {labels[int(np.argmax(infinite))]!r}; replace it by a number, "
            "or by NaN if it is missing."
        )
