"""Tables from files and data frames: as a whole, or as a sample of their rows."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

from weighbridge._findings import Problem, shown_file
from weighbridge._tables._csv import CsvSource
from weighbridge._tables._formats import PARQUET_MARK, check_packing, open_bytes
from weighbridge._tables._frames import FrameSource
from weighbridge._tables._parquet import ParquetSource, parquet_files
from weighbridge._tables._table import Column, ColumnReader, Table, Tally, imported_pandas, to_frame
from weighbridge.engines import drop_missing, is_engine_table, sample_and_count
from weighbridge.exceptions import InputError
from weighbridge.tables import MAX_ROWS

# Where a table comes from: its names, its rows in blocks, and where each of them is.
Source = CsvSource | FrameSource | ParquetSource
# Labelled deployment rows are rare, so this many are kept beside a sample.
MAX_LABELLED_ROWS = 10_000
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
    data: Any,
    name: str = "table",
    *,
    max_rows: int | None = None,
    seed: int = 0,
    label: str | None = None,
) -> Table:
    """Read a file, a data frame called `name`, or a table of an engine.

    If it has more than `max_rows` rows, a random sample of them is kept, and beside it up to
    10,000 rows that have a value in the column `label`.
    """
    if isinstance(data, str | os.PathLike):
        path = os.fspath(data)
        return _collect(open_source(path), path, max_rows, seed, label)
    if not is_engine_table(data):
        return _collect(FrameSource(data, name), name, max_rows, seed, label)
    frame, n_rows = sample_and_count(data, max_rows or MAX_ROWS, seed)
    if n_rows == 0:
        remedy = "check its query, or whether it was read before; at least 20 rows are needed"
        raise InputError([Problem("WB102", f"{shown_file(name)} has no rows.", (), remedy)])
    # A record batch reader can be read only once, so its sample stays as it is.
    is_final = len(frame) == n_rows or hasattr(data, "read_next_batch")
    if not is_final and label is not None and label in frame:
        is_labelled = frame[label].notna()
        if is_labelled.sum() < MAX_LABELLED_ROWS:
            labelled, n_labelled = sample_and_count(
                drop_missing(data, label), MAX_LABELLED_ROWS, seed
            )
            if n_labelled:
                rows = [frame[~is_labelled], labelled[labelled[label].notna()]]
                frame = imported_pandas().concat(rows, ignore_index=True)
    table = _collect(FrameSource(frame, name), name, None, seed, None)
    return replace(table, rows=n_rows, has_positions=n_rows == len(frame))


def _collect(
    source: Source, name: str, max_rows: int | None, seed: int, label: str | None
) -> Table:
    pool, tallies, late = _read_all(source, [], max_rows, seed, label)
    if late:
        # Columns that looked like numbers until some later block are read again as text.
        pool, tallies, _ = _read_all(source, late, max_rows, seed, label)
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
    source: Source, as_text: list[int], max_rows: int | None, seed: int, label: str | None
) -> tuple[RowPool, list[Tally], list[int]]:
    """Read all rows; also return the columns that turned out to be text too late."""
    every = range(len(source.names))
    pool = RowPool(
        max_rows,
        seed,
        source.names.index(label) if label is not None and label in source.names else None,
    )
    readers = [ColumnReader(source.typed, i in as_text) for i in every]
    for block in source.blocks(every, as_text):
        pool.add([r.read(cells, pool.rows) for r, cells in zip(readers, block, strict=True)])
    late = [i for i, reader in enumerate(readers) if reader.late]
    return pool, [reader.tally for reader in readers], late


class RowPool:
    """Rows of columns, collected block by block: all, or a simple random sample of `max_rows`.

    Rows that have a value in the column `label` are kept beside the sample, up to 10,000.
    """

    def __init__(self, max_rows: int | None, seed: int, label: int | None = None):
        self.rows = 0
        self._max_rows = max_rows
        self._labelled = (
            None if label is None or max_rows is None else RowPool(MAX_LABELLED_ROWS, seed)
        )
        self._label = label
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
        if self._labelled is not None and self._label is not None:
            labels = columns[self._label].tolist()
            has_label = np.array([value is not None and value == value for value in labels])
            self._labelled._take([each[has_label] for each in (positions, drawn, *columns)])
        self._take([positions, drawn, *columns])

    def _take(self, block: Block) -> None:
        """Keep the rows of a block whose drawn numbers are small enough."""
        kept = block[1] < self._bound
        n = kept.size
        self._blocks.append([column[kept] for column in block])
        self._held += int(kept.sum())
        if self._max_rows is not None and self._held > 2 * self._max_rows + n:
            self._prune(self._max_rows)

    def finish(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the positions of the rows held, in order, and their columns."""
        if self._max_rows is not None:
            self._prune(self._max_rows)
        if self._labelled is not None and self._labelled._blocks:
            self._labelled._prune(MAX_LABELLED_ROWS)
            self._blocks = _with_others(self._blocks[0], self._labelled._blocks[0])
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


def _with_others(block: Block, others: Block) -> list[Block]:
    """Return both blocks in one, without duplicates, in the order of the table."""
    new = ~np.isin(others[0], block[0])
    both = _joined([block, [column[new] for column in others]])
    order = np.argsort(both[0], kind="stable")
    return [[column[order] for column in both]]


def _joined(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    return [np.concatenate(parts) for parts in zip(*blocks, strict=True)]
