"""Weights and predictions for every row of a table, where the rows are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weighbridge._tables import features_of
from weighbridge.engines import is_engine_table, with_column
from weighbridge.ratios import RATIOS, source_log_ratio
from weighbridge.verdict import weighting_of
from weighbridge.weighting import Geodesic, log_mean


@dataclass(frozen=True)
class TableWeights:
    """The weight of each row of a data frame, as the training rows were weighted.

    `log_scale` and `log_mean_weight` are the logarithms of the mean ratio and, after division by
    that, of the mean weight of the training rows.
    """

    ratio: Any
    kinds: dict[str, str]
    ratio_column: str | None
    label: str
    classes: np.ndarray | None
    weighting: Geodesic
    log_scale: float
    log_mean_weight: float

    def __call__(self, table: Any) -> np.ndarray:
        """Return one weight for each row."""
        log_ratio = self._log_ratio(table) - self.log_scale
        return np.asarray(np.exp(self.weighting(log_ratio) - self.log_mean_weight))

    def _log_ratio(self, table: Any) -> np.ndarray:
        if self.ratio_column is not None:
            values = features_of(table, {self.ratio_column: "numeric"})[self.ratio_column]
            with np.errstate(divide="ignore"):
                return np.log(values.to_numpy())
        rows = features_of(table, self.kinds)
        return source_log_ratio(self.ratio, rows, None, self._labels(table))

    def _labels(self, table: Any) -> np.ndarray | None:
        """Return the labels of a table if the ratio is one in the label."""
        if self.classes is None or not hasattr(self.ratio, "score_labels"):
            return None
        is_number = self.classes.dtype.kind in "iu"
        kind = "numeric" if is_number else "category"
        column = features_of(table, {self.label: kind})[self.label]
        if column.isna().any():
            raise ValueError(
                f"{int(column.isna().sum())} of {len(column)} rows have no {self.label!r}, which "
                "their weight depends on, because class prevalences changed. Leave these rows out."
            )
        return column.to_numpy().astype(np.int64 if is_number else str)


def table_weights(result: Any) -> TableWeights:
    """Return the weights of the candidate in use as a function of a data frame."""
    weighting = weighting_of(result.verdict.candidate(result.verdict.use).model)
    is_column = result.ratio in result.pair.X.columns
    return TableWeights(
        ratio=result.verdict._diagnosis.ratio,
        kinds=dict(result.kinds),
        ratio_column=result.ratio if is_column and result.ratio not in RATIOS else None,
        label=result.settings.label,
        classes=np.unique(result.pair.y) if result.task == "classification" else None,
        weighting=weighting,
        log_scale=result.log_scale,
        log_mean_weight=float(log_mean(weighting(result.log_ratio), result.pair.weight)),
    )


def add_column(table: Any, name: str, function: Callable[[Any], np.ndarray]) -> Any:
    """Return the same kind of table with one more column, made from its rows by a function."""
    if is_engine_table(table):
        return with_column(table, name, function)
    import narwhals as nw

    frame = nw.from_native(table, eager_only=True)
    if name in frame.columns:
        raise ValueError(
            f"The table already has a column {name!r}. Choose another name, e.g. "
            f"name={f'{name}_2'!r}."
        )
    values, dtype = (function(table).tolist(), None) if len(frame) else ([], nw.Float64)
    column = nw.new_series(name, values, dtype, backend=frame.implementation)
    if hasattr(table, "index"):
        column = nw.from_native(nw.to_native(column).set_axis(table.index), series_only=True)
    return frame.with_columns(column).to_native()
