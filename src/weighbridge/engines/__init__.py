"""Sample large tables, and add columns to them, in the engines that hold them."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from weighbridge.engines._blocks import NewColumn, exact_sample, naming_failures

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["sample", "with_column"]

# The module of an engine, by the package and class of its tables.
ENGINES = {
    "_duckdb.DuckDBPyRelation": "_arrow",
    "dask.DataFrame": "_dask",
    "dask_expr.DataFrame": "_dask",
    "duckdb.DuckDBPyRelation": "_arrow",
    "ibis.Table": "_arrow",
    "polars.LazyFrame": "_arrow",
    "pyarrow.Dataset": "_arrow",
    "pyarrow.RecordBatchReader": "_arrow",
    "pyspark.DataFrame": "_spark",
    "ray.Dataset": "_ray",
}


def sample(
    table: Any, rows: int = 100_000, *, random_state: int | np.random.Generator | None = 0
) -> pd.DataFrame:
    """Draw rows of a large table, uniformly and without replacement.

    Parameters
    ----------
    table : path, Arrow data, or table of dask, DuckDB, Ibis, polars, Ray or Spark
        A path leads to a Parquet file or a folder of them. Arrow data are a dataset, a table or a
        record batch reader. A table of polars is a LazyFrame (polars 1.34 or newer).
    rows : int
        Number of rows. A table that has fewer is returned as a whole.
    random_state : int, Generator or None
        Seed. It determines the rows if the table has the same rows in the same order and, for
        dask, Ray and Spark, in the same partitions. Ibis ignores it.

    Returns
    -------
    DataFrame
        The rows. Tables of dask, Ibis, Ray and Spark are computed twice: first to count the rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from weighbridge.engines import sample
    >>> sample(pa.table({"age": range(20, 90)}), 3)["age"].tolist()
    [23, 31, 40]
    """
    if rows < 1 or rows != int(rows):
        raise ValueError(f"Got rows={rows!r}, but expected a positive integer.")
    engine, table = _engine(table)
    rng = np.random.default_rng(random_state)
    with naming_failures("The table could not be sampled"):
        if hasattr(engine, "draw"):
            draw, n = partial(engine.draw, table), engine.count_rows(table)
            frame = exact_sample(draw, n, int(rows), rng)
        else:
            frame = engine.sample(table, int(rows), rng)
    if len(frame) == 0:
        raise ValueError("The table has no rows. Check its query, or whether it was read before.")
    return frame


def with_column(table: Any, name: str, function: Callable[[pd.DataFrame], ArrayLike]) -> Any:
    """Add a column that a function computes block by block, where the rows are.

    Parameters
    ----------
    table : as in `sample`
        Workers of dask, Ray and Spark need weighbridge.
    name : str
        Name of the column.
    function : callable
        Takes a pandas data frame of some rows and returns a number, boolean or text for each. Its
        values for the first rows, which are computed at once, determine the type of the column.

    Returns
    -------
    lazy table
        For dask, Ray and Spark, a table of the same kind. For others, a ``RecordBatchReader``,
        which DuckDB, Ibis, polars and ``pyarrow.dataset.write_dataset`` read, once. The connection
        of a DuckDB relation is busy until then: read with another, ``connection.cursor()``.

    Raises
    ------
    BlockError
        If the function fails on a block or does not return one value for each row. When the
        result is computed, an engine may quote it in an exception of its own.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from weighbridge.engines import with_column
    >>> table = pa.table({"age": [41, 52]})
    >>> with_column(table, "months", lambda frame: 12 * frame["age"]).read_all().to_pylist()
    [{'age': 41, 'months': 492}, {'age': 52, 'months': 624}]
    """
    engine, table = _engine(table)
    return engine.with_column(table, NewColumn(name, function))


def count_rows(table: Any) -> int:
    """Return the number of rows. A record batch reader cannot be counted before it is read."""
    engine, table = _engine(table)
    with naming_failures("The rows could not be counted"):
        return int(engine.count_rows(table))


def is_engine_table(table: Any) -> bool:
    """Return True if an engine or Parquet files hold the table, and False if it is in memory."""
    if isinstance(table, str | os.PathLike):
        path = Path(table)
        return path.suffix == ".parquet" or (os.path.isdir(path) and any(path.rglob("*.parquet")))
    return _module_name(table) is not None


def _module_name(table: Any) -> str | None:
    """Return the module for the class of a table, without an import of its engine."""
    names = [f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(table).__mro__]
    return next((ENGINES[name] for name in names if name in ENGINES), None)


def _engine(table: Any) -> tuple[Any, Any]:
    """Return the module of an engine, and the table; a path becomes an Arrow dataset."""
    try:
        arrow = import_module("weighbridge.engines._arrow")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f'Large tables need the package {error.name}: pip install "weighbridge[cli]"'
        ) from None
    if name := _module_name(table):
        return import_module(f"weighbridge.engines.{name}"), table
    return arrow, arrow.as_stream(table)
