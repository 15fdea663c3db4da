"""The columns that a model takes, of known kinds: from a data frame, or block by block."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from weighbridge._findings import Problem, listed, nearest, shown, shown_file
from weighbridge._tables._features import not_finite
from weighbridge._tables._frames import FrameSource
from weighbridge._tables._read import Source, no_rows, open_source
from weighbridge._tables._table import Cells, ColumnReader, Tally, to_frame
from weighbridge.exceptions import InputError

# A block has at most so many rows and cells: 128 MiB, of which a model makes copies.
BLOCK_ROWS, BLOCK_CELLS = 50_000, 1 << 24


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
            raise InputError([no_rows(self._path, "check the export")])
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
            # text or infinite values among numbers
            bad = [
                n for n, t in tallies.items() if not is_text[n] and t.present > t.counts["number"]
            ]
            # after the first bad value the rest is only counted, so that the message is complete
            if not bad:
                yield typed
        if bad:
            problems = [_bad_values(self._path, name, tallies[name], source) for name in bad]
            raise InputError([problem for each in problems for problem in each])


def read_blocks(
    path: str | os.PathLike[str], features: Mapping[str, str], *, rows: int | None = None
) -> Blocks:
    """Read columns of known kinds block by block; a bad value is told after the last good block."""
    if rows is None:
        rows = max(1, min(BLOCK_ROWS, BLOCK_CELLS // max(1, len(features))))
    if rows < 1:
        raise ValueError(f"Got rows={rows}, but a block needs at least one row.")
    name = os.fspath(path)
    source = open_source(name)
    absent = [column for column in features if column not in source.names]
    if absent:
        raise InputError([_absent(name, absent, source.names)])
    return Blocks(name, source, features, rows)


def _cut(
    waiting: list[dict[str, np.ndarray]], rows: int
) -> tuple[dict[str, np.ndarray], list[dict[str, np.ndarray]]]:
    """Return the first rows of some blocks, and what is left."""
    joined = waiting[0]
    if len(waiting) > 1:
        joined = {name: np.concatenate([block[name] for block in waiting]) for name in joined}
    left = {name: column[rows:] for name, column in joined.items()}
    return {name: column[:rows] for name, column in joined.items()}, [left]


def _bad_values(path: str, name: str, tally: Tally, source: Source) -> Iterator[Problem]:
    file = shown_file(path)
    if not tally.not_numbers:
        yield from not_finite(name, tally, file, source.place)
        return
    row, text = tally.first_text
    which = f"({tally.not_numbers:,} of {tally.present:,} values)"
    yield Problem(
        "WB104",
        f"{shown(name)} was a number in training but is not in {file}.",
        (f"{file} {source.place(row)}: {shown(text)}   {which}",),
        "correct it, or empty it so that it counts as missing",
    )


def _absent(path: str, absent: list[str], names: list[str]) -> Problem:
    close = [shown(n) for name in absent[:3] for n in nearest(name, names, most=1)]
    return Problem(
        "WB103",
        f"{shown_file(path)} has no column{'s' * (len(absent) > 1)} {listed(absent)}, which "
        f"training had.",
        (f"nearest: {', '.join(close)}",) if close else (f"it has {listed(names)}",),
        "add what is missing; the names must be those of training",
    )
