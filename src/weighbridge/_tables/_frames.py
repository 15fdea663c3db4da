"""Tables whose columns have types: data frames of any library, and Parquet files."""

from __future__ import annotations

import hashlib
import json
import math
import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from weighbridge._findings import Problem, listed, shown, shown_file
from weighbridge._tables._csv import check_header
from weighbridge._tables._formats import hash_file
from weighbridge._tables._table import Cells, as_objects, as_word
from weighbridge.exceptions import BlockError, InputError
from weighbridge.tables import is_frame, read_columns

# Rows of a Parquet file that are read at a time.
STEP = 50_000
# Beyond so many cells, a file with more of them for each of its bytes holds no table.
MOST_CELLS, CELLS_OF_A_BYTE = 1 << 26, 100
# The name under which pandas stores row labels that have none.
INDEX = "__index_level_"
CONTAINERS = (list, dict, tuple, set, np.ndarray)


class FrameSource:
    """A data frame, read as one block."""

    typed = True
    share_read = 1.0

    def __init__(self, data: Any, name: str):
        self.frame = _named_frame(data, name)
        self._name = name
        self.names = list(self.frame.columns)

    @cached_property
    def _columns(self) -> list[np.ndarray]:
        return _typed_columns(self.frame, self._name)

    @cached_property
    def sha256(self) -> str:
        """Of the content: the same for the same values, wherever they come from."""
        return _digest(self.names, self._columns)

    def blocks(self, columns: Sequence[int], text: Sequence[int]) -> Iterator[list[Cells]]:
        """Yield columns, as float64 or as text, whichever they are."""
        del text
        yield [self._columns[column] for column in columns]

    def place(self, row: int) -> str:
        """Return where a row is; rows of a frame are counted from 0."""
        return f"row {row:,}"


class ParquetSource:
    """One or more Parquet files, one after the other, as one table."""

    typed = True

    def __init__(self, path: str, files: list[str] | None = None):
        self._files = files or [path]
        self._in_folder = files is not None
        names, counts = zip(*map(_described, self._files), strict=True)
        self.names: list[str] = names[0]
        problems = [
            _other_columns(path, self._files[0], file, differing)
            for file, other in zip(self._files, names, strict=True)
            if (differing := sorted({*self.names} ^ {*other}))
        ]
        if problems:
            raise InputError(problems)
        self._ends = list(accumulate(counts))
        self._done = 0

    @cached_property
    def sha256(self) -> str:
        """Of the file, or of the hashes of all files of a folder."""
        digests = [hash_file(file) for file in self._files]
        if not self._in_folder:
            return digests[0]
        return hashlib.sha256("".join(digests).encode()).hexdigest()

    @property
    def share_read(self) -> float:
        """The share of the rows that has been read, from 0 to 1."""
        return self._done / max(self._ends[-1], 1)

    def blocks(self, columns: Sequence[int], text: Sequence[int]) -> Iterator[list[Cells]]:
        """Yield columns of some rows at a time, as float64 or as text, whichever they are."""
        del text
        import narwhals as nw
        import pyarrow as pa

        self._done = 0
        for file in self._files:
            try:
                for batch in self._batches(file):
                    frame = nw.from_native(pa.table(batch), eager_only=True)
                    every = _typed_columns(frame, shown_file(file))
                    self._done += batch.num_rows
                    if batch.num_rows:
                        places = [_column_names(batch.schema).index(n) for n in self.names]
                        yield [every[places[column]] for column in columns]
            except BlockError:
                raise InputError([_damaged(file)]) from None

    def _batches(self, file: str) -> Iterator[Any]:
        from weighbridge.blocks import parquet_batches

        return parquet_batches(file, STEP)

    def place(self, row: int) -> str:
        """Return where a row is: counted from 0, and in which file of a folder."""
        number = min(bisect_right(self._ends, row), len(self._files) - 1)
        before = self._ends[number - 1] if number else 0
        name = shown_file(os.path.basename(self._files[number]))
        return f"{name} row {row - before:,}" if self._in_folder else f"row {row:,}"


class DuckDBSource(ParquetSource):
    """A table or a view of a DuckDB file: ``file.duckdb::table``."""

    def __init__(self, path: str):
        from weighbridge.blocks import as_rows

        self._files, self._in_folder, self._done = [path], False, 0
        with self._failures():
            self._rows: Any = as_rows(path)
            self._ends = [self._rows.n_rows]
        self.names = list(self._rows.names or ())
        check_header(shown_file(path), self.names)

    @cached_property
    def sha256(self) -> str:
        """Of what the rows hold: the file has other tables, and a view has rows of other files."""
        return hashlib.sha256(repr((self.names, self._rows.fingerprints)).encode()).hexdigest()

    def _batches(self, file: str) -> Iterator[Any]:
        with self._failures():
            yield from (each for each in self._rows.batches(STEP) if each.num_rows)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except BlockError as error:
            what, help = f"{shown_file(self._files[0])}: {error}.", "try the query in DuckDB"
            raise InputError([Problem("WB123", what, (), help)]) from None


def _described(file: str) -> tuple[list[str], int]:
    """Return the names of the columns and the number of rows of a Parquet file."""
    from weighbridge.blocks import parquet_schema

    name = shown_file(file)
    try:
        schema, n_rows = parquet_schema(file)
    except ModuleNotFoundError:
        message = f"{name} is a Parquet file, and no reader for those is installed."
        help = 'pip install "weighbridge[parquet]", or save it as CSV'
        raise InputError([Problem("WB124", message, (), help, "usage")]) from None
    except BlockError:
        raise InputError([_damaged(file)]) from None
    names = _column_names(schema)
    check_header(name, names)
    if n_rows * len(names) > max(MOST_CELLS, CELLS_OF_A_BYTE * os.path.getsize(file)):
        message = f"{name} claims {n_rows:,} rows, which do not fit into its bytes."
        raise InputError([Problem("WB123", message, (), "see what is in it")])
    return names, n_rows


def _column_names(schema: Any) -> list[str]:
    return ["" if name.startswith(INDEX) else name for name in schema.names]


def _damaged(file: str) -> Problem:
    message = f"{shown_file(file)} is a damaged Parquet file."
    return Problem("WB123", message, (), "write or copy it again")


def _other_columns(folder: str, first: str, file: str, differing: list[str]) -> Problem:
    names = [shown_file(os.path.basename(each)) for each in (file, first)]
    return Problem(
        "WB118",
        f"the files of {shown_file(folder)} have different columns.",
        (f"{names[0]} and {names[1]} differ in {listed(differing)}",),
        "write them again with the same columns, or name one of the files",
    )


def _typed_columns(frame: Any, name: str) -> list[np.ndarray]:
    """Return the columns of a narwhals frame as float64 with NaN or text (object) with None."""
    import narwhals as nw

    nested = [n for n, dtype in frame.schema.items() if dtype.is_nested() or dtype == nw.Binary]
    if nested:
        raise InputError([_nested(name, nested[0], str(frame.schema[nested[0]]))])
    try:
        columns = read_columns(frame.to_native())
    except TypeError as error:
        raise InputError([Problem("WB130", f"{name}: {error}", (), "leave them out")]) from None
    for i, series in enumerate(frame.iter_columns()):
        values = _objects(series)
        are_booleans = bool(values) and all(isinstance(v, bool | np.bool_) for v in values)
        if series.dtype == nw.Boolean or are_booleans:
            truths = (None if v != v else str(bool(v)) for v in columns[i].tolist())
            columns[i] = as_objects(truths, columns[i].size)
        elif series.dtype in (nw.Categorical, nw.Enum):
            # with a missing value among them, pandas writes the level 1 as 1.0
            columns[i] = as_objects(map(as_word, series.to_list()), len(series))
        elif columns[i].dtype == object and any(isinstance(v, CONTAINERS) for v in values):
            raise InputError([_nested(name, series.name, "lists or records")])
    return columns


def _named_frame(data: Any, name: str) -> Any:
    """Return a narwhals frame whose names are text and tell the columns apart."""
    import narwhals as nw

    # pandas allows any name; as text they can be looked for and written
    if nw.dependencies.is_pandas_dataframe(data):
        data = data.set_axis([str(column) for column in data.columns], axis=1)
        check_header(name, list(data.columns))
    if not is_frame(data):
        raise TypeError(
            f"Got {name} of type {type(data).__name__}, but expected a data frame or the path of a "
            "file; arrays have no names to match columns by."
        )
    frame = nw.from_native(data, eager_only=True)
    if not frame.columns:
        raise InputError([Problem("WB119", f"{name} has no columns.", (), "check how it is made")])
    return frame


def _objects(series: Any) -> list[Any]:
    """Return the values that are there of a column that holds objects."""
    import narwhals as nw

    if series.dtype != nw.Object:
        return []
    values = series.to_list()
    return [v for v in values if v is not None and not (isinstance(v, float) and math.isnan(v))]


def _nested(name: str, column: str, what: str) -> Problem:
    return Problem(
        "WB130",
        f"{shown(column)} in {name} holds more than one value in a cell ({what}).",
        (),
        "spread it over several columns, or leave it out of the file",
    )


def _digest(names: list[str], columns: list[np.ndarray]) -> str:
    digest = hashlib.sha256(json.dumps(names).encode())
    for column in columns:
        # an empty column has no type of its own
        if column.dtype == object and any(value is not None for value in column):
            digest.update(json.dumps(column.tolist()).encode())
        else:
            # numbers in one byte order, with one bit pattern for NaN
            values = column.astype("<f8")
            values[np.isnan(values)] = np.nan
            digest.update(values.tobytes())
    return digest.hexdigest()
