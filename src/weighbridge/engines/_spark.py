"""Data frames of Spark, classic and Connect."""

import pickle
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructType

from weighbridge._folds import one_blas_thread
from weighbridge.engines._blocks import HEAD_ROWS, NewColumn, naming_failures, to_frame


def count_rows(table: DataFrame) -> int:
    return table.count()


def with_value(table: Any, name: str) -> Any:
    return table.dropna(subset=[name])


def draw(table: DataFrame, fraction: float, seed: int) -> pd.DataFrame:
    table = table if fraction == 1 else table.sample(fraction=fraction, seed=seed)
    with naming_failures("Spark could not compute the table"):
        rows = table.mapInArrow(_pickled, "batch binary").collect()
    batches = [pickle.loads(row.batch) for row in rows]
    return to_frame(pa.Table.from_batches(batches) if batches else pa.table({}))


def with_column(table: DataFrame, column: NewColumn) -> DataFrame:
    values = column.values(draw(table.limit(HEAD_ROWS), 1, 0), "the first rows")
    schema = StructType([*table.schema.fields]).add(column.name, from_arrow_type(values.type))
    return table.mapInArrow(partial(_append, column), schema)


def _pickled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches as bytes, which arrive with the types that a function on a worker gets."""
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"batch": [pickle.dumps(batch)]})


def _append(column: NewColumn, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    context: Any = TaskContext.get()
    for number, batch in enumerate(batches):
        with one_blas_thread():  # Spark has a worker for each core.
            block = column.append_to(batch, f"batch {number} of partition {context.partitionId()}")
        yield block
