"""One number for each row, in memory or in blocks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from weighbridge._namespace import is_foreign, to_numpy
from weighbridge.blocks import Block, DaskRows, Rows, as_rows
from weighbridge.ratios._columns import read_columns


def vector_rows(vector: Any, name: str) -> Rows:
    """Return a vector in blocks as rows of one column; refuse a table."""
    rows = as_rows(vector)
    if rows.n_columns != 1:
        raise ValueError(
            f"Got {name} of shape {rows.shape}, but expected one number for each row: one column."
        )
    return rows


def stretch_of(part: Any) -> np.ndarray:
    """Return a stretch of a vector, held in anything, as an array; text stays text."""
    table = to_numpy(part) if is_foreign(part) else part
    if not hasattr(table, "columns"):
        table = np.asarray(table).reshape(-1, 1)
    return read_columns(table)[0]


def in_memory(vector: Any, name: str) -> np.ndarray:
    """Return a vector in blocks as one array."""
    rows = vector_rows(vector, name)
    return np.concatenate([np.empty(0), *rows.map(_of_block)])


def sum_of_stretches(vector: Any, function: Callable[[np.ndarray], Any], name: str) -> Any:
    """Add up what a function returns for the stretches of a vector in blocks."""
    return vector_rows(vector, name).sum(partial(_apply, function))


def beside_rows(vector: Any, rows: Rows, name: str) -> Any:
    """Return a vector in blocks as it can lie beside rows; refuse another number of entries."""
    own = vector_rows(vector, name)
    if own.n_rows != rows.n_rows:
        raise ValueError(
            f"Got {name} of shape ({own.n_rows},), but expected ({rows.n_rows},), one for each row."
        )
    # dask reads its own blocks only, and this process reads none of dask's
    both = isinstance(own, DaskRows) == isinstance(rows, DaskRows)
    return own if both else in_memory(own, name)


def _of_block(block: Block) -> np.ndarray:
    return stretch_of(block.table)


def _apply(function: Callable[[np.ndarray], Any], block: Block) -> Any:
    return function(stretch_of(block.table))
