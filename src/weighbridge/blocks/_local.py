"""Rows of this process, several blocks at a time: of an array, a memory map or a device."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import RLock
from typing import Any

import numpy as np
from sklearn import get_config, set_config

from weighbridge._folds import thread_pools
from weighbridge.blocks._rows import (
    Block,
    Rows,
    block_size,
    check_columns,
    check_length,
    run_on_block,
)
from weighbridge.tables import column_labels, is_foreign, is_frame, take_rows, unmasked


class LocalRows(Rows):
    """Rows that this process reads. A member says how, and where a block lies."""

    size: int
    # whether blocks may be worked on by several threads; a device has its own
    threads = True
    # whether errors are told as they are, without the block they happened in
    whole = False

    @abstractmethod
    def stretches(self, size: int) -> Iterator[Any]:
        """Yield tables of `size` rows, the last one shorter."""

    def place(self, start: int, stop: int) -> str:
        """Say in which file some rows are; nothing where there is none."""
        del start, stop
        return ""

    def map(self, function: Callable[[Block], Any], *beside: Any) -> Iterator[Any]:
        """Apply a function to each block, see `Rows.map`."""
        tasks: Iterator[tuple[Any, ...]] = (
            (function, block) if self.whole else (run_on_block, function, number, block, self.place)
            for number, block in self._blocks(beside)
        )
        threads = blas_threads() if self.threads and self.n_rows > self.size else 1
        return _in_order(tasks, threads)

    def _blocks(self, beside: tuple[Any, ...]) -> Iterator[tuple[int, Block]]:
        """Yield number and block, with what lies beside it."""
        others = [_stretches_of(other, self.n_rows, self.size) for other in beside]
        start = 0
        for number, (table, *parts) in enumerate(
            zip(self.stretches(self.size), *others, strict=False)
        ):
            yield number, Block(table, start, tuple(parts))
            start += table.shape[0]


def _stretches_of(other: Any, n_rows: int, size: int) -> Iterator[Any]:
    """Yield the stretches of a vector, or of other rows, that belong to blocks of this size."""
    local = isinstance(other, LocalRows)
    if not local and (isinstance(other, Rows) or hasattr(other, "dask")):
        raise TypeError(
            "Got rows of dask or Spark together with rows of this process; compute them "
            "(rows.vector), or make both of the same kind."
        )
    if not local and not is_foreign(other):
        other = np.atleast_1d(other)
    check_length(other.shape[0], n_rows)
    if local:
        tables = other.stretches(size)
        return (_only_column(table) for table in tables) if other.n_columns == 1 else tables
    # a table without rows is one empty block
    return (other[start : start + size, ...] for start in range(0, max(n_rows, 1), size))


def _only_column(table: Any) -> Any:
    column = table.iloc[:, 0] if hasattr(table, "iloc") else table[:, 0]
    return column.to_numpy() if hasattr(column, "to_numpy") else column


def _in_order(tasks: Iterator[tuple[Any, ...]], threads: int) -> Iterator[Any]:
    """Run tasks in threads; yield their results in order, with few of them ahead."""
    if threads == 1:
        for function, *arguments in tasks:
            yield function(*arguments)
        return
    waiting: deque[Any] = deque()
    # scikit-learn's settings are those of a thread: ours have the ones of who asked
    settings = partial(set_config, **get_config())
    with _ONE_EACH, ThreadPoolExecutor(threads, initializer=settings) as pool:
        try:
            for task in tasks:
                waiting.append(pool.submit(*task))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


class _OneThreadEach:
    """One thread of the linear algebra in each of ours, as long as blocks are worked on."""

    # iterators over blocks may overlap and end in any order: the last one puts the threads back
    def __init__(self) -> None:
        self._lock, self._users = RLock(), 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._limit = thread_pools().limit(limits=1)
            self._users += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limit.restore_original_limits()


_ONE_EACH = _OneThreadEach()


def blas_threads() -> int:
    """Return how many threads linear algebra may use: as many as blocks are worked on by."""
    pools = thread_pools().select(user_api="blas").info()
    return max((int(pool["num_threads"]) for pool in pools), default=1)


def from_array(X: Any, size: int | None = None) -> ArrayRows:
    """Rows of an array: NumPy, a memory map, torch or cupy.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns) or (n_rows,)
        Not copied. A memory map is read block by block; a tensor stays on its device. Masked
        values count as missing.
    size : int, optional
        Rows per block. Default: 65,536, fewer for wide tables (scikit-learn's ``working_memory``).

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
        X = unmasked(X)
        if len(X.shape) == 1:
            X = X.to_frame() if hasattr(X, "to_frame") else X[:, None]
        if len(X.shape) != 2:
            raise ValueError(
                f"Got an array of {len(X.shape)} dimensions, but expected 2: rows and columns."
            )
        self.table = X
        self.names = column_labels(X) if is_frame(X) else None
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
            yield take_rows(self.table, slice(start, start + size))
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
