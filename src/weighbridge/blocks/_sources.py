"""Where rows come from: Parquet files, read in blocks, or anything else that holds rows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from glob import glob
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from weighbridge.blocks._dask import from_dask, is_dask
from weighbridge.blocks._local import ArrayRows, LocalRows
from weighbridge.blocks._rows import Rows, block_size, check_columns, joined_tables
from weighbridge.exceptions import BlockError

# Checksums of pages are looked at where the writer left some.
CHECKED = {"page_checksum_verification": True}


def from_parquet(paths: Any, columns: Any = None, size: int | None = None) -> ParquetRows:
    """Rows of one or more Parquet files, read block by block.

    Parameters
    ----------
    paths : path, or sequence of paths
        A file, a folder (all ``.parquet`` files in it, by the numbers in their names), a pattern
        (``folder/**/*.parquet`` for folders in folders), or several of them. All files must have
        the columns that are read.
    columns : sequence of str, optional
        Columns to read, in this order. Default: all of the first file.
    size : int, optional
        Rows of a block. Default: 65,536, fewer of wide tables, by scikit-learn's
        ``working_memory``.

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


class ParquetRows(LocalRows):
    """Stretches of Parquet files, as if they were one."""

    def __init__(self, files: list[str], columns: Any = None, size: int | None = None):
        self.files = files
        schemas, counts = zip(*(parquet_schema(file) for file in files), strict=True)
        names = list(schemas[0].names) if columns is None else columns
        self.names = check_columns(names, list(schemas[0].names))
        for file, schema in zip(files[1:], schemas[1:], strict=True):
            _compare(files[0], schemas[0], file, schema, self.names)
        self._schema, self._ends = schemas[0], np.cumsum(counts)
        self.numeric = all(_is_number(schemas[0].field(name).type) for name in self.names)
        self.n_columns = len(self.names)
        self.size = block_size(self.n_columns, size)

    @property
    def n_rows(self) -> int:
        """Number of rows, as the files say."""
        return int(self._ends[-1])

    def select(self, columns: list[str]) -> ParquetRows:
        """Return some of the columns, see `Rows.select`."""
        return ParquetRows(self.files, check_columns(columns, self.names), self.size)

    def stretches(self, size: int) -> Iterator[Any]:
        """Yield tables of `size` rows, across the ends of row groups and files."""
        waiting: list[Any] = []
        held = 0
        for table in self._batches(size):
            waiting.append(table)
            held += table.shape[0]
            while held >= size:
                joined = joined_tables(waiting)
                yield joined[:size]
                waiting, held = [joined[size:]], held - size
        if held:
            yield joined_tables(waiting)
        if self.n_rows == 0:
            yield self._table(self._schema.empty_table())

    def place(self, start: int, stop: int) -> str:
        """Name the files that some rows are in."""
        if self.n_rows == 0:
            return Path(self.files[0]).name
        first, last = (int(np.searchsorted(self._ends, row, "right")) for row in (start, stop - 1))
        names = [Path(file).name for file in self.files[first : last + 1]]
        return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"

    def _batches(self, size: int) -> Iterator[Any]:
        read = 0
        for file in self.files:
            try:
                for batch in parquet_batches(file, size, self.names):
                    yield self._table(batch)
                    read += batch.num_rows
            except BlockError as error:
                where = f"In block {read // self.size} (from row {read:,}) of"
                raise BlockError(f"{where} {error}") from error.__cause__

    def _table(self, batch: Any) -> Any:
        if not self.numeric:
            return batch.select(self.names).to_pandas()
        table = np.empty((batch.num_rows, self.n_columns))
        for place, name in enumerate(self.names or ()):
            table[:, place] = _numbers(batch.column(name))
        return table


def _numbers(column: Any) -> np.ndarray:
    import pyarrow as pa

    if column.type in (pa.bool_(), pa.float16()) or pa.types.is_decimal(column.type):
        column = column.cast(pa.float64() if column.type != pa.bool_() else pa.int8())
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _files(paths: Any) -> list[str]:
    """Return the files that are meant, or say which are not there."""
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    files: list[str] = []
    for path in map(os.fspath, () if paths is None else paths):
        is_folder = os.path.isdir(path)
        matching = parquet_files(path) if is_folder else glob(path, recursive=True)
        found = sorted(matching, key=_by_number)
        if not found:
            raise FileNotFoundError(
                f"Got {path}, where there is no Parquet file; pass a file, a folder of .parquet "
                "files, or a pattern (folder/**/*.parquet for folders in it)."
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


def parquet_schema(file: str) -> tuple[Any, int]:
    """Return the Arrow schema of a Parquet file, and its number of rows."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            'Parquet files need the package pyarrow: pip install "weighbridge[parquet]"'
        ) from None
    try:
        # a name that is not UTF-8 is taken as bytes only
        with pa.OSFile(os.fsencode(file)) as opened, pq.ParquetFile(opened) as source:
            return source.schema_arrow, source.metadata.num_rows
    except (pa.ArrowException, OSError) as error:
        raise BlockError(
            f"{Path(file).name} is not a Parquet file, or a damaged one ({_first_line(error)}); "
            "write or copy it again."
        ) from error


def parquet_batches(file: str, size: int, columns: list[str] | None = None) -> Iterator[Any]:
    """Yield the rows of a Parquet file as Arrow batches."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pa.OSFile(os.fsencode(file)) as opened, pq.ParquetFile(opened, **CHECKED) as source:
            yield from source.iter_batches(size, columns=columns)
    except (pa.ArrowException, OSError) as error:
        raise BlockError(
            f"{Path(file).name}: the file cannot be read any further ({_first_line(error)}); write "
            "or copy it again."
        ) from error


def _compare(first: str, schema: Any, file: str, other: Any, names: list[str]) -> None:
    """Refuse a file with other columns than the first."""
    absent = [name for name in names if name not in other.names]
    if absent:
        raise BlockError(
            f"{Path(file).name} has no column {absent[0]!r}, which {Path(first).name} has "
            f"({len(absent)} of {len(names)} are missing); all files must have the same columns."
        )
    for name in names:
        kinds = [_is_number(part.field(name).type) for part in (schema, other)]
        if kinds[0] != kinds[1]:
            raise BlockError(
                f"{Path(file).name} has column {name!r} as {other.field(name).type}, and "
                f"{Path(first).name} as {schema.field(name).type}; it must be numbers in all files "
                "or in none."
            )


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    tests = types.is_floating, types.is_integer, types.is_boolean, types.is_decimal
    return any(test(kind) for test in tests)


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0].strip().rstrip(".") if str(error) else type(error).__name__


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
        Rows are returned as they are; a path leads to Parquet files, see `from_parquet`.

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
        return from_parquet(X)
    return from_dask(X) if is_dask(X) else ArrayRows(X)
