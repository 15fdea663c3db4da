"""A sample of rows as a ratio sees it: standardised numbers in blocks, and some rows at random."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from weighbridge.blocks import ArrayRows, Block, LocalRows, Rows, check_columns
from weighbridge.tables import (
    RowKeys,
    canonical_order,
    is_foreign,
    joined_tables,
    position_keys,
    shuffled_samples,
    take_rows,
    to_numpy,
)

if TYPE_CHECKING:
    from weighbridge.ratios._encoder import ArrayEncoder, TableEncoder

    Encoder = TableEncoder | ArrayEncoder

# So many rows of a sample, drawn at random, are in memory; of smaller samples all.
MOST_FIRST = 100_000


class Sample:
    """The rows of one sample in a random order, which is the same for the same rows."""

    def __init__(
        self, rows: Rows, encoder: Encoder, table: Any, keys: Any = None, key_of: Any = None
    ):
        self.rows, self.encoder, self.table, self.key_of = rows, encoder, table, key_of
        self.n, self.first = rows.n_rows, encoder.numbers(table)
        self.complete = keys is None
        self.by_content = isinstance(key_of, _ContentKeys)
        self.first_keys = _ranks(self.n) if keys is None else keys

    def head(self, n: int) -> Sample:
        """Return the sample of the first rows alone, itself if it has no more."""
        return self if self.n <= n else self.part(slice(n))

    def part(self, rows: Any) -> Sample:
        """Return the sample of some of the first rows alone."""
        few = copy(self)
        few.first, few.complete = self.first[rows, :], True
        few.n, few.first_keys = few.first.shape[0], _ranks(few.first.shape[0])
        return few

    def sum(self, function: Callable[[Any, np.ndarray], Any]) -> Any:
        """Add up a function of standardised rows and their keys, over blocks of all rows."""
        if self.complete:
            rows = ArrayRows(self.first, whole=True)
            return rows.sum(lambda block: function(block.table, *block.beside), self.first_keys)
        return self.rows.sum(partial(_on_numbers, self.key_of, function))


def _ranks(n: int) -> np.ndarray:
    """Return keys of n rows in order: folds are stretches of (0, 1) and have equal sizes."""
    return (np.arange(n) + 1 - 1e-6) / n


def samples(
    encoder: Encoder, source: Rows, target: Rows, seed: int, most: int = MOST_FIRST
) -> tuple[Sample, Sample]:
    """Return two samples as a fitted encoder sees them; they can change places."""
    both = source, target
    tables = [rows.first(rows.n_rows) if rows.n_rows <= most else None for rows in both]
    if tables[0] is not None and tables[1] is not None:
        return _shuffled_together(encoder, both, tables, seed)
    # which has which seed is decided by where they lie, not by what they are called
    lower = encoder.target_is_lower
    seeds = (seed + lower, seed + (not lower))
    found = []
    for rows, table, own_seed in zip(both, tables, seeds, strict=True):
        if table is None:
            found.append(_drawn_sample(encoder, rows, seed, own_seed, most))
        else:
            order = canonical_order(_plain(table))
            order = order[np.random.RandomState(own_seed).permutation(order.size)]
            found.append(Sample(rows, encoder, take_rows(table, order)))
    return found[0], found[1]


def _shuffled_together(
    encoder: Encoder, both: tuple[Rows, Rows], tables: list[Any], seed: int
) -> tuple[Sample, Sample]:
    stacked = joined_tables(tables)
    codes = np.repeat([0, 1], [rows.n_rows for rows in both])
    places = shuffled_samples(canonical_order(_plain(stacked)), codes, seed)
    source, target = (
        Sample(rows, encoder, take_rows(stacked, place))
        for rows, place in zip(both, places, strict=True)
    )
    return source, target


def _drawn_sample(encoder: Encoder, rows: Rows, seed: int, own_seed: int, most: int) -> Sample:
    """Draw rows by their keys: the smallest, which are as good as random."""
    # keys are uniform: next to certainly enough rows lie below
    share = (most + 8 * most**0.5) / rows.n_rows
    key_of: _Keys = _ContentKeys(encoder, RowKeys(encoder.low, encoder.high, seed))
    drawn = rows.sum(partial(_draw, key_of, share, most))
    expected = min(share, 1.0) * rows.n_rows
    as_random = abs(drawn.count - expected) <= 5 * expected**0.5
    if 2 * drawn.distinct.size < drawn.count or not as_random:
        key_of = _PositionKeys(encoder, own_seed)
        drawn = rows.sum(partial(_draw, key_of, share, most))
    return Sample(rows, encoder, *_smallest(drawn.table, drawn.keys, most), key_of)


def _smallest(table: Any, keys: np.ndarray, most: int) -> tuple[Any, np.ndarray]:
    """Return the rows with the smallest keys and these, in order; of equal ones the first."""
    order = np.argsort(keys, kind="stable")[:most]
    return take_rows(table, order), keys[order]


def _plain(table: Any) -> Any:
    return to_numpy(table) if is_foreign(table) else table


@dataclass(frozen=True)
class _ContentKeys:
    """Keys from what rows hold."""

    encoder: Encoder
    keys: RowKeys

    def __call__(self, block: Block) -> tuple[Any, np.ndarray]:
        return self.encoder.numbers_and_keys(block.table, self.keys)


@dataclass(frozen=True)
class _PositionKeys:
    """Keys from the numbers of rows."""

    encoder: Encoder
    seed: int

    def __call__(self, block: Block) -> tuple[Any, np.ndarray]:
        places = block.start + np.arange(block.n_rows)
        return self.encoder.numbers(block.table), position_keys(places, self.seed)


_Keys = _ContentKeys | _PositionKeys


def _on_numbers(key_of: _Keys, function: Callable[[Any, np.ndarray], Any], block: Block) -> Any:
    """Apply a function of numbers and keys to a block."""
    return function(*key_of(block))


@dataclass(frozen=True)
class _Drawn:
    """Rows with small keys, how many there are, and how many different ones."""

    table: Any
    keys: np.ndarray
    count: int
    distinct: np.ndarray
    most: int

    def __add__(self, other: _Drawn) -> _Drawn:
        table = joined_tables([self.table, other.table])
        keys = np.concatenate([self.keys, other.keys])
        if keys.size > self.most:  # equal rows, all of them drawn, may be any number
            table, keys = _smallest(table, keys, self.most)
        distinct = np.union1d(self.distinct, other.distinct)
        return _Drawn(table, keys, self.count + other.count, distinct, self.most)


def _draw(key_of: _Keys, share: float, most: int, block: Block) -> _Drawn:
    """Find the rows of a block whose keys are small."""
    keys = to_numpy(key_of(block)[1])
    small = np.flatnonzero(keys < share)
    keys = keys[small]
    table, kept = _smallest(take_rows(block.table, small), keys, most)
    return _Drawn(table, kept, small.size, np.unique(keys), most)


def on_host(rows: Rows) -> Rows:
    """Return rows whose blocks are NumPy arrays; others than those of a device as they are."""
    if isinstance(rows, ArrayRows) and is_foreign(rows.table):
        return HostRows(rows)
    return rows


class HostRows(LocalRows):
    """Rows of an array of another library (torch, cupy), fetched block by block."""

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
