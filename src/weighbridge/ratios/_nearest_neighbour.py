"""Density ratio by counting neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import log_expit
from sklearn.neighbors import NearestNeighbors

from weighbridge._folds import are_categories, row_blocks
from weighbridge.ratios._base import TwoSampleRatio
from weighbridge.tables import RowScores, check_count, joined_tables

# Default candidates. None may exceed a quarter of the smaller sample.
SIZES = (5, 10, 20, 40, 80, 160, 320)
# This many pseudo-counts, in the proportion of the sample sizes, keep a ratio from being 0.
PSEUDO_COUNTS = 2.0


class NearestNeighbourRatio(TwoSampleRatio):
    """Density ratio by counting source and target rows among the nearest neighbours.

    The ratio is the number of target rows over the number of source rows among the k nearest rows
    of the stacked samples, divided by the same quotient of the whole samples. A row seen in ``fit``
    is not its own neighbour. Two pseudo-counts, in the proportion of the sample sizes, keep the
    ratio away from 0 and infinity.

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

    Notes
    -----
    Copies of a row are one neighbour and count as one row of each sample that they are in. If most
    rows are in both samples, as with categories, each copy counts.

    Samples of 100,000 rows and 20 columns each take minutes. To learn from fewer rows, use
    ``fit_ratio(X, X_target, NearestNeighbourRatio(), max_rows=20_000)``.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.ratios import NearestNeighbourRatio, fit_ratio
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (2000, 1)), rng.normal(0.5, 1, (1000, 1))
    >>> ratio = fit_ratio(X, X_target, NearestNeighbourRatio())
    >>> bool(np.corrcoef(ratio.score_samples(X), X[:, 0])[0, 1] > 0.9)
    True
    """

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
        group = self.held_out_.group
        distinct = rows[np.unique(group, return_index=True)[1]]
        counts = np.column_stack([np.bincount(group, weights=codes == code) for code in (0, 1)])
        # Without the row itself, counts are smaller by this much.
        itself = np.minimum(counts, 1.0)
        if not are_categories(group, codes):
            # Every sample counts as many rows as it has distinct ones.
            itself = counts = counts * itself.sum(axis=0) / counts.sum(axis=0)
        self.counts_, n_rows = counts, counts.sum(axis=0)
        self.pseudo_counts_ = PSEUDO_COUNTS * n_rows / n_rows.sum()
        self.search_ = NearestNeighbors(n_jobs=self.n_jobs).fit(distinct)
        if self.n_neighbours is None:
            largest = max(round(n_rows.min()) // 4, 1)
            sizes = np.array([size for size in SIZES if size <= largest] or [largest])
        else:
            sizes = np.array([min(int(self.n_neighbours), round(n_rows.sum()) - 1)])
        log_odds = self._leave_one_out(distinct, itself, sizes)
        losses = -log_expit(log_odds * np.array([-1, 1])[:, None, None])
        best = int(np.argmin(np.einsum("ij,jik->k", counts, losses)))
        self.n_neighbours_ = int(sizes[best])
        self.log_odds_of_counts_ = float(np.log(n_rows[1] / n_rows[0]))
        mean_log_odds = np.average(log_odds[..., best], axis=0, weights=counts.T)
        self.held_out_.remember(mean_log_odds[group] - self.log_odds_of_counts_)

    def _leave_one_out(self, distinct: Any, itself: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return log odds without the row itself, by its sample, row and number of neighbours."""
        log_odds = np.empty((2, distinct.shape[0], sizes.size))
        for block, distances, neighbours in self._neighbours(distinct, int(sizes[-1]) + 1):
            row = np.arange(block.start, block.stop)[:, None]
            for code in (0, 1):
                counts = self.counts_[neighbours]
                counts[..., code] -= (neighbours == row) * itself[row, code]
                log_odds[code, block] = self._log_odds(np.maximum(counts, 0.0), distances, sizes)
        return log_odds

    def _log_ratio(self, numbers: Any) -> np.ndarray:
        log_ratio, new = self.held_out_.find(numbers)
        for block, distances, neighbours in self._neighbours(numbers[new], self.n_neighbours_):
            log_odds = self._log_odds(self.counts_[neighbours], distances, [self.n_neighbours_])
            log_ratio[new[block]] = log_odds[:, 0] - self.log_odds_of_counts_
        return log_ratio

    def _neighbours(self, rows: Any, size: int) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield blocks of rows, and distances and indices of a few more neighbours than `size`."""
        n_neighbours = min(size + 8 + size // 8, len(self.counts_))
        for block in row_blocks(rows.shape[0], 8 * (size + 1)):
            yield block, *self.search_.kneighbors(rows[block], n_neighbours)

    def _log_odds(self, counts: np.ndarray, distances: np.ndarray, sizes: Any) -> np.ndarray:
        """Return log odds for each size, from counts (n_rows, n_neighbours, 2) in order."""
        sums, row, log_odds = np.cumsum(counts, axis=1), np.arange(len(counts)), []
        total = sums.sum(axis=2)
        for size in sizes:
            needed = np.minimum((total < size).sum(axis=1), counts.shape[1] - 1)
            # Neighbours at the same distance count alike.
            reach = distances[row, needed] * (1 + 1e-9)
            last = (distances <= reach[:, None]).sum(axis=1) - 1
            counted = np.log(sums[row, last] + self.pseudo_counts_)
            log_odds.append(counted[:, 1] - counted[:, 0])
        return np.column_stack(log_odds)
