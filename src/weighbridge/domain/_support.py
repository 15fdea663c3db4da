"""The share of the target rows that lie outside the support of the source.

Numbers are measured in spreads: a standard deviation of the target that heavy tails do not inflate
or, if that is more, a sixth of the source's range without its five outermost rows on either side.
Beyond three spreads, distances grow like logarithms. A target row is outside the support if

- over the d columns, its numbers are more than half a spread, in root mean square, from every
  source value of their column, or one of them is more than 1.6 spreads away; or
- its nearest source row is more than ``sqrt(2 d / (d + 3))`` spreads away in root mean square, as
  two rows usually are. So is another level of a category; levels of few target rows are one; or
- it has a level, or a missing value, in a column in which no source row has it.

With q the share of target rows whose level no other target row has, and p the share outside,
``max(p - q, 0) / (1 - q)`` is reported, since rare levels are missing in any sample.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.utils import check_random_state

from weighbridge._findings import Record
from weighbridge.tables import (
    MAX_LEVELS,
    RARE_ROWS,
    Feature,
    canonical_order,
    finite_sparse,
    stacked_features,
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


@dataclass(frozen=True)
class Support(Record):
    """Target rows outside the support of the source.

    `share` is the share outside, corrected for levels that only one target row has.
    `unseen_levels` are levels (``site=west``) and missing values (``bmi missing``) that no source
    row has, the most frequent first, and `unseen_share` is the share of the target rows with one.
    """

    share: float
    unseen_levels: tuple[str, ...]
    unseen_share: float


def outside_support(
    X: ArrayLike, X_target: ArrayLike, *, random_state: int | np.random.RandomState | None = 0
) -> Support:
    """Return the share of the target rows outside, by at most 10,000 random target rows."""
    return _support(*stacked_table(X, X_target), random_state)[0]


def covered_rows(X: ArrayLike, X_target: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the target rows that were drawn (all of up to 10,000), and which are covered."""
    _, drawn, is_outside = _support(*stacked_table(X, X_target))
    order = np.argsort(drawn)
    return drawn[order], ~is_outside[order]


def share_outside(X: ArrayLike, X_target: ArrayLike, sample_weight: np.ndarray | None) -> float:
    """Return the share of the target rows outside the source rows of positive weight."""
    stacked, codes = stacked_table(X, X_target)
    if sample_weight is not None:
        used = np.flatnonzero(np.concatenate([sample_weight > 0, codes[codes == 1] == 1]))
        stacked, codes = take_rows(stacked, used), codes[used]
    return _support(stacked, codes)[0].share


def _support(
    stacked: Any, codes: np.ndarray, random_state: int | np.random.RandomState | None = 0
) -> tuple[Support, np.ndarray, np.ndarray]:
    """Return the support, the target rows drawn, and which of them are outside."""
    n_source, n_target = np.bincount(codes)
    drawn = np.arange(n_target)
    if n_target > MAX_TARGET_ROWS:
        # The draw depends on the target alone.
        order = canonical_order(take_rows(stacked, n_source + drawn))
        drawn = order[check_random_state(random_state).permutation(n_target)[:MAX_TARGET_ROWS]]
    rows = _Coordinates(stacked, codes, drawn)
    d = max(1, rows.n_varying)
    is_outside = rows.is_unseen[drawn] | (rows.largest_gap > MAX_COLUMN_GAP)
    is_outside |= rows.squared_gaps > MAX_GAP**2 * d
    near = np.flatnonzero(~is_outside)
    limit = d * float(np.sqrt(2 / (d + 3)))  # A distance, not its root mean square.
    is_outside[near[_far_rows(rows.source, rows.target[near], limit)]] = True
    p, q = float(is_outside.mean()), float(rows.is_single[drawn].mean())
    share = (p - q) / (1 - q) if p > q else 0.0
    unseen = tuple(name for name, _ in rows.unseen_counts.most_common(MAX_LEVELS_SHOWN))
    return Support(share, unseen, float(rows.is_unseen.mean())), drawn, is_outside


def _far_rows(source: Any, target: Any, limit: float) -> np.ndarray:
    """Return the target rows with no source row within a distance."""
    far = np.arange(target.shape[0])
    for block in (source[:FIRST_ROWS], source[FIRST_ROWS:]):
        if far.size and block.shape[0]:
            _, gaps = pairwise_distances_argmin_min(target[far], block)
            far = far[gaps > limit]
    return far


class _Coordinates:
    """Source rows and drawn target rows in spreads, and the gaps in single columns.

    `is_unseen` and `is_single` are about all target rows, the gaps about those drawn.
    """

    def __init__(self, table: Any, codes: np.ndarray, drawn: np.ndarray):
        n_source, n_target = np.bincount(codes)
        self.is_unseen, self.is_single = np.zeros((2, n_target), dtype=bool)
        self.squared_gaps, self.largest_gap = np.zeros((2, drawn.size))
        self.unseen_counts: Counter[str] = Counter()
        self.n_varying = 0
        if sp.issparse(table):
            table = finite_sparse(table)
            self._add_sparse(table[:n_source], table[n_source + drawn])
            return
        self.drawn, self.columns = drawn, [(np.zeros(n_source), np.zeros(drawn.size))]
        for feature in stacked_features(table, codes):
            if feature.levels is None:
                self._add_numbers(feature)
            else:
                self._add_text(feature, feature.levels)
        self.source, self.target = map(np.column_stack, zip(*self.columns, strict=True))

    def _add_sparse(self, source: sp.csr_array, target: sp.csr_array) -> None:
        """Add all columns in spreads from 0; only numbers beyond the source's range have a gap."""
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

    def _add_text(self, feature: Feature, levels: tuple[str, ...]) -> None:
        # The index -1 of missing values is that of the last name.
        names = [*(f"{feature.name}={level}" for level in levels), feature.gap_name]
        source, target = feature.source % len(names), feature.target % len(names)
        n_source, n_target = (np.bincount(s, minlength=len(names)) for s in (source, target))
        self.n_varying += int(np.ptp(np.concatenate([source, target])) > 0)
        # An indicator of each frequent level of the target, and one of the others.
        frequent = np.argsort(-n_target, kind="stable")[:MAX_LEVELS]
        frequent = frequent[n_target[frequent] >= RARE_ROWS]
        position = np.full(len(names), frequent.size)
        position[frequent] = np.arange(frequent.size)
        rows = np.eye(frequent.size + 1)[position]
        self.columns.append((rows[source], rows[target[self.drawn]]))
        is_single = n_target[target] == 1
        if is_single.sum() > MAX_UNIQUE_SHARE * target.size:
            return
        unseen = (n_source == 0) & (n_target > 0)
        self.is_unseen |= unseen[target]
        self.is_single |= is_single
        for k in np.flatnonzero(unseen):
            is_rare = n_target[k] < MIN_NAMED_ROWS and k < len(levels)
            self.unseen_counts[f"{feature.name}=other" if is_rare else names[k]] += int(n_target[k])

    def _add_numbers(self, feature: Feature) -> None:
        no_source, no_target = feature.missing()
        if no_target.any() and not no_source.any():
            self.is_unseen |= no_target
            self.unseen_counts[feature.gap_name] += int(no_target.sum())
        both = np.concatenate([feature.source[~no_source], feature.target[~no_target]])
        if not both.size or both.min() == both.max():
            return
        self.n_varying += 1
        present = ~no_target[self.drawn]
        if no_source.all() or not present.any():
            self.largest_gap[present] = np.inf
            return
        exponent = int(np.frexp(np.abs(both).max())[1])
        source, target = (
            np.ldexp(sample, -exponent) for sample in (feature.source, feature.target[self.drawn])
        )
        known = np.sort(source[~no_source])
        centre, spread = _centre_and_spread(target[present])
        if known.size >= 2 * OUTERMOST_ROWS:
            inner_range = known[-OUTERMOST_ROWS] - known[OUTERMOST_ROWS - 1]
            spread = max(spread, inner_range / RANGE_SPREADS)
        spread = max(spread, 1e-300)  # If both are constant, any difference is large.
        source, target, known = (
            _in_spreads(sample - centre, spread) for sample in (source, target, known)
        )
        self.columns.append((np.nan_to_num(source), np.nan_to_num(target)))
        above = np.searchsorted(known, target[present])
        neighbours = known[np.clip([above - 1, above], 0, known.size - 1)]
        gap = np.abs(target[present] - neighbours).min(axis=0)
        self.squared_gaps[present] += gap**2
        self.largest_gap[present] = np.maximum(self.largest_gap[present], gap)


def _in_spreads(distance: np.ndarray, spread: np.ndarray | float) -> np.ndarray:
    """Return distances in spreads, large ones as logarithms."""
    return np.asarray(LINEAR_SPREADS * np.arcsinh(distance / (LINEAR_SPREADS * spread)))


def _centre_and_spread(numbers: np.ndarray) -> tuple[float, float]:
    """Return the median, and a standard deviation in which tails count by their logarithms."""
    low, centre, high = np.percentile(numbers, [25, 50, 75])
    spread = (high - low) / 1.349 or float(np.std(numbers)) * (numbers.min() < numbers.max())
    for _ in range(20 if spread else 0):
        size = float(np.sqrt(np.mean(_in_spreads(numbers - centre, spread) ** 2)))
        if size <= 1 + 1e-9:
            break
        spread *= size
    return float(centre), float(spread)
