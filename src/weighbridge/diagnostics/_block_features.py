"""The features of two samples that come in blocks, summed up side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from weighbridge._namespace import is_foreign, to_numpy
from weighbridge._validation import is_frame
from weighbridge.blocks import Block, Rows, as_rows, is_blocks
from weighbridge.diagnostics._feature_sums import FeatureSums, number_sums, text_sums
from weighbridge.diagnostics._features import coded, refuse_infinite_in, table_columns
from weighbridge.diagnostics._moments import RowWeights
from weighbridge.diagnostics._vectors import beside_rows, stretch_of
from weighbridge.diagnostics._weight_checks import check_stretch, refuse_all_zero
from weighbridge.diagnostics._weights import check_weights
from weighbridge.ratios import check_rows
from weighbridge.ratios._fit_ratio import named_alike


def block_features(
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
            f"Got {with_names} with names of columns and {without} without; columns cannot be "
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
        beside = [beside_rows(weights, rows, weights_name)]
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
