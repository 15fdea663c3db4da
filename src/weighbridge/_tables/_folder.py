"""Tables in folders of Parquet files, which other programs write in parts."""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

import numpy as np

from weighbridge._file_order import by_number
from weighbridge._problem import Problem, listed, shown_file
from weighbridge._tables._parquet import ParquetSource
from weighbridge.exceptions import InputError

SUFFIX = ".parquet"


def parquet_parts(folder: str) -> list[str]:
    """Return the Parquet files of a folder, in the order of their numbers: part.2 before part.10.

    Parameters
    ----------
    folder : str
        A folder, or anything else, which has no parts.

    Returns
    -------
    list of str
        Their paths; files whose name starts with a dot or an underscore are of those who wrote it.
    """
    if not os.path.isdir(folder):
        return []
    try:
        names = [each for each in os.listdir(folder) if each.lower().endswith(SUFFIX)]
    except OSError:  # who may not look into it is told so when it is opened
        return []
    names = [each for each in names if not each.startswith((".", "_"))]
    return [os.path.join(folder, name) for name in sorted(names, key=by_number)]


class FolderSource:
    """The Parquet files of a folder, one after the other, as one table."""

    typed = True

    def __init__(self, path: str, parts: list[str]):
        self._parts = [ParquetSource(part) for part in parts]
        self.names = self._parts[0].names
        problems = [
            problem
            for part in self._parts[1:]
            if (problem := _other_columns(path, self._parts[0], part)) is not None
        ]
        if problems:
            raise InputError(problems)
        digests = "".join(part.sha256 for part in self._parts)
        self.sha256 = hashlib.sha256(digests.encode()).hexdigest()
        self._ends = list(accumulate(part.n_rows for part in self._parts))
        self._done = 0

    @property
    def share_read(self) -> float:
        """The share of the rows that has been read, from 0 to 1."""
        return self._done / max(self._ends[-1], 1)

    def blocks(self) -> Iterator[list[np.ndarray]]:
        """Yield the columns of some rows at a time, as float64 or as text."""
        self._done = 0
        for part in self._parts:
            order = [part.names.index(name) for name in self.names]
            for block in part.blocks():
                self._done += len(block[0])
                yield [block[place] for place in order]

    def place(self, row: int) -> str:
        """Return where a row is: the file, and its row there, counted from 0."""
        number = min(bisect_right(self._ends, row), len(self._parts) - 1)
        before = self._ends[number - 1] if number else 0
        part = self._parts[number]
        return f"{shown_file(os.path.basename(part.path))} {part.place(row - before)}"


def _other_columns(folder: str, first: ParquetSource, part: ParquetSource) -> Problem | None:
    """Return the problem of a part that has other columns than the first, if so."""
    differing = sorted({*first.names} ^ {*part.names})
    if not differing:
        return None
    names = [shown_file(os.path.basename(each.path)) for each in (part, first)]
    return Problem(
        "WB118",
        f"the files of {shown_file(folder)} have different columns.",
        (f"{names[0]} and {names[1]} differ in {listed(differing)}",),
        "write them again with the same columns, or name one of the files",
    )
