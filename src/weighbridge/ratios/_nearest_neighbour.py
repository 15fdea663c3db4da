"""Density ratio by counting neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_expit
from sklearn.neighbors import NearestNeighbors

from weighbridge._folds import row_blocks
from weighbridge.ratios._base import TwoSampleRatio
from weighbridge.ratios._cross_fit import are_categories
from weighbridge.tables import RowScores, check_count, joined_tables, take_rows

# Neighbourhoods tried by default; none larger than a quarter of the smaller sample.
SIZES = (5, 10, 20, 40, 80, 160, 320)
# So many made-up neighbours, in the proportion of the sample sizes, keep a ratio from being 0.
MADE_UP = 2.0


class NearestNeighbourRatio(TwoSampleRatio):
    """Density ratio by counting source and target rows among the nearest neighbours.

    Among the k nearest rows of the stacked samples, the number of target rows over the number of
    source rows, divided by the same for the whole samples. A row seen in ``fit`` is not its own
    neighbour.

    Parameters
    ----------
    n_neighbours : int, optional
        Default: the size, among 5, 10, 20, ..., 320, with the smallest leave-one-out log loss.
    n_jobs : int, optional
        Processes or threads for the search for neighbours.

    Attributes
    ----------
    n_neighbours_ : int
        The number used.
    n_rows_ : ndarray of shape (2,)
        Numbers of source and target rows used: at most 20,000 of a sample, drawn at random.

    Notes
    -----
    Copies of a row are one neighbour, which counts as often as it occurs for each different row of
    its sample: a table in which every row is repeated gives the same ratio. Only where most rows
    are in both samples, as with categories, does each count by itself.

    Two made-up neighbours, in the proportion of the sample sizes, are added to the counts: the
    ratio is never 0 or infinite, and falls back to 1 with few neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge import fit_ratio
    >>> from weighbridge.ratios import NearestNeighbourRatio
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (2000, 1)), rng.normal(0.5, 1, (1000, 1))
    >>> ratio = fit_ratio(X, X_target, NearestNeighbourRatio())
    >>> bool(np.corrcoef(ratio.score_samples(X), X[:, 0])[0, 1] > 0.9)
    True
    """

    _most_rows = 20_000  # its time grows with the square of them

    def __init__(self, *, n_neighbours: int | None = None, n_jobs: int | None = None):
        self.n_neighbours = n_neighbours
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        if self.n_neighbours is not None:
            check_count("n_neighbours", self.n_neighbours, 1)

    def _fit_samples(self, source: Any, target: Any) -> None:
        rows = joined_tables([source, target])
        codes = np.repeat([0, 1], [source.shape[0], target.shape[0]])
        self.held_out_ = RowScores(rows)
        # equal rows (categories) are one neighbour that counts as many
        place = self.held_out_.group
        first = np.empty(place.max() + 1, dtype=int)
        first[place] = np.arange(place.size)
        distinct = rows[first]
        counts = np.column_stack([np.bincount(place, weights=codes == k) for k in (0, 1)])
        own = np.minimum(counts, 1.0)
        if not are_categories(place, codes):
            # a copy says nothing new: rows count as if each sample had as many as different ones
            own = counts = counts * own.sum(axis=0) / counts.sum(axis=0)
        self.counts_, n_rows = counts, counts.sum(axis=0)
        self.made_up_ = MADE_UP * n_rows / n_rows.sum()
        sizes = self._sizes(n_rows)
        self.search_ = NearestNeighbors(n_jobs=self.n_jobs).fit(distinct)
        log_odds = self._left_out_log_odds(distinct, own, sizes)
        losses = -log_expit(log_odds * np.array([-1, 1])[:, None, None])
        best = int(np.argmin(np.einsum("ij,jik->k", counts, losses)))
        self.n_neighbours_ = int(sizes[best])
        # of the rows that are here; there may be others
        self.known_odds_ = float(np.log(n_rows[1] / n_rows[0]))
        kept = np.average(log_odds[..., best], axis=0, weights=counts.T)
        self.held_out_.remember(kept[place] - self.known_odds_)

    def _sizes(self, n_rows: np.ndarray) -> np.ndarray:
        if self.n_neighbours is not None:
            return np.array([min(int(self.n_neighbours), round(n_rows.sum()) - 1)])
        most = max(round(n_rows.min()) // 4, 1)
        return np.array([size for size in SIZES if size <= most] or [most])

    def _left_out_log_odds(self, distinct: Any, own: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return log odds, shape (2, n_distinct, n_sizes), without the own row of either sample."""
        log_odds = np.empty((2, distinct.shape[0], sizes.size))
        for block in self._blocks(distinct, sizes):
            itself = np.arange(block.start, block.stop)[:, None]
            distances, neighbours = self._neighbours(distinct[block], sizes[-1] + 1)
            counts = self.counts_[neighbours]
            for code in (0, 1):
                left = counts.copy()
                left[..., code] -= (neighbours == itself) * own[itself, code]
                log_odds[code, block] = self._log_odds(np.maximum(left, 0.0), distances, sizes)
        return log_odds

    def _log_ratio(self, rows: Any) -> np.ndarray:
        """Return the log ratio; without the row itself where it was seen in ``fit``."""
        log_ratio, new = self.held_out_.find(rows)
        size = np.array([self.n_neighbours_])
        for block in self._blocks(new, size):
            distances, neighbours = self._neighbours(take_rows(rows, new[block]), size[-1])
            log_odds = self._log_odds(self.counts_[neighbours], distances, size)[:, 0]
            log_ratio[new[block]] = log_odds - self.known_odds_
        return log_ratio

    def _blocks(self, rows: Any, sizes: np.ndarray) -> Any:
        return row_blocks(rows.shape[0], 8 * (int(sizes[-1]) + 1))

    def _neighbours(self, rows: Any, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return distances of the nearest different rows and these, a few more than asked for."""
        n_neighbors = min(int(size) + 8 + int(size) // 8, self.counts_.shape[0])
        return self.search_.kneighbors(rows, n_neighbors)

    def _log_odds(self, counts: np.ndarray, distances: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return log odds for each size, from counts (n_rows, n_neighbours, 2) in order."""
        sums = np.cumsum(counts, axis=1)
        total = sums.sum(axis=2)
        last_column = counts.shape[1] - 1
        log_odds = np.empty((counts.shape[0], sizes.size))
        for k, size in enumerate(sizes):
            enough = total >= size
            needed = np.where(enough.any(axis=1), enough.argmax(axis=1), last_column)
            reach = np.take_along_axis(distances, needed[:, None], axis=1) * (1 + 1e-9)
            last = (distances <= reach).sum(axis=1) - 1
            counted = np.take_along_axis(sums, last[:, None, None], axis=1)[:, 0] + self.made_up_
            log_odds[:, k] = np.log(counted[:, 1]) - np.log(counted[:, 0])
        return log_odds
