"""From any table to standardised numbers: gaps, categories, scales."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning

from weighbridge._findings import listed, users_line
from weighbridge.blocks import ArrayRows, Block, Rows
from weighbridge.tables import (
    RowKeys,
    array_namespace,
    column_labels,
    distinct_values,
    is_foreign,
    is_frame,
    is_numeric_array,
    numbers_as_text,
    read_columns,
    take_rows,
    text_as_number,
    to_numpy,
)

# Texts of one column that are counted one by one.
MOST_LEVELS = 200_000
# What rare levels are called together.
OTHERS = "\0others"


@dataclass(frozen=True)
class ColumnSums:
    """What is known of the columns of some rows; it can be added to that of others."""

    n: int
    known: np.ndarray
    low: np.ndarray
    high: np.ndarray
    exponent: np.ndarray
    mean: np.ndarray
    square: np.ndarray
    levels: list[Counter[Any]] = field(default_factory=list)
    few: list[np.ndarray] = field(default_factory=list)

    def __add__(self, other: ColumnSums) -> ColumnSums:
        exponent = np.maximum(self.exponent, other.exponent)
        (mean, square), (mean_other, square_other) = (part._at(exponent) for part in (self, other))
        known = self.known + other.known
        share = other.known / np.maximum(known, 1)
        gap = mean_other - mean
        return ColumnSums(
            self.n + other.n,
            known,
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
            exponent,
            mean + share * gap,
            square + square_other + gap**2 * self.known * share,
            [_fewer(a + b) for a, b in zip(self.levels, other.levels, strict=True)],
            self.few + other.few,
        )

    def _at(self, exponent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and squares under another, larger exponent."""
        down = self.exponent - exponent
        return np.ldexp(self.mean, down), np.ldexp(self.square, 2 * down)


def _fewer(levels: Counter[Any]) -> Counter[Any]:
    """Keep the more frequent half of too many levels; the others are counted together."""
    if len(levels) <= MOST_LEVELS:
        return levels
    kept = Counter(dict(levels.most_common(MOST_LEVELS // 2)))
    kept[OTHERS] += levels.total() - kept.total()
    return kept


def column_sums(numbers: np.ndarray) -> ColumnSums:
    """Sum up the columns of a matrix in which NaN is a missing value."""
    gaps = np.isnan(numbers)
    gappy = bool(gaps.any())
    low, high = (find.reduce(numbers, axis=0, initial=np.nan) for find in (np.fmin, np.fmax))
    exponent = _exponent(low, high)
    near_one = np.ldexp(numbers, -exponent)
    known = np.full(numbers.shape[1], float(len(numbers)))
    if gappy:
        known = (~gaps).sum(axis=0).astype(float)
        near_one[gaps] = 0.0
    mean = near_one.sum(axis=0) / np.maximum(known, 1)
    near_one -= mean
    if gappy:
        near_one[gaps] = 0.0
    square = np.einsum("ij,ij->j", near_one, near_one)
    return ColumnSums(len(numbers), known, low, high, exponent, mean, square)


def device_sums(X: Any) -> ColumnSums:
    """Sum up the columns of an array of another library, without gaps, on its device."""
    xp = array_namespace(X)
    n = int(X.shape[0])
    low, high = to_numpy(xp.min(X, axis=0)), to_numpy(xp.max(X, axis=0))
    exponent = _exponent(low, high)
    scale = xp.asarray(np.ldexp(1.0, -exponent), device=X.device)
    near_one = X * scale
    mean = xp.mean(near_one, axis=0)
    square = to_numpy(xp.sum((near_one - mean) ** 2, axis=0))
    known = np.full(low.size, float(n))
    return ColumnSums(n, known, low, high, exponent, to_numpy(mean), square)


def _exponent(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    largest = np.nan_to_num(np.fmax(np.abs(low), np.abs(high)))
    # zeros and gaps have no size; they leave that of other rows as it is
    return np.where(largest > 0, np.clip(np.frexp(largest)[1], -1000, 1000), -1000)


def centre_and_variance(source: ColumnSums, target: ColumnSums) -> tuple[np.ndarray, ...]:
    """Return exponents, and centres and variances under them; both samples count alike."""
    exponent = np.maximum(source.exponent, target.exponent)
    means, squares = [], []
    for sums in (source, target):
        mean, square = sums._at(exponent)
        means.append(np.where(sums.known > 0, mean, np.nan))
        squares.append(square / np.maximum(sums.known, 1))
    means = [np.where(np.isnan(a), b, a) for a, b in (means, means[::-1])]
    centre = np.nan_to_num((means[0] + means[1]) / 2)
    variance = (squares[0] + squares[1]) / 2 + (means[0] - means[1]) ** 2 / 4
    return exponent, centre, variance


def target_is_lower(source: ColumnSums, target: ColumnSums) -> bool:
    """Tell which sample lies lower, in any units: it says nothing but which is which."""
    low, high = np.fmin(source.low, target.low), np.fmax(source.high, target.high)
    varies = low < high
    width = np.where(varies, high / 2 - low / 2, 1.0)
    places = [
        np.where(varies, (np.ldexp(s.mean, s.exponent) / 2 - low / 2) / width, 0.0).sum()
        for s in (source, target)
    ]
    return bool(places[1] < places[0])


# Categories rarer than this share one level; so do those beyond the most frequent ones.
RARE = 5
MAX_LEVELS = 50
# A column whose standard deviation exceeds its quartile range so far is its outliers alone.
MAX_SPREAD = 1e8
# Trees find no threshold in a column without a value, which a fold may be left with.
FEW_VALUES = 20
# Rows from which the quartiles of a column are guessed.
FEW_ROWS = 2000
# Text with decimals that differ in more than this share of the rows is no category.
MOST = 0.9


class TableEncoder:
    """Numbers from a table, the same way at every call."""

    sparse_centre: Any = None  # what is not subtracted from sparse rows, which would fill them

    def fit(self, X: Any, codes: np.ndarray) -> TableEncoder:
        """Learn scales and levels from the rows of both samples (codes 0 and 1)."""
        if sp.issparse(X):
            self.sparse, self.labels = True, column_labels(X)
            self.is_text = [False] * len(self.labels)
            return self._fit_sparse(finite_sparse(X), codes)
        source, target = (
            ArrayRows(take_rows(X, np.flatnonzero(codes == code)), whole=True) for code in (0, 1)
        )
        return self.fit_rows(source, target)

    def fit_rows(self, source: Rows, target: Rows) -> TableEncoder:
        """Learn scales and levels from two samples in blocks, in one pass over each."""
        self.sparse = False
        self.labels = source.names or [str(j) for j in range(source.n_columns)]
        self._learn_kinds(source, target)
        step = max(1, (source.n_rows + target.n_rows) // FEW_ROWS)
        sums = [rows.sum(partial(_summary, self, step)) for rows in (source, target)]
        both = sums[0] + sums[1]
        self.low, self.high = both.low, both.high
        self.target_is_lower = target_is_lower(*sums)
        # a column without any value has nothing to mark
        self.gappy = (both.known < both.n) & (both.known > 0)
        self.gap_value = _gap_value(both)
        exponent, self.centre, variance = centre_and_variance(*sums)
        self.halved = np.ldexp(1.0, -exponent)
        constant = ~(both.low < both.high)
        deviation = np.sqrt(np.where(constant, 1.0, variance))
        self._refuse_outliers(np.concatenate(both.few), np.where(constant, 0.0, deviation))
        self.scale = np.where(constant, 0.0, 1 / deviation)
        self.varies = self.scale > 0
        self.levels = [_frequent_levels(counts, both.n) for counts in both.levels]
        return self

    def _fit_sparse(self, X: Any, codes: np.ndarray) -> TableEncoder:
        self.low, self.high = (part.toarray().ravel() for part in (X.min(axis=0), X.max(axis=0)))
        near_one = np.ldexp(1.0, -_exponent(self.low, self.high))
        X = X @ _diagonal(near_one)
        moments = []
        for code in (0, 1):
            part = X[codes == code]
            mean = np.asarray(part.mean(axis=0)).ravel()
            moments.append((mean, np.asarray(part.multiply(part).mean(axis=0)).ravel() - mean**2))
        (mean_s, var_s), (mean_t, var_t) = moments
        variance = np.maximum((var_s + var_t) / 2, 0) + (mean_s - mean_t) ** 2 / 4
        varies = variance > 1e-12 * np.maximum(mean_s**2, mean_t**2)
        scale = np.where(varies, 1 / np.sqrt(np.where(varies, variance, 1.0)), 0.0)
        self.scale, self.sparse_centre = near_one * scale, (mean_s + mean_t) / 2 * scale
        width = (self.high / 2 - self.low / 2) * near_one
        gap = np.where(varies, (mean_t - mean_s) / np.where(varies, width, 1.0), 0.0)
        self.target_is_lower = bool(gap.sum() < 0)
        return self

    def _learn_kinds(self, source: Rows, target: Rows) -> None:
        """Find out which columns are text; named ones go by their names: trees go by place."""
        self.is_text = [False] * len(self.labels)
        if not (source.numeric and target.numeric):
            texts = source.sum(_text_columns) + target.sum(_text_columns)
            self.is_text = [bool(blocks) for blocks in texts]
            if isinstance(source, ArrayRows):
                labels = zip(self.labels, self.is_text, strict=True)
                _tell_numbers_as_text(source.table, [n for n, text in labels if not text])
        by_name = source.names is not None
        self.order = np.argsort(self.labels) if by_name else np.arange(len(self.labels))
        self.number_labels = [self.labels[j] for j in self.order if not self.is_text[j]]

    def numbers(self, X: Any) -> Any:
        """Return the rows as standardised numbers without gaps."""
        if self.sparse:
            return finite_sparse(X) @ _diagonal(self.scale)
        return self._encoded(*self.split(X))

    def numbers_and_keys(self, X: Any, row_keys: RowKeys) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows as numbers, and the keys of what they hold."""
        if self.sparse:
            return self.numbers(X), row_keys(finite_sparse(X).toarray())
        numbers, texts = self.split(X)
        keys = row_keys(numbers, *(text_as_number(text) for text in texts))
        return self._encoded(numbers, texts), keys

    def _encoded(self, numbers: np.ndarray, texts: list[np.ndarray]) -> np.ndarray:
        gaps = np.isnan(numbers)
        with np.errstate(invalid="ignore", over="ignore"):
            standard = numbers * self.halved
            standard -= self.centre
            standard *= self.scale
        standard[gaps] = 0.0
        # kernels of rows this far away are 0; squares stay finite
        np.clip(standard, -1e100, 1e100, out=standard)
        if not texts and self.varies.all() and not self.gappy.any() and standard.shape[1]:
            return standard
        blocks = [standard[:, self.varies], gaps[:, self.gappy].astype(np.float64)]
        encoded = np.hstack([*blocks, *self._one_hot(texts)])
        return encoded if encoded.shape[1] else np.zeros((numbers.shape[0], 1))

    def for_trees(self, X: Any) -> np.ndarray:
        """Return numbers as they are, with NaN, then a code for each category; trees take both."""
        numbers, texts = self.split(X)
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

    def split(self, X: Any) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the numbers as one matrix and the text columns."""
        if sp.issparse(X):
            X = finite_sparse(X).toarray()
        if is_numeric_array(X) and not any(self.is_text):
            X = np.asarray(X, dtype=np.float64)[:, self.order]  # a frame in fit, its numbers now
            refuse_infinite(X, self.number_labels)
            return X, []
        columns = read_columns(X, self.is_text)
        places = [j for j in self.order if not self.is_text[j]]
        numbers = np.empty((X.shape[0], len(places)))
        for k, j in enumerate(places):
            numbers[:, k] = columns[j]
        refuse_infinite(numbers, self.number_labels)
        return numbers, [columns[j] for j in self.order if self.is_text[j]]

    def _refuse_outliers(self, few: np.ndarray, deviation: np.ndarray) -> None:
        suspect = np.flatnonzero(deviation > 0)
        few = (few * self.halved)[:, suspect]
        few = np.where(np.isnan(few).all(axis=0), 0.0, few)
        # the one that knows gaps goes through the columns one by one
        quartiles = np.nanpercentile if np.isnan(few).any() else np.percentile
        low, high = quartiles(few, [25, 75], axis=0) if suspect.size else (0.0, 0.0)
        width = np.asarray(high - low)
        bad = suspect[(width > 0) & (deviation[suspect] > MAX_SPREAD * width)]
        if bad.size:
            label = self.number_labels[bad[0]]
            raise ValueError(
                f"Column {label!r} holds values so far from its others that these cannot be told "
                "apart next to them (standard deviation over quartile range exceeds 1e8). Remove "
                "or correct the extreme values, or take logarithms."
            )

    def _one_hot(self, texts: list[np.ndarray]) -> list[np.ndarray]:
        blocks = []
        for text, levels in zip(texts, self.levels, strict=True):
            codes = _level_codes(text, levels)
            blocks.append((codes[:, None] == np.arange(levels.size)).astype(np.float64))
        return blocks


def _summary(encoder: TableEncoder, step: int, block: Block) -> ColumnSums:
    """Return what an encoder learns from a block; one row in so many is kept as it is."""
    numbers, texts = encoder.split(block.table)
    levels = [Counter(text.tolist()) for text in texts]
    # a copy: a view would keep the whole block in memory
    few = numbers[-block.start % step :: step].copy()
    return replace(column_sums(numbers), levels=levels, few=[few])


def _text_columns(block: Block) -> np.ndarray:
    """Mark the columns that are text in a block."""
    return np.array([int(column.dtype == object) for column in read_columns(block.table)])


def _tell_numbers_as_text(table: Any, read: list[str]) -> None:
    """Warn of text in an array that is read as numbers; refuse a frame's that is no category."""
    found = numbers_as_text(table)
    names = [name for name in found if name in read]
    if names:
        message = numbers_meant(listed(names), "are read as numbers")
        warnings.warn(message, DataConversionWarning, stacklevel=users_line())
    for name, numbers in found.items() if is_frame(table) else ():
        if np.unique(numbers[numbers % 1 > 0]).size > MOST * numbers.size:
            raise TypeError(numbers_meant(f'"{name}"', "have decimals in nearly every row"))


def numbers_meant(names: str, what: str) -> str:
    """Say that columns are text, and should be numbers."""
    return (
        f"WB104 Got text in column {names}: its values are numbers in every row, and {what}. "
        "Convert it to float; pass codes in a data frame, with a letter in front."
    )


def _gap_value(sums: ColumnSums) -> np.ndarray:
    """Return for each column what trees see for a missing value: NaN, unless values are few."""
    few = (sums.known < FEW_VALUES) & (sums.known < sums.n)
    lowest = np.nan_to_num(sums.low)
    with np.errstate(over="ignore"):
        below = np.maximum(lowest - np.maximum(np.abs(lowest), 1), np.finfo(float).min)
    return np.where(few, below, np.nan)


# Levels of one column: what a missing value and a rare level are called there.
_MISSING, _OTHERS = "\0missing", OTHERS


def _frequent_levels(counted: Counter[Any], n: int) -> np.ndarray:
    """Return the levels that have a column of their own, sorted."""
    # two texts may be one to NumPy, which drops trailing zero characters
    names = _with_missing(np.array([*counted, None], dtype=object)[:-1])
    levels, inverse = np.unique(names, return_inverse=True)
    counts = np.bincount(inverse, weights=list(counted.values()), minlength=levels.size)
    by_count = np.argsort(-counts, kind="stable")[:MAX_LEVELS]
    least = min(RARE, max(2, n // 10))  # a handful of rows has no room for rare levels
    kept = by_count[counts[by_count] >= least]
    others = [_OTHERS] if kept.size < levels.size else []
    return np.unique(np.append(levels[kept], others).astype(str))


def _with_missing(text: np.ndarray) -> np.ndarray:
    return np.array([_MISSING if value is None else value for value in text], dtype=str)


def _level_codes(text: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return the number of each value's level, that of the others (or NaN) for unknown ones."""
    distinct, places = distinct_values(text)
    values = _with_missing(distinct)
    level = np.minimum(np.searchsorted(levels, values), levels.size - 1)
    codes = level.astype(np.float64)
    others = np.flatnonzero(levels == _OTHERS)
    codes[levels[level] != values] = others[0] if others.size else np.nan
    return codes[places]


def finite_sparse(X: Any) -> Any:
    """Return a sparse table as numbers; refuse gaps."""
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
    """Refuse infinite numbers, by the name of their column."""
    infinite = np.isinf(numbers).any(axis=0)
    if infinite.any():
        raise ValueError(
            f"Got infinity in column {labels[int(np.argmax(infinite))]!r}; replace it by a number, "
            "or by NaN if it is missing."
        )


class ArrayEncoder:
    """What `TableEncoder` does, for an array without gaps."""

    def fit_rows(self, source: Rows, target: Rows) -> ArrayEncoder:
        """Learn means and scales from two samples in blocks."""
        sums = [rows.sum(_device_sums) for rows in (source, target)]
        both = sums[0] + sums[1]
        self.low, self.high = both.low, both.high
        self.target_is_lower = target_is_lower(*sums)
        exponent, centre, variance = centre_and_variance(*sums)
        constant = ~(both.low < both.high)
        deviation = np.sqrt(np.where(constant, 1.0, variance))
        self.centre = np.ldexp(centre, exponent)
        self.scale = np.where(constant, 0.0, np.ldexp(1 / deviation, -exponent))
        return self

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.scale.shape[0])

    def numbers(self, X: Any) -> Any:
        """Return the rows as standardised numbers."""
        xp, device = array_namespace(X), X.device
        centre, scale = (xp.asarray(part, device=device) for part in (self.centre, self.scale))
        return (X - centre) * scale

    def numbers_and_keys(self, X: Any, row_keys: RowKeys) -> tuple[Any, Any]:
        """Return the rows as standardised numbers, and their keys."""
        return self.numbers(X), row_keys(X)


def _device_sums(block: Block) -> ColumnSums:
    return device_sums(checked_array(block.table, "a density ratio"))


def checked_array(X: Any, name: str) -> Any:
    """Return an array of another library as float64, or say what is wrong with it."""
    xp = array_namespace(X)
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: rows are samples, columns are "
            "features. Reshape one feature to (-1, 1)."
        )
    X = xp.astype(X, xp.float64)
    if not bool(xp.all(xp.isfinite(X))):
        raise ValueError(
            f"Got NaN or infinite values in a {type(X).__name__}; {name} takes missing values from "
            "NumPy arrays and data frames only."
        )
    return X


def encoder_of(source: Rows, target: Rows) -> TableEncoder | ArrayEncoder:
    """Return an encoder, fitted to two samples in blocks."""
    foreign = isinstance(source, ArrayRows) and is_foreign(source.table)
    return (ArrayEncoder() if foreign else TableEncoder()).fit_rows(source, target)
