"""What all sources of rows have in common, and errors that say in which block they happened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
from sklearn import get_config

from weighbridge.exceptions import BlockError
from weighbridge.tables import is_foreign, joined_tables, take_rows, to_numpy

# Rows of a block, unless they are wide.
MOST_ROWS = 65_536


@dataclass(frozen=True)
class Block:
    """A stretch of rows.

    Parameters
    ----------
    table : array or data frame
        The rows.
    start : int
        Number of the first of them in the whole table.
    beside : tuple of arrays
        The parts for these rows of the vectors given as `beside`.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.blocks import from_array
    >>> rows = from_array(np.arange(6.0).reshape(3, 2), size=2)
    >>> [(block.start, block.table.shape) for block in rows.map(lambda block: block)]
    [(0, (2, 2)), (2, (1, 2))]
    """

    table: Any
    start: int
    beside: tuple[Any, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.table.shape[0])


class Rows(ABC):
    """Rows of a table that come in blocks, as often as they are asked for.

    Made by `from_array`, `from_parquet` and `from_dask`. What is computed is a function of each
    block, added up or put together in the order of the rows, so that it does not depend on where
    the blocks live or how large they are.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.blocks import from_array
    >>> rows = from_array(np.arange(6.0).reshape(3, 2), size=2)
    >>> rows.shape
    (3, 2)
    >>> rows.sum(lambda block: block.table.sum(axis=0))
    array([6., 9.])
    >>> rows.vector(lambda table: table[:, 0] - table[:, 1])
    array([-1., -1., -1.])
    """

    names: list[str] | None
    n_columns: int
    # whether every block is an array of numbers
    numeric: bool

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows, counted once where the source does not know it."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.n_rows, self.n_columns

    def __len__(self) -> int:
        return self.n_rows

    @abstractmethod
    def select(self, columns: list[str]) -> Rows:
        """Return some of the columns, in the order given.

        Parameters
        ----------
        columns : list of str
            Their names.

        Returns
        -------
        Rows
            The same rows with these columns alone.
        """

    @abstractmethod
    def map(self, function: Callable[[Block], Any], *beside: Any) -> Iterator[Any]:
        """Apply a function to each block; yield the results in the order of the rows.

        Several blocks are worked on at a time, and few are in memory.

        Parameters
        ----------
        function : callable
            Takes a `Block`. It may run in another thread or process, and must change nothing.
        *beside : array, dask array or Rows
            Vectors with an entry for each row; each block carries its stretch of them.

        Yields
        ------
        object
            What the function returned.
        """

    def sum(self, function: Callable[[Block], Any], *beside: Any) -> Any:
        """Add up what a function returns for each block.

        Parameters
        ----------
        function : callable
            Takes a `Block`; returns numbers, arrays, other things that can be added, or tuples,
            lists and dictionaries of them.
        *beside : array, dask array or Rows
            Vectors with an entry for each row; each block carries its stretch of them.

        Returns
        -------
        object
            The sum, of the same kind.
        """
        return reduce(add, self.map(function, *beside))

    def vector(self, function: Callable[..., Any], *beside: Any) -> Any:
        """Put together what a function returns for each block of rows.

        Parameters
        ----------
        function : callable
            Takes a table (and the stretches of `beside`); returns one entry for each row, as
            ``model.predict`` does.
        *beside : array, dask array or Rows
            Vectors with an entry for each row.

        Returns
        -------
        array of shape (n_rows,) or (n_rows, n)
            In memory; for dask rows a dask array, not yet computed.
        """
        parts = list(self.map(partial(entries, function), *beside))
        if is_foreign(parts[0]):
            return joined_tables(parts)
        return np.concatenate([np.asarray(part) for part in parts])

    def first(self, n: int) -> Any:
        """Return the first rows, in memory.

        Parameters
        ----------
        n : int
            How many, at most.

        Returns
        -------
        array or data frame
            The rows.
        """
        check_n(n)
        parts, missing = [], n
        for table in self.map(partial(head, n)):
            parts.append(take_rows(table, slice(missing)))
            missing -= parts[-1].shape[0]
            if missing <= 0:
                break
        return joined_tables(parts)

    def sample(self, n: int, random_state: Any = 0) -> Any:
        """Return rows drawn at random, in memory and in their order.

        Parameters
        ----------
        n : int
            How many, at most; each row at most once.
        random_state : int, Generator or None, default=0
            Seed for the draw, which is the same however the rows are cut into blocks.

        Returns
        -------
        array or data frame
            The rows.
        """
        check_n(n)
        rng = np.random.default_rng(random_state)
        some = rng.choice(self.n_rows, min(n, self.n_rows), replace=False, shuffle=False)
        return joined_tables(list(self.map(partial(_chosen, np.sort(some)))))

    def __repr__(self) -> str:
        columns = "" if self.names is None else f", {', '.join(self.names[:5])}"
        more = ", ..." if self.names is not None and len(self.names) > 5 else ""
        return f"<{type(self).__name__} of {self.n_columns} columns{columns}{more}>"


def _chosen(numbers: np.ndarray, block: Block) -> Any:
    """Return some rows of a block, by their numbers in the whole."""
    ends = np.searchsorted(numbers, [block.start, block.start + block.n_rows])
    return take_rows(block.table, numbers[slice(*ends)] - block.start)


def entries(function: Callable[..., Any], block: Block) -> Any:
    """Apply a function of tables to a block; refuse anything but a result for each row."""
    result = function(block.table, *block.beside)
    n = np.shape(result)[:1]
    if n != (block.n_rows,):
        raise ValueError(
            f"Got a function that returns {n[0] if n else 'one number'} for {block.n_rows} "
            "rows; it must return one entry for each row."
        )
    return result


def head(n: int, block: Block) -> Any:
    """Return those of the first rows that are in a block."""
    return take_rows(block.table, slice(max(n - block.start, 0)))


def add(left: Any, right: Any) -> Any:
    """Add two results, part by part where they have parts."""
    if isinstance(left, dict) and not hasattr(left, "__add__"):  # a Counter adds itself
        both = {key: add(value, right[key]) for key, value in left.items() if key in right}
        return {**left, **right, **both}
    if isinstance(left, tuple) and hasattr(left, "_fields"):
        return type(left)(*map(add, left, right))
    if isinstance(left, tuple | list):
        return type(left)(add(a, b) for a, b in zip(left, right, strict=True))
    return left + right


def in_memory(vector: Any) -> Any:
    """Return labels or weights in memory, whatever they came as: one number for each row."""
    if isinstance(vector, Rows):
        if vector.n_columns != 1:
            raise ValueError(
                f"Got {vector.n_columns} columns {vector.names or ''} where one is needed; select "
                "one."
            )
        vector = vector.vector(to_numpy)[:, 0]
    if hasattr(vector, "dask"):
        vector = vector.compute()
    return to_numpy(vector) if is_foreign(vector) else vector


def is_number(dtype: Any) -> bool:
    """True for the type of a column of numbers."""
    return getattr(dtype, "kind", "O") in "biuf"


def block_size(n_columns: int, size: Any, device: bool = False, most: int = MOST_ROWS) -> int:
    """Return how many rows a block has: few enough for scikit-learn's ``working_memory``."""
    if size is not None:
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
            raise ValueError(
                f"Got size={size!r}, but expected the number of rows of a block, at least 1."
            )
        return int(size)
    # a device has its memory for itself, and small blocks leave it idle
    numbers = get_config()["working_memory"] * 2**20 / 8 / (4 if device else 64)
    most = 16 * most if device else most
    return max(1, min(most, int(numbers / max(n_columns, 1))))


def check_n(n: Any) -> None:
    """Refuse what is no number of rows."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise ValueError(f"Got n={n!r}, but expected a number of rows, at least 0.")


def check_length(n: int, n_rows: int) -> None:
    """Refuse what lies beside rows and is longer or shorter."""
    if n != n_rows:
        raise ValueError(f"Got {n} entries for {n_rows} rows; there must be one for each row.")


def check_columns(wanted: Any, names: list[str] | None) -> list[str]:
    """Return names of columns that are there, or say which are not."""
    if names is None:
        raise TypeError(
            "Got column names for rows without names; select columns of the array itself."
        )
    wanted = [wanted] if isinstance(wanted, str) else list(wanted)
    absent = [name for name in wanted if name not in names]
    if absent:
        raise ValueError(f"Got columns {absent} that are not there; the columns are {names}.")
    if not wanted or len(set(wanted)) < len(wanted):
        raise ValueError(f"Got columns {wanted}, but expected one or more, all different.")
    return wanted


def run_on_block(
    function: Callable[[Block], Any],
    number: int,
    block: Block,
    place: Callable[[int, int], str] | None = None,
) -> Any:
    """Apply a function to a block; an error of its says which block it was."""
    try:
        return function(block)
    except BlockError:
        raise
    except (ValueError, TypeError, LookupError) as error:
        stop = block.start + block.n_rows
        rows = f"rows {block.start:,} to {stop - 1:,}" if block.n_rows else "no rows"
        where = place(block.start, stop) if place is not None else ""
        of = f" of {where}" if where else ""
        what = f"no column {error}" if isinstance(error, KeyError) else str(error)
        raise BlockError(f"In block {number} ({rows}){of}: {what}") from error
