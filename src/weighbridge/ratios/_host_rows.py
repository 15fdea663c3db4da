"""Rows of a device, for ratios that compute in NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from weighbridge._namespace import is_foreign, to_numpy
from weighbridge.blocks import ArrayRows, LocalRows, Rows, check_columns


def on_host(rows: Rows) -> Rows:
    """Return rows whose blocks are NumPy arrays; others than those of a device as they are."""
    if isinstance(rows, ArrayRows) and is_foreign(rows.table):
        return HostRows(rows)
    return rows


class HostRows(LocalRows):
    """Rows of an array of another library (torch, cupy), fetched block by block.

    Parameters
    ----------
    rows : ArrayRows
        The rows where they live.
    """

    def __init__(self, rows: ArrayRows):
        self.rows, self.size, self.n_columns = rows, rows.size, rows.n_columns
        self.names, self.numeric = None, True

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.n_rows

    def select(self, columns: list[str]) -> Rows:
        """Refuse: an array has no names, see `Rows.select`."""
        check_columns(columns, self.names)
        return self

    def stretches(self, size: int) -> Iterator[np.ndarray]:
        """Yield stretches of the array."""
        for table in self.rows.stretches(size):
            yield to_numpy(table)
