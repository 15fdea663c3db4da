"""How rows are split for work: slices that fit into memory, with one thread for each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from sklearn import get_config
from threadpoolctl import ThreadpoolController

# On a CPU a block of this many numbers stays in the cache from one step to the next.
CACHED_NUMBERS = 2**18


def row_blocks(
    n_rows: int, width: int, cached: bool = False, device: bool = False
) -> Iterator[slice]:
    """Yield slices of rows whose `width` numbers each fit scikit-learn's ``working_memory``."""
    numbers = get_config()["working_memory"] * 2**20 / 8 / (4 if device else 16)
    if cached:
        numbers = min(numbers, CACHED_NUMBERS)
    size = max(1, int(numbers / max(width, 1)))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def one_thread() -> Any:
    """Hold all libraries to one thread; on a busy machine the threads of small fits would wait."""
    return ThreadpoolController().limit(limits=1)


def one_blas_thread() -> Any:
    """Hold linear algebra to one thread, which is quick enough to do around every small fit."""
    return thread_pools().limit(limits=1, user_api="blas")


@cache
def thread_pools() -> ThreadpoolController:
    """Return the thread pools of this process; finding them takes milliseconds."""
    return ThreadpoolController()


def are_categories(group: np.ndarray, codes: np.ndarray) -> bool:
    """True where equal rows are no copies: most rows are in both samples, and many times."""
    has_source, has_target, size = _group_counts(group, codes)
    both = has_source & has_target
    return bool(size[both].sum() > max(codes.size / 2, 5 * both.sum()))


def in_order_of_appearance(group: np.ndarray) -> np.ndarray:
    """Number the groups of equal rows anew, in the order in which they first appear."""
    first = np.unique(group, return_index=True)[1]
    return np.argsort(np.argsort(first))[group]


def _group_counts(
    group: np.ndarray, codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each group whether it has source rows, whether target rows, and its size."""
    size = np.bincount(group)
    n_target = np.bincount(group, weights=codes)
    return n_target < size, n_target > 0, size
