"""Datasets of Ray."""

import pandas as pd
import pyarrow as pa
from ray.data import Dataset

from weighbridge._folds import one_blas_thread
from weighbridge.engines._blocks import HEAD_ROWS, NewColumn, combine

count_rows = Dataset.count


def draw(table: Dataset, fraction: float, seed: int) -> pd.DataFrame:
    rows = table.random_sample(fraction, seed=seed)
    return combine(rows.iter_batches(batch_format="pyarrow", batch_size=None))


def with_column(table: Dataset, column: NewColumn) -> Dataset:
    column.values(draw(table.limit(HEAD_ROWS), 1, 0), "the first rows")
    return table.map_batches(_append, fn_args=(column,), batch_format="pyarrow")


def _append(block: pa.Table, column: NewColumn) -> pa.Table:
    first_row = block.slice(0, 1).to_pylist()  # Ray does not number its blocks.
    with one_blas_thread():
        return column.append_to(block, f"the block that starts with {first_row}")
