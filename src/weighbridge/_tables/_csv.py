"""Tables in CSV: pandas reads what is regular, a strict walk over `csv` all else."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from weighbridge._findings import Problem, listed, shown, shown_file
from weighbridge._tables._formats import open_bytes, open_text
from weighbridge._tables._regular_csv import IrregularError, read_records, whole_records
from weighbridge._tables._table import Cells, kind_of
from weighbridge.exceptions import InputError

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
# What else may stand between cells, and how texts start that are no tables.
OTHERS = ("|", "^", "~", " ")
MARKUP = ("{", "[", "<")
# Lines in which the first two records are looked for, to tell the delimiter.
FIRST_LINES = 200
# Records are walked over so many at a time: more would leave the cache of the processor.
STEP = 4_000


class CsvSource:
    """A file of text with a header and one record for each row."""

    typed = False

    def __init__(self, path: str):
        self.path = path
        self.sha256 = ""
        self.share_read = 0.0
        self._shown = shown_file(path)
        self.delimiter, self.names, self._header_lines = self._header()

    def blocks(self, columns: Sequence[int], text: Sequence[int]) -> Iterator[list[Cells]]:
        """Yield columns of some records at a time: as numbers, or (those in `text`) as cells."""
        done = 0
        try:
            for block in self._regular_blocks(columns, set(text)):
                done += len(block[0])
                yield block
        except (IrregularError, InputError):
            # the walk finds the first error in the order of the lines, and says where it is
            for step in self._walk(done):
                yield [step[column] for column in columns]

    def _regular_blocks(self, columns: Sequence[int], text: set[int]) -> Iterator[list[Cells]]:
        """Yield the records that pandas reads, as long as they are regular."""
        width = len(self.names)
        if width == 1:  # in which blank lines are cells
            raise IrregularError
        size = max(os.path.getsize(self.path), 1)
        with open_bytes(self.path) as (plain, hashed):
            for chunk in whole_records(plain, self.delimiter, width, self._header_lines):
                block = read_records(chunk, self.delimiter, width, columns, text)
                self.share_read = hashed.position / size
                yield block
            self.sha256 = hashed.sha256

    def _walk(self, skip: int) -> Iterator[list[tuple[str, ...]]]:
        """Yield all columns of some records at a time, after the first `skip`, as text."""
        width = len(self.names)
        done, ragged, first = 0, 0, -1
        size = max(os.path.getsize(self.path), 1)
        with open_text(self.path) as (lines, hashed):
            records = self._records(lines)
            next(records)
            if width == 1:
                records = _filled(records)
            while step := list(islice(records, STEP)):
                if set(map(len, step)) != {width}:
                    step = [record for record in step if not _is_blank(record)]
                    wrong = [i for i, record in enumerate(step) if len(record) != width]
                    first = done + wrong[0] if wrong and not ragged else first
                    ragged += len(wrong)
                done += len(step)
                self.share_read = max(self.share_read, hashed.position / size)
                step = step[max(len(step) - (done - skip), 0) :]
                # after the first record of a wrong length the rest is only counted
                if step and not ragged:
                    yield list(zip(*step, strict=True))
            self.sha256 = hashed.sha256
        if ragged:
            raise InputError([self._ragged(first, ragged)])

    def place(self, row: int) -> str:
        """Return where a row is in the file; this reads the file again up to there."""
        return f"line {self._line(row)[0]:,}"

    def _records(self, lines: Any) -> Iterator[list[str]]:
        """Yield the records, the header first; blank lines after it are still there."""
        reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
        try:
            for record in reader:
                if not _is_blank(record):
                    yield record
                    break
            yield from reader
        except csv.Error as error:
            raise InputError([self._broken(str(error))]) from None

    def _header(self) -> tuple[str, list[str], int]:
        """Return the delimiter, the names, and how many lines there are before the first row."""
        with open_text(self.path) as (lines, _):
            first = list(islice(lines, FIRST_LINES))
        found = {mark: _two_records(first, mark) for mark in DELIMITERS}
        widths = {mark: len(records[0]) for mark, (records, _) in found.items() if records}
        # a quote left open shows only where the mark before it is a delimiter
        if len(widths) < len(DELIMITERS) and max(widths.values(), default=1) == 1:
            raise InputError([_quotes(self._shown, 1, first[0])])

        def fit(mark: str) -> tuple[bool, int]:
            return (widths[mark] > 1 and len(found[mark][0][-1]) == widths[mark], widths[mark])

        delimiter = max(widths, key=fit)
        (names, record), lines_read = found[delimiter]
        problem = (
            _other_delimiter(self._shown, names, record)
            or header_problem(self._shown, names)
            or _data_as_header(self._shown, names)
        )
        if problem is not None:
            raise InputError([problem])
        return delimiter, names, lines_read

    def _ragged(self, row: int, count: int) -> Problem:
        line, record = self._line(row)
        fields = f"{len(record):,} field{'s' * (len(record) != 1)}"
        more = f"; {count - 1:,} more such line{'s' * (count > 2)}" if count > 1 else ""
        return Problem(
            "WB127",
            f"{self._shown} line {line:,} has {fields} where the header has {len(self.names):,}"
            f"{more}.",
            (f"it starts with {shown(self.delimiter.join(record[:4]))}",),
            'put a cell that holds a delimiter in quotes: "a, b"',
        )

    def _broken(self, reason: str) -> Problem:
        """Say where the record starts that cannot be read."""
        with open_text(self.path) as (lines, _):
            reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
            line = 1
            try:
                for _ in reader:
                    line = reader.line_num + 1
            except csv.Error:
                pass
        return _quotes(self._shown, line, reason)

    def _line(self, row: int) -> tuple[int, list[str]]:
        """Return the line on which a row starts, and its cells."""
        with open_text(self.path) as (lines, _):
            reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
            start, left = 1, row + 1
            for record in reader:
                # before the header a blank line is none of the rows, and of several columns neither
                if not _is_blank(record) or (len(self.names) == 1 and left <= row):
                    if not left:
                        return start, record
                    left -= 1
                start = reader.line_num + 1
        message = f"{self._shown} changed while it was read."
        raise InputError([Problem("WB118", message, (), "wait until it is written", "usage")])


def header_problem(name: str, names: list[str]) -> Problem | None:
    """Return what is wrong with the names of the columns, if anything."""
    unnamed = [i for i, column in enumerate(names) if not column.strip()]
    if unnamed:
        return Problem(
            "WB129",
            f"{name} has a column without a name: number {unnamed[0] + 1} of {len(names)}.",
            (f"its neighbours: {listed(n for n in names[:6] if n.strip())}",),
            "give it a name in the header; pandas leaves its row numbers out with index=False",
        )
    twice = [column for column, count in Counter(names).items() if count > 1]
    if twice:
        return Problem(
            "WB129",
            f"{name} has more than one column {shown(twice[0])}.",
            (f"also more than once: {listed(twice[1:])}",) if twice[1:] else (),
            "rename them; columns are matched by name",
        )
    return None


def _data_as_header(name: str, names: list[str]) -> Problem | None:
    """Numbers for names mean that the header is missing, unless they count the columns."""
    counted = [[str(i) for i in range(start, start + len(names))] for start in (0, 1)]
    if names in counted or any(kind_of(column) != "number" for column in names):
        return None
    return Problem(
        "WB129",
        f"{name} has no header: its first line holds only numbers.",
        (f"the first line starts with {listed(names, 4)}",),
        "put the names of the columns in the first line",
    )


def _other_delimiter(name: str, names: list[str], record: list[str]) -> Problem | None:
    """One column is a table, unless its cells look like several in some other writing."""
    if len(names) > 1:
        return None
    header, first = names[0], "".join(record)
    marks = [mark for mark in OTHERS if 0 < header.count(mark) == first.count(mark)]
    # "blood pressure" above "very high" is one column; a number among the words makes it two
    if marks == [" "] and all(kind_of(word) == "text" for word in first.split()):
        marks = []
    if not marks and header.lstrip()[:1] not in MARKUP:
        return None
    return Problem(
        "WB128",
        f"{name} has one column only: {shown(header)}.",
        ("commas, semicolons and tabs are read as delimiters",),
        "write it with commas, or check that this is the table",
    )


def _filled(records: Iterator[list[str]]) -> Iterator[list[str]]:
    """Yield the records of one column, in which a blank line before another is an empty cell."""
    blank = 0
    for record in records:
        if _is_blank(record):
            blank += 1
            continue
        yield from ([""] for _ in range(blank))
        blank = 0
        yield record


def _two_records(lines: list[str], delimiter: str) -> tuple[list[list[str]], int]:
    """Return header and next record (the header twice if there is none), and the header's lines."""
    records: list[list[str]] = []
    header_lines = 0
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        for record in reader:
            if not _is_blank(record):
                records.append(record)
                header_lines = header_lines or reader.line_num
            if len(records) == 2:
                break
    except csv.Error:
        # the first line alone may end inside quotes; what follows is checked with the rest
        return records and [records[0], []], header_lines
    return records and [records[0], records[-1]], header_lines


def _is_blank(record: list[str]) -> bool:
    return not record or (len(record) == 1 and not record[0].strip())


def _quotes(name: str, line: int, reason: str) -> Problem:
    if "field limit" in reason:
        return Problem(
            "WB126",
            f"{name} has a cell of more than {csv.field_size_limit():,} characters "
            f"(its record starts at line {line:,}).",
            ("a quote that is opened and never closed takes in the lines after it",),
            "close the quote, or leave the long text out",
        )
    return Problem(
        "WB126",
        f"{name} has a quote that does not fit, in the record that starts at line {line:,}.",
        ('a cell with quotes is written "5"" pipe"; every quote that opens must close',),
        "correct the quotes there",
    )
