"""Arrow batches: of Parquet files or streams, as tables of blocks, and whether they come again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from weighbridge.exceptions import BlockError
from weighbridge.tables import as_numbers, exact_keys, joined_tables, read_columns

# Checksums of pages are looked at where the writer left some.
CHECKED = {"page_checksum_verification": True}
OTHER_ROWS = (
    "Got other rows than when they were first read. Every pass must give the same rows in the same "
    "order: sort them by a key, keep them (cache, persist), or write them to Parquet files first."
)


@dataclass(frozen=True)
class ArrowTable:
    """Makes a table of a batch: an array of float64 where all columns are numbers, else a frame."""

    names: list[str]
    numeric: bool

    def __call__(self, batch: Any) -> Any:
        if not self.numeric:
            return batch.select(self.names).to_pandas()
        table = np.empty((batch.num_rows, len(self.names)))
        for place, name in enumerate(self.names):
            table[:, place] = _numbers(batch.column(name))
        return table


def _numbers(column: Any) -> np.ndarray:
    import pyarrow as pa

    if column.type in (pa.bool_(), pa.float16()) or pa.types.is_decimal(column.type):
        column = column.cast(pa.float64() if column.type != pa.bool_() else pa.int8())
    if isinstance(column, pa.Array):
        column = column.to_numpy(zero_copy_only=False)
    return np.asarray(column, dtype=np.float64)


def are_numbers(schema: Any, names: list[str]) -> bool:
    """True where all of these columns are numbers."""
    import pyarrow as pa

    types = pa.types
    tests = types.is_floating, types.is_integer, types.is_boolean, types.is_decimal
    return all(any(test(schema.field(name).type) for test in tests) for name in names)


def compare_columns(first: str, schema: Any, part: str, other: Any, names: list[str]) -> None:
    """Refuse a file or a batch with other columns than the first."""
    absent = [name for name in names if name not in other.names]
    if absent:
        raise BlockError(
            f"{Path(part).name} has no column {absent[0]!r}, which {Path(first).name} has "
            f"({len(absent)} of {len(names)} are missing); all must have the same columns."
        )
    for name in names:
        if are_numbers(schema, [name]) != are_numbers(other, [name]):
            raise BlockError(
                f"{Path(part).name} has column {name!r} as {other.field(name).type}, and "
                f"{Path(first).name} as {schema.field(name).type}; it must be numbers in all or in "
                "none."
            )


def is_stream(given: Any) -> bool:
    """True for what gives a stream of Arrow batches."""
    return hasattr(given, "__arrow_c_stream__")


def record_batches(given: Any) -> Iterator[Any]:
    """Yield the Arrow batches of a stream, or of an iterable of batches, tables and streams."""
    import pyarrow as pa

    if is_stream(given):
        with pa.RecordBatchReader.from_stream(given) as reader:
            yield reader.schema.empty_table()  # which has the columns where there are no rows
            yield from reader
        return
    for part in given:
        if not is_stream(part):
            raise TypeError(f"got a {type(part).__name__} among the batches, not Arrow data")
        yield from record_batches(part)


def cut(tables: Iterable[Any], size: int) -> Iterator[Any]:
    """Yield tables of `size` rows, wherever those that come end; the last one is shorter."""
    waiting: list[Any] = []
    held = 0
    for table in tables:
        waiting.append(table)
        held += table.shape[0]
        while held >= size:
            joined = joined_tables(waiting)
            yield joined[:size]
            waiting, held = [joined[size:]], held - size
    if held:
        yield joined_tables(waiting)


class Fingerprint:
    """A number that tells rows in one order from others, and how many rows it is of."""

    def __init__(self) -> None:
        self.n, self.value = 0, 0

    def add(self, table: Any) -> tuple[int, int]:
        """Take the next rows; return number of rows and fingerprint so far."""
        keys = exact_keys(table, as_numbers(read_columns(table)))
        odd = 2 * np.arange(self.n, self.n + keys.size, dtype=np.uint64) + 1
        self.value = (self.value + int((keys * odd).sum())) % 2**64
        self.n += keys.size
        return self.n, self.value


def first_line(error: BaseException) -> str:
    """Return the first line of an error, or its name where it says nothing."""
    return str(error).splitlines()[0].strip().rstrip(".") if str(error) else type(error).__name__


def parquet_schema(file: str) -> tuple[Any, int]:
    """Return the Arrow schema of a Parquet file, and its number of rows."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            'Parquet files need the package pyarrow: pip install "weighbridge[parquet]"'
        ) from None
    with _opened(file, " is not a Parquet file, or is damaged") as source:
        return source.schema_arrow, source.metadata.num_rows


def parquet_batches(file: str, size: int, columns: list[str] | None = None) -> Iterator[Any]:
    """Yield the rows of a Parquet file as Arrow batches."""
    with _opened(file, ": the file cannot be read any further", **CHECKED) as source:
        yield from source.iter_batches(size, columns=columns)


@contextmanager
def _opened(file: str, problem: str, **options: Any) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # a name that is not UTF-8 is taken as bytes only
        with pa.OSFile(os.fsencode(file)) as opened, pq.ParquetFile(opened, **options) as source:
            yield source
    except (pa.ArrowException, OSError) as error:
        why = first_line(error)
        raise BlockError(f"{Path(file).name}{problem} ({why}); write or copy it again.") from error
