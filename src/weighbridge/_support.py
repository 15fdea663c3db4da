"""Which share of the target lies where the source has no rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from weighbridge._findings import Record, percent
from weighbridge._folds import row_blocks
from weighbridge.tables import (
    MAX_LEVELS,
    RARE_ROWS,
    canonical_order,
    check_count,
    column_labels,
    finite_sparse,
    gap_name,
    read_columns,
    refuse_infinite,
    stacked_table,
    take_rows,
)

Array = np.ndarray[Any, Any]

# A row is outside beyond these distances from all source values, in spreads: in root mean square
# over the columns, and in a single one. Chosen by simulation, with what follows: 20 source rows
# leave 3 % of a normal target outside in 1 column, 7 % in 3, 2 % in 10 or 50; 100 rows none.
MAX_GAP, MAX_COLUMN_GAP = 0.5, 1.6
# Distances grow like logarithms beyond so many spreads, because heavy tails have large gaps.
LINEAR_SPREADS = 3.0
# If the source is wider, its range without the outermost rows is so many spreads.
RANGE_SPREADS, OUTERMOST_ROWS = 6.0, 5
# A text that differs in most target rows is a name, which no other row can have.
MAX_UNIQUE_SHARE = 0.5
MAX_LEVELS_SHOWN = 20
# Number of target rows, drawn at random, whose distances are computed.
MAX_TARGET_ROWS = 10_000
# Source rows that are compared with all target rows first.
FIRST_ROWS = 512
# Levels with fewer rows share a name, so that no single row is identified by it.
FEW_TO_NAME = 10


@dataclass(frozen=True, repr=False)
class Support(Record):
    """How much of the target lies outside the source.

    Parameters
    ----------
    share : float
        Share of the target rows outside, beyond `single_share`.
    target_share : float
        Share of the target rows outside.
    single_share : float
        Share of the target rows with a level of a category that no other target row has.
    threshold : float
        Distance to the nearest source row beyond which a row is outside: the root mean square over
        the columns, in spreads.
    unseen_levels : tuple of str
        Levels of categories (``site=west``) and missing values (``bmi missing``) that no source row
        has, the most frequent first; at most 20. Those with fewer than 10 rows are all "other".
    unseen_share : float
        Share of the target rows with such a level.

    Examples
    --------
    >>> from weighbridge.diagnostics import Support
    >>> print(Support(0.02, 0.03, 0.01, 0.8, ("site=west",), 0.01))
    2 % of the target rows lie outside the source (never seen there: site=west)
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
    X: Any, X_target: Any, *, max_rows: int = MAX_TARGET_ROWS, random_state: Any = 0
) -> Support:
    """Return the share of the target rows that lie outside the source's support.

    Parameters
    ----------
    X, X_target
        As in `domain_auc`.
    max_rows : int, default=10_000
        A target with more rows is represented by that many of them, drawn at random, where
        distances are computed.
    random_state : int, RandomState instance or None, default=0
        Draws these rows.

    Returns
    -------
    Support
        The share, the threshold, and levels that the source does not have.

    Notes
    -----
    Numbers are measured in spreads: of the target (a standard deviation that heavy tails do not
    inflate) or, if that is more, a sixth of the source's range without its five outermost rows on
    either side. Beyond three spreads distances grow like logarithms. A target row is outside if

    - in root mean square over the d columns its numbers are more than half a spread from every
      source value of their column, or one of them more than 1.6; or
    - its nearest source row is farther away than two rows usually are from each other, in root mean
      square more than ``sqrt(2 d / (d + 3))`` spreads; another level of a category counts as two
      rows usually do, levels with fewer than five target rows count as one; or
    - it has a level, or a missing value, in a column where no source row has it.

    Nothing here shrinks when the source grows: more source rows, or copies of them, never put
    another target row outside. Rare levels are missing in any sample, and a column where most
    target rows have one of their own is left out. With the share q of target rows whose level no
    other target row has and the share p of rows outside, ``(p - q) / (1 - q)`` is shown, or 0.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.diagnostics import outside_support
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 3))
    >>> outside_support(X, rng.normal(size=(500, 3))).share < 0.02
    True
    >>> outside_support(X, rng.normal(10, 1, size=(500, 3))).share
    1.0
    """
    check_count("max_rows", max_rows, 10)
    return _support(*stacked_table(X, X_target), max_rows, random_state)[0]


def covered_rows(X: Any, X_target: Any) -> tuple[Array, Array]:
    """Return the target rows that were drawn (all of up to 10,000), and which are covered."""
    stacked, codes = stacked_table(X, X_target)
    _, drawn, outside = _support(stacked, codes, MAX_TARGET_ROWS, 0)
    order = np.argsort(drawn)
    return (drawn - np.sum(codes == 0))[order], ~outside[order]


def share_outside(X: Any, X_target: Any, sample_weight: Array | None) -> float:
    """Return the share of the target rows outside the source rows that count."""
    stacked, codes = stacked_table(X, X_target)
    if sample_weight is not None:
        used = np.flatnonzero(np.concatenate([sample_weight > 0, codes[codes == 1] == 1]))
        stacked, codes = take_rows(stacked, used), codes[used]
    return _support(stacked, codes, MAX_TARGET_ROWS, 0)[0].share


def _support(
    stacked: Any, codes: Array, max_rows: int, random_state: Any
) -> tuple[Support, Array, Array]:
    """Return the share outside, the target rows drawn, and which of them are outside."""
    drawn = np.flatnonzero(codes == 1)
    if drawn.size > max_rows:
        # The draw depends on the target alone.
        order = canonical_order(take_rows(stacked, drawn))
        rng = check_random_state(random_state)
        drawn = drawn[order[rng.permutation(drawn.size)[:max_rows]]]
    rows = _Coordinates(stacked, codes, drawn)
    d = max(1, rows.n_varying)
    threshold = float(np.sqrt(2 * d / (d + 3)))
    outside = rows.marked[drawn] | (rows.gap_of_one > MAX_COLUMN_GAP)
    outside |= rows.squared_gaps > MAX_GAP**2 * d
    near = np.flatnonzero(~outside)
    outside[near[_far(rows.source, rows.drawn[near], threshold**2 * d)]] = True
    p, q = float(outside.mean()), float(rows.single[drawn].mean())
    share = (p - q) / (1 - q) if p > q else 0.0
    unseen = tuple(name for name, _ in rows.counts.most_common(MAX_LEVELS_SHOWN))
    unseen_share = float(rows.marked[codes == 1].mean())
    return Support(share, p, q, threshold, unseen, unseen_share), drawn, outside


def _far(source: Any, rows: Any, limit: float) -> Array:
    """Return which rows have no source row within a squared distance."""
    far, sizes = np.arange(rows.shape[0]), _squares(rows)
    # Most rows are near one of the first.
    first = min(FIRST_ROWS, source.shape[0])
    rest = row_blocks(source.shape[0] - first, rows.shape[0] + rows.shape[1])
    for block in (slice(first), *(slice(first + b.start, first + b.stop) for b in rest)):
        part = source[block]
        products = rows[far] @ part.T
        if sp.issparse(products):
            products = products.toarray()
        far = far[(_squares(part) - 2 * products).min(axis=1) > limit - sizes[far]]
        if not far.size:
            break
    return far


def _squares(rows: Any) -> Array:
    squares = rows.multiply(rows) if sp.issparse(rows) else np.square(rows)
    return np.asarray(squares.sum(axis=1), dtype=float).ravel()


def _in_spreads(distance: Any, spread: Any) -> Any:
    """Return distances in spreads, large ones as logarithms."""
    return LINEAR_SPREADS * np.arcsinh(distance / (LINEAR_SPREADS * spread))


class _Coordinates:
    """Source rows and drawn target rows in spreads, and the gaps in single columns."""

    def __init__(self, table: Any, codes: Array, drawn: Array):
        self.codes, self.rows = codes, drawn
        self.marked, self.single = np.zeros((2, codes.size), dtype=bool)
        self.squared_gaps, self.gap_of_one = np.zeros((2, drawn.size))
        self.counts: Counter[str] = Counter()
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
        self.source, self.drawn = map(np.column_stack, zip(*self.columns, strict=True))

    def _add_text(self, label: str, column: Array, gap_name: str) -> None:
        missing = np.array([value is None for value in column])
        levels, level = np.unique(np.where(missing, "", column).astype(str), return_inverse=True)
        level[missing] = levels.size
        n_source, n_target = (
            np.bincount(level[self.codes == code], minlength=levels.size + 1) for code in (0, 1)
        )
        self._place_levels(level, n_target)
        single = (n_target[level] == 1) & (self.codes == 1)
        if single.sum() > MAX_UNIQUE_SHARE * n_target.sum():
            return
        new = (n_source == 0) & (n_target > 0)
        self.marked |= new[level]
        self.single |= single
        names = [*(f"{label}={level}" for level in levels), gap_name]
        for k in np.flatnonzero(new):
            is_rare = n_target[k] < FEW_TO_NAME and k < levels.size
            self.counts[f"{label}=other" if is_rare else names[k]] += int(n_target[k])

    def _place_levels(self, level: Array, n_target: Array) -> None:
        """Add a column of 0 and 1 for each frequent level of the target, and one for the others."""
        self.n_varying += int(level.min() < level.max())
        frequent = np.argsort(-n_target, kind="stable")[:MAX_LEVELS]
        frequent = frequent[n_target[frequent] >= RARE_ROWS]
        place = np.full(n_target.size, frequent.size)
        place[frequent] = np.arange(frequent.size)
        marks = np.eye(frequent.size + 1)
        self.columns.append((marks[place[level[self.codes == 0]]], marks[place[level[self.rows]]]))

    def _add_numbers(self, column: Array, gap_name: str) -> None:
        """Add a column in spreads from the target's median, where missing values are."""
        gaps = np.isnan(column)
        if gaps.any() and not gaps[self.codes == 0].any():
            self.marked |= gaps
            self.counts[gap_name] += int(gaps.sum())
        if not np.nanmin(column, initial=np.inf) < np.nanmax(column, initial=-np.inf):
            return
        self.n_varying += 1
        column = np.ldexp(column, -np.frexp(np.nanmax(np.abs(column)))[1])
        source, rows = column[self.codes == 0], column[self.rows]
        known, at = np.sort(source[~np.isnan(source)]), ~np.isnan(rows)
        if not known.size or not at.any():
            self.gap_of_one[at] = np.inf
            return
        centre, spread = _centre_and_spread(rows[at])
        if known.size >= 2 * OUTERMOST_ROWS:
            inner_range = known[-OUTERMOST_ROWS] - known[OUTERMOST_ROWS - 1]
            spread = max(spread, inner_range / RANGE_SPREADS)
        spread = max(spread, 1e-300)  # If both are constant, any difference is large.
        source, rows = (
            _in_spreads(np.nan_to_num(part - centre), spread) for part in (source, rows)
        )
        known = _in_spreads(known - centre, spread)
        above = np.searchsorted(known, rows[at])
        below, above = (known[np.clip(above - k, 0, known.size - 1)] for k in (1, 0))
        gap = np.minimum(np.abs(rows[at] - below), np.abs(rows[at] - above))
        self.squared_gaps[at] += gap**2
        self.gap_of_one[at] = np.maximum(self.gap_of_one[at], gap)
        self.columns.append((source, rows))

    def _add_sparse(self, table: Any) -> None:
        """Place rows around 0; a word that is new says little, beyond all values is far."""
        source, rows = table[self.codes == 0], table[self.rows]
        spread = np.sqrt(rows.power(2).mean(axis=0))
        spread = np.maximum(spread, abs(source).max(axis=0).toarray().ravel() / RANGE_SPREADS)
        self.n_varying = int(np.count_nonzero(spread))
        for part in (source, rows):
            part.data = _in_spreads(part.data, spread[part.indices])
        low, high = (find(axis=0).toarray().ravel() for find in (source.min, source.max))
        value, column = rows.data, rows.indices
        gap = np.maximum(np.maximum(value - high[column], low[column] - value), 0)
        place = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        self.squared_gaps += np.bincount(place, gap**2, rows.shape[0])
        self.source, self.drawn = source, rows


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
