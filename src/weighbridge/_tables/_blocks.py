"""Tables in blocks of rows, for files that are larger than memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from weighbridge._problem import Option, Problem, listed, nearest, shown, shown_file
from weighbridge._tables._cells import Tally, as_word, note_numbers, read_numbers, read_text
from weighbridge._tables._features import not_finite
from weighbridge._tables._read import Cells, Source, no_rows, open_source
from weighbridge._tables._table import to_frame
from weighbridge.exceptions import InputError


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
    r"""Read a file block by block, with columns of known kinds.

    Parameters
    ----------
    path : str or path
        CSV, gzip of it, or Parquet.
    features : mapping of str to {"numeric", "category"}
        The columns to read; others are skipped.
    option : callable
        How settings are spelt in messages.
    rows : int, default=50_000
        How many rows a block has at most.

    Returns
    -------
    Blocks
        An iterator of pandas frames with the columns of `features`, in that order.

    Raises
    ------
    InputError
        At once if the file or a column is not there; after the last good block if a value is not
        what its column holds.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from weighbridge._problem import argument
    >>> from weighbridge._tables import read_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "new.csv"
    ...     _ = path.write_text("age,site\n41,1\n52,2\n63,1\n")
    ...     kinds = {"site": "category", "age": "numeric"}
    ...     [block["site"].tolist() for block in read_blocks(path, kinds, option=argument, rows=2)]
    [['1', '2'], ['1']]
    """
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
    where = {name: source.names.index(name) for name in features}
    waiting: list[dict[str, np.ndarray]] = []
    held = start = 0
    for block in source.blocks():
        typed = {
            name: _typed(block[where[name]], kind, start, tallies[name], source.typed)
            for name, kind in features.items()
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
        raise InputError([no_rows(path)])
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
    joined = {name: np.concatenate([block[name] for block in waiting]) for name in waiting[0]}
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
