"""Parts of a CSV file that every reader takes alike, read by pandas."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import IO, Any

import numpy as np

from weighbridge._tables._formats import BLOCK
from weighbridge._tables._table import (
    MISSING,
    Cells,
    Tally,
    imported_pandas,
    kind_of,
    read_numbers,
)

# Bytes in which it is found out which columns hold numbers; wide tables get more.
FIRST_BYTES = 1 << 16
WIDE = 50
QUOTE, LINE_END = b'"\n'


class IrregularError(Exception):
    """Bytes that two readers of CSV might read differently, or that are wrong."""


def whole_records(
    file: IO[bytes], delimiter: str, width: int, header_lines: int
) -> Iterator[bytes]:
    """Yield bytes that hold whole regular records and end with a line; the header is left out."""
    size = BLOCK * (1 + width // WIDE)
    held = file.read(FIRST_BYTES * (1 + width // WIDE))
    _check_bytes(held.removesuffix(b"\r"))
    for _ in range(header_lines):
        _, found, held = held.partition(b"\n")
        if not found:
            raise IrregularError
    while more := file.read(size):
        bare = _without_quoted(held)
        # blank lines stay behind: they are none of the table only where it ends
        last = len(bare[: bare.rfind(b"\n") + 1].rstrip(b"\r\n"))
        if last:
            end = bare.index(b"\n", last) + 1
            yield _regular(held[:end], bare[:end], delimiter, width)
            held = held[end:]
        elif len(held) > size:
            raise IrregularError
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
        raise IrregularError
    if b'"' in records:
        _check_quotes(np.frombuffer(records, np.uint8), mark[0])
    return records


def _check_bytes(data: bytes) -> None:
    """Refuse what is no text, and line ends that are not those of the rows."""
    if b"\0" in data or (b"\r" in data and data.count(b"\r") != data.count(b"\r\n")):
        raise IrregularError


def _check_quotes(values: np.ndarray, delimiter: int) -> None:
    """Refuse quotes other than around whole cells and, doubled, within them."""
    places = np.flatnonzero(values == QUOTE)
    # the byte before the first one is the last, which ends a line
    before, after = values[places[::2] - 1], values[places[1::2] + 1]
    edges = [delimiter, LINE_END, QUOTE]
    if places.size % 2 or not (
        np.isin(before, edges).all() and np.isin(after, [*edges, ord("\r")]).all()
    ):
        raise IrregularError


def read_records(
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
        raise IrregularError from None
