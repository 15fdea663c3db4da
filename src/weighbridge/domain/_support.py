"""The share of the target rows that lie outside the support of the source.

Numbers are measured in spreads: a standard deviation of the target that heavy tails do not inflate
or, if that is more, a sixth of the source's range without its five outermost rows on either side.
Beyond three spreads, distances grow like logarithms. A target row is outside the support if

- over the d columns, its numbers are more than half a spread, in root mean square, from every
  source value of their column, or one of them is more than 1.6 spreads away; or
- its nearest source row is farther away than two rows usually are from each other: more than
  ``sqrt(2 d / (d + 3))`` spreads in root mean square. Another level of a category counts as much as
  two rows usually differ, and levels with fewer than five target rows count as one level; or
- it has a level, or a missing value, in a column in which no source row has it.

More source rows, or copies of them, never put another target row outside. Rare levels are missing
in any sample, and a column in which most target rows have a level of their own is ignored. If a
share q of the target rows has a level that no other target row has, and a share p is outside, then
``max(p - q, 0) / (1 - q)`` is reported.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from weighbridge._findings import Record, percent
from weighbridge._folds import row_blocks
from weighbridge.domain._auc import Array
from weighbridge.tables import (
    MAX_LEVELS,
    RARE_ROWS,
    canonical_order,
    column_labels,
    finite_sparse,
    gap_name,
    read_columns,
    refuse_infinite,
    stacked_table,
    take_rows,
)

# Chosen by simulation, with the constants below: 20 source rows leave 3 % of a normal target
# outside in 1 column, 7 % in 3, and 2 % in 10 or 50; 100 rows leave none.
MAX_GAP, MAX_COLUMN_GAP = 0.5, 1.6
# Heavy tails have large gaps, so larger distances count by their logarithms.
LINEAR_SPREADS = 3.0
RANGE_SPREADS, OUTERMOST_ROWS = 6.0, 5
# A text that differs in most target rows is a name, which no other row can have.
MAX_UNIQUE_SHARE = 0.5
MAX_LEVELS_SHOWN = 20
MAX_TARGET_ROWS = 10_000
# Source rows that are compared with all target rows first.
FIRST_ROWS = 512
# Levels with fewer rows share a name, so that no single row is identified by it.
MIN_NAMED_ROWS = 10


@dataclass(frozen=True, repr=False)
class Support(Record):
    """Target rows outside the support of the source.

    `share` is the share outside, corrected for levels that only one target row has; `target_share`
    is the plain share and `single_share` that of such levels. `threshold` is the distance to the
    nearest source row beyond which a row is outside. `unseen_levels` are levels (``site=west``) and
    missing values (``bmi missing``) that no source row has, the most frequent first, and
    `unseen_share` is the share of the target rows with one.
    """

    share: float
    target_share: float
    single_share: float
    threshold: float
    unseen_levels: tuple[str, ...]
    unseen_share: float

    def __str__(self) -> str:
        more = [f"{len(self.unseen_levels) - 3} more"] * (len(self.unseen_levels) > 3)
        unseen = f" (never seen there: {', '.join([*self.unseen_levels[:3], *more])})"
        return (
            f"{percent(self.share)} of the target rows lie outside the source"
            f"{unseen if self.unseen_levels else ''}"
        )


def outside_support(
    X: Any, X_target: Any, *, random_state: int | np.random.RandomState | None = 0
) -> Support:
    """Return the share of the target rows outside, by at most 10,000 random target rows."""
    return _support(*stacked_table(X, X_target), random_state)[0]


def covered_rows(X: Any, X_target: Any) -> tuple[Array, Array]:
    """Return the target rows that were drawn (all of up to 10,000), and which are covered."""
    stacked, codes = stacked_table(X, X_target)
    _, drawn, outside = _support(stacked, codes)
    order = np.argsort(drawn)
    return (drawn - np.sum(codes == 0))[order], ~outside[order]


def share_outside(X: Any, X_target: Any, sample_weight: Array | None) -> float:
    """Return the share of the target rows outside the source rows of positive weight."""
    stacked, codes = stacked_table(X, X_target)
    if sample_weight is not None:
        used = np.flatnonzero(np.concatenate([sample_weight > 0, codes[codes == 1] == 1]))
        stacked, codes = take_rows(stacked, used), codes[used]
    return _support(stacked, codes)[0].share


def _support(
    stacked: Any, codes: Array, random_state: int | np.random.RandomState | None = 0
) -> tuple[Support, Array, Array]:
    """Return the support, the target rows drawn, and which of them are outside."""
    drawn = np.flatnonzero(codes == 1)
    if drawn.size > MAX_TARGET_ROWS:
        # The draw depends on the target alone.
        order = canonical_order(take_rows(stacked, drawn))
        rng = check_random_state(random_state)
        drawn = drawn[order[rng.permutation(drawn.size)[:MAX_TARGET_ROWS]]]
    rows = _Coordinates(stacked, codes, drawn)
    d = max(1, rows.n_varying)
    threshold = float(np.sqrt(2 * d / (d + 3)))
    outside = rows.is_unseen[drawn] | (rows.largest_gap > MAX_COLUMN_GAP)
    outside |= rows.squared_gaps > MAX_GAP**2 * d
    near = np.flatnonzero(~outside)
    outside[near[_far(rows.source, rows.target[near], threshold**2 * d)]] = True
    p, q = float(outside.mean()), float(rows.is_single[drawn].mean())
    share = (p - q) / (1 - q) if p > q else 0.0
    unseen = tuple(name for name, _ in rows.unseen_counts.most_common(MAX_LEVELS_SHOWN))
    unseen_share = float(rows.is_unseen[codes == 1].mean())
    return Support(share, p, q, threshold, unseen, unseen_share), drawn, outside


def _far(source: Any, target: Any, limit: float) -> Array:
    """Return the target rows with no source row within a squared distance."""
    far, sizes = np.arange(target.shape[0]), _squares(target)
    # Most rows are near one of the first.
    first = min(FIRST_ROWS, source.shape[0])
    rest = row_blocks(source.shape[0] - first, target.shape[0] + target.shape[1])
    for block in (slice(first), *(slice(first + b.start, first + b.stop) for b in rest)):
        products = target[far] @ source[block].T
        if sp.issparse(products):
            products = products.toarray()
        far = far[(_squares(source[block]) - 2 * products).min(axis=1) > limit - sizes[far]]
        if not far.size:
            break
    return far


def _squares(rows: Any) -> Array:
    squares = rows.multiply(rows) if sp.issparse(rows) else np.square(rows)
    return np.asarray(squares.sum(axis=1), dtype=float).ravel()


def _in_spreads(distance: Array, spread: Array | float) -> Array:
    """Return distances in spreads, large ones as logarithms."""
    return np.asarray(LINEAR_SPREADS * np.arcsinh(distance / (LINEAR_SPREADS * spread)))


class _Coordinates:
    """Source rows and drawn target rows in spreads, and the gaps in single columns."""

    def __init__(self, table: Any, codes: Array, drawn: Array):
        self.codes, self.drawn = codes, drawn
        self.is_unseen, self.is_single = np.zeros((2, codes.size), dtype=bool)
        self.squared_gaps, self.largest_gap = np.zeros((2, drawn.size))
        self.unseen_counts: Counter[str] = Counter()
        self.n_varying = 0
        if sp.issparse(table):
            self._add_sparse(finite_sparse(table))
            return
        self.columns = [(np.zeros(np.sum(codes == 0)), np.zeros(drawn.size))]
        labels = column_labels(table)
        for label, column in zip(labels, read_columns(table), strict=True):
            name = gap_name(label, labels)
            if column.dtype == object:
                self._add_text(label, column, name)
            else:
                refuse_infinite(column[:, None], [label])
                self._add_numbers(column, name)
        self.source, self.target = map(np.column_stack, zip(*self.columns, strict=True))

    def _add_text(self, label: str, column: Array, gap_name: str) -> None:
        missing = np.array([value is None for value in column])
        levels, level = np.unique(np.where(missing, "", column).astype(str), return_inverse=True)
        level[missing] = levels.size
        n_source, n_target = (
            np.bincount(level[self.codes == code], minlength=levels.size + 1) for code in (0, 1)
        )
        self._add_levels(level, n_target)
        single = (n_target[level] == 1) & (self.codes == 1)
        if single.sum() > MAX_UNIQUE_SHARE * n_target.sum():
            return
        unseen = (n_source == 0) & (n_target > 0)
        self.is_unseen |= unseen[level]
        self.is_single |= single
        names = [*(f"{label}={level}" for level in levels), gap_name]
        for k in np.flatnonzero(unseen):
            is_rare = n_target[k] < MIN_NAMED_ROWS and k < levels.size
            self.unseen_counts[f"{label}=other" if is_rare else names[k]] += int(n_target[k])

    def _add_levels(self, level: Array, n_target: Array) -> None:
        """Add an indicator of each frequent level of the target, and one of the others."""
        self.n_varying += int(level.min() < level.max())
        frequent = np.argsort(-n_target, kind="stable")[:MAX_LEVELS]
        frequent = frequent[n_target[frequent] >= RARE_ROWS]
        position = np.full(n_target.size, frequent.size)
        position[frequent] = np.arange(frequent.size)
        indicators = np.eye(frequent.size + 1)[position[level]]
        self.columns.append((indicators[self.codes == 0], indicators[self.drawn]))

    def _add_numbers(self, column: Array, gap_name: str) -> None:
        """Add a column in spreads from the target's median, which replaces missing values."""
        missing = np.isnan(column)
        if missing.any() and not missing[self.codes == 0].any():
            self.is_unseen |= missing
            self.unseen_counts[gap_name] += int(missing.sum())
        if not np.nanmin(column, initial=np.inf) < np.nanmax(column, initial=-np.inf):
            return
        self.n_varying += 1
        column = np.ldexp(column, -np.frexp(np.nanmax(np.abs(column)))[1])
        source, target = column[self.codes == 0], column[self.drawn]
        known, present = np.sort(source[~np.isnan(source)]), ~np.isnan(target)
        if not known.size or not present.any():
            self.largest_gap[present] = np.inf
            return
        centre, spread = _centre_and_spread(target[present])
        if known.size >= 2 * OUTERMOST_ROWS:
            inner_range = known[-OUTERMOST_ROWS] - known[OUTERMOST_ROWS - 1]
            spread = max(spread, inner_range / RANGE_SPREADS)
        spread = max(spread, 1e-300)  # If both are constant, any difference is large.
        source, target = (
            _in_spreads(np.nan_to_num(sample - centre), spread) for sample in (source, target)
        )
        known = _in_spreads(known - centre, spread)
        above = np.searchsorted(known, target[present])
        neighbours = known[np.clip([above - 1, above], 0, known.size - 1)]
        gap = np.abs(target[present] - neighbours).min(axis=0)
        self.squared_gaps[present] += gap**2
        self.largest_gap[present] = np.maximum(self.largest_gap[present], gap)
        self.columns.append((source, target))

    def _add_sparse(self, table: Any) -> None:
        """Add all columns in spreads from 0; only numbers beyond the source's range have a gap."""
        source, target = table[self.codes == 0], table[self.drawn]
        spread = np.sqrt(target.power(2).mean(axis=0))
        spread = np.maximum(spread, abs(source).max(axis=0).toarray().ravel() / RANGE_SPREADS)
        self.n_varying = int(np.count_nonzero(spread))
        for sample in (source, target):
            sample.data = _in_spreads(sample.data, spread[sample.indices])
        low, high = (find(axis=0).toarray().ravel() for find in (source.min, source.max))
        value, column = target.data, target.indices
        gap = np.maximum(np.maximum(value - high[column], low[column] - value), 0)
        row = np.repeat(np.arange(target.shape[0]), np.diff(target.indptr))
        self.squared_gaps += np.bincount(row, gap**2, target.shape[0])
        self.source, self.target = source, target


def _centre_and_spread(numbers: Array) -> tuple[float, float]:
    """Return the median, and a standard deviation in which tails count by their logarithms."""
    low, centre, high = np.percentile(numbers, [25, 50, 75])
    spread = (high - low) / 1.349 or float(np.std(numbers)) * (numbers.min() < numbers.max())
    for _ in range(20 if spread else 0):
        size = float(np.sqrt(np.mean(_in_spreads(numbers - centre, spread) ** 2)))
        if size <= 1 + 1e-9:
            break
        spread *= size
    return float(centre), float(spread)
