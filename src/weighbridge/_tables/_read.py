"""Tables from files and data frames: as a whole, or as a sample of their rows."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from weighbridge._findings import Problem, shown_file
from weighbridge._tables._csv import CsvSource
from weighbridge._tables._formats import PARQUET_MARK, check_packing, open_bytes
from weighbridge._tables._frames import FrameSource
from weighbridge._tables._parquet import ParquetSource, parquet_files
from weighbridge._tables._table import Column, ColumnReader, Table, Tally, to_frame
from weighbridge.exceptions import InputError

# Where a table comes from: its names, its rows in blocks, and where each of them is.
Source = CsvSource | FrameSource | ParquetSource
# Positions, drawn numbers and then columns of some rows.
Block = list[np.ndarray]


def open_source(path: str) -> Source:
    """Return the source in a file, CSV or Parquet, or in a folder of Parquet files."""
    files = parquet_files(path)
    if files:
        return ParquetSource(path, files)
    with open_bytes(path) as (plain, _):
        is_parquet = plain.peek(4)[:4] == PARQUET_MARK
    if is_parquet:
        return ParquetSource(path)
    check_packing(path)
    return CsvSource(path)


def read_table(
    data: Any, name: str = "table", *, max_rows: int | None = None, seed: int = 0
) -> Table:
    """Read a file, of which `max_rows` keeps a random sample, or a data frame, called `name`."""
    if not isinstance(data, str | os.PathLike):
        return _collect(FrameSource(data, name), name, None, 0)
    path = os.fspath(data)
    return _collect(open_source(path), path, max_rows, seed)


def _collect(source: Source, name: str, max_rows: int | None, seed: int) -> Table:
    pool, tallies, late = _read_all(source, [], max_rows, seed)
    if late:
        # columns that looked like numbers until some later block: read again, now as text
        pool, tallies, _ = _read_all(source, late, max_rows, seed)
    if not pool.rows:
        raise InputError([no_rows(name, "check the export; at least 20 rows are needed")])
    positions, arrays = pool.finish()
    # a column without a value is of numbers, whatever its source calls it
    pairs = zip(arrays, tallies, strict=True)
    arrays = [array if tally.present else np.full(array.size, np.nan) for array, tally in pairs]
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


def no_rows(name: str, remedy: str) -> Problem:
    """Return the problem of a table that ends with its header."""
    return Problem("WB102", f"{shown_file(name)} has a header and no rows.", (), remedy)


def _read_all(
    source: Source, as_text: list[int], max_rows: int | None, seed: int
) -> tuple[RowPool, list[Tally], list[int]]:
    """Read all rows; also return the columns that turned out to be text too late."""
    pool, every = RowPool(max_rows, seed), range(len(source.names))
    readers = [ColumnReader(source.typed, i in as_text) for i in every]
    for block in source.blocks(every, as_text):
        pool.add([r.read(cells, pool.rows) for r, cells in zip(readers, block, strict=True)])
    late = [i for i, reader in enumerate(readers) if reader.late]
    return pool, [reader.tally for reader in readers], late


class RowPool:
    """Rows of columns, collected block by block: all, or a simple random sample of `max_rows`."""

    def __init__(self, max_rows: int | None, seed: int):
        self.rows = 0
        self._max_rows = max_rows
        # every row draws a number, and the rows with the smallest stay, whatever the blocks
        self._rng = np.random.default_rng(seed)
        self._bound = np.inf
        # of the rows that may stay
        self._blocks: list[Block] = []
        self._held = 0

    def add(self, columns: list[np.ndarray]) -> None:
        """Take the next rows of the table."""
        n = len(columns[0])
        positions = np.arange(self.rows, self.rows + n)
        self.rows += n
        if self._max_rows is None:
            self._blocks.append([positions, positions, *columns])
            return
        drawn = self._rng.random(n)
        kept = drawn < self._bound
        self._blocks.append([each[kept] for each in (positions, drawn, *columns)])
        self._held += int(kept.sum())
        if self._held > 2 * self._max_rows + n:
            self._prune(self._max_rows)

    def finish(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the positions of the rows held, in order, and their columns."""
        if self._max_rows is not None:
            self._prune(self._max_rows)
        positions, _, *columns = _joined(self._blocks)
        self._blocks = []
        return positions, columns

    def _prune(self, max_rows: int) -> None:
        block = _joined(self._blocks)
        drawn = block[1]
        if drawn.size > max_rows:
            self._bound = float(np.partition(drawn, max_rows)[max_rows])
            block = [each[drawn < self._bound] for each in block]
        self._blocks = [block]
        self._held = block[1].size


def _joined(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    return [np.concatenate(parts) for parts in zip(*blocks, strict=True)]
