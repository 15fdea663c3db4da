"""The columns of two samples, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from weighbridge._namespace import is_foreign, to_numpy
from weighbridge.ratios._columns import column_labels, read_columns
from weighbridge.ratios._fit_ratio import stack_samples


@dataclass(frozen=True)
class Feature:
    """One column of both samples: numbers with NaN, or numbers of levels with -1 for missing."""

    name: str
    source: np.ndarray
    target: np.ndarray
    levels: tuple[str, ...] | None

    def missing(self) -> tuple[np.ndarray, np.ndarray]:
        """Mark the missing values of the two samples."""
        if self.levels is None:
            return np.isnan(self.source), np.isnan(self.target)
        return self.source < 0, self.target < 0


def read_features(X: Any, X_target: Any) -> Iterator[Feature]:
    """Yield the columns of two samples of any kind, aligned and checked."""
    stacked, domain = stack_samples(X, X_target)
    if is_foreign(stacked):
        stacked = to_numpy(stacked)
    n_source = int(np.sum(domain == 0))
    if sp.issparse(stacked):
        by_column = sp.csc_array(stacked)
        columns: Any = (by_column[:, [j]].toarray().ravel() for j in range(stacked.shape[1]))
    else:
        columns = read_columns(stacked)
    for label, column in zip(column_labels(stacked), columns, strict=True):
        levels = None
        if column.dtype == object:
            column, levels = _coded(column)
        else:
            column = np.ascontiguousarray(column, dtype=np.float64)
            if np.isinf(column).any():
                raise ValueError(
                    f"Got infinite values in column {label!r}; replace them by numbers, or by NaN "
                    "if they are missing."
                )
        yield Feature(label, column[:n_source], column[n_source:], levels)


def _coded(text: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the place of each value among the sorted levels, -1 for a missing one."""
    place: dict[Any, int] = {}
    first = np.fromiter((place.setdefault(value, len(place)) for value in text), int, text.size)
    levels = sorted(level for level in place if level is not None)
    rank = {level: number for number, level in enumerate(levels)}
    return np.array([rank.get(level, -1) for level in place])[first], tuple(levels)
