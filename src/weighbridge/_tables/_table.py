"""What reading gives: cells, the columns and tables made of them, two tables that fit together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from weighbridge._findings import Finding, Record

Cells = Sequence[str] | np.ndarray

MISSING = frozenset(["", "NA", "NaN", "nan", "null", "NULL"])

# "1,234" is both a decimal comma and a thousands separator; the column decides (_features)
CELL = re.compile(
    r"""\s*(?:
      (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<infinite>[+-]?(?:[iI][nN][fF](?:[iI][nN][iI][tT][yY])?))
    | (?P<thousands>[+-]?[1-9]\d{0,2}
        (?:(?:,\d{3})+(?:\.\d+)? | (?:[ \u00a0\u202f'’]\d{3})+(?:[.,]\d+)? | (?:\.\d{3}){2,}))
    | (?P<decimal>[+-]?(?:\d{1,3}(?:\.\d{3})+|\d*),\d+(?:[eE][+-]?\d+)?)
    | (?P<date>(?:\d{4}([-/.])\d{1,2}\6\d{1,2}|\d{1,2}([-/.])\d{1,2}\7(?:\d{4}|\d{2}))
               (?:[T ]+\d{1,2}:.*)?)
    | (?P<sign>[$€£¥]\s?[+-]?\d[\d.,]*|[+-]?\d[\d.,]*[\s\u00a0\u202f]?[%$€£¥])
    )\s*\Z""",
    re.VERBOSE | re.ASCII | re.DOTALL,
)
NUMERIC = ("missing", "number", "infinite")
# How numbers are written that cannot be taken for numbers.
WRITTEN = {
    "decimal": "a decimal comma",
    "thousands": "separators between thousands",
    "sign": "a symbol",
}


@dataclass
class Tally:
    """How many cells of each kind a column has, and the first of each: its row and its text."""

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def present(self) -> int:
        """Cells that are not missing."""
        return self.counts.total() - self.counts["missing"]

    @property
    def not_numbers(self) -> int:
        """Cells that are neither missing nor a number."""
        return self.present - sum(self.counts[kind] for kind in ("number", "infinite", "beyond"))

    @property
    def first_text(self) -> tuple[int, str]:
        """Row and text of the first cell that is neither missing nor a number."""
        return min(self.first[kind] for kind in ("text", "date", *WRITTEN) if kind in self.first)

    def note(self, kind: str, count: int, row: int, text: str) -> None:
        """Count cells of one kind; `row` and `text` are those of the first."""
        if count:
            self.counts[kind] += count
            self.first.setdefault(kind, (row, text))


@dataclass(frozen=True)
class Column:
    """A column: its name, ``"numeric"`` or ``"category"``, and the share of missing values."""

    name: str
    kind: str
    missing: float


@dataclass(frozen=True)
class Dropped(Record):
    """A column that is not used although nobody asked for that, and why."""

    name: str
    code: str
    reason: str


@dataclass(frozen=True)
class Table:
    """A table that has been read, with what its cells look like and where its rows are."""

    name: str
    # numeric columns as float64 with NaN, all others as text (object) with None
    frame: Any
    # how many rows there are, and how many of them are in the frame
    rows: int
    sampled: int
    # of the file as it lies on disk, or of the content of a data frame
    sha256: str
    columns: tuple[Column, ...]
    # over all rows, as is what a column is
    tallies: dict[str, Tally] = field(repr=False)
    # which row of the table each row of the frame is, and where a row is found: "line 214"
    positions: np.ndarray = field(repr=False)
    place: Callable[[int], str] = field(repr=False)
    # whether the source says itself what is a number and what is text
    typed: bool = False
    # False for rows that an engine drew: their numbers in its table are unknown.
    has_positions: bool = True

    def column(self, name: str) -> Column:
        """Return the column of that name."""
        return self._by_name[name]

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self._by_name)

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}


@dataclass(frozen=True)
class Pair:
    """Two tables whose columns have been matched by name, in training order."""

    X: Any
    X_target: Any
    y: np.ndarray | None
    weight: np.ndarray | None
    # labels of deployment, where there are any; None or NaN in the other rows
    y_target: np.ndarray | None
    # "classification" or "regression"; None without a label
    task: str | None
    # each feature as it is in training and in deployment
    features: tuple[tuple[Column, Column], ...]
    notes: tuple[Finding, ...]
    dropped: tuple[Dropped, ...]


def to_frame(columns: dict[str, np.ndarray]) -> Any:
    """Return columns as a pandas frame of float64 and object, whatever the version of pandas."""
    pd = imported_pandas()
    # without a dtype pandas 3 turns text into its own type, and None into NaN
    return pd.DataFrame({n: pd.Series(v, dtype=v.dtype) for n, v in columns.items()}, copy=False)


def imported_pandas() -> Any:
    """Return pandas, or say what to install."""
    try:
        import pandas as pd
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            'Got a table to read, but pandas is not installed; pip install "weighbridge[cli]".'
        ) from None
    return pd


def kind_of(cell: str) -> str:
    """Return what one cell is."""
    if cell in MISSING:
        return "missing"
    match = CELL.match(cell)
    if match is None:
        return "missing" if cell.strip() in MISSING else "text"
    return next(kind for kind, text in match.groupdict().items() if text is not None)


def as_word(cell: Any) -> str | None:
    """Return a value of a typed column as text; a whole number has no decimals."""
    if cell is None or cell != cell:
        return None
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def read_numbers(cells: Sequence[str], start: int, tally: Tally) -> np.ndarray | None:
    """Return cells as numbers with NaN, and count them; None where one is not a number."""
    try:
        values = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        try:
            filled = ("nan" if cell.strip() in MISSING else cell for cell in cells)
            values = np.fromiter(map(float, filled), np.float64, len(cells))
        except ValueError:
            return None
    # float() also takes 1_000, digits of other scripts, and NAN with a sign
    joined = "".join(cells)
    plain = "_" not in joined and joined.isascii()
    doubtful = (
        {cells[i] for i in np.flatnonzero(np.isnan(values)).tolist()} if plain else set(cells)
    )
    if any(kind_of(cell) not in NUMERIC for cell in doubtful):
        return None
    note_numbers(values, start, tally, cells)
    return values


def note_numbers(
    values: np.ndarray, start: int, tally: Tally, cells: Sequence[str] | None = None
) -> None:
    """Count numbers, missing and infinite values; `cells` tells inf from a number too large."""
    finite = np.isfinite(values)
    if finite.all():
        tally.note("number", values.size, start, "")
        return
    missing = np.isnan(values)
    tally.note("missing", int(missing.sum()), start + int(missing.argmax()), "")
    tally.note("number", int(finite.sum()), start + int(finite.argmax()), "")
    for i in np.flatnonzero(~finite & ~missing).tolist():
        cell = "inf" if cells is None else cells[i]
        tally.note("beyond" if kind_of(cell) == "number" else "infinite", 1, start + i, cell)


class ColumnReader:
    """Turns the cells of one column into numbers as long as all are, and into text from then on."""

    def __init__(self, typed: bool, is_text: bool = False, tally: Tally | None = None):
        self.tally = Tally() if tally is None else tally
        # whether it turned out to be text after some numbers
        self.late = False
        self._typed = typed
        self._is_text = is_text
        # equal texts are one object
        self._texts: dict[str | None, str | None] = {None: None}

    def read(self, cells: Cells, start: int) -> np.ndarray:
        """Return the next cells, which start at row `start`, as float64 or as object."""
        words: Sequence[str | None]
        if isinstance(cells, np.ndarray):
            if cells.dtype != object and not self._is_text:
                note_numbers(cells, start, self.tally)
                return cells
            words = cells.tolist()
            if cells.dtype != object:
                words = [as_word(value) for value in words]
        else:
            words = cells
            values = None if self._is_text else read_numbers(cells, start, self.tally)
            if values is not None:
                return values
            self.late = self.late or (not self._is_text and start > 0)
            self._is_text = True
        return self._read_text(words, start)

    def _read_text(self, words: Sequence[str | None], start: int) -> np.ndarray:
        for word, count in Counter(words).items():
            kind = "missing" if word is None else kind_of(word)
            if self._typed and word is not None and kind in NUMERIC:
                kind = "text"
            row = start + words.index(word) if kind not in self.tally.first else 0
            self.tally.note(kind, count, row, word or "")
            self._texts.setdefault(word, None if kind == "missing" else word)
        return as_objects(map(self._texts.__getitem__, words), len(words))


def as_objects(values: Iterable[Any], size: int) -> np.ndarray:
    """Return values as an array of objects, whatever they are."""
    return np.fromiter(values, dtype=object, count=size)
