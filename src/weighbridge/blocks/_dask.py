"""Rows of dask arrays and data frames, worked on where they are."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np

from weighbridge.blocks._rows import (
    MOST_ROWS,
    Block,
    Rows,
    add,
    block_size,
    check_columns,
    check_length,
    check_n,
    entries,
    head,
    is_number,
    joined_tables,
    run_on_block,
)
from weighbridge.tables import take_rows

# Blocks whose results are asked for at a time, where they are put together here.
AT_A_TIME = 16
# Rows of a piece. Workers hand memory back after every step: large arrays come in fewer pages.
PIECE_ROWS = 4 * MOST_ROWS


def is_dask(X: Any) -> bool:
    """True for a dask array or data frame."""
    kind = type(X)  # a delayed object has every attribute, its type has not
    collects = hasattr(kind, "to_delayed") and hasattr(kind, "ndim")
    return collects and kind.__module__.startswith("dask")


def from_dask(collection: Any) -> DaskRows:
    """Rows of a dask array or data frame, one block for each chunk or partition.

    Every pass computes the collection anew, with dask's current scheduler: threads, or the workers
    of a `distributed.Client`. One that is expensive and fits their memory is best persisted.

    Parameters
    ----------
    collection : dask array of one or two dimensions, dask data frame or series
        Chunks that divide the columns are joined.

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
        self.columns = list(collection.columns if self.is_frame else range(collection.shape[1]))
        self.n_columns = len(self.columns)
        named = all(isinstance(name, str) for name in self.columns)
        self.names = self.columns if named else None
        dtypes = collection.dtypes if self.is_frame else [collection.dtype]
        self.numeric = all(map(is_number, dtypes))

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
        return _computed(self._tasks(function, beside))

    def first(self, n: int) -> Any:
        """Return the first rows, in memory; only the blocks needed are computed."""
        check_n(n)
        ends = np.cumsum([size for size in self.sizes if size])
        needed = 1 + int(np.searchsorted(ends, n))
        tables = _computed(self._tasks(partial(head, n), ())[:needed])
        return take_rows(joined_tables(list(tables)), slice(n))

    def sum(self, function: Callable[[Block], Any], *beside: Any) -> Any:
        """Add up what a function returns, where the blocks are; see `Rows.sum`."""
        from dask.base import compute
        from dask.delayed import delayed

        size = block_size(self.n_columns, None, most=PIECE_ROWS)
        tasks = self._tasks(partial(_in_pieces, function, size), beside)
        together = delayed(add, pure=False)
        while len(tasks) > 1:
            pairs = [together(*tasks[i : i + 2]) for i in range(0, len(tasks) - 1, 2)]
            tasks = pairs + tasks[2 * len(pairs) :]
        with _no_word_of_size():
            return compute(tasks[0])[0]

    def vector(self, function: Callable[..., Any], *beside: Any) -> Any:
        """Return a dask array of one entry for each row, see `Rows.vector`."""
        import dask.array as da
        from dask.base import compute

        # the first entry is computed at once: it tells the shape of the others
        (entry,) = compute(self._tasks(partial(_first_entry, function), beside)[0])
        sizes = [size for size in self.sizes if size] or [0]
        pairs = zip(self._tasks(partial(_entries, function), beside), sizes, strict=True)
        return da.concatenate(
            [da.from_delayed(task, (n, *entry.shape[1:]), dtype=entry.dtype) for task, n in pairs]
        )

    def _tasks(self, function: Callable[[Block], Any], beside: tuple[Any, ...]) -> list[Any]:
        """Return one delayed result for each block with rows; a table without any is one block."""
        from dask.delayed import delayed

        checked = partial(_checked, function, self.columns, self.is_frame and self.numeric)
        run = delayed(partial(_run, checked), pure=False)
        others = [self._stretches_of(other) for other in beside]
        tasks, start, empty = [], 0, self.n_rows == 0
        for number, (size, part) in enumerate(zip(self.sizes, self._parts, strict=True)):
            if size or (empty and number == 0):
                tasks.append(run(number, start, part, *(other[number] for other in others)))
            start += size
        return tasks

    def _stretches_of(self, other: Any) -> list[Any]:
        """Return what of a vector belongs to each block."""
        if isinstance(other, DaskRows) or is_dask(other):
            rows = other if isinstance(other, DaskRows) else DaskRows(other)
            check_length(rows.n_rows, self.n_rows)
            return self._cut_alike(rows)
        if isinstance(other, Rows):
            raise TypeError(
                "Got rows of this process together with dask rows; make both dask rows, or pass "
                "an array."
            )
        other = np.atleast_1d(other)
        check_length(len(other), self.n_rows)
        return np.split(other, np.cumsum(self.sizes)[:-1])

    def _cut_alike(self, other: DaskRows) -> list[Any]:
        """Return other rows in blocks of the same sizes, each from the parts that it lies in."""
        from dask.delayed import delayed

        cut = delayed(_cut, pure=False)
        other_ends = np.cumsum(other.sizes)
        stretches, start = [], 0
        for size in self.sizes:
            first, last, skip = 0, 0, 0
            if size:
                first = int(np.searchsorted(other_ends, start, "right"))
                last = int(np.searchsorted(other_ends, start + size, "left"))
                skip = start - int(other_ends[first]) + other.sizes[first]
            stretches.append(cut(skip, size, *other._parts[first : last + 1]))
            start += size
        return stretches


def _computed(tasks: list[Any]) -> Iterator[Any]:
    """Yield the results of tasks in order, some at a time."""
    from dask.base import compute

    for start in range(0, len(tasks), AT_A_TIME):
        with _no_word_of_size():
            results = compute(*tasks[start : start + AT_A_TIME])
        yield from results


@contextmanager
def _no_word_of_size() -> Iterator[None]:
    """Vectors of this process travel with the tasks: so a lost worker loses none of them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        yield


def _run(
    function: Callable[[Block], Any], number: int, start: int, table: Any, *beside: Any
) -> Any:
    """Apply a function of a block to what dask delivers; its error says which block it was."""
    return run_on_block(function, number, Block(table, start, beside))


def _checked(
    function: Callable[[Block], Any], columns: list[Any], numbers: bool, block: Block
) -> Any:
    """Apply a function to a block whose columns are as announced, as an array where `numbers`."""
    found = list(getattr(block.table, "columns", range(block.table.shape[1])))
    if found != columns:
        raise ValueError(
            f"Got a part with columns {found}, but dask was told {columns}; make all parts alike."
        )
    table = block.table.to_numpy(dtype=np.float64) if numbers else block.table
    return function(Block(table, block.start, block.beside))


def _in_pieces(function: Callable[[Block], Any], size: int, block: Block) -> Any:
    """Add up a function over pieces of a block: parts of dask may be large."""
    starts = range(0, max(block.n_rows, 1), size)
    return reduce(add, (function(_piece(block, start, start + size)) for start in starts))


def _piece(block: Block, start: int, stop: int) -> Block:
    beside = tuple(part[start:stop] for part in block.beside)
    return Block(take_rows(block.table, slice(start, stop)), block.start + start, beside)


def _entries(function: Callable[..., Any], block: Block) -> np.ndarray:
    """Return what a function of tables returns for the rows of a block, as an array."""
    return np.asarray(entries(function, block))


def _first_entry(function: Callable[..., Any], block: Block) -> np.ndarray:
    """Apply a function to no more than the first row of a block."""
    return _entries(function, _piece(block, 0, 1))


def _cut(start: int, size: int, *parts: Any) -> np.ndarray:
    """Return a stretch of parts put together, of one dimension if it has one column."""
    table = np.asarray(joined_tables(list(parts)))[start : start + size]
    return table[:, 0] if table.shape[1] == 1 else table
