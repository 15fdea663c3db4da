"""The columns and rows of two samples, matched, checked and next to each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from weighbridge.tables import (
    FEWEST_ROWS,
    check_sample_weight,
    column_labels,
    gap_name,
    read_columns,
    refuse_missing,
    stacked_table,
    take_rows,
    target_like_source,
)

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Feature:
    """One column of both samples: numbers with NaN, or codes of levels with -1 if missing."""

    name: str
    source: Array
    target: Array
    levels: tuple[str, ...] | None
    gap_name: str = ""

    def missing(self) -> tuple[Array, Array]:
        """Return the indicators of missing values in both samples."""
        if self.levels is None:
            return np.isnan(self.source), np.isnan(self.target)
        return self.source < 0, self.target < 0


def read_features(X: Any, X_target: Any) -> Iterator[Feature]:
    """Yield the columns of two samples of any kind, aligned and checked."""
    return stacked_features(*stacked_table(X, X_target))


def stacked_features(stacked: Any, codes: Array) -> Iterator[Feature]:
    """Yield the columns of two samples that were stacked."""
    n_source = int(np.sum(codes == 0))
    labels = column_labels(stacked)
    for label, column in zip(labels, table_columns(stacked), strict=True):
        levels = None
        if column.dtype == object:
            column, levels = _level_codes(column)
        else:
            column = np.ascontiguousarray(column, dtype=np.float64)
            _refuse_infinite_column(column, label, n_source)
        name = gap_name(label, labels)
        yield Feature(label, column[:n_source], column[n_source:], levels, name)


def table_columns(table: Any) -> Iterable[Array]:
    """Return the columns of any table; those of a sparse table are converted one by one."""
    if not sp.issparse(table):
        return read_columns(table)
    by_column = sp.csc_array(table)
    return (by_column[:, [j]].toarray().ravel() for j in range(by_column.shape[1]))


def refuse_infinite_values(stacked: Any, codes: Array) -> None:
    """Raise ValueError if a number is infinite; name its column and its sample."""
    n_source = int(np.sum(codes == 0))
    for label, column in zip(column_labels(stacked), table_columns(stacked), strict=True):
        if column.dtype != object:
            _refuse_infinite_column(column, label, n_source)


def _refuse_infinite_column(column: Array, label: str, n_source: int) -> None:
    infinite = np.isinf(column)
    if infinite.any():
        sample = "X" if infinite[:n_source].any() else "X_target"
        raise ValueError(
            f"Got infinite values in column {label!r} of {sample}; replace them by numbers, or by "
            "NaN if they are missing."
        )


def _level_codes(text: Array) -> tuple[Array, tuple[str, ...]]:
    """Return the index of each value among the sorted levels, -1 if missing, and the levels."""
    index: dict[Any, int] = {}
    first = np.fromiter((index.setdefault(value, len(index)) for value in text), int, text.size)
    levels = sorted(level for level in index if level is not None)
    rank = {level: code for code, level in enumerate(levels)}
    codes = np.array([rank.get(level, -1) for level in index], dtype=np.intp)
    return codes[first], tuple(levels)


@dataclass(frozen=True)
class Samples:
    """Source rows of positive weight and target rows, with their columns in one order."""

    X: Any
    X_target: Any
    y: Any
    sample_weight: Array | None
    stacked: Any
    codes: Array


def read_samples(X: Any, X_target: Any, y: Any = None, sample_weight: Any = None) -> Samples:
    """Match the columns and drop rows of weight 0; refuse few rows and missing labels."""
    stacked, codes = stacked_table(X, X_target)
    X_target = target_like_source(X, X_target)
    n_source = int(np.sum(codes == 0))
    sample_weight = check_sample_weight(sample_weight, n_source)
    if sample_weight is not None and not sample_weight.all():
        used = np.flatnonzero(sample_weight)
        X, sample_weight = _rows(X, used), sample_weight[used]
        if y is not None and np.shape(y)[:1] == (n_source,):
            y = _rows(y, used)
        stacked, codes = stacked_table(X, X_target)
    for name, n_rows in zip(("X", "X_target"), np.bincount(codes), strict=True):
        if n_rows < FEWEST_ROWS:
            counted = " that count" if name == "X" and sample_weight is not None else ""
            raise ValueError(
                f"Got {n_rows} rows{counted} in {name}; at least {FEWEST_ROWS} are needed to say "
                "anything about a shift. Collect more rows; target rows need no labels."
            )
    if y is not None:
        refuse_missing(y)
    return Samples(X, X_target, y, sample_weight, stacked, codes)


def _rows(values: Any, rows: Array) -> Any:
    """Return some rows of a table or of labels of any type."""
    if isinstance(values, list | tuple):
        return [values[row] for row in rows]
    return take_rows(sp.csr_array(values) if sp.issparse(values) else values, rows)


def in_a_sentence(name: str) -> str:
    """Return the name of a feature in a sentence: "column 0" for a column of an array."""
    return f"column {name}" if name.isdigit() else name


def listed(names: Sequence[str], most: int = 3) -> str:
    """Return the first names, and how many more there are."""
    shown = [in_a_sentence(name) for name in names[:most]]
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    return ", ".join(shown)
