"""Rows drawn at random from tables that are too large to learn from as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from weighbridge._arrays import to_numpy
from weighbridge.engines import is_engine_table, sample_and_count
from weighbridge.tables._checks import check_count
from weighbridge.tables._columns import take_rows

# A ratio learned from so many rows is as good as one from ten times as many.
MAX_ROWS = 100_000


def draw_rows(
    table: Any, max_rows: int | None, random_state: Any, name: str, *beside: Any
) -> tuple[Any, list[Any], int]:
    """Return at most `max_rows` rows of a table, in their order, and how many rows it has.

    Vectors beside the table, such as labels, keep the values of the same rows. A table of an engine
    is sampled by the engine.
    """
    if table is None:
        raise TypeError(f"Got {name}=None; rows of both samples are needed.")
    if max_rows is not None:
        check_count("max_rows", max_rows, 10)
    if is_engine_table(table):
        if max_rows is None or any(values is not None for values in beside):
            raise TypeError(
                f"Got {name} as a table of an engine ({type(table).__name__}) with "
                f"{'max_rows=None' if max_rows is None else 'values beside it'}; draw rows into "
                "memory first: weighbridge.engines.sample(table, 100_000)."
            )
        drawn, n_rows = sample_and_count(table, max_rows, random_state)
        if n_rows == 0:
            raise ValueError(f"Got {name} without rows. Check its query, or whether it was read.")
        return drawn, list(beside), n_rows
    nested = isinstance(table, list | tuple)
    n_rows = len(table) if nested else next(iter(getattr(table, "shape", ())), 0)
    if max_rows is None or n_rows <= max_rows:
        return table, list(beside), n_rows
    rng = np.random.default_rng(random_state)
    rows = np.sort(rng.choice(n_rows, max_rows, replace=False))
    if nested:
        table = [table[row] for row in rows]
    else:
        table = take_rows(table.tocsr() if sp.issparse(table) else table, rows)
    return table, [_values_at(values, rows, n_rows) for values in beside], n_rows


def _values_at(values: Any, rows: np.ndarray, n_rows: int) -> Any:
    """Return the values of some rows, or what is no vector of all rows as it is."""
    if values is None or np.ndim(values := to_numpy(values)) == 0:
        return values
    if len(values) != n_rows:
        raise ValueError(
            f"Got {len(values):,} values beside {n_rows:,} rows of X, but expected one for each."
        )
    return values[rows]
