"""Data frames of Spark, classic and Connect."""

from collections.abc import Iterable, Iterator
from functools import partial

import pandas as pd
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructType

from weighbridge._folds import one_blas_thread
from weighbridge.engines._blocks import HEAD_ROWS, NewColumn, naming_failures, to_frame

count_rows = DataFrame.count


def draw(table: DataFrame, fraction: float, seed: int) -> pd.DataFrame:
    return to_frame(table.sample(fraction=fraction, seed=seed).toArrow())


def with_column(table: DataFrame, column: NewColumn) -> DataFrame:
    values = column.values(draw(table.limit(HEAD_ROWS), 1.0, 0), "the first rows")
    schema = StructType([*table.schema.fields]).add(column.name, from_arrow_type(values.type))
    result = table.mapInArrow(partial(_append, column), schema)
    with naming_failures("A worker of Spark, which needs weighbridge, failed"):
        result.limit(1).collect()
    return result


def _append(column: NewColumn, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    partition = TaskContext.get().partitionId()
    for number, batch in enumerate(batches):
        with one_blas_thread():  # Spark has a worker for each core.
            block = column.append_to(batch, f"batch {number} of partition {partition}")
        yield block
