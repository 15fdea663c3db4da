"""Sizes of standardised differences, largest first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weighbridge.diagnostics import BalanceTable
from weighbridge.plotting._arguments import check_made
from weighbridge.ratios._parameters import check_count

MOST_ROWS = 15


@dataclass(frozen=True)
class LovePlot:
    """Sizes of standardised differences, largest first, as `compute_love` sorts them.

    Parameters
    ----------
    names : tuple of str
        Features, levels of categories, missing values.
    before : ndarray of shape (n_rows,)
        Sizes of the differences without weights; infinite between two constants, NaN where a
        sample has no values.
    after : ndarray of shape (n_rows,) or None
        With weights, where there are any.
    n_left_out : int
        Rows of the table that are not here, since they differ less.

    Examples
    --------
    >>> from weighbridge.diagnostics import balance_table
    >>> from weighbridge.plotting import compute_love
    >>> compute_love(balance_table([[1.0, 0.0], [3.0, 1.0]], [[5.0, 0.0], [7.0, 1.0]])).names
    ('0', '1')
    """

    names: tuple[str, ...]
    before: np.ndarray
    after: np.ndarray | None
    n_left_out: int


def compute_love(table: BalanceTable, *, max_rows: int = MOST_ROWS) -> LovePlot:
    """Sort a balance table by the size of the differences before weighting.

    Parameters
    ----------
    table : BalanceTable
        From `weighbridge.diagnostics.balance_table`.
    max_rows : int, default=15
        How many of its rows are kept.

    Returns
    -------
    LovePlot
        Largest first.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.diagnostics import balance_table
    >>> from weighbridge.plotting import compute_love
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(size=(1000, 3)), rng.normal([0, 1, 0.3], size=(500, 3))
    >>> love = compute_love(balance_table(X, X_target), max_rows=2)
    >>> love.names, love.n_left_out
    (('1', '2'), 1)
    """
    check_made(table, BalanceTable, "table", "weighbridge.diagnostics.balance_table")
    if not len(table):
        raise ValueError("Got an empty balance table; there is nothing to draw.")
    check_count("max_rows", max_rows, 1)
    rows = table.largest(max_rows)
    before = np.abs([row.before for row in rows])
    is_weighted = any(row.after is not None for row in rows)
    after = np.abs([np.nan if row.after is None else row.after for row in rows])
    names = tuple(row.name for row in rows)
    return LovePlot(names, before, after if is_weighted else None, len(table) - len(rows))
