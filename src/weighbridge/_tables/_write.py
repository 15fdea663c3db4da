"""Tables, weights and predictions on disk: CSV that a spreadsheet takes as text, or Parquet."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

# A cell of text that begins like this is run by spreadsheets, some of which take wide letters too.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
WEIGHT_COLUMNS = ("row", "weight", "log_ratio")
# Rows that are written at a time.
STEP = 50_000


def defused(value: Any) -> Any:
    """Return a cell that no spreadsheet runs: text like ``=1+1`` gets an apostrophe in front."""
    if not isinstance(value, str) or not value.startswith(FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


class TableWriter:
    """Writes blocks of columns as they come, as CSV or Parquet as the name of the file says."""

    def __init__(self, path: Path, names: Sequence[str]):
        self.path, self.names = path, list(names)
        self._file: Any = None
        self._rows: Any = None
        self._parquet: Any = None

    def __enter__(self) -> TableWriter:
        if self.path.suffix == ".csv":
            self._file = self.path.open("w", encoding="utf-8", newline="")
            # csv ends lines by both signs, and so quotes cells with either; ours end by the second
            lines = SimpleNamespace(write=lambda line: self._file.write(f"{line[:-2]}\n"))
            self._rows = csv.writer(lines)
            self._rows.writerow([defused(name) for name in self.names])
        return self

    def write(self, columns: Sequence[np.ndarray]) -> None:
        """Append rows; columns in the order of the names."""
        if self._rows is not None:
            cells = [
                map(defused, each.tolist()) if each.dtype.kind in "OUS" else each.tolist()
                for each in columns
            ]
            self._rows.writerows(zip(*cells, strict=True))
            return
        import pyarrow
        import pyarrow.parquet

        # Arrow does not take text of NumPy's fixed width
        taken = (each.astype(object) if each.dtype.kind == "U" else each for each in columns)
        table = pyarrow.table(dict(zip(self.names, taken, strict=True)))
        table = table.replace_schema_metadata({"made by": "weighbridge"})
        if self._parquet is None:
            # Arrow takes a name that is not UTF-8 as bytes only
            self._file = pyarrow.OSFile(os.fsencode(self.path), "wb")
            self._parquet = pyarrow.parquet.ParquetWriter(self._file, table.schema)
        self._parquet.write_table(table)

    def __exit__(self, *error: object) -> None:
        for open_one in (self._parquet, self._file):
            if open_one is not None:
                open_one.close()


def write_weights(
    path: Path,
    weights: np.ndarray,
    log_ratio: np.ndarray,
    *,
    rows: np.ndarray | None,
) -> None:
    """Write the weights of some training rows, numbered from 1, as CSV or Parquet by the name.

    Without `rows`, no row is numbered.
    """
    columns, names = [weights, log_ratio], [*WEIGHT_COLUMNS]
    if rows is None:
        del names[0]
    else:
        columns = [rows, *columns]
    with TableWriter(path, names) as table:
        for start in range(0, weights.size, STEP):
            table.write([column[start : start + STEP] for column in columns])
