"""Tables in CSV: pandas reads what is regular, a strict walk over `csv` all else."""

from __future__ import annotations

import codecs
import csv
import io
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import islice
from typing import IO, Any

import numpy as np

from weighbridge._findings import Problem, listed, shown, shown_file
from weighbridge._tables._formats import BLOCK, hash_file, open_bytes, open_text
from weighbridge._tables._table import MISSING, Cells, Tally, imported_pandas, kind_of, read_numbers
from weighbridge.exceptions import InputError

DELIMITERS = (",", ";", "\t")
# What else may stand between cells, and how texts start that are no tables.
OTHERS = ("|", "^", "~", " ")
MARKUP = ("{", "[", "<")
# Lines in which the first two records are looked for, to tell the delimiter.
FIRST_LINES = 200
# Records are walked over that many at a time: more would leave the cache of the processor.
STEP = 4_000
# Bytes in which it is found out which columns hold numbers; wide tables get more.
FIRST_BYTES = 1 << 16
WIDE = 50
QUOTE, LINE_END = b'"\n'


class CsvSource:
    """A file of text with a header and one record for each row."""

    typed = False

    def __init__(self, path: str):
        self.path = path
        self.share_read = 0.0
        self._shown = shown_file(path)
        self.delimiter, self.names, self._header_lines = self._header()

    @cached_property
    def sha256(self) -> str:
        """Of the file as it lies on disk."""
        return hash_file(self.path)

    def blocks(self, columns: Sequence[int], text: Sequence[int]) -> Iterator[list[Cells]]:
        """Yield columns of some records at a time: as numbers, or (those in `text`) as cells."""
        done = 0
        try:
            for block in self._regular_blocks(columns, set(text)):
                done += len(block[0])
                yield block
        except (_IrregularError, InputError):
            # the walk finds the first error in the order of the lines, and says where it is
            for step in self._walk(done):
                yield [step[column] for column in columns]

    def _regular_blocks(self, columns: Sequence[int], text: set[int]) -> Iterator[list[Cells]]:
        """Yield the records that pandas reads, as long as they are regular."""
        width = len(self.names)
        if width == 1:  # in which blank lines are cells
            raise _IrregularError
        with open_bytes(self.path) as (plain, file):
            for chunk in _whole_records(plain, self.delimiter, width, self._header_lines):
                block = _read_records(chunk, self.delimiter, width, columns, text)
                self._note_share(file)
                yield block

    def _walk(self, skip: int) -> Iterator[list[tuple[str, ...]]]:
        """Yield all columns of some records at a time, after the first `skip`, as text."""
        done = n_wrong = 0
        first_wrong: tuple[int, list[str]] | None = None
        with open_text(self.path) as (lines, file):
            records = self._records(lines)
            next(records)
            while step := list(islice(records, STEP)):
                wrong = [each for each in step if len(each[1]) != len(self.names)]
                first_wrong = first_wrong or next(iter(wrong), None)
                n_wrong += len(wrong)
                done += len(step)
                self._note_share(file)
                step = step[max(len(step) - (done - skip), 0) :]
                # after the first record of a wrong length the rest is only counted
                if step and first_wrong is None:
                    yield list(zip(*(record for _, record in step), strict=True))
        if first_wrong is not None:
            raise InputError([self._ragged(*first_wrong, n_wrong)])

    def _records(self, lines: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
        """Yield the records, the header first, each with the line on which it starts."""
        reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
        line, is_header = 1, True
        blank: list[tuple[int, list[str]]] = []
        try:
            for record in reader:
                if not _is_blank(record):
                    yield from blank
                    yield line, record
                    blank, is_header = [], False
                elif len(self.names) == 1 and not is_header:
                    # in one column a blank line before another is an empty cell
                    blank.append((line, [""]))
                line = reader.line_num + 1
        except csv.Error as error:
            raise InputError([_quotes(self._shown, line, str(error))]) from None

    def _note_share(self, file: IO[bytes]) -> None:
        size = max(os.path.getsize(self.path), 1)
        self.share_read = max(self.share_read, file.tell() / size)

    def place(self, row: int) -> str:
        """Return where a row is in the file; this reads the file again up to there."""
        with open_text(self.path) as (lines, _):
            for line, _ in islice(self._records(lines), row + 1, None):
                return f"line {line:,}"
        message = f"{self._shown} changed while it was read."
        raise InputError([Problem("WB118", message, (), "wait until it is written", "usage")])

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
        _check_delimiter(self._shown, names, record)
        check_header(self._shown, names)
        # numbers for names mean that there is no header, unless they count the columns
        counted = [[str(i) for i in range(start, start + len(names))] for start in (0, 1)]
        if names not in counted and all(kind_of(column) == "number" for column in names):
            message = f"{self._shown} has no header: its first line holds only numbers."
            evidence = f"the first line starts with {listed(names, 4)}"
            help = "put the names of the columns in the first line"
            raise InputError([Problem("WB129", message, (evidence,), help)])
        return delimiter, names, lines_read

    def _ragged(self, line: int, record: list[str], count: int) -> Problem:
        fields = f"{len(record):,} field{'s' * (len(record) != 1)}"
        more = f"; {count - 1:,} more such line{'s' * (count > 2)}" if count > 1 else ""
        return Problem(
            "WB127",
            f"{self._shown} line {line:,} has {fields} where the header has {len(self.names):,}"
            f"{more}.",
            (f"it starts with {shown(self.delimiter.join(record[:4]))}",),
            'put a cell that holds a delimiter in quotes: "a, b"',
        )


def check_header(name: str, names: list[str]) -> None:
    """Refuse columns without a name, and names that do not tell columns apart."""
    unnamed = [i for i, column in enumerate(names) if not column.strip()]
    if unnamed:
        message = f"{name} has a column without a name: number {unnamed[0] + 1} of {len(names)}."
        evidence = f"its neighbours: {listed(n for n in names[:6] if n.strip())}"
        help = "give it a name in the header; pandas leaves its row numbers out with index=False"
        raise InputError([Problem("WB129", message, (evidence,), help)])
    twice = [column for column, count in Counter(names).items() if count > 1]
    if twice:
        message = f"{name} has more than one column {shown(twice[0])}."
        others = (f"also more than once: {listed(twice[1:])}",) if twice[1:] else ()
        help = "rename them; columns are matched by name"
        raise InputError([Problem("WB129", message, others, help)])


def _check_delimiter(name: str, names: list[str], record: list[str]) -> None:
    """Refuse one column whose cells look like several in some other writing."""
    if len(names) > 1:
        return
    header, first = names[0], "".join(record)
    marks = [mark for mark in OTHERS if 0 < header.count(mark) == first.count(mark)]
    # "blood pressure" above "very high" is one column; a number among the words makes it two
    if marks == [" "] and all(kind_of(word) == "text" for word in first.split()):
        marks = []
    if marks or header.lstrip()[:1] in MARKUP:
        message = f"{name} has one column only: {shown(header)}."
        evidence = "commas, semicolons and tabs are read as delimiters"
        help = "write it with commas, or check that this is the table"
        raise InputError([Problem("WB128", message, (evidence,), help)])


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
        f"{name} has a misplaced quote in the record that starts at line {line:,}.",
        ('a cell with quotes is written "5"" pipe"; every quote that opens must close',),
        "correct the quotes there",
    )


class _IrregularError(Exception):
    """Bytes that two readers of CSV might read differently, or that are wrong."""


def _whole_records(
    file: IO[bytes], delimiter: str, width: int, header_lines: int
) -> Iterator[bytes]:
    """Yield bytes that hold whole regular records and end with a line; the header is left out."""
    size = BLOCK * (1 + width // WIDE)
    held = file.read(FIRST_BYTES * (1 + width // WIDE))
    _check_bytes(held.removesuffix(b"\r"))
    for _ in range(header_lines):
        _, found, held = held.partition(b"\n")
        if not found:
            raise _IrregularError
    while more := file.read(size):
        bare = _without_quoted(held)
        # blank lines stay behind: they are none of the table only where it ends
        last = len(bare[: bare.rfind(b"\n") + 1].rstrip(b"\r\n"))
        if last:
            end = bare.index(b"\n", last) + 1
            yield _regular(held[:end], bare[:end], delimiter, width)
            held = held[end:]
        elif len(held) > size:
            raise _IrregularError
        held += more
    held = held.rstrip(b"\r\n")
    if held:
        held += b"\n"
        yield _regular(held, _without_quoted(held), delimiter, width)


def _without_quoted(data: bytes) -> bytes:
    """Return bytes of which those in quotes, the opening one included, are NUL."""
    if b'"' not in data:
        return data
    values = np.frombuffer(data, np.uint8)
    inside = np.cumsum(values == QUOTE, dtype=np.uint8) & 1
    return np.where(inside, np.uint8(0), values).tobytes()


def _regular(records: bytes, bare: bytes, delimiter: str, width: int) -> bytes:
    """Return records (`bare` is without what is in quotes) if every reader takes them alike."""
    _check_bytes(records)
    mark = delimiter.encode()
    marks = bare.translate(None, bytes(set(range(256)) - {*mark, LINE_END}))
    ends = np.flatnonzero(np.frombuffer(bare, np.uint8) == LINE_END)
    if (
        not bare.endswith(b"\n")
        or marks != (mark * (width - 1) + b"\n") * ends.size
        or np.diff(ends, prepend=0).max() > csv.field_size_limit()
        or records.startswith(codecs.BOM_UTF8)
    ):
        raise _IrregularError
    if b'"' in records:
        _check_quotes(np.frombuffer(records, np.uint8), mark[0])
    return records


def _check_bytes(data: bytes) -> None:
    """Refuse what is no text, and line ends that are not those of the rows."""
    if b"\0" in data or (b"\r" in data and data.count(b"\r") != data.count(b"\r\n")):
        raise _IrregularError


def _check_quotes(values: np.ndarray, delimiter: int) -> None:
    """Refuse quotes other than around whole cells and, doubled, within them."""
    places = np.flatnonzero(values == QUOTE)
    # the byte before the first one is the last, which ends a line
    before, after = values[places[::2] - 1], values[places[1::2] + 1]
    edges = [delimiter, LINE_END, QUOTE]
    if places.size % 2 or not (
        np.isin(before, edges).all() and np.isin(after, [*edges, ord("\r")]).all()
    ):
        raise _IrregularError


def _read_records(
    records: bytes, delimiter: str, width: int, columns: Sequence[int], text: set[int]
) -> list[Cells]:
    """Return columns of regular records; those that are not all plain numbers join `text`."""
    numbers = [column for column in columns if column not in text]
    read = partial(_read_pandas, records, delimiter, width)
    found: dict[int, Cells] = {}
    try:
        frame = read(columns, numbers)
        values = {column: frame[column].to_numpy() for column in numbers}
        doubtful = [column for column in numbers if np.isinf(values[column]).any()]
        doubtful += _booleans(read, values)
        found |= values
        cells = read(doubtful, []) if doubtful else frame
    except ValueError:
        frame = cells = read(columns, [])
        doubtful = numbers
    for column in doubtful:
        words = cells[column].tolist()
        as_numbers = read_numbers(words, 0, Tally())
        if as_numbers is None or np.isinf(as_numbers).any():
            text.add(column)
            found[column] = words
        else:
            found[column] = as_numbers
    return [found[column] if column in found else frame[column].tolist() for column in columns]


def _booleans(read: Callable[..., Any], values: dict[int, np.ndarray]) -> list[int]:
    """Return columns of 0 and 1 in which pandas may have taken true and false for numbers."""
    present = {column: ~np.isnan(numbers) for column, numbers in values.items()}
    first = {
        column: int(present[column].argmax())
        for column, numbers in values.items()
        if np.isin(numbers[present[column]], (0, 1)).all()
    }
    if not first:
        return []
    # it does so only if every cell is such a word: one of them tells
    frame = read([*first], [], 1 + max(first.values()))
    return [column for column, row in first.items() if kind_of(frame[column][row]) == "text"]


def _read_pandas(
    records: bytes,
    delimiter: str,
    width: int,
    columns: Sequence[int],
    numbers: list[int],
    rows: int | None = None,
) -> Any:
    """Return columns as a frame, some as float64 and the others as their cells."""
    pd = imported_pandas()
    # newer versions always read numbers to the last bit, and warn of the setting
    older = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
    exact: dict[str, Any] = {"float_precision": "round_trip"} if older else {}
    try:
        return pd.read_csv(
            io.BytesIO(records),
            sep=delimiter,
            header=None,
            names=range(width),
            usecols=columns,
            index_col=False,
            dtype={column: np.float64 if column in numbers else object for column in columns},
            na_values={column: list(MISSING) for column in numbers},
            keep_default_na=False,
            na_filter=bool(numbers),
            nrows=rows,
            skip_blank_lines=False,
            engine="c",
            low_memory=False,
            encoding="utf-8",
            **exact,
        )
    except ValueError:
        if numbers:
            raise
        raise _IrregularError from None
