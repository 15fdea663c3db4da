"""How far each feature is from the target: sizes of standardised differences, largest first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from weighbridge.diagnostics import BalanceTable
from weighbridge.pictures._picture import Picture, check_made
from weighbridge.ratios import check_count

MOST_ROWS = 15


@dataclass(frozen=True)
class LovePlot(Picture):
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


@dataclass(frozen=True)
class FeatureDifference(Picture):
    """The difference of one feature before weighting and after several weightings, by name."""

    name: str
    kind: str
    mean_source: float
    mean_target: float
    before: float
    after: dict[str, float] = field(default_factory=dict)

    @property
    def size(self) -> float:
        """How large it is before weighting; what is not finite in JSON is infinite if means are."""
        if math.isnan(self.before) and not math.isnan(self.mean_source + self.mean_target):
            return math.inf
        return abs(self.before)

    def size_after(self, weighting: str) -> float:
        """How large it is after a weighting, which changes neither of two constants."""
        left = abs(self.after.get(weighting, math.nan))
        return math.inf if math.isnan(left) and math.isinf(self.size) else left


def compute_differences(
    tables: dict[str, BalanceTable], most: int
) -> tuple[FeatureDifference, ...]:
    """Join the balance tables of several weightings, largest differences first."""
    first = next(iter(tables.values()))
    after = {name: {row.name: row.after for row in table.rows} for name, table in tables.items()}
    return tuple(
        FeatureDifference(
            row.name,
            row.kind,
            row.mean_source,
            row.mean_target,
            row.before,
            {name: _number(found[row.name]) for name, found in after.items()},
        )
        for row in first.largest(most)
    )


def _number(difference: float | None) -> float:
    return math.nan if difference is None else difference


def love_plot(
    differences: Sequence[FeatureDifference], weighting: str | None, max_rows: int
) -> LovePlot:
    """Return the sizes of the first differences, and after a weighting where one is named."""
    kept = differences[:max_rows]
    after = None
    if weighting is not None:
        after = np.array([each.size_after(weighting) for each in kept])
    return LovePlot(
        tuple(each.name for each in kept),
        np.array([each.size for each in kept]),
        after,
        len(differences) - len(kept),
    )
