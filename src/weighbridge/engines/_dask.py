"""Data frames of dask."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.delayed import Delayed, delayed
from pandas.api.types import is_numeric_dtype

from weighbridge.engines._blocks import HEAD_ROWS, NewColumn, naming_failures
from weighbridge.exceptions import BlockError

count_rows = len


def with_value(table: Any, name: str) -> Any:
    return table.dropna(subset=[name])


def draw(table: dd.DataFrame, fraction: float, seed: int) -> pd.DataFrame:
    thin = delayed(_thinned)
    tasks = [thin(frame, fraction, [seed, i]) for i, frame in enumerate(_partitions(table))]
    return pd.concat(_computed(*tasks))


def with_column(table: dd.DataFrame, column: NewColumn) -> dd.DataFrame:
    partitions = _partitions(table)
    for partition in partitions:
        (head,) = _computed(partition.head(HEAD_ROWS))
        values = column.values(head, "the first rows")
        if len(head):
            break
    # A delayed column is sent to each worker once, and not with each task.
    append, shared = delayed(_append), delayed(column)
    tasks = [append(partition, shared, number) for number, partition in enumerate(partitions)]
    meta = table._meta.assign(**{column.name: values[:0].to_pandas().array})
    return dd.from_delayed(tasks, meta=meta, divisions=table.divisions, verify_meta=False)


def _append(frame: pd.DataFrame, column: NewColumn, number: int) -> pd.DataFrame:
    # There is no limit on threads here, since dask starts its workers with one for BLAS.
    values = column.values(frame, f"partition {number}")
    return frame.assign(**{column.name: values.to_pandas().array})


def _thinned(frame: pd.DataFrame, fraction: float, seed: list[int]) -> pd.DataFrame:
    return frame[np.random.default_rng(seed).random(len(frame)) < fraction]


def _computed(*tasks: Delayed) -> Sequence[pd.DataFrame]:
    with naming_failures("dask could not compute the table"):
        return dask.compute(*tasks)


def _partitions(table: dd.DataFrame) -> list[Delayed]:
    _check_workers()
    check = delayed(_checked)
    return [check(frame, table.dtypes, i) for i, frame in enumerate(table.to_delayed())]


def _check_workers() -> None:
    """Raise BlockError if a worker lacks weighbridge: dask would wait for it forever."""
    try:
        from distributed import get_client

        specs = get_client().run(find_spec, "weighbridge")
    except (ImportError, ValueError):  # There is no cluster.
        return
    if worker := next((worker for worker, spec in specs.items() if spec is None), None):
        raise BlockError(f"{worker} has no weighbridge. Install weighbridge on all workers.")


def _checked(frame: pd.DataFrame, dtypes: pd.Series, number: int) -> pd.DataFrame:
    """Return a partition, or raise BlockError unless its types fit the schema of the table."""
    for name, dtype in dtypes.items():
        is_number = is_numeric_dtype(dtype)
        if is_numeric_dtype(frame[name].dtype) != is_number:
            if frame[name].notna().any():
                raise BlockError(
                    f"Column {name!r} is {frame[name].dtype} in partition {number}, but {dtype} "
                    "in the schema of the table. Convert it in all partitions."
                )
            missing = pd.Series(None, frame.index, "float64" if is_number else dtype)
            frame = frame.assign(**{name: missing})
    return frame
