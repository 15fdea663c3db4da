"""Tables that are written row by row: CSV that a spreadsheet takes as text, or Parquet."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

# A cell of text that begins like this is run by spreadsheets.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def defused(value: Any) -> Any:
    """Return a cell that no spreadsheet runs; numbers are no text, and stay as they are.

    A text like ``=1+1`` gets an apostrophe in front, which spreadsheets take as "this is text".
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


class TableWriter:
    """Writes blocks of columns as they come; bounded memory for any number of rows.

    Parameters
    ----------
    path : Path
        The file; its suffix says whether it is CSV or Parquet.
    names : sequence of str
        Names of the columns.
    """

    def __init__(self, path: Path, names: Sequence[str]):
        self.path, self.names = path, list(names)
        self._file: Any = None
        self._parquet: Any = None

    def __enter__(self) -> TableWriter:
        if self.path.suffix == ".csv":
            self._file = self.path.open("w", encoding="utf-8", newline="")
            self._rows = csv.writer(self._file, lineterminator="\n")
            self._rows.writerow([defused(name) for name in self.names])
        return self

    def write(self, columns: Sequence[np.ndarray]) -> None:
        """Append rows; columns in the order of the names."""
        if self._file is not None:
            cells = [_cells(column) for column in columns]
            self._rows.writerows(zip(*cells, strict=True))
            return
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.table(dict(zip(self.names, map(_array, columns), strict=True)))
        table = table.replace_schema_metadata({"made by": "weighbridge"})
        if self._parquet is None:
            self._parquet = pyarrow.parquet.ParquetWriter(self.path, table.schema)
        self._parquet.write_table(table)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for open_one in (self._file, self._parquet):
            if open_one is not None:
                open_one.close()


def _cells(column: np.ndarray) -> list[Any]:
    values = column.tolist()
    return [defused(value) for value in values] if column.dtype.kind in "OUS" else values


def _array(column: np.ndarray) -> Any:
    """Return a column that Arrow takes; text of NumPy's fixed width it does not."""
    return column.astype(object) if column.dtype.kind == "U" else column
