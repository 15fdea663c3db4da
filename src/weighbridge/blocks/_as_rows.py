"""Anything that holds rows, as rows."""

from __future__ import annotations

from os import PathLike
from typing import Any

from weighbridge.blocks._array import ArrayRows
from weighbridge.blocks._dask import from_dask, is_dask
from weighbridge.blocks._parquet import from_parquet
from weighbridge.blocks._rows import Rows


def is_blocks(X: Any) -> bool:
    """Tell whether a table comes in blocks: rows of this module, or a dask collection.

    Parameters
    ----------
    X : object
        Any table.

    Returns
    -------
    bool
        False for tables in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.blocks import from_array, is_blocks
    >>> X = np.zeros((3, 2))
    >>> is_blocks(X), is_blocks(from_array(X))
    (False, True)
    """
    return isinstance(X, Rows) or is_dask(X)


def as_rows(X: Any) -> Rows:
    """Return any table as rows in blocks.

    Parameters
    ----------
    X : Rows, dask array or data frame, array, memory map, pandas data frame, path
        Rows are returned as they are; a path leads to Parquet files, see `from_parquet`.

    Returns
    -------
    Rows
        The rows.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.blocks import as_rows
    >>> as_rows(np.zeros((3, 2))).shape
    (3, 2)
    """
    if isinstance(X, Rows):
        return X
    if isinstance(X, str | PathLike):
        return from_parquet(X)
    return from_dask(X) if is_dask(X) else ArrayRows(X)
