"""The columns of two samples, one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from weighbridge.tables._columns import column_labels, distinct_values, gap_name, read_columns
from weighbridge.tables._stack_samples import stacked_table


@dataclass(frozen=True)
class Feature:
    """One column of both samples: numbers with NaN, or indices of `levels` with -1 if missing."""

    name: str
    source: np.ndarray
    target: np.ndarray
    levels: tuple[str, ...] | None
    gap_name: str = ""

    def missing(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the indicators of missing values in both samples."""
        if self.levels is None:
            return np.isnan(self.source), np.isnan(self.target)
        return self.source < 0, self.target < 0


def read_features(X: ArrayLike, X_target: ArrayLike) -> Iterator[Feature]:
    """Yield the columns of two samples of any kind, aligned and checked."""
    return stacked_features(*stacked_table(X, X_target))


def stacked_features(stacked: Any, codes: np.ndarray) -> Iterator[Feature]:
    """Yield the columns of a table that has the source rows first."""
    n_source, labels = int(np.sum(codes == 0)), column_labels(stacked)
    for label, column in zip(labels, _columns(stacked), strict=True):
        levels = None
        if column.dtype == object:
            column, levels = _level_indices(column)
        column = np.ascontiguousarray(column)
        source, target = column[:n_source], column[n_source:]
        if levels is None and np.isinf(column).any():
            sample = "X" if np.isinf(source).any() else "X_target"
            raise ValueError(
                f"Got infinite values in column {label!r} of {sample}; replace them by numbers, or "
                "by NaN if they are missing."
            )
        yield Feature(label, source, target, levels, gap_name(label, labels))


def _columns(table: Any) -> Iterable[np.ndarray]:
    if not sp.issparse(table):
        return read_columns(table)
    by_column = sp.csc_array(table, dtype=np.float64)
    return (by_column[:, [j]].toarray().ravel() for j in range(by_column.shape[1]))


def _level_indices(text: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    distinct, indices = distinct_values(text)
    levels = sorted(value for value in distinct if value is not None)
    rank = {None: -1} | {level: index for index, level in enumerate(levels)}
    return np.array([rank[value] for value in distinct], dtype=np.intp)[indices], tuple(levels)
