"""Where rows come from: Parquet files and engines, read in blocks, or anything else."""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from glob import glob
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from weighbridge._findings import Problem, listed, nearest, shown, shown_file
from weighbridge.blocks._arrow import (
    OTHER_ROWS,
    ArrowTable,
    Fingerprint,
    are_numbers,
    compare_columns,
    cut,
    first_line,
    is_stream,
    parquet_batches,
    parquet_schema,
    record_batches,
)
from weighbridge.blocks._dask import from_dask, is_dask
from weighbridge.blocks._local import ArrayRows, LocalRows
from weighbridge.blocks._rows import Rows, block_size, check_columns
from weighbridge.exceptions import BlockError, InputError


def file_of(table: str | os.PathLike[str]) -> Path:
    """Return the file that a table is in: of ``FILE::TABLE``, a table of a database, the first."""
    file, is_in, _ = os.fspath(table).rpartition("::")
    return Path(file) if is_in and not os.path.exists(table) else Path(table)


def from_parquet(paths: Any, columns: Any = None, size: int | None = None) -> ParquetRows:
    """Rows of one or more Parquet files, read block by block.

    Parameters
    ----------
    paths : path, or sequence of paths
        A file, a folder (all ``.parquet`` files in it, in order of the numbers in their names), a
        pattern (``folder/**/*.parquet`` for nested folders), or several of them. All files must
        have the columns that are read.
    columns : sequence of str, optional
        Columns to read, in this order. Default: all columns of the first file.
    size : int, optional
        As in `from_array`.

    Returns
    -------
    Rows
        The rows. A block is an array of float64 where all columns are numbers (missing ones NaN),
        else a pandas data frame.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from weighbridge.blocks import from_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in range(2):
    ...         table = pa.table({"age": [41.0 + part, 52.0], "sex": [0, 1]})
    ...         pq.write_table(table, pathlib.Path(folder) / f"part-{part}.parquet")
    ...     rows = from_parquet(folder)
    ...     rows.names, rows.shape, rows.sum(lambda block: block.table.sum(axis=0))
    (['age', 'sex'], (4, 2), array([187.,   2.]))
    """
    return ParquetRows(_files(paths), columns, size)


class ArrowRows(LocalRows):
    """Rows that come as Arrow batches, cut into blocks. A member says where batches come from."""

    names: list[str]

    def __init__(self, schema: Any, columns: Any, size: int | None):
        names = list(schema.names)
        self.names = check_columns(names if columns is None else columns, names)
        self.schema = schema
        self.numeric = are_numbers(schema, self.names)
        self.n_columns = len(self.names)
        self.size = block_size(self.n_columns, size)
        self._table = ArrowTable(self.names, self.numeric)

    @abstractmethod
    def batches(self, size: int) -> Iterator[Any]:
        """Yield batches of about `size` rows; what is wrong is a `BlockError` of "where: what"."""

    def stretches(self, size: int) -> Iterator[Any]:
        """Yield tables of `size` rows, across the ends of batches and files."""
        table = None
        for table in cut(self._tables(size), size):
            yield table
        if table is None:
            yield self._table(self.schema.empty_table())

    def _tables(self, size: int) -> Iterator[Any]:
        read = 0
        try:
            for batch in self.batches(size):
                yield self._table(batch)
                read += batch.num_rows
        except BlockError as error:
            where = f"In block {read // self.size} (from row {read:,}) of"
            raise BlockError(f"{where} {error}") from error.__cause__


class ParquetRows(ArrowRows):
    """Stretches of Parquet files, as if they were one."""

    def __init__(self, files: list[str], columns: Any = None, size: int | None = None):
        self.files = files
        schemas, counts = zip(*(parquet_schema(file) for file in files), strict=True)
        super().__init__(schemas[0], columns, size)
        for file, schema in zip(files[1:], schemas[1:], strict=True):
            compare_columns(files[0], schemas[0], file, schema, self.names)
        self._ends = np.cumsum(counts)

    @property
    def n_rows(self) -> int:
        """Number of rows, as the files say."""
        return int(self._ends[-1])

    def select(self, columns: list[str]) -> ParquetRows:
        """Return some of the columns, see `Rows.select`."""
        return ParquetRows(self.files, check_columns(columns, self.names), self.size)

    def place(self, start: int, stop: int) -> str:
        """Name the files that some rows are in."""
        if self.n_rows == 0:
            return Path(self.files[0]).name
        first, last = (int(np.searchsorted(self._ends, row, "right")) for row in (start, stop - 1))
        names = [Path(file).name for file in self.files[first : last + 1]]
        return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"

    def batches(self, size: int) -> Iterator[Any]:
        """Yield the batches of the files, see `ArrowRows.batches`."""
        for file in self.files:
            yield from parquet_batches(file, size, self.names)


class BatchRows(ArrowRows):
    """Rows of an engine that starts again for every pass, and must give the same rows each time.

    `start` takes names of columns, None for all, and a number of rows, and returns batches.
    """

    def __init__(self, start: Callable[..., Any], columns: Any = None, size: int | None = None):
        self._start = start
        first = next(self._started(None, 1), None)
        if first is None:
            raise ValueError("Got no batch; there must be one with columns, even without rows.")
        super().__init__(first.schema, columns, size)

    @cached_property
    def fingerprints(self) -> dict[int, int]:
        """Those of all rows up to the end of each block, from a pass of its own."""
        seen = Fingerprint()
        return dict(seen.add(table) for table in super().stretches(self.size))

    @property
    def n_rows(self) -> int:
        """Number of rows, counted once."""
        return max(self.fingerprints)

    def select(self, columns: list[str]) -> BatchRows:
        """Return some of the columns, see `Rows.select`."""
        return BatchRows(self._start, check_columns(columns, self.names), self.size)

    def stretches(self, size: int) -> Iterator[Any]:
        """Yield tables of `size` rows, as long as they are those of the first pass."""
        # before another stream is open: some engines have one at a time
        expected, n_rows, seen = self.fingerprints, self.n_rows, Fingerprint()
        for number, table in enumerate(super().stretches(size)):
            start, (stop, value) = seen.n, seen.add(table)
            if stop != min(start + size, n_rows) or expected.get(stop, value) != value:
                raise BlockError(f"In block {number} (from row {start:,}): {OTHER_ROWS}")
            yield table
        if seen.n < n_rows:
            raise BlockError(f"There are now only {seen.n:,} of {n_rows:,} rows. {OTHER_ROWS}")

    def batches(self, size: int) -> Iterator[Any]:
        """Yield the batches of the engine, see `ArrowRows.batches`."""
        for number, batch in enumerate(self._started(self.names, size)):
            name = f"the source: batch {number}"
            compare_columns("the first batch", self.schema, name, batch.schema, self.names)
            yield batch

    def _started(self, names: list[str] | None, size: int) -> Iterator[Any]:
        try:
            yield from record_batches(self._start(names, size))
        except Exception as error:  # every engine has errors of its own
            what = f"{type(error).__name__}: {first_line(error)}"
            raise BlockError(f"the source: it cannot be read any further ({what})") from error


def from_batches(source: Any, columns: Any = None, size: int | None = None) -> BatchRows:
    """Rows of anything that gives Arrow batches as often as it is asked.

    They are read once to be counted. Each later pass must give the same rows in the same order,
    which is checked by their content.

    Parameters
    ----------
    source : object with ``__arrow_c_stream__``, iterable of batches, or callable
        A callable is called for every pass and returns one of the others, which may then be one
        that can be read only once: a generator, a ``RecordBatchReader``.
    columns, size
        As in `from_parquet`.

    Returns
    -------
    Rows
        The rows; blocks are those of `from_parquet`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from weighbridge.blocks import from_batches
    >>> def batches():
    ...     for start in range(0, 6, 2):
    ...         yield pa.record_batch({"age": [start, start + 1]})
    >>> from_batches(batches).shape
    (6, 1)
    """
    once = isinstance(source, Iterator)
    if once or not (callable(source) or hasattr(source, "__iter__") or is_stream(source)):
        what = "can be read only once" if once else "gives no Arrow batches"
        raise TypeError(
            f"Got a {type(source).__name__}, which {what}; rows are read several times: pass a "
            "function that makes batches anew, an object with __arrow_c_stream__, or a list."
        )
    return BatchRows(lambda *_: source() if callable(source) else source, columns, size)


def from_duckdb(query: Any, connection: Any = None) -> BatchRows:
    """Rows of a DuckDB relation or query, see `from_batches`.

    Parameters
    ----------
    query : DuckDBPyRelation or str
        A relation, or SQL, with ORDER BY where its order is not that of a table or of files.
    connection : DuckDBPyConnection, optional
        Where SQL is run. Default: that of the module duckdb. Each has one open result at a time:
        rows that go beside others (`Rows.map`) need their own, ``connection.cursor()``.

    Returns
    -------
    Rows
        As from `from_batches`.

    Examples
    --------
    >>> from weighbridge.blocks import from_duckdb
    >>> from_duckdb("SELECT i AS age FROM range(40, 60) t(i)").shape
    (20, 1)
    """
    import duckdb

    relation = (connection or duckdb).sql(query) if isinstance(query, str) else query
    name = duckdb.ColumnExpression
    return BatchRows(lambda names, _: relation.select(*map(name, names or relation.columns)))


def from_polars(frame: Any) -> BatchRows:
    """Rows of a polars LazyFrame, read by its streaming engine; see `from_batches`.

    Parameters
    ----------
    frame : LazyFrame
        Of polars 1.34 or newer.

    Returns
    -------
    Rows
        As from `from_batches`.

    Examples
    --------
    >>> import polars as pl
    >>> from weighbridge.blocks import from_polars
    >>> from_polars(pl.LazyFrame({"age": [41, 52]}).filter(pl.col("age") > 50)).shape
    (1, 1)
    """
    return BatchRows(partial(_lazy_batches, frame))


def _lazy_batches(frame: Any, names: list[str] | None, size: int) -> Any:
    some = frame if names is None else frame.select(names)
    # without rows there is no batch that would have the columns
    return chain([some.head(0).collect()], some.collect_batches(chunk_size=size))


def from_ibis(table: Any) -> BatchRows:
    """Rows of an Ibis table, read by its backend; see `from_batches`.

    Parameters
    ----------
    table : ibis table expression
        With ``order_by`` where the backend has no order of its own.

    Examples
    --------
    >>> import ibis  # doctest: +SKIP
    >>> from_ibis(ibis.memtable({"age": [41, 52]})).shape  # doctest: +SKIP
    (2, 1)
    """
    return BatchRows(
        lambda names, size: table[names or list(table.columns)].to_pyarrow_batches(chunk_size=size)
    )


def from_ray(dataset: Any) -> BatchRows:
    """Rows of a Ray dataset, streamed to this process; see `from_batches`.

    Parameters
    ----------
    dataset : ray.data.Dataset
        Ray's ``DataContext`` must preserve the order of its blocks, if it has several.

    Examples
    --------
    >>> import ray  # doctest: +SKIP
    >>> from_ray(ray.data.from_items([{"age": 41}, {"age": 52}])).shape  # doctest: +SKIP
    (2, 1)
    """
    return BatchRows(
        lambda names, size: dataset.select_columns(names or dataset.columns()).iter_batches(
            batch_size=size, batch_format="pyarrow"
        )
    )


def _table_of(path: str) -> BatchRows:
    """Return the rows of FILE::TABLE, a table or a view of a DuckDB file, which is only read."""
    file, _, name = path.rpartition("::")
    if not os.path.exists(file):
        problem = Problem("WB101", f"{shown_file(file)} is not there.", (), "check its name")
        raise InputError([problem])
    try:
        import duckdb

        connection = duckdb.connect(file, read_only=True)
        every = "SELECT table_name FROM information_schema.tables"
        found = connection.sql(f"{every} WHERE table_schema = current_schema()").fetchall()
        tables = sorted(each for (each,) in found)
        if name in tables:
            quoted = name.replace('"', '""')
            return from_duckdb(connection.sql(f'SELECT * FROM "{quoted}"'))
        help = f"it has {listed(nearest(name, tables) or tables)}" if tables else "it has none"
        problem = Problem(
            "WB101", f"{shown_file(file)} has no table {shown(name)}.", (), help, "usage"
        )
    except ModuleNotFoundError:
        what = f"{shown_file(file)} is a DuckDB file, and no reader for those is installed."
        problem = Problem("WB146", what, (), 'pip install "weighbridge[duckdb]"', "usage")
    except duckdb.Error as error:
        what = f"{shown_file(file)} cannot be read as a DuckDB file ({first_line(error)})."
        problem = Problem("WB123", what, (), "write or copy it again; close it where it is open")
    raise InputError([problem])


def _files(paths: Any) -> list[str]:
    """Return the files that are meant, or say which are not there."""
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    files: list[str] = []
    for path in map(os.fspath, () if paths is None else paths):
        is_folder = os.path.isdir(path)
        matching = parquet_files(path) if is_folder else glob(path, recursive=True)
        # the brackets of a file that is there, "part [1].parquet", are no pattern
        found = [path] if os.path.isfile(path) else sorted(matching, key=_by_number)
        if not found:
            raise FileNotFoundError(
                f"Got {path}, where there is no Parquet file; pass a file, a folder of .parquet "
                "files, or a pattern (folder/**/*.parquet for nested folders)."
            )
        files += found
    if not files:
        raise ValueError("Got no path; pass a Parquet file, a folder of them, or a pattern.")
    return files


def parquet_files(folder: str) -> list[str]:
    """Return the Parquet files of a folder, by the numbers in their names; else nothing."""
    if not os.path.isdir(folder):
        return []
    try:
        names = [each for each in os.listdir(folder) if each.lower().endswith(".parquet")]
    except OSError:  # who may not look into it is told so when it is opened
        return []
    # other names are for those who wrote it
    names = [each for each in names if not each.startswith((".", "_"))]
    return [os.path.join(folder, name) for name in sorted(names, key=_by_number)]


def _by_number(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts names with the numbers in them by value: part.2 before part.10."""
    return [(int(each), "") if each.isdigit() else (-1, each) for each in re.split(r"(\d+)", name)]


def is_blocks(X: Any) -> bool:
    """Tell whether a table comes in blocks: rows of this module, or a dask collection.

    Parameters
    ----------
    X : object
        Any table.

    Returns
    -------
    bool
        False for tables in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.blocks import from_array, is_blocks
    >>> X = np.zeros((3, 2))
    >>> is_blocks(X), is_blocks(from_array(X))
    (False, True)
    """
    return isinstance(X, Rows) or is_dask(X)


def as_rows(X: Any) -> Rows:
    """Return any table as rows in blocks.

    Parameters
    ----------
    X : Rows, dask array or data frame, array, memory map, pandas data frame, path
        Rows are returned as they are; a path leads to Parquet files, see `from_parquet`, or to a
        table of a DuckDB file: ``file.duckdb::table``.

    Returns
    -------
    Rows
        The rows.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.blocks import as_rows
    >>> as_rows(np.zeros((3, 2))).shape
    (3, 2)
    """
    if isinstance(X, Rows):
        return X
    if isinstance(X, str | PathLike):
        return from_parquet(X) if file_of(X) == Path(X) else _table_of(os.fspath(X))
    return from_dask(X) if is_dask(X) else ArrayRows(X)
