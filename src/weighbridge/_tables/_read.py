"""Tables from files and from data frames in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from weighbridge._problem import Option, Problem, shown_file
from weighbridge._tables._bytes import holds_parquet
from weighbridge._tables._cells import Tally, note_numbers, read_numbers, read_text
from weighbridge._tables._csv import CsvSource
from weighbridge._tables._folder import FolderSource, parquet_parts
from weighbridge._tables._frames import FrameSource
from weighbridge._tables._parquet import ParquetSource
from weighbridge._tables._sample import RowPool
from weighbridge._tables._table import Column, Table, to_frame
from weighbridge.exceptions import InputError

Cells = Sequence[str] | np.ndarray


class Source(Protocol):
    """Where a table comes from: its names, its rows in blocks, and where each of them is."""

    names: list[str]
    typed: bool
    sha256: str

    @property
    def share_read(self) -> float:
        """The share of the file that has been read."""

    def blocks(self) -> Iterator[Sequence[Cells]]:
        """Yield the columns of some rows at a time: cells of text, or arrays."""

    def place(self, row: int) -> str:
        """Return where a row is found, for a message."""


def open_source(path: str) -> Source:
    """Return the source in a file, CSV or Parquet, or in a folder of Parquet files."""
    parts = parquet_parts(path)
    if parts:
        return FolderSource(path, parts)
    return ParquetSource(path) if holds_parquet(path) else CsvSource(path)


def read_table(
    path: str | os.PathLike[str], *, option: Option, max_rows: int | None = None, seed: int = 0
) -> Table:
    r"""Read a table from a file: CSV with a header, gzip of it, or Parquet.

    Parameters
    ----------
    path : str or path
        The file; the name in messages is the one given here.
    option : callable
        How settings are spelt in messages.
    max_rows : int, optional
        Keep a simple random sample of so many rows, in the order of the file; what a column is,
        and what is wrong with it, is judged by all rows.
    seed : int, default=0
        Of the sample.

    Returns
    -------
    Table

    Raises
    ------
    InputError
        If the file is not there, is not a table, or has no rows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from weighbridge._problem import argument
    >>> from weighbridge._tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "train.csv"
    ...     _ = path.write_text("age,site\n41,north\n,west\n")
    ...     table = read_table(path, option=argument)
    >>> table.columns
    (Column(name='age', kind='numeric', missing=0.5),
     Column(name='site', kind='category', missing=0.0))
    """
    name = os.fspath(path)
    return _collect(open_source(name), name, max_rows, seed)


def table_of(data: Any, name: str, *, option: Option) -> Table:
    """Return the table of a data frame in memory, of any library that narwhals knows.

    Parameters
    ----------
    data : data frame
        Booleans become text, dates numbers of days, as in files of typed columns.
    name : str
        What the table is called in messages.
    option : callable
        How settings are spelt in messages.

    Returns
    -------
    Table

    Raises
    ------
    InputError
        If a column holds lists, records or complex numbers, or there are no rows.
    TypeError
        If `data` is no data frame.

    Examples
    --------
    >>> import pandas as pd
    >>> from weighbridge._problem import argument
    >>> from weighbridge._tables import table_of
    >>> frame = pd.DataFrame({"age": [41, 52], "smoker": [True, False]})
    >>> table_of(frame, "train", option=argument).frame["smoker"].tolist()
    ['True', 'False']
    """
    return _collect(FrameSource(data, name), name, None, 0)


def _collect(source: Source, name: str, max_rows: int | None, seed: int) -> Table:
    as_text: set[int] = set()
    pool, tallies, late = _pass(source, as_text, max_rows, seed)
    if late:
        # columns that looked like numbers until some later block: read again, now as text
        pool, tallies, _ = _pass(source, late, max_rows, seed)
    if not pool.rows:
        raise InputError([no_rows(name, "check the export; at least 20 rows are needed")])
    positions, arrays = pool.finish()
    arrays = [_empty_as_numbers(array, tally) for array, tally in zip(arrays, tallies, strict=True)]
    columns = tuple(
        Column(n, "category" if a.dtype == object else "numeric", t.counts["missing"] / pool.rows)
        for n, a, t in zip(source.names, arrays, tallies, strict=True)
    )
    return Table(
        name=name,
        frame=to_frame(dict(zip(source.names, arrays, strict=True))),
        rows=pool.rows,
        sampled=positions.size,
        sha256=source.sha256,
        columns=columns,
        tallies=dict(zip(source.names, tallies, strict=True)),
        positions=positions,
        place=source.place,
        typed=source.typed,
    )


def _empty_as_numbers(column: np.ndarray, tally: Tally) -> np.ndarray:
    """Return a column; one without a value is of numbers, whatever its source calls it."""
    return column if tally.present else np.full(column.size, np.nan)


def no_rows(name: str, remedy: str = "check the export") -> Problem:
    """Return the problem of a table without rows."""
    return Problem(
        "WB102",
        f"{shown_file(name)} has a header and no rows.",
        (),
        remedy,
    )


def _pass(
    source: Source, as_text: set[int], max_rows: int | None, seed: int
) -> tuple[RowPool, list[Tally], set[int]]:
    """Read all rows; also return the columns that turned out to be text too late."""
    pool = RowPool(max_rows, seed)
    readers = [ColumnReader(source.typed, i in as_text) for i in range(len(source.names))]
    for block in source.blocks():
        pool.add([r.read(cells, pool.rows) for r, cells in zip(readers, block, strict=True)])
    late = {i for i, reader in enumerate(readers) if reader.late}
    return pool, [reader.tally for reader in readers], late | as_text if late else set()


class ColumnReader:
    """Turns the cells of one column into numbers as long as all are, and into text from then on."""

    def __init__(self, typed: bool, is_text: bool = False):
        self.tally = Tally()
        self.late = False
        self._typed = typed
        self._is_text = is_text
        self._rows = 0
        self._seen: dict[str, str] = {}

    def read(self, cells: Cells, start: int) -> np.ndarray:
        """Return the next cells, which start at row `start`, as float64 or as object."""
        if isinstance(cells, np.ndarray) and cells.dtype != object:
            note_numbers(cells, start, self.tally)
            return cells
        if not self._is_text and not isinstance(cells, np.ndarray):
            values = read_numbers(cells, start, self.tally)
            if values is not None:
                self._rows += len(values)
                return values
            self._is_text = True
            self.late = self._rows > 0
        listed = cells.tolist() if isinstance(cells, np.ndarray) else cells
        return read_text(listed, start, self.tally, self._seen, self._typed)
