"""Which share of the target lies where the source has no rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from weighbridge._data import (
    RowScores,
    check_count,
    column_labels,
    gap_name,
    read_columns,
    shuffled,
    take_rows,
)
from weighbridge._findings import percent
from weighbridge.blocks import as_rows, is_blocks, row_blocks
from weighbridge.ratios._encoder import TableEncoder
from weighbridge.ratios._stack_samples import stacked_table

Array = np.ndarray[Any, Any]

# Share of the source rows that are nearer to another source row than the threshold.
QUANTILE = 0.99
# A column whose source values lie in a range says nothing below this many standard deviations
# beyond it: the largest of many rows is exceeded by chance, by so much it is not.
MARGIN = 2.0
# A text that is different in most rows is a name, which no other row can have.
MOST_UNIQUE = 0.5
MOST_LEVELS_SHOWN = 20
# Rows of a sample, drawn at random, between which distances are computed.
MOST_ROWS = 10_000
# Levels with fewer rows share a name: no single row is to be known by it.
FEW_TO_NAME = 10


@dataclass(frozen=True, repr=False)
class Support:
    """How much of the target lies outside the source.

    Parameters
    ----------
    share : float
        Share of the target rows outside, beyond that of source rows outside the other source rows.
    target_share : float
        Share of the target rows that are far from every source row.
    source_share : float
        The same for source rows and the *other* source rows, about 1 %.
    threshold : float
        Distance to the nearest source row from which a row is outside, in standard deviations.
    unseen_levels : tuple of str
        Levels of categories (``site=west``) and missing values (``bmi missing``) that no source row
        has, the most frequent first; at most 20. Levels with fewer than 10 rows are one, "other".
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
    source_share: float
    threshold: float
    unseen_levels: tuple[str, ...]
    unseen_share: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON.

        Returns
        -------
        dict
            One entry for each field.
        """
        return {**asdict(self), "unseen_levels": list(self.unseen_levels)}

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        more = [f"{len(self.unseen_levels) - 3} more"] * (len(self.unseen_levels) > 3)
        unseen = f" (never seen there: {', '.join([*self.unseen_levels[:3], *more])})"
        return (
            f"{percent(self.share)} of the target rows lie outside the source"
            f"{unseen if self.unseen_levels else ''}"
        )


def outside_support(
    X: Any, X_target: Any, *, max_rows: int = MOST_ROWS, random_state: Any = 0
) -> Support:
    """Return the share of the target rows that lie outside the source's support.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_source, n_features)
        Source rows.
    X_target : same type, of shape (n_target, n_features)
        Target rows.
    max_rows : int, default=10_000
        A sample with more rows is represented by that many of them, drawn at random, where
        distances are computed.
    random_state : int, RandomState instance or None, default=0
        Draws these rows.

    Returns
    -------
    Support
        The share, the threshold, and levels that the source does not have.

    Notes
    -----
    A target row is outside if

    - its nearest source row is farther away than 99 % of the source rows are from the nearest other
      source row (that is not their copy); numbers count in standard deviations of the source, a
      category as described for ratios; or
    - one of its numbers lies beyond all source values by more than two of their standard
      deviations, or differs from a value that all source rows share (distances over many columns
      hide a single one); or
    - it has a level, or a missing value, in a column where no source row has it.

    Source rows are outside the other source rows now and then, by construction about 1 % of them,
    and more where texts are often unique (a column where most are is left out). With the share q of
    source rows and the share p of target rows, ``(p - q) / (1 - q)`` is shown, or 0: 1 for samples
    that are apart; without shift 0 up to chance (about ``1 / n_source`` below 100 source rows).

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
    return _support(*stacked_table(X, X_target), max_rows, random_state)


def share_outside(X: Any, X_target: Any, sample_weight: Array | None) -> float:
    """Return the share of the target rows outside the source rows that count."""
    if is_blocks(X) or is_blocks(X_target):  # some rows of each stand for all
        X, X_target = (as_rows(part).sample(MOST_ROWS) for part in (X, X_target))
        sample_weight = None
    stacked, codes = stacked_table(X, X_target)
    if sample_weight is not None:
        used = np.flatnonzero(np.concatenate([sample_weight > 0, codes[codes == 1] == 1]))
        stacked, codes = take_rows(stacked, used), codes[used]
    return _support(stacked, codes, MOST_ROWS, 0).share


def _support(stacked: Any, codes: Array, max_rows: int, random_state: Any) -> Support:
    unseen = _Unseen(stacked, codes)
    encoder = TableEncoder().fit(stacked, codes)
    rng = check_random_state(random_state)
    places = [rows[:max_rows] for rows in shuffled(stacked, codes, rng)]
    source, target = (encoder.numbers(take_rows(stacked, rows)) for rows in places)
    beyond = np.zeros(places[1].size, dtype=bool)
    if not encoder.sparse:
        ranges = _Ranges(encoder, stacked, np.flatnonzero(codes == 0))
        beyond = ranges.beyond(target)
        source, target = ranges.in_deviations(source), ranges.in_deviations(target)
    distance, own, group = _distances(source, target)
    threshold = float(np.quantile(own, QUANTILE, method="higher"))
    target_far = (distance > threshold) | beyond | unseen.marked[places[1]]
    source_far = (own[group] > threshold) | unseen.lonely[places[0]]
    p, q = float(target_far.mean()), float(source_far.mean())
    share = (p - q) / (1 - q) if p > q else 0.0
    unseen_share = float(unseen.marked[codes == 1].mean())
    return Support(share, p, q, threshold, unseen.names, unseen_share)


class _Unseen:
    """Levels and missing values that the source does not have, or has in one row only."""

    def __init__(self, table: Any, codes: Array):
        self.marked, self.lonely = np.zeros((2, codes.size), dtype=bool)
        self.counts: Counter[str] = Counter()
        if sp.issparse(table):
            return
        labels = column_labels(table)
        for label, column in zip(labels, read_columns(table), strict=True):
            gaps = gap_name(label, labels)
            if column.dtype == object:
                self._look_at_text(label, column, codes, gaps)
            else:
                self._look_at_gaps(gaps, np.isnan(column), codes)

    @property
    def names(self) -> tuple[str, ...]:
        """What is not in the source, most frequent first."""
        return tuple(name for name, _ in self.counts.most_common(MOST_LEVELS_SHOWN))

    def _look_at_text(self, label: str, column: Array, codes: Array, gap_name: str) -> None:
        missing = np.array([value is None for value in column])
        text = np.where(missing, "", column).astype(str)
        levels, level = np.unique(text, return_inverse=True)
        level[missing] = levels.size
        counts = [np.bincount(level[codes == code], minlength=levels.size + 1) for code in (0, 1)]
        single = counts[0][level] == 1
        if single[codes == 0].mean() > MOST_UNIQUE:
            return
        new = (counts[0] == 0) & (counts[1] > 0)
        self.marked |= new[level]
        self.lonely |= single & (codes == 0)
        for k in np.flatnonzero(new):
            rows = int(counts[1][k])
            name = f"{label}={levels[k] if rows >= FEW_TO_NAME else 'other'}"
            self.counts[gap_name if k == levels.size else name] += rows

    def _look_at_gaps(self, name: str, gaps: Array, codes: Array) -> None:
        if gaps.any() and not gaps[codes == 0].any():
            self.marked |= gaps
            self.counts[name] += int(gaps.sum())


class _Ranges:
    """Range and standard deviation of each encoded column over all source rows."""

    def __init__(self, encoder: TableEncoder, table: Any, rows: Array):
        sums = squares = np.zeros(1)
        low, high = np.array([np.inf]), np.array([-np.inf])
        for block in row_blocks(rows.size, encoder.width):
            numbers = encoder.numbers(take_rows(table, rows[block]))
            sums, squares = sums + numbers.sum(axis=0), squares + np.square(numbers).sum(axis=0)
            low, high = np.minimum(low, numbers.min(axis=0)), np.maximum(high, numbers.max(axis=0))
        self.low, self.high = low, high
        variance = squares / rows.size - np.square(sums / rows.size)
        varies = high > low
        # the difference of squares knows no variance below this
        least = np.maximum(1e-14 * squares / rows.size, 1e-300)
        self.deviation = np.where(varies, np.sqrt(np.maximum(variance, least)), 1.0)
        self.scale = np.ones(self.deviation.size)
        n_numbers = int(encoder.varies.sum())  # marks and levels follow, which stay 0 and 1
        self.scale[:n_numbers] = 1 / self.deviation[:n_numbers]
        self.margin = np.where(varies, MARGIN * self.deviation, 0.0)

    def beyond(self, numbers: Array) -> Array:
        """Mark rows with a number far beyond all source values."""
        outside = (numbers < self.low - self.margin) | (numbers > self.high + self.margin)
        return np.asarray(outside.any(axis=1))

    def in_deviations(self, numbers: Array) -> Array:
        """Return the numbers in standard deviations of the source."""
        return np.clip(numbers * self.scale, -1e6, 1e6)


def _distances(source: Any, target: Any) -> tuple[Array, Array, Array]:
    """Return distances to the nearest source row, of target rows and of source rows."""
    group = RowScores(source).group
    first = np.unique(group, return_index=True)[1]
    distinct = source[first]
    search = NearestNeighbors(n_neighbors=1, algorithm="brute").fit(distinct)
    nearest = search.kneighbors(target, return_distance=False)[:, 0]
    distance = _norms(target - distinct[nearest])
    if first.size == 1:
        return distance, np.zeros(1), group
    pairs = search.kneighbors(distinct, n_neighbors=2, return_distance=False)
    # one of the two is the row itself
    own = np.maximum(*(_norms(distinct - distinct[pairs[:, k]]) for k in (0, 1)))
    return distance, own, group


def _norms(rows: Any) -> Array:
    squares = rows.multiply(rows) if sp.issparse(rows) else np.square(rows)
    return np.asarray(np.sqrt(np.asarray(squares.sum(axis=1), dtype=float).ravel()))
