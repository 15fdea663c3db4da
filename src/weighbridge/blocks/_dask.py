"""Rows of dask arrays and data frames, worked on where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from weighbridge.blocks._place import run_in_place
from weighbridge.blocks._rows import Block, OfTable, Rows, add, check_columns

# Blocks whose results are asked for at a time, where they are put together here.
AT_A_TIME = 16


def is_dask(X: Any) -> bool:
    """True for a dask array or data frame."""
    return type(X).__module__.partition(".")[0].startswith("dask") and hasattr(X, "to_delayed")


def from_dask(collection: Any) -> DaskRows:
    """Rows of a dask array or data frame, one block for each chunk or partition.

    Every pass computes the collection anew, by dask's current scheduler: threads, or the workers
    of a `distributed.Client`. One that is expensive and fits their memory is best persisted.

    Parameters
    ----------
    collection : dask array of one or two dimensions, dask data frame or series
        Chunks of columns are joined.

    Returns
    -------
    Rows
        The rows.

    Examples
    --------
    >>> import dask.array as da
    >>> from weighbridge.blocks import from_dask
    >>> rows = from_dask(da.arange(6, chunks=3).reshape(3, 2))
    >>> rows.sum(lambda block: block.table.sum(axis=0))
    array([6, 9])
    """
    if not is_dask(collection):
        raise TypeError(
            f"Got {type(collection).__name__}, but expected a dask array or data frame; "
            "as_rows(...) takes other tables."
        )
    return DaskRows(collection)


class DaskRows(Rows):
    """Chunks of a dask array, or partitions of a data frame."""

    def __init__(self, collection: Any):
        self.is_frame = hasattr(collection, "map_partitions")
        if self.is_frame and collection.ndim == 1:
            collection = collection.to_frame(name=collection.name or "0")
        if collection.ndim == 1:
            collection = collection[:, None]
        if collection.ndim != 2:
            raise ValueError(
                f"Got a dask array of {collection.ndim} dimensions, but expected 2: rows and "
                "columns."
            )
        if not self.is_frame and len(collection.chunks[1]) > 1:
            collection = collection.rechunk({1: -1})
        self.collection = collection
        self.names = list(map(str, collection.columns)) if self.is_frame else None
        self.n_columns = len(self.names) if self.names is not None else int(collection.shape[1])
        dtypes = collection.dtypes if self.is_frame else [collection.dtype]
        self.numeric = all(map(_is_number, dtypes))

    @cached_property
    def sizes(self) -> list[int]:
        """Rows of each block."""
        if not self.is_frame and not np.isnan(self.collection.chunks[0]).any():
            return [int(size) for size in self.collection.chunks[0]]
        from dask.base import compute
        from dask.delayed import delayed

        return list(compute(*(delayed(len)(part) for part in self._parts)))

    @property
    def n_rows(self) -> int:
        """Number of rows, counted once."""
        return sum(self.sizes)

    @cached_property
    def _parts(self) -> list[Any]:
        return list(np.ravel(self.collection.to_delayed()))

    def select(self, columns: list[str]) -> DaskRows:
        """Return some of the columns, see `Rows.select`."""
        return DaskRows(self.collection[check_columns(columns, self.names)])

    def map(self, function: Callable[[Block], Any], *beside: Any) -> Iterator[Any]:
        """Apply a function to each block, see `Rows.map`."""
        from dask.base import compute

        tasks = self._tasks(function, beside)
        for start in range(0, len(tasks), AT_A_TIME):
            yield from compute(*tasks[start : start + AT_A_TIME])

    def sum(self, function: Callable[[Block], Any], *beside: Any) -> Any:
        """Add up what a function returns, where the blocks are; see `Rows.sum`."""
        from dask.base import compute
        from dask.delayed import delayed

        tasks = self._tasks(function, beside)
        if not tasks:
            return function(self._empty())
        together = delayed(add, pure=False)
        while len(tasks) > 1:
            pairs = [together(*tasks[i : i + 2]) for i in range(0, len(tasks) - 1, 2)]
            tasks = pairs + tasks[2 * len(pairs) :]
        return compute(tasks[0])[0]

    def vector(self, function: Callable[..., Any], *beside: Any) -> Any:
        """Return a dask array of one number for each row, see `Rows.vector`."""
        import dask.array as da

        sizes = [size for size in self.sizes if size]
        tasks = self._tasks(_Numbers(OfTable(function)), beside)
        if not tasks:
            return da.zeros(0)
        pairs = zip(tasks, sizes, strict=True)
        return da.concatenate([da.from_delayed(task, (n,), dtype=float) for task, n in pairs])

    def _tasks(self, function: Callable[[Block], Any], beside: tuple[Any, ...]) -> list[Any]:
        """Return one delayed result for each block with rows."""
        from dask.delayed import delayed

        run = delayed(_Run(function, self.is_frame and self.numeric), pure=False)
        others = [self._stretches_of(other) for other in beside]
        tasks, start = [], 0
        for number, (size, part) in enumerate(zip(self.sizes, self._parts, strict=True)):
            if size:
                tasks.append(run(number, start, part, *(other[number] for other in others)))
            start += size
        return tasks

    def _stretches_of(self, other: Any) -> list[Any]:
        """Return what of a vector belongs to each block."""
        ends = np.cumsum(self.sizes)
        if isinstance(other, DaskRows):
            _check_length(other.n_rows, self.n_rows)
            if other.sizes == self.sizes:
                return other._parts
            other = other.vector(_only_column)
        if is_dask(other):
            rows = DaskRows(other)
            if rows.sizes == self.sizes:
                return rows._parts
            _check_length(rows.n_rows, self.n_rows)
            whole = rows.vector(_only_column) if rows.n_columns == 1 else other
            return list(np.ravel(whole.rechunk({0: tuple(self.sizes)}).to_delayed()))
        if isinstance(other, Rows):
            raise TypeError(
                "Got rows of this process beside dask rows; make both dask rows, or pass an array."
            )
        other = np.asarray(other)
        _check_length(len(other), self.n_rows)
        return np.split(other, ends[:-1])

    def _empty(self) -> Block:
        meta = self.collection._meta
        return Block(meta.to_numpy(dtype=float) if self.is_frame and self.numeric else meta, 0)


class _Run:
    """A function of a block, as a function of what dask delivers."""

    def __init__(self, function: Callable[[Block], Any], numeric: bool):
        self.function, self.numeric = function, numeric

    def __call__(self, number: int, start: int, table: Any, *beside: Any) -> Any:
        """Apply it; the error of a block says which it was."""
        return run_in_place(self._with_numbers, number, Block(table, start, beside))

    def _with_numbers(self, block: Block) -> Any:
        table = block.table.to_numpy(dtype=np.float64) if self.numeric else block.table
        beside = tuple(map(_flat, block.beside))
        return self.function(Block(table, block.start, beside))


class _Numbers:
    """A function whose result is one float for each row."""

    def __init__(self, function: Callable[[Block], Any]):
        self.function = function

    def __call__(self, block: Block) -> np.ndarray:
        """Apply it."""
        return np.asarray(self.function(block), dtype=np.float64).reshape(block.n_rows)


def _only_column(table: Any) -> np.ndarray:
    return np.asarray(table, dtype=np.float64)[:, 0]


def _flat(part: Any) -> Any:
    """Return a stretch as an array, of one dimension if it has one column."""
    array = np.asarray(part)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _is_number(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in "biuf"


def _check_length(n: int, n_rows: int) -> None:
    if n != n_rows:
        raise ValueError(f"Got {n} entries beside {n_rows} rows; there must be one for each row.")
