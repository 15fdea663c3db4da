"""Rows of an array: in memory, mapped from a file, or on a device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from weighbridge._data import is_foreign, is_frame
from weighbridge.blocks._local import LocalRows
from weighbridge.blocks._rows import Rows, block_size, check_columns, stretch


def from_array(X: Any, size: int | None = None) -> ArrayRows:
    """Rows of an array: of NumPy, a memory map, torch or cupy.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns) or (n_rows,)
        Not copied. A memory map is read block by block; a tensor stays on its device. Masked
        values are missing ones.
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
    """Stretches of an array or of a data frame; errors of a `whole` one do not name blocks."""

    def __init__(self, X: Any, size: int | None = None, *, whole: bool = False):
        if not hasattr(X, "shape"):
            X = np.asarray(X)
        if isinstance(X, np.ma.MaskedArray):
            X = np.ma.filled(X.astype(np.float64), np.nan)
        if len(X.shape) == 1:
            X = X.to_frame() if hasattr(X, "to_frame") else X[:, None]
        if len(X.shape) != 2:
            raise ValueError(
                f"Got an array of {len(X.shape)} dimensions, but expected 2: rows and columns."
            )
        self.table = X
        self.names = _column_names(X)
        self.numeric = isinstance(X, np.ndarray) and X.dtype.kind in "biuf"
        self.n_columns = int(X.shape[1])
        self.size = block_size(self.n_columns, size, is_foreign(X))
        self.threads = not is_foreign(X)
        self.whole = whole

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.table.shape[0])

    def select(self, columns: list[str]) -> ArrayRows:
        """Return some of the columns, see `Rows.select`."""
        import narwhals as nw

        wanted = check_columns(columns, self.names)
        return ArrayRows(nw.from_native(self.table).select(wanted).to_native(), self.size)

    def stretches(self, size: int) -> Iterator[Any]:
        """Yield stretches of the array."""
        for start in range(0, self.n_rows, size):
            yield stretch(self.table, start, min(start + size, self.n_rows))
        if self.n_rows == 0:
            yield self.table


class NumberRows(ArrayRows):
    """Rows of a data frame of numbers in memory, whose blocks are arrays, as those of files are."""

    def __init__(self, X: Any, size: int | None = None):
        super().__init__(X, size)
        self.numeric = True

    def stretches(self, size: int) -> Iterator[Any]:
        """Yield stretches as arrays of float64."""
        import narwhals as nw

        for table in super().stretches(size):
            frame = nw.from_native(table, eager_only=True)
            yield np.column_stack(
                [column.cast(nw.Float64).to_numpy() for column in frame.iter_columns()]
            )


def as_numbers(rows: Rows) -> Rows:
    """Return rows of a data frame of numbers in memory as arrays, any others as they are."""
    if rows.numeric or rows.names is None or not isinstance(rows, ArrayRows):
        return rows
    import narwhals as nw

    kinds = nw.from_native(rows.table, eager_only=True).schema.values()
    if all(kind.is_numeric() or kind == nw.Boolean for kind in kinds):
        return NumberRows(rows.table, rows.size)
    return rows


def _column_names(X: Any) -> list[str] | None:
    """Return the names of the columns of a data frame, None for an array."""
    if isinstance(X, np.ndarray) or is_foreign(X) or not is_frame(X):
        return None
    import narwhals as nw

    return list(nw.from_native(X).columns)
