"""Weights of training rows on disk, in the order of the training table."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from weighbridge.adaptation._table_writer import TableWriter

COLUMNS = ("row", "weight", "log_ratio")
_BLOCK = 50_000


def write_weights(path: Path, weights: np.ndarray, log_ratio: np.ndarray) -> None:
    """Write one line for each training row, counted from 1; Parquet where the name says so.

    Parameters
    ----------
    path : Path
        The file.
    weights, log_ratio : ndarray of shape (n_rows,)
        Numbers of the rows.
    """
    rows = np.arange(1, weights.size + 1)
    with TableWriter(path, COLUMNS) as table:
        for start in range(0, rows.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            table.write([rows[part], weights[part], log_ratio[part]])
