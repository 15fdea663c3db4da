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

from weighbridge.engines._blocks import NO_ROWS, NewColumn, exact_sample, naming_failures

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["sample", "with_column"]

# The module of an engine, by the package and class of its tables.
ENGINES = {
    "_duckdb.DuckDBPyRelation": "_arrow",
    "dask.DataFrame": "_dask",
    "duckdb.DuckDBPyRelation": "_arrow",
    "ibis.Table": "_arrow",
    "polars.LazyFrame": "_arrow",
    "pyarrow.Dataset": "_arrow",
    "pyarrow.RecordBatchReader": "_arrow",
    "pyarrow.Table": "_arrow",
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
        A path leads to a Parquet file or to a folder of them. Arrow data are a dataset, a table,
        or a record batch reader, which can be read only once. polars has to be lazy.
    rows : int
        Number of rows. A table that has fewer is returned as a whole.
    random_state : int, Generator or None
        Seed. It determines the rows if the table has the same rows in the same order, and for
        dask, Ray and Spark in the same partitions. Ibis has no seed.

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
    frame, _ = sample_and_count(table, int(rows), random_state)
    if len(frame) == 0:
        raise ValueError(NO_ROWS)
    return frame


def sample_and_count(table: Any, rows: int, random_state: Any) -> tuple[pd.DataFrame, int]:
    """Return a sample, which may be empty, and the number of rows of the table."""
    engine, table = _engine(table)
    rng = np.random.default_rng(random_state)
    with naming_failures("The table could not be sampled"):
        if hasattr(engine, "sample"):
            return engine.sample(table, rows, rng)
        return exact_sample(partial(engine.draw, table), engine.count_rows(table), rows, rng)


def drop_missing(table: Any, name: str) -> Any:
    """Return the rows of a table that have a value in a column."""
    _, table = _engine(table)
    if hasattr(table, "get_fragments"):  # Arrow
        field = import_module("pyarrow.compute").field(name)
        return table.filter(~field.is_null(nan_is_null=True))
    if hasattr(table, "random_sample"):  # Ray
        return table.map_batches(lambda rows: rows.dropna(subset=[name]), batch_format="pandas")
    nw = import_module("narwhals")
    rows = nw.from_native(table).drop_nulls(name)
    if rows.collect_schema()[name].is_float():
        rows = rows.filter(~nw.col(name).is_nan())
    return rows.to_native()


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
    with naming_failures(f"The column {name!r} could not be added"):
        return engine.with_column(table, NewColumn(name, function))


def is_engine_table(table: Any) -> bool:
    """Return True if an engine or Parquet files hold the table, and False if it is in memory."""
    if isinstance(table, str | os.PathLike):
        path = Path(table)
        return path.suffix == ".parquet" or (path.is_dir() and any(path.rglob("*.parquet")))
    return any(key in ENGINES and key != "pyarrow.Table" for key in _class_names(table))


def _class_names(table: Any) -> list[str]:
    """Return the package and name of each class of a table, so that no engine is imported."""
    return [f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(table).__mro__]


def _engine(table: Any) -> tuple[Any, Any]:
    """Return the module of an engine, and the table; a path becomes an Arrow dataset."""
    if isinstance(table, str | os.PathLike):
        table = import_module("weighbridge.engines._parquet").open_parquet(Path(table))
    names = _class_names(table)
    for name in names:
        if name in ENGINES:
            return import_module(f"weighbridge.engines.{ENGINES[name]}"), table
    raise TypeError(
        f"Got a table of type {names[0]}, but expected a path to Parquet files, Arrow data, or "
        "a table of dask, DuckDB, Ibis, polars, Ray or Spark."
    )
