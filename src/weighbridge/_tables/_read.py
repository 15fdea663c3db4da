"""Tables from files and data frames: as a whole, as a sample of their rows, or in blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from weighbridge._findings import Option, Problem, listed, nearest, shown, shown_file
from weighbridge._tables._csv import CsvSource
from weighbridge._tables._features import not_finite
from weighbridge._tables._formats import holds_parquet
from weighbridge._tables._frames import FrameSource, ParquetSource
from weighbridge._tables._table import (
    Cells,
    Column,
    Table,
    Tally,
    as_word,
    note_numbers,
    read_numbers,
    read_text,
    to_frame,
)
from weighbridge.exceptions import InputError

Block = tuple[np.ndarray, np.ndarray, list[np.ndarray]]


class Source(Protocol):
    """Where a table comes from: its names, its rows in blocks, and where each of them is."""

    names: list[str]
    typed: bool
    sha256: str

    @property
    def share_read(self) -> float:
        """The share of the file that has been read."""

    def blocks(self, columns: Sequence[int], text: Sequence[int]) -> Iterator[list[Cells]]:
        """Yield columns of some rows at a time: cells (of those in `text` always), or arrays."""

    def place(self, row: int) -> str:
        """Return where a row is found, for a message."""


def open_source(path: str) -> Source:
    """Return the source in a file, CSV or Parquet, or in a folder of Parquet files."""
    if os.path.isdir(path):
        # blocks bring in scikit-learn, for which a wrong file name should not wait
        from weighbridge.blocks import parquet_files

        files = parquet_files(path)
        if files:
            return ParquetSource(path, files)
    return ParquetSource(path) if holds_parquet(path) else CsvSource(path)


def read_table(
    path: str | os.PathLike[str], *, option: Option, max_rows: int | None = None, seed: int = 0
) -> Table:
    """Read CSV with a header, gzip of it, or Parquet; `max_rows` keeps a random sample of rows."""
    name = os.fspath(path)
    return _collect(open_source(name), name, max_rows, seed)


def table_of(data: Any, name: str, *, option: Option) -> Table:
    """Return the table of a data frame in memory, of any library that narwhals knows."""
    return _collect(FrameSource(data, name), name, None, 0)


def _collect(source: Source, name: str, max_rows: int | None, seed: int) -> Table:
    pool, tallies, late = _read_all(source, [], max_rows, seed)
    if late:
        # columns that looked like numbers until some later block: read again, now as text
        pool, tallies, _ = _read_all(source, late, max_rows, seed)
    if not pool.rows:
        raise InputError([_no_rows(name, "check the export; at least 20 rows are needed")])
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


def _no_rows(name: str, remedy: str) -> Problem:
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
            self._rows += len(cells)
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


class RowPool:
    """Rows of columns, collected block by block: all, or a simple random sample of `max_rows`."""

    def __init__(self, max_rows: int | None, seed: int):
        self.rows = 0
        self._max_rows = max_rows
        # every row draws a number, and the rows with the smallest stay, whatever the blocks
        self._rng = np.random.default_rng(seed)
        self._bound = np.inf
        # positions, drawn numbers and columns of the rows that may stay
        self._blocks: list[Block] = []
        self._held = 0

    def add(self, columns: list[np.ndarray]) -> None:
        """Take the next rows of the table."""
        n = len(columns[0])
        positions = np.arange(self.rows, self.rows + n)
        self.rows += n
        if self._max_rows is None:
            self._blocks.append((positions, positions, columns))
            return
        drawn = self._rng.random(n)
        kept = drawn < self._bound
        self._blocks.append(_rows((positions, drawn, columns), kept))
        self._held += int(kept.sum())
        if self._held > 2 * self._max_rows + n:
            self._prune(self._max_rows)

    def finish(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the positions of the rows held, in order, and their columns."""
        if self._max_rows is not None:
            self._prune(self._max_rows)
        positions, _, columns = _joined(self._blocks)
        self._blocks = []
        return positions, columns

    def _prune(self, max_rows: int) -> None:
        block = _joined(self._blocks)
        drawn = block[1]
        if drawn.size > max_rows:
            self._bound = float(np.partition(drawn, max_rows)[max_rows])
            block = _rows(block, drawn < self._bound)
        self._blocks = [block]
        self._held = block[1].size


def _rows(block: Block, kept: np.ndarray) -> Block:
    positions, drawn, columns = block
    return positions[kept], drawn[kept], [column[kept] for column in columns]


def _joined(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    positions, drawn, columns = zip(*blocks, strict=True)
    joined = [np.concatenate(parts) for parts in zip(*columns, strict=True)]
    return np.concatenate(positions), np.concatenate(drawn), joined


class Blocks(Iterator[Any]):
    """Frames of the rows of a file, in order; `names` are those of all its columns."""

    def __init__(self, path: str, source: Source, features: Mapping[str, str], rows: int):
        self._source, self.names = source, source.names
        self._frames = _frames(path, source, features, rows)

    def __next__(self) -> Any:
        return next(self._frames)

    @property
    def share_read(self) -> float:
        """The share of the file that has been read, from 0 to 1."""
        return self._source.share_read


def read_blocks(
    path: str | os.PathLike[str],
    features: Mapping[str, str],
    *,
    option: Option,
    rows: int = 50_000,
) -> Blocks:
    """Read columns of known kinds block by block; a bad value is told after the last good block."""
    if rows < 1:
        raise ValueError(f"Got rows={rows}, but a block needs at least one row.")
    name = os.fspath(path)
    source = open_source(name)
    absent = [column for column in features if column not in source.names]
    if absent:
        raise InputError([_absent(name, absent, source.names)])
    return Blocks(name, source, features, rows)


def _frames(path: str, source: Source, features: Mapping[str, str], rows: int) -> Iterator[Any]:
    tallies = {name: Tally() for name in features}
    columns = [source.names.index(name) for name in features]
    text = [i for i, kind in zip(columns, features.values(), strict=True) if kind != "numeric"]
    waiting: list[dict[str, np.ndarray]] = []
    held = start = 0
    for block in source.blocks(columns, text):
        typed = {
            name: _typed(cells, kind, start, tallies[name], source.typed)
            for cells, (name, kind) in zip(block, features.items(), strict=True)
        }
        start += len(block[0])
        # after the first bad value the rest is only counted, so that the message is complete
        if _bad(features, tallies):
            waiting, held = [], 0
            continue
        waiting.append(typed)
        held += len(block[0])
        while held >= rows:
            frame, waiting = _cut(waiting, rows)
            held -= rows
            yield to_frame(frame)
    bad = _bad(features, tallies)
    if bad:
        raise InputError([p for n in bad for p in _bad_values(path, n, tallies[n], source)])
    if not start:
        raise InputError([_no_rows(path, "check the export")])
    if held:
        yield to_frame(_cut(waiting, held)[0])


def _typed(cells: Cells, kind: str, start: int, tally: Tally, typed: bool) -> np.ndarray:
    """Return cells as the kind of their column says; text among numbers is counted."""
    if isinstance(cells, np.ndarray):
        if kind == "numeric" and cells.dtype != object:
            note_numbers(cells, start, tally)
            return cells
        return read_text([as_word(cell) for cell in cells.tolist()], start, tally, {}, typed)
    values = read_numbers(cells, start, tally) if kind == "numeric" else None
    return read_text(cells, start, tally, {}) if values is None else values


def _bad(features: Mapping[str, str], tallies: dict[str, Tally]) -> list[str]:
    """Return the columns of numbers that hold text or infinite values."""
    return [
        name
        for name, kind in features.items()
        if kind == "numeric"
        and (t := tallies[name]).not_numbers + t.counts["infinite"] + t.counts["beyond"]
    ]


def _cut(
    waiting: list[dict[str, np.ndarray]], rows: int
) -> tuple[dict[str, np.ndarray], list[dict[str, np.ndarray]]]:
    """Return the first rows of some blocks, and what is left."""
    joined = waiting[0]
    if len(waiting) > 1:
        joined = {name: np.concatenate([block[name] for block in waiting]) for name in joined}
    left = {name: column[rows:] for name, column in joined.items()}
    return {name: column[:rows] for name, column in joined.items()}, [left]


def _bad_values(path: str, name: str, tally: Tally, source: Source) -> list[Problem]:
    file = shown_file(path)
    if not tally.not_numbers:
        return not_finite(name, tally, file, source.place)
    row, text = tally.first_text
    return [
        Problem(
            "WB104",
            f"{shown(name)} was a number in training but is not in {file}.",
            (
                f"{file} {source.place(row)}: {shown(text)}   ({tally.not_numbers:,} of "
                f"{tally.present:,} values)",
            ),
            "correct it, or empty it so that it counts as missing",
        )
    ]


def _absent(path: str, absent: list[str], names: list[str]) -> Problem:
    close = [shown(n) for name in absent[:3] for n in nearest(name, names, most=1)]
    return Problem(
        "WB103",
        f"{shown_file(path)} has no column{'s' * (len(absent) > 1)} {listed(absent)}, which "
        f"training had.",
        (f"nearest: {', '.join(close)}",) if close else (f"it has {listed(names)}",),
        "add what is missing; the names must be those of training",
    )
