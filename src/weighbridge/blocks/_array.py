"""Rows of an array: in memory, mapped from a file, or on a device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from weighbridge._namespace import is_foreign
from weighbridge.blocks._local import LocalRows
from weighbridge.blocks._rows import block_size, check_columns


def from_array(X: Any, size: int | None = None) -> ArrayRows:
    """Rows of an array: of NumPy, a memory map, torch or cupy.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns) or (n_rows,)
        Not copied. A memory map is read block by block; a tensor stays on its device.
    size : int, optional
        Rows of a block. Default: 65,536, fewer of wide tables, by scikit-learn's
        ``working_memory``.

    Returns
    -------
    Rows
        The rows.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge import fit_ratio
    >>> from weighbridge.blocks import from_array
    >>> from weighbridge.ratios import ULSIF
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (2000, 1)), rng.normal(0.5, 1, (1000, 1))
    >>> whole = fit_ratio(X, X_target, ULSIF())
    >>> blocks = fit_ratio(from_array(X, size=300), from_array(X_target, size=70), ULSIF())
    >>> bool(abs(blocks.score_samples(X) - whole.score_samples(X)).max() < 1e-10)
    True
    """
    return ArrayRows(X, size)


class ArrayRows(LocalRows):
    """Stretches of an array, or of a data frame in memory."""

    def __init__(self, X: Any, size: int | None = None):
        if not (is_foreign(X) or isinstance(X, np.ndarray) or hasattr(X, "iloc")):
            X = np.asarray(X)
        if X.ndim == 1:
            X = X[:, None] if not hasattr(X, "iloc") else X.to_frame()
        if X.ndim != 2:
            raise ValueError(
                f"Got an array of {X.ndim} dimensions, but expected 2: rows and columns."
            )
        self.table = X
        self.names = None
        if hasattr(X, "iloc") and all(isinstance(name, str) for name in X.columns):
            self.names = list(X.columns)
        self.n_columns = int(X.shape[1])
        self.size = block_size(self.n_columns, size)
        self.threads = not is_foreign(X)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.table.shape[0])

    def select(self, columns: list[str]) -> ArrayRows:
        """Return some of the columns, see `Rows.select`."""
        return ArrayRows(self.table[check_columns(columns, self.names)], self.size)

    def stretches(self, size: int) -> Iterator[Any]:
        """Yield stretches of the array."""
        cut = self.table.iloc if hasattr(self.table, "iloc") else self.table
        for start in range(0, self.n_rows, size):
            yield cut[start : start + size]
        if self.n_rows == 0:
            yield self.table
