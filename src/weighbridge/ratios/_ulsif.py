"""Density ratio by least squares importance fitting (uLSIF, RuLSIF)."""

from __future__ import annotations

from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weighbridge._folds import row_blocks
from weighbridge.ratios._base import TwoSampleRatio
from weighbridge.ratios._kernel import (
    bandwidth_grid,
    distinct_rows,
    exponents,
    kernel_blocks,
    kernel_sums,
    kernels,
)
from weighbridge.tables import (
    array_namespace,
    check_count,
    check_positive_grid,
    is_foreign,
    to_numpy,
)

RIDGES = np.logspace(-4, 0, 10)
# The smallest ratio. Sums of kernels with signed coefficients can fall below 0.
MIN_RATIO = 1e-3
# This share of the target rows can raise the largest ratio above that of the source rows.
COMMON_SHARE = 0.9
# Larger samples are scored by five folds instead of leave-one-out.
MAX_LEAVE_ONE_OUT_ROWS = 1000


class ULSIF(TwoSampleRatio):
    """Density ratio by unconstrained least squares importance fitting.

    The ratio is a sum of Gaussian kernels at rows of the target. Its coefficients minimise the
    squared error under the source plus a ridge penalty. Bandwidth and ridge minimise the held-out
    squared error.

    Parameters
    ----------
    relative : float in [0, 1), default=0.0
        Estimate the relative ratio ``p_target / (relative p_target + (1 - relative) p_source)``
        (RuLSIF), which is bounded by ``1 / relative``. It is the weight of `Geodesic` at
        ``lam = 1 - relative, alpha = 3``, estimated directly. Use it with the full weighting.
    n_centres : int, default=100
        Number of kernels, at distinct target rows drawn at random.
    bandwidths : sequence of floats, optional
        Candidates, in units of the standardised columns. Default: ten, from twice the median
        distance to the centres downward by steps of sqrt(2).
    ridges : sequence of floats, optional
        Candidates. Default: ten from 1e-4 to 1.
    cv : int or "loo", optional
        Number of folds for the choice, or leave-one-out in closed form, which needs
        ``relative=0``. Default: leave-one-out if that is possible and no sample has more than
        1,000 rows, else five folds.
    random_state : int, RandomState instance or None, default=0
        Draws the centres and folds.

    Attributes
    ----------
    bandwidth_, ridge_ : float
        The chosen candidates.
    bandwidths_, ridges_ : ndarray
        The candidates.
    scores_ : ndarray of shape (n_bandwidths, n_ridges)
        Held-out scores of the candidates (smaller is better); NaN if there is only one.
    centres_ : array of shape (n_centres, n_encoded)
        Centres of the kernels, in standardised columns.
    coef_ : ndarray of shape (n_centres,)
        Coefficients of the kernels, of either sign.
    largest_ : float
        Upper bound of the ratio.

    Notes
    -----
    The ratio is at least 0.001, because a sum of kernels with negative coefficients can fall below
    0. It is at most the largest ratio of a source row in ``fit`` or, if that is more, of 90 percent
    of the target rows: further out, the sum of kernels can take any value. A mean ratio above 1
    over the source is scaled to 1. A smaller mean shows that the samples hardly overlap, so it is
    left as it is.

    Rows in an array of another library (torch, cupy) are scored on its device. ``fit`` copies them
    to NumPy arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.ratios import ULSIF, fit_ratio
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (2000, 1)), rng.normal(0.5, 1, (1000, 1))
    >>> ratio = fit_ratio(X, X_target, ULSIF())
    >>> np.exp(ratio.score_samples([[0.0], [0.25], [1.0]])).round(1)  # truth: 0.9, 1, 1.5
    array([0.9, 1. , 1.4])
    """

    def __init__(
        self,
        relative: float = 0.0,
        *,
        n_centres: int = 100,
        bandwidths: Any = None,
        ridges: Any = None,
        cv: Any = None,
        random_state: Any = 0,
    ):
        self.relative = relative
        self.n_centres = n_centres
        self.bandwidths = bandwidths
        self.ridges = ridges
        self.cv = cv
        self.random_state = random_state

    def _check_parameters(self) -> None:
        relative: Any = self.relative
        if not (isinstance(relative, Real) and 0 <= float(relative) < 1):
            raise ValueError(f"Got relative={relative!r}, but expected a number in [0, 1).")
        check_count("n_centres", self.n_centres, 1)
        check_positive_grid("bandwidths", self.bandwidths)
        check_positive_grid("ridges", self.ridges)
        if self.cv not in (None, "loo"):
            check_count("cv", self.cv, 2)
        if self.cv == "loo" and self.relative > 0:
            raise ValueError(
                "Got cv='loo' with relative > 0, for which leave-one-out has no closed form here; "
                "use folds, e.g. cv=5."
            )

    def _fit_samples(self, source: Any, target: Any) -> tuple[np.ndarray, np.ndarray]:
        self.centres_, centre_rows = distinct_rows(target, self.n_centres)
        self.bandwidths_ = bandwidth_grid(self.bandwidths, source, target, self.centres_)
        self.ridges_ = RIDGES if self.ridges is None else np.asarray(self.ridges, dtype=float)
        A, b = self._score_candidates(source, target, centre_rows)
        j, k = np.unravel_index(np.argmin(self.scores_), self.scores_.shape)
        self.bandwidth_, self.ridge_ = float(self.bandwidths_[j]), float(self.ridges_[k])
        self.coef_ = _solve_ridge(A[j], b[j], self.ridges_[[k]])[:, 0]
        at_source, at_target = (self._sum_of_kernels(rows) for rows in (source, target))
        means = [np.maximum(values, MIN_RATIO).mean() for values in (at_source, at_target)]
        scale = max((1 - self.relative) * means[0] + self.relative * means[1], 1.0)
        largest = max(at_source.max(), np.quantile(at_target, COMMON_SHARE)) / scale
        limit = 1 / self.relative if self.relative > 0 else np.inf
        self.largest_ = min(max(float(largest), MIN_RATIO), limit)
        self.coef_ = self.coef_ / scale
        bounded = (
            np.clip(values / scale, MIN_RATIO, self.largest_) for values in (at_source, at_target)
        )
        at_source, at_target = (self._plain_log_ratio(np.log(values)) for values in bounded)
        return at_source, at_target

    def _score_candidates(
        self, source: Any, target: Any, centre_rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Score the candidates, if several; return the equations A theta = b by bandwidth."""
        sizes = source.shape[0], target.shape[0]
        self.scores_ = np.full((self.bandwidths_.size, self.ridges_.size), np.nan)
        is_small = max(sizes) <= MAX_LEAVE_ONE_OUT_ROWS
        default = "loo" if is_small and self.relative == 0 else 5
        cv = default if self.cv is None else self.cv
        n_folds = 1 if cv == "loo" or self.scores_.size == 1 else min(int(cv), *sizes)
        sums, folds = self._fold_sums(source, target, centre_rows, n_folds), np.arange(n_folds)
        A, b = self._equations(sums, folds)
        if n_folds > 1:
            scores = [self._fold_scores(sums, folds == fold) for fold in folds]
            self.scores_ = np.mean(scores, axis=0)
        elif self.scores_.size > 1:
            self.scores_ = self._leave_one_out_scores(source, target, centre_rows, A, b)
        return A, b

    def _fold_sums(
        self, source: Any, target: Any, centre_rows: np.ndarray, n_folds: int
    ) -> tuple[np.ndarray, ...]:
        """Return K'K of source and target, the sums of the target's kernels, and sizes, by fold."""
        n, m = source.shape[0], target.shape[0]
        edges, target_edges = (np.arange(n_folds + 1) * size // n_folds for size in (n, m))
        in_source = [source[i:j, :] for i, j in pairwise(edges.tolist())]
        in_target = [target[i:j, :] for i, j in pairwise(target_edges.tolist())]
        given = self.centres_, self.bandwidths_
        H = np.array([kernel_sums(rows, *given, grams=True) for rows in in_source])
        G = np.zeros(n_folds)
        if self.relative > 0:
            G = np.array([kernel_sums(rows, *given, grams=True) for rows in in_target])
        h = np.array([kernel_sums(rows, *given) for rows in in_target])
        # At its own row, a centre's kernel of 1 is replaced by its mean at the other rows.
        fold = np.searchsorted(target_edges, centre_rows, side="right") - 1
        h[fold, :, np.arange(fold.size)] += ((h.sum(axis=0) - 1) / (m - 1) - 1).T
        return H, G, h, np.diff(edges), np.diff(target_edges)

    def _equations(
        self, sums: tuple[np.ndarray, ...], folds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return A and b of the given folds, at each bandwidth."""
        H, G, h, n, m = (values[folds].sum(axis=0) for values in sums)
        return (1 - self.relative) * H / n + self.relative * G / m, h / m

    def _fold_scores(self, sums: tuple[np.ndarray, ...], held_out: np.ndarray) -> np.ndarray:
        theta = _solve_ridge(*self._equations(sums, ~held_out), self.ridges_)
        A, b = self._equations(sums, held_out)
        return np.sum(theta * (A @ theta / 2 - b[..., None]), axis=1)

    def _leave_one_out_scores(
        self, source: Any, target: Any, centre_rows: np.ndarray, A: np.ndarray, b: np.ndarray
    ) -> np.ndarray:
        """Return the leave-one-out score of each candidate, given the equations of all rows.

        Row i of the source and row i of the target are left out together. The equations without
        them differ by a matrix of rank one, and the Sherman-Morrison formula solves them (Kanamori,
        Hido and Sugiyama, 2009).
        """
        n, m = source.shape[0], target.shape[0]
        widest = float(self.bandwidths_[0])
        by_sample = (
            kernels(exponents(rows, self.centres_, widest), self.bandwidths_)
            for rows in (source, target)
        )
        scores = []
        for A_j, b_j, K, L in zip(A, b, *by_sample, strict=True):
            at_source, at_target = K, L.copy()
            at_target[centre_rows, np.arange(centre_rows.size)] = b_j
            values, vectors = np.linalg.eigh(A_j)
            Q, P = at_source[:m] @ vectors, at_target[:n] @ vectors
            c = 1 / (np.maximum(values, 0.0)[:, None] + self.ridges_ * (n - 1) / n)
            gc = m * (b_j @ vectors)[:, None] * c
            q, xy, xx = (Q * Q) @ c, (P * Q) @ c, (P * P) @ c
            rest_y, rest_x = Q @ gc - xy, P @ gc - xx
            source_ratio = (n - 1) / (m - 1) * rest_y / (n - q)
            target_ratio = (n - 1) / (n * (m - 1)) * (rest_x + xy * rest_y / (n - q))
            scores.append((source_ratio**2).mean(axis=0) / 2 - target_ratio.mean(axis=0))
        return np.array(scores)

    def _sum_of_kernels(self, numbers: Any) -> np.ndarray:
        blocks = kernel_blocks(numbers, self.centres_, [self.bandwidth_])
        return np.concatenate([kernel @ self.coef_ for _, kernel in blocks])

    def _log_ratio(self, numbers: Any) -> np.ndarray:
        return np.log(np.clip(self._sum_of_kernels(numbers), MIN_RATIO, self.largest_))

    @np.errstate(under="ignore")
    def score_samples(self, X: Any) -> Any:
        """Return the log density ratio at the rows of `X`, on their device if they have one."""
        if not is_foreign(X):
            return super().score_samples(X)
        check_is_fitted(self)
        numbers = self.encoder_.numbers(self._checked_rows(X, reset=False))
        xp = array_namespace(X)
        numbers, centres, coef = (
            xp.asarray(values, device=X.device) for values in (numbers, self.centres_, self.coef_)
        )
        blocks = row_blocks(X.shape[0], len(self.centres_), device=True)
        kernels = (xp.exp(exponents(numbers[b, :], centres, self.bandwidth_)) for b in blocks)
        sums = xp.concat([kernel @ coef for kernel in kernels])
        return xp.log(xp.clip(sums, MIN_RATIO, self.largest_))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log odds that a row of the stacked samples comes from the target."""
        return self._plain_log_ratio(to_numpy(self.score_samples(X))) + self.log_prior_odds_

    def _plain_log_ratio(self, log_ratio: np.ndarray) -> np.ndarray:
        """Return log((1 - a) q / (1 - a q)) for the relative ratio q with a = `relative`."""
        if self.relative == 0:
            return log_ratio
        rest = np.maximum(-np.expm1(log_ratio + np.log(self.relative)), MIN_RATIO)
        return log_ratio + np.log1p(-self.relative) - np.log(rest)


def _solve_ridge(A: np.ndarray, b: np.ndarray, ridges: np.ndarray) -> np.ndarray:
    """Return the solutions of (A + ridge I) theta = b, one column for each ridge."""
    values, vectors = np.linalg.eigh(A)
    values = np.maximum(values, 0.0)[..., None]  # Rounding makes the smallest ones negative.
    return vectors @ (vectors.mT @ b[..., None] / (values + ridges))
