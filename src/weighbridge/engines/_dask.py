"""Data frames of dask."""

from importlib.util import find_spec
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
from dask.delayed import delayed

from weighbridge.engines._blocks import HEAD_ROWS, NewColumn, combine, naming_failures
from weighbridge.exceptions import BlockError

count_rows = len


def draw(table: dd.DataFrame, fraction: float, seed: int) -> pd.DataFrame:
    _check_workers()
    thin = delayed(_thin)
    tasks = [thin(frame, fraction, [seed, i]) for i, frame in enumerate(table.to_delayed())]
    # Arrow turns the names of columns into text.
    return combine(dask.compute(*tasks)).set_axis(table.columns, axis=1)


def with_column(table: dd.DataFrame, column: NewColumn) -> dd.DataFrame:
    _check_workers()
    for partition in table.partitions:
        head = partition.head(HEAD_ROWS, compute=False).compute()
        if len(head):
            break
    values = column.values(head, "the first rows")
    meta = table._meta.assign(**{column.name: values[:0].to_pandas().array})
    return table.map_partitions(_append, column, meta=meta)


def _append(frame: pd.DataFrame, column: NewColumn, partition_info: Any) -> pd.DataFrame:
    # There is no limit on threads here, since dask starts its workers with one for BLAS.
    values = column.values(frame, f"partition {partition_info['number']}")
    return frame.assign(**{column.name: values.to_pandas().array})


def _thin(frame: pd.DataFrame, fraction: float, seed: list[int]) -> pa.Table:
    with naming_failures(f"Block {seed[1]} could not be sampled"):
        rows = frame[np.random.default_rng(seed).random(len(frame)) < fraction]
        # A column without values fits any type.
        rows = rows.astype(dict.fromkeys(rows.columns[rows.isna().all()], object))
        return pa.Table.from_pandas(rows, preserve_index=False)


def _check_workers() -> None:
    """Raise BlockError if a worker lacks weighbridge: dask would wait for it forever."""
    try:
        from distributed import get_client

        specs = get_client().run(find_spec, "weighbridge")
    except (ImportError, ValueError):  # There is no cluster.
        return
    if missing := [worker for worker, spec in specs.items() if spec is None]:
        raise BlockError(f"{missing[0]} has no weighbridge. Install weighbridge on all workers.")
