"""The columns of two samples, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from weighbridge.tables import column_labels, gap_name, read_columns, stacked_table


@dataclass(frozen=True)
class Feature:
    """One column of both samples: numbers with NaN, or numbers of levels with -1 for missing."""

    name: str
    source: np.ndarray
    target: np.ndarray
    levels: tuple[str, ...] | None
    gap_name: str = ""

    def missing(self) -> tuple[np.ndarray, np.ndarray]:
        """Mark the missing values of the two samples."""
        if self.levels is None:
            return np.isnan(self.source), np.isnan(self.target)
        return self.source < 0, self.target < 0


def read_features(X: Any, X_target: Any) -> Iterator[Feature]:
    """Yield the columns of two samples of any kind, aligned and checked."""
    return features_of(*stacked_table(X, X_target))


def features_of(stacked: Any, codes: np.ndarray) -> Iterator[Feature]:
    """Yield the columns of two samples that lie on top of each other."""
    n_source = int(np.sum(codes == 0))
    labels = column_labels(stacked)
    for label, column in zip(labels, table_columns(stacked), strict=True):
        levels = None
        if column.dtype == object:
            column, levels = coded(column)
        else:
            column = np.ascontiguousarray(column, dtype=np.float64)
            refuse_infinite_in(column, label, n_source)
        name = gap_name(label, labels)
        yield Feature(label, column[:n_source], column[n_source:], levels, name)


def table_columns(table: Any) -> Iterable[np.ndarray]:
    """Return the columns of any table; those of a sparse one when their turn comes."""
    if not sp.issparse(table):
        return read_columns(table)
    by_column = sp.csc_array(table)
    return (by_column[:, [j]].toarray().ravel() for j in range(by_column.shape[1]))


def refuse_infinite_in(column: np.ndarray, label: str, n_source: int) -> None:
    """Refuse infinite numbers in one column, whose first rows are those of the source."""
    infinite = np.isinf(column)
    if infinite.any():
        sample = "X" if infinite[:n_source].any() else "X_target"
        raise ValueError(
            f"Got infinite values in column {label!r} of {sample}; replace them by numbers, or by "
            "NaN if they are missing."
        )


def coded(text: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the place of each value among the sorted levels, -1 for a missing one."""
    place: dict[Any, int] = {}
    first = np.fromiter((place.setdefault(value, len(place)) for value in text), int, text.size)
    levels = sorted(level for level in place if level is not None)
    rank = {level: number for number, level in enumerate(levels)}
    codes = np.array([rank.get(level, -1) for level in place], dtype=np.intp)
    return codes[first], tuple(levels)
