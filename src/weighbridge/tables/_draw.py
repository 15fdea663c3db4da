"""Rows drawn at random from tables that are too large to learn from as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from weighbridge.engines import count_rows, is_engine_table, sample
from weighbridge.tables._checks import check_count
from weighbridge.tables._columns import take_rows

# A ratio learned from so many rows is as good as one from ten times as many.
MAX_ROWS = 100_000


def draw_rows(
    table: Any, max_rows: int | None, random_state: Any, name: str, y: Any = None
) -> tuple[tuple[Any, Any], int]:
    """Return at most `max_rows` rows of a table with their labels, and how many rows it has.

    The rows keep their order. A table of an engine is sampled by the engine.
    """
    if max_rows is not None:
        check_count("max_rows", max_rows, 10)
    if is_engine_table(table):
        if max_rows is None or y is not None:
            raise TypeError(
                f"Got {name} as a table of an engine ({type(table).__name__}) "
                f"{'with labels beside it' if y is not None else 'and max_rows=None'}; draw rows "
                "into memory first: weighbridge.engines.sample(table, 100_000)."
            )
        drawn = sample(table, max_rows, random_state=random_state)
        return (drawn, None), len(drawn) if len(drawn) < max_rows else count_rows(table)
    nested = isinstance(table, list | tuple)
    n_rows = len(table) if nested else next(iter(getattr(table, "shape", ())), 0)
    if max_rows is None or n_rows <= max_rows:
        return (table, y), n_rows
    rng = np.random.default_rng(random_state)
    rows = np.sort(rng.choice(n_rows, max_rows, replace=False))
    table = np.asarray(table) if nested else table
    return (take_rows(table, rows), None if y is None else take_rows(np.asarray(y), rows)), n_rows
