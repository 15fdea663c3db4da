"""What single cells are: missing, a number, or one of several kinds of text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MISSING = frozenset(["", "NA", "NaN", "nan", "null", "NULL"])

# "1,234" is both a decimal comma and a thousands separator; the column decides (_features.py)
CELL = re.compile(
    r"""\s*(?:
      (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<infinite>[+-]?(?:[iI][nN][fF](?:[iI][nN][iI][tT][yY])?))
    | (?P<thousands>[+-]?[1-9]\d{0,2}
        (?:(?:,\d{3})+(?:\.\d+)? | (?:[ \u00a0\u202f'’]\d{3})+(?:[.,]\d+)? | (?:\.\d{3}){2,}))
    | (?P<decimal>[+-]?(?:\d{1,3}(?:\.\d{3})+|\d*),\d+(?:[eE][+-]?\d+)?)
    | (?P<date>(?:\d{4}([-/.])\d{1,2}\6\d{1,2}|\d{1,2}([-/.])\d{1,2}\7(?:\d{4}|\d{2}))
               (?:[T ]+\d{1,2}:.*)?)
    )\s*\Z""",
    re.VERBOSE | re.ASCII | re.DOTALL,
)
NUMERIC = ("missing", "number", "infinite")
# How numbers are written that cannot be taken for numbers.
WRITTEN = ("thousands", "decimal")


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


def read_text(
    cells: Sequence[str | None], start: int, tally: Tally, seen: dict[str, str], typed: bool = False
) -> np.ndarray:
    """Return cells as text with None, and count them; equal texts are one object (`seen`).

    In a `typed` column only None is missing, and nothing is a number.
    """
    texts: dict[str | None, str | None] = {None: None}
    for cell, count in Counter(cells).items():
        kind = "missing" if cell is None else kind_of(cell)
        if typed and cell is not None and kind in NUMERIC:
            kind = "text"
        row = start + cells.index(cell) if kind not in tally.first else 0
        tally.note(kind, count, row, cell or "")
        if cell is not None and kind != "missing":
            texts[cell] = seen.setdefault(cell, cell)
        else:
            texts[cell] = None
    values = np.empty(len(cells), dtype=object)
    values[:] = list(map(texts.__getitem__, cells))
    return values
