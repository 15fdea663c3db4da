"""Rows in blocks, so that memory stays bounded however many rows there are."""

from __future__ import annotations

from collections.abc import Iterator

from sklearn import get_config

# On a CPU a block of this many numbers stays in the cache from one step to the next.
CACHED_NUMBERS = 2**18


def row_blocks(
    n_rows: int, width: int, cached: bool = False, device: bool = False
) -> Iterator[slice]:
    """Yield slices of rows whose `width` numbers each fit scikit-learn's ``working_memory``.

    A sixteenth of it, to be exact: a step has a few temporary arrays of a block's size. `cached`
    blocks stay in the cache of a CPU; a `device` is busy with blocks of a quarter.
    """
    numbers = get_config()["working_memory"] * 2**20 / 8 / (4 if device else 16)
    if cached:
        numbers = min(numbers, CACHED_NUMBERS)
    size = max(1, int(numbers / max(width, 1)))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))
