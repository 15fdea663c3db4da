"""The columns of two samples, side by side, and their sums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from weighbridge.blocks import Block, DaskRows, Rows, as_rows, is_blocks
from weighbridge.diagnostics._samples import in_memory, stretch_of, vector_rows
from weighbridge.diagnostics._sums import FeatureSums, RowWeights, number_sums, text_sums
from weighbridge.diagnostics._weights import check_weights
from weighbridge.ratios import check_rows, named_alike, stacked_table
from weighbridge.tables import (
    check_stretch,
    column_labels,
    gap_name,
    is_foreign,
    is_frame,
    read_columns,
    refuse_all_zero,
    to_numpy,
)


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


def paired_sums(
    X: Any, X_target: Any, weights: Any, target_weights: Any
) -> Iterator[tuple[FeatureSums, FeatureSums]]:
    """Yield the sums of each feature in the two samples, in memory or in blocks."""
    on_blocks = is_blocks(X) or is_blocks(X_target)
    return (_block_sums if on_blocks else _memory_sums)(X, X_target, weights, target_weights)


def _memory_sums(
    X: Any, X_target: Any, weights: Any, target_weights: Any
) -> Iterator[tuple[FeatureSums, FeatureSums]]:
    """Yield the sums of each feature in two samples in memory, which are one block each."""
    own: list[RowWeights | None] | None = None
    for feature in read_features(X, X_target):
        samples = (feature.source, feature.target)
        if own is None:  # the numbers of rows are known from the first column on
            first = ("weights", weights, feature.source.size)
            given = (first, ("target_weights", target_weights, feature.target.size))
            own = [w if w is None else RowWeights.of(check_weights(w, n, s)) for s, w, n in given]
        source, target = (
            number_sums(feature.name, values, each)
            if feature.levels is None
            else text_sums(feature.name, values, feature.levels, each)
            for values, each in zip(samples, own, strict=True)
        )
        yield source, target


def _block_sums(
    X: Any, X_target: Any, weights: Any, target_weights: Any
) -> Iterator[tuple[FeatureSums, FeatureSums]]:
    """Yield the sums of each feature in the two samples; one of them may be in memory."""
    rows, target = as_rows(X), as_rows(X_target)
    for name, part in (("X", rows), ("X_target", target)):
        check_rows(name, part)
    target = _with_columns_of(rows, target)
    sums = _feature_sums(rows, weights, "X", "weights")
    target_sums = _feature_sums(target, target_weights, "X_target", "target_weights")
    for each, other in zip(sums, target_sums, strict=True):
        if each.kind != other.kind and each.count and other.count:
            raise TypeError(
                f"Got column {each.name!r} as {each.kind} in X and as {other.kind} in X_target; "
                "it must be numbers in both, dates in both or text in both. Convert one."
            )
        yield each, other


def _with_columns_of(rows: Rows, target: Rows) -> Rows:
    """Return the target's rows with columns in the order of the source's; refuse other columns."""
    if (rows.names is None) != (target.names is None):
        with_names, without = ("X", "X_target") if target.names is None else ("X_target", "X")
        raise TypeError(
            f"Got {with_names} with column names and {without} without; columns cannot be "
            "matched. Pass both as data frames (or Parquet), or both as arrays."
        )
    if rows.names is None or target.names is None:
        if rows.n_columns != target.n_columns:
            raise ValueError(
                f"Got X with {rows.n_columns} columns and X_target with {target.n_columns}; both "
                "samples must have the same features in the same order."
            )
        return target
    return named_alike(rows, target)


def _feature_sums(rows: Rows, weights: Any, sample: str, weights_name: str) -> list[FeatureSums]:
    labels = tuple(map(str, range(rows.n_columns) if rows.names is None else rows.names))
    beside = []
    if is_blocks(weights):
        beside = [_beside_rows(weights, rows, weights_name)]
    elif weights is not None:
        beside = [check_weights(weights, rows.n_rows, weights_name)]
    sums: list[FeatureSums] = rows.sum(_SumsOfBlock(labels, sample, weights_name), *beside)
    mixed = {each.name: each.kind for each in sums if each.is_mixed}
    if mixed:
        # read once more, only to say where it is
        rows.sum(_KindsOfBlock(labels, mixed))
    if weights is not None:
        refuse_all_zero(sums[0].own.there + sums[0].own.missing, weights_name)
    return sums


def _beside_rows(vector: Any, rows: Rows, name: str) -> Any:
    """Return a vector in blocks as it can go along with rows; refuse another number of entries."""
    entries = vector_rows(vector, name)
    if entries.n_rows != rows.n_rows:
        raise ValueError(
            f"Got {name} of shape ({entries.n_rows},), but expected ({rows.n_rows},), one for each "
            "row."
        )
    # dask reads its own blocks only, and this process reads none of dask's
    both = isinstance(entries, DaskRows) == isinstance(rows, DaskRows)
    return entries if both else in_memory(entries, name)


@dataclass(frozen=True)
class _SumsOfBlock:
    """The sums of the features of a block, as a function that can be sent to where it lies."""

    labels: tuple[str, ...]
    sample: str
    weights_name: str

    def __call__(self, block: Block) -> list[FeatureSums]:
        weights = None
        if block.beside:
            weights = RowWeights.of(check_stretch(stretch_of(block.beside[0]), self.weights_name))
        found = []
        for label, column, kind in _columns_of(block, self.labels):
            if kind == "text":
                found.append(text_sums(label, *coded(column), weights))
                continue
            values = np.ascontiguousarray(column, dtype=np.float64)
            refuse_infinite_in(values, label, values.size if self.sample == "X" else 0)
            found.append(number_sums(label, values, weights, kind))
        return found


@dataclass(frozen=True)
class _KindsOfBlock:
    """Refuse a block whose columns are of other kinds than those of the blocks before."""

    labels: tuple[str, ...]
    kinds: dict[str, str]

    def __call__(self, block: Block) -> int:
        for label, column, kind in _columns_of(block, self.labels):
            wanted = self.kinds.get(label, kind)
            if kind == wanted:
                continue
            values = [value for value in column.tolist() if value is not None and value == value]
            if values:
                raise TypeError(
                    f"Got {kind} ({values[0]!r}) in column {label!r}, which holds {wanted} in the "
                    "blocks before; convert it."
                )
        return 0


def _columns_of(block: Block, labels: tuple[str, ...]) -> Iterator[tuple[str, np.ndarray, str]]:
    """Yield name, values and kind of the columns of a block."""
    table = to_numpy(block.table) if is_foreign(block.table) else block.table
    dates = _date_columns(table) if is_frame(table) else {}
    for label, column in zip(labels, table_columns(table), strict=True):
        kind = "text" if column.dtype == object else dates.get(label, "numbers")
        yield label, column, kind


def _date_columns(table: Any) -> dict[str, str]:
    import narwhals as nw

    kinds = {}
    for name, dtype in nw.from_native(table, eager_only=True).schema.items():
        if dtype in (nw.Datetime, nw.Date):
            kinds[name] = "dates"
        elif dtype == nw.Duration:
            kinds[name] = "durations"
    return kinds
