"""Parquet files, one or a folder of them, read as one table in batches."""

from __future__ import annotations

import hashlib
import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

from weighbridge._findings import Problem, listed, shown_file
from weighbridge._tables._csv import check_header
from weighbridge._tables._formats import hash_file
from weighbridge._tables._frames import typed_columns
from weighbridge._tables._table import Cells
from weighbridge.exceptions import InputError

# Rows that are read at a time.
BATCH_ROWS = 50_000
# A file with more cells than this, and more than this many for each of its bytes, holds no table.
MAX_CELLS, MAX_CELLS_PER_BYTE = 1 << 26, 100
# The name under which pandas stores row labels that have none.
INDEX = "__index_level_"


class ParquetSource:
    """One or more Parquet files, one after the other, as one table."""

    typed = True

    def __init__(self, path: str, files: list[str] | None = None):
        self._files = files or [path]
        self._in_folder = files is not None
        names, counts = zip(*map(_read_schema, self._files), strict=True)
        self.names: list[str] = names[0]
        problems = [
            _other_columns(path, self._files[0], file, differing)
            for file, other in zip(self._files, names, strict=True)
            if (differing := sorted({*self.names} ^ {*other}))
        ]
        if problems:
            raise InputError(problems)
        self._ends = list(accumulate(counts))
        self._rows_read = 0

    @cached_property
    def sha256(self) -> str:
        """Of the file, or of the hashes of all files of a folder."""
        digests = [hash_file(file) for file in self._files]
        if not self._in_folder:
            return digests[0]
        return hashlib.sha256("".join(digests).encode()).hexdigest()

    @property
    def share_read(self) -> float:
        """The share of the rows that has been read, from 0 to 1."""
        return self._rows_read / max(self._ends[-1], 1)

    def blocks(self, columns: Sequence[int], text: Sequence[int]) -> Iterator[list[Cells]]:
        """Yield columns of some rows at a time, as float64 or as text, whichever they are."""
        del text
        import narwhals as nw
        import pyarrow as pa

        self._rows_read = 0
        for file in self._files:
            for batch in _batches(file):
                frame = nw.from_native(pa.table(batch), eager_only=True)
                cells = typed_columns(frame, shown_file(file))
                self._rows_read += batch.num_rows
                if batch.num_rows:
                    names = _column_names(batch.schema)
                    yield [cells[names.index(self.names[column])] for column in columns]

    def place(self, row: int) -> str:
        """Return where a row is: counted from 0, and in which file of a folder."""
        number = min(bisect_right(self._ends, row), len(self._files) - 1)
        before = self._ends[number - 1] if number else 0
        name = shown_file(os.path.basename(self._files[number]))
        return f"{name} row {row - before:,}" if self._in_folder else f"row {row:,}"


def parquet_files(folder: str) -> list[str]:
    """Return the Parquet files of a folder, part.2 before part.10; none if it is no folder."""
    if not os.path.isdir(folder):
        return []
    try:
        names = [name for name in os.listdir(folder) if name.lower().endswith(".parquet")]
    except OSError:  # Opening the folder gives the reason.
        return []
    # Names like _metadata.parquet belong to the program that wrote the folder.
    names = [name for name in names if not name.startswith((".", "_"))]
    nested = [path for path in Path(folder).glob("*/**/*.parquet") if path.is_file()]
    if nested:
        message = f"{shown_file(folder)} has Parquet files in subfolders, which are not read."
        evidence = (f"for example {shown_file(str(nested[0]))}",)
        raise InputError([Problem("WB118", message, evidence, "name one folder", "usage")])
    return [os.path.join(folder, name) for name in sorted(names, key=_by_number)]


def _by_number(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts names by the values of the numbers in them."""
    pieces = re.split(r"(\d+)", name)
    return [(int(piece), "") if piece.isdigit() else (-1, piece) for piece in pieces]


def _read_schema(file: str) -> tuple[list[str], int]:
    """Return the names of the columns and the number of rows of a Parquet file."""
    name = shown_file(file)
    try:
        with _opened(file) as opened:
            names, n_rows = _column_names(opened.schema_arrow), opened.metadata.num_rows
    except ModuleNotFoundError:
        message = f"{name} is a Parquet file, which needs the package pyarrow."
        help = 'pip install "weighbridge[cli]", or save it as CSV'
        raise InputError([Problem("WB146", message, (), help, "usage")]) from None
    check_header(name, names)
    if n_rows * len(names) > max(MAX_CELLS, MAX_CELLS_PER_BYTE * os.path.getsize(file)):
        message = f"{name} claims {n_rows:,} rows, which do not fit into its bytes."
        raise InputError([Problem("WB123", message, (), "see what is in it")])
    return names, n_rows


def _batches(file: str) -> Iterator[Any]:
    # Pages are compared with their checksums if the writer stored some.
    with _opened(file, page_checksum_verification=True) as opened:
        yield from opened.iter_batches(BATCH_ROWS)


@contextmanager
def _opened(file: str, **options: Any) -> Iterator[Any]:
    """Open a Parquet file; raise InputError if it cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Arrow takes a name that is not UTF-8 only as bytes.
        with pa.OSFile(os.fsencode(file)) as source, pq.ParquetFile(source, **options) as opened:
            yield opened
    except (pa.ArrowException, OSError):
        message = f"{shown_file(file)} is a damaged Parquet file."
        raise InputError([Problem("WB123", message, (), "write or copy it again")]) from None


def _column_names(schema: Any) -> list[str]:
    return ["" if name.startswith(INDEX) else name for name in schema.names]


def _other_columns(folder: str, first: str, file: str, differing: list[str]) -> Problem:
    names = [shown_file(os.path.basename(path)) for path in (file, first)]
    return Problem(
        "WB118",
        f"the files of {shown_file(folder)} have different columns.",
        (f"{names[0]} and {names[1]} differ in {listed(differing)}",),
        "write them again with the same columns, or name one of the files",
    )
