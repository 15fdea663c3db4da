"""Tables from files and data frames: as a whole, as a sample of their rows, or in blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from weighbridge._findings import Problem, listed, nearest, shown, shown_file
from weighbridge._tables._csv import CsvSource
from weighbridge._tables._features import not_finite
from weighbridge._tables._formats import PARQUET_MARK, open_bytes
from weighbridge._tables._frames import FrameSource, ParquetSource
from weighbridge._tables._table import Cells, Column, ColumnReader, Table, Tally, to_frame
from weighbridge.exceptions import InputError

# Where a table comes from: its names, its rows in blocks, and where each of them is.
Source = CsvSource | FrameSource | ParquetSource
# Positions, drawn numbers and columns of some rows.
Block = tuple[np.ndarray, np.ndarray, list[np.ndarray]]


def open_source(path: str) -> Source:
    """Return the source in a file, CSV or Parquet, or in a folder of Parquet files."""
    if os.path.isdir(path):
        # blocks bring in scikit-learn, for which a wrong file name should not wait
        from weighbridge.blocks import parquet_files

        files = parquet_files(path)
        if files:
            return ParquetSource(path, files)
    with open_bytes(path) as (plain, _):
        is_parquet = plain.peek(4)[:4] == PARQUET_MARK
    return ParquetSource(path) if is_parquet else CsvSource(path)


def read_table(
    path: str | os.PathLike[str], *, max_rows: int | None = None, seed: int = 0
) -> Table:
    """Read CSV with a header, gzip of it, or Parquet; `max_rows` keeps a random sample of rows."""
    name = os.fspath(path)
    return _collect(open_source(name), name, max_rows, seed)


def table_of(data: Any, name: str) -> Table:
    """Return the table of a data frame in memory, of any library that narwhals knows."""
    return _collect(FrameSource(data, name), name, None, 0)


def features_of(data: Any, features: Mapping[str, str]) -> Any:
    """Return the columns that a model takes, typed as they were when it was fitted."""
    frame = FrameSource(data, "X").frame
    missing = [name for name in features if name not in frame.columns]
    if missing:
        near = nearest(missing[0], frame.columns)
        hint = f" Is {shown(missing[0])} called {shown(near[0])} there?" if near else ""
        raise ValueError(
            f"Got a table without {listed(missing)}, which the model was fitted with.{hint}"
        )
    source = FrameSource(frame.select(list(features)).to_native(), "X")
    (block,) = source.blocks(range(len(features)), ())
    return to_frame(
        {n: _as_kind(n, k, cells) for (n, k), cells in zip(features.items(), block, strict=True)}
    )


def _as_kind(name: str, kind: str, cells: Cells) -> np.ndarray:
    reader = ColumnReader(True, kind != "numeric")
    column = reader.read(cells, 0)
    if kind != "numeric":
        return column
    if reader.tally.not_numbers:
        text = shown(reader.tally.first_text[1])
        raise ValueError(
            f"Got text ({text}) in {shown(name)}, which held numbers when the model was fitted; "
            "convert it."
        )
    return column.astype(np.float64)


def _collect(source: Source, name: str, max_rows: int | None, seed: int) -> Table:
    pool, tallies, late = _read_all(source, [], max_rows, seed)
    if late:
        # columns that looked like numbers until some later block: read again, now as text
        pool, tallies, _ = _read_all(source, late, max_rows, seed)
    if not pool.rows:
        raise InputError([_no_rows(name, "check the export; at least 20 rows are needed")])
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


class Blocks:
    """Frames of the rows of a file, in order; `names` are those of all its columns."""

    def __init__(self, path: str, source: Source, features: Mapping[str, str], rows: int):
        self._path, self._source, self._features, self._rows = path, source, features, rows
        self.names = source.names

    @property
    def share_read(self) -> float:
        """The share of the file that has been read, from 0 to 1."""
        return self._source.share_read

    def __iter__(self) -> Iterator[Any]:
        tallies = {name: Tally() for name in self._features}
        waiting: list[dict[str, np.ndarray]] = []
        held = 0
        for block in self._typed_blocks(tallies):
            waiting.append(block)
            held += len(next(iter(block.values())))
            while held >= self._rows:
                frame, waiting = _cut(waiting, self._rows)
                held -= self._rows
                yield to_frame(frame)
        if not any(tally.counts for tally in tallies.values()):
            raise InputError([_no_rows(self._path, "check the export")])
        if held:
            yield to_frame(_cut(waiting, held)[0])

    def _typed_blocks(self, tallies: dict[str, Tally]) -> Iterator[dict[str, np.ndarray]]:
        """Yield columns as their kinds say, up to the first bad value."""
        source, features, start = self._source, self._features, 0
        columns = [source.names.index(name) for name in features]
        is_text = {name: kind != "numeric" for name, kind in features.items()}
        text = [column for column, name in zip(columns, features, strict=True) if is_text[name]]
        bad: list[str] = []
        for block in source.blocks(columns, text):
            typed = {
                name: ColumnReader(source.typed, is_text[name], tallies[name]).read(cells, start)
                for name, cells in zip(features, block, strict=True)
            }
            start += len(block[0])
            bad = [name for name in features if not is_text[name] and _is_bad(tallies[name])]
            # after the first bad value the rest is only counted, so that the message is complete
            if not bad:
                yield typed
        if bad:
            problems = [_bad_values(self._path, name, tallies[name], source) for name in bad]
            raise InputError([problem for each in problems for problem in each])


def read_blocks(
    path: str | os.PathLike[str], features: Mapping[str, str], *, rows: int = 50_000
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


def _is_bad(tally: Tally) -> bool:
    """True for numbers with text or infinite values among them."""
    return bool(tally.not_numbers + tally.counts["infinite"] + tally.counts["beyond"])


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
