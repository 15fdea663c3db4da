"""How far the features differ before and after weighting."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from weighbridge._data import check_count, gap_name
from weighbridge.blocks import is_blocks
from weighbridge.diagnostics._balance_row import BalanceRow, balance_rows, balance_text
from weighbridge.diagnostics._features import block_features, read_features
from weighbridge.diagnostics._sums import FeatureSums, RowWeights, number_sums, text_sums
from weighbridge.diagnostics._weights import check_weights


@dataclass(frozen=True, repr=False)
class BalanceTable:
    """How far the features differ, as `balance_table` finds it.

    Parameters
    ----------
    rows : tuple of BalanceRow
        In the order of the columns.
    denominator : {"pooled", "target"}
        Whose standard deviation the differences are measured in.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.diagnostics import balance_table
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(size=(1000, 3)), rng.normal([0, 1, 0.2], size=(500, 3))
    >>> table = balance_table(X, X_target)
    >>> [row.name for row in table.largest(2)]
    ['1', '2']
    """

    rows: tuple[BalanceRow, ...]
    denominator: str

    def largest(self, n: int = 15) -> tuple[BalanceRow, ...]:
        """Return the rows that differ most before weighting.

        Parameters
        ----------
        n : int, default=15
            How many, at most.

        Returns
        -------
        tuple of BalanceRow
            Largest first; what cannot be compared comes last.
        """
        check_count("n", n, 0)
        by_size = sorted(
            self.rows, key=lambda row: math.inf if math.isnan(row.before) else -abs(row.before)
        )
        return tuple(by_size[:n])

    def table(self) -> dict[str, np.ndarray]:
        """Return the columns of the table, for a data frame.

        Returns
        -------
        dict of ndarray
            One entry for each field of `BalanceRow`; NaN stands for None.
        """
        columns = {}
        for field in fields(BalanceRow):
            values = [getattr(row, field.name) for row in self.rows]
            is_text = field.name in ("name", "feature", "kind")
            columns[field.name] = np.array(values, dtype=object if is_text else np.float64)
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Return the table, ready for JSON.

        Returns
        -------
        dict
            ``denominator`` and ``rows``; None stands for NaN and infinity.
        """
        rows = [
            {field.name: _finite(getattr(row, field.name)) for field in fields(BalanceRow)}
            for row in self.rows
        ]
        return {"denominator": self.denominator, "rows": rows}

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return balance_text(self.largest(len(self.rows)))


def balance_table(
    X: Any,
    X_target: Any,
    weights: Any = None,
    *,
    target_weights: Any = None,
    denominator: str = "pooled",
) -> BalanceTable:
    """Compare the means and variances of the features, before and after weighting.

    The conventions are those of R's cobalt: differences are target minus source, over a standard
    deviation of the unweighted samples that is the same before and after.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or rows in blocks, (n_source, n_features)
        Source rows. Blocks (`weighbridge.blocks.Rows`, dask collections) are read once, and few of
        them are in memory.
    X_target : same type, of shape (n_target, n_features)
        Target rows; columns of data frames are matched by name.
    weights : array-like, dask array or Rows of shape (n_source,), optional
        Weights of the source rows, on any scale.
    target_weights : array-like, dask array or Rows of shape (n_target,), optional
        Weights of the target rows; they count before and after.
    denominator : {"pooled", "target"}, default="pooled"
        Standard deviation: the root of the mean of the two variances, or that of the target.

    Returns
    -------
    BalanceTable
        One row for each number, for each level of a category, and for each feature with missing
        values; print it.

    Notes
    -----
    Levels with fewer than 10 rows in both samples together, and those beyond the 50 most frequent,
    share one row, ``site=other``. The standard deviation of a number has ``n - 1`` in its
    denominator, and its weighted variance the factor ``sum(w)**2 / (sum(w)**2 - sum(w**2))``; that
    of a share ``p`` is ``sqrt(p (1 - p))``. Where it is 0 the difference is 0 if the means are
    equal, and infinite if they are not. A feature without a value in one sample has the difference
    NaN.

    All of it comes from sums over the rows, which do not depend on the size of blocks but for
    rounding. For each text column in blocks one count is kept for each different text.

    Examples
    --------
    >>> from weighbridge.diagnostics import balance_table
    >>> X, X_target = [[1, -1], [2, 12]], [[3, 0], [4, 42]]
    >>> table = balance_table(X, X_target, [1, 2], target_weights=[1, 2], denominator="target")
    >>> table.table()["after"].round(7)
    array([2.8284271, 0.6846589])
    """
    if denominator not in ("pooled", "target"):
        raise ValueError(f"Got denominator={denominator!r}, but expected 'pooled' or 'target'.")
    on_blocks = is_blocks(X) or is_blocks(X_target)
    features = (block_features if on_blocks else _features)(X, X_target, weights, target_weights)
    pairs = list(features)
    labels = [source.name for source, _ in pairs]
    rows = (
        balance_rows(source, target, gap_name(source.name, labels), denominator)
        for source, target in pairs
    )
    return BalanceTable(tuple(row for found in rows for row in found), denominator)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _features(
    X: Any, X_target: Any, weights: Any, target_weights: Any
) -> Iterator[tuple[FeatureSums, FeatureSums]]:
    """Yield the sums of each feature in two samples in memory, which are one block each."""
    own: list[RowWeights | None] | None = None
    for feature in read_features(X, X_target):
        samples = (feature.source, feature.target)
        if own is None:  # the numbers of rows are known from the first column on
            given = (weights, target_weights)
            sizes = (feature.source.size, feature.target.size)
            own = list(map(_row_weights, given, sizes, ("weights", "target_weights")))
        source, target = (
            number_sums(feature.name, values, each)
            if feature.levels is None
            else text_sums(feature.name, values, feature.levels, each)
            for values, each in zip(samples, own, strict=True)
        )
        yield source, target


def _row_weights(weights: Any, n_rows: int, name: str) -> RowWeights | None:
    return None if weights is None else RowWeights.of(check_weights(weights, n_rows, name))
