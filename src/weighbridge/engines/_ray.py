"""Datasets of Ray."""

from typing import Any

import pandas as pd
import pyarrow as pa
from ray.data import Dataset

from weighbridge._folds import one_blas_thread
from weighbridge.engines._arrow import BLOCK_ROWS
from weighbridge.engines._blocks import HEAD_ROWS, NewColumn, naming_failures, to_frame


def count_rows(table: Dataset) -> int:
    return table.count()


def with_value(table: Any, name: str) -> Any:
    return table.map_batches(lambda rows: rows.dropna(subset=[name]), batch_format="pandas")


def draw(table: Dataset, fraction: float, seed: int) -> pd.DataFrame:
    table = table if fraction == 1 else table.random_sample(fraction, seed=seed)
    with naming_failures("Ray could not compute the dataset"):
        blocks = list(table.iter_batches(batch_format="pyarrow", batch_size=None))
    return to_frame(pa.concat_tables(blocks or [pa.table({})], promote_options="permissive"))


def with_column(table: Dataset, column: NewColumn) -> Dataset:
    column.values(draw(table.limit(HEAD_ROWS), 1, 0), "the first rows")
    return table.map_batches(
        _append, fn_args=(column,), batch_format="pyarrow", batch_size=BLOCK_ROWS
    )


def _append(block: pa.Table, column: NewColumn) -> pa.Table:
    first_row = block.slice(0, 1).to_pylist()  # Ray does not number its blocks.
    with one_blas_thread():
        return column.append_to(block, f"the block that starts with {first_row}")
