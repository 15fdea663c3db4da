"""Density ratio by least squares importance fitting (uLSIF, RuLSIF)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np

from weighbridge._namespace import array_namespace, to_numpy
from weighbridge.ratios._blocks import row_blocks
from weighbridge.ratios._kernel import (
    bandwidth_grid,
    distinct_rows,
    kernel_grams,
    kernel_sums,
    kernels,
    squared_distances,
)
from weighbridge.ratios._least_squares import Eigen, leave_one_out_scores, score
from weighbridge.ratios._parameters import check_count, check_positive_grid
from weighbridge.ratios._two_sample import TwoSampleRatio

RIDGES = np.logspace(-4, 0, 10)
# The smallest ratio: kernel sums with signed coefficients can fall below 0, a density ratio cannot.
FLOOR = 1e-3
# The share of target rows that alone may set the largest ratio.
COMMON = 0.9
# Samples up to this size are scored by leaving one out, larger ones by five folds.
MOST_LEFT_OUT = 1000


class ULSIF(TwoSampleRatio):
    """Density ratio by unconstrained least squares importance fitting.

    The ratio is a sum of Gaussian kernels at rows of the target, with coefficients that minimise
    the squared error under the source, plus a ridge; bandwidth and ridge are chosen by the held-out
    value of that error. All of it comes from sums over blocks of rows: one pass, bounded memory.

    Parameters
    ----------
    relative : float in [0, 1), default=0.0
        Estimate the relative ratio ``p_target / (relative p_target + (1 - relative) p_source)``
        (RuLSIF), which is bounded by ``1 / relative``. It is the weight of `Geodesic` at
        ``lam = 1 - relative, alpha = 3``, estimated directly: use it with the full weighting.
    n_centres : int, default=100
        Number of kernels, at different target rows drawn at random.
    bandwidths : sequence of floats, optional
        Candidates, in units of the standardised columns. Default: ten, from twice the median
        distance to the centres downward by steps of sqrt(2).
    ridges : sequence of floats, optional
        Candidates. Default: ten from 1e-4 to 1.
    iterations : int, default=1
        Steps of iterated regularisation; more than one removes most of the ridge's bias.
    cv : int or "loo", optional
        Number of folds for the choice, or leave-one-out in closed form (which needs
        ``relative=0`` and ``iterations=1``). Default: leave-one-out where that is possible and no
        sample has more than 1,000 rows, five folds otherwise.
    random_state : int, RandomState instance or None, default=0
        Draws the centres and folds.

    Attributes
    ----------
    bandwidth_, ridge_ : float
        The chosen ones.
    scores_ : ndarray of shape (n_bandwidths, n_ridges)
        Held-out scores, smaller is better.
    bandwidths_, ridges_ : ndarray
        The candidates.
    centres_ : array of shape (n_centres, n_encoded)
        Centres, in standardised columns.
    coef_ : ndarray of shape (n_centres,)
        Coefficients of the kernels, of either sign.
    largest_ : float
        Largest ratio that any row gets, see the notes.

    Notes
    -----
    The ratio is never smaller than 0.001: a sum of kernels with negative coefficients can fall
    below 0, a density ratio cannot. (Forcing the coefficients themselves to be positive triples the
    error.) Nor is it larger than at the source rows seen in ``fit`` or, if that is more, than at 90
    percent of the target rows: further out no source row says how rare the source is there, and
    the sum of kernels can take any value. The weights of the source rows in ``fit`` are not
    touched by this. A ratio that averages more than 1 over the source is divided by its average;
    one that averages less is left as it is, so that samples without overlap can be told.

    Columns are standardised; missing values and categories are taken as described in the guide.
    Arrays of other libraries (torch, cupy) are computed where they are.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge import fit_ratio
    >>> from weighbridge.ratios import ULSIF
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (2000, 1)), rng.normal(0.5, 1, (1000, 1))
    >>> ratio = fit_ratio(X, X_target, ULSIF())
    >>> np.exp(ratio.score_samples([[0.0], [0.25], [1.0]])).round(1)  # truth: 0.9, 1, 1.5
    array([0.9, 1. , 1.4])
    """

    _other_arrays = True

    def __init__(
        self,
        relative: float = 0.0,
        *,
        n_centres: int = 100,
        bandwidths: Any = None,
        ridges: Any = None,
        iterations: int = 1,
        cv: Any = None,
        random_state: Any = 0,
    ):
        self.relative = relative
        self.n_centres = n_centres
        self.bandwidths = bandwidths
        self.ridges = ridges
        self.iterations = iterations
        self.cv = cv
        self.random_state = random_state

    def _check_parameters(self) -> None:
        if not (isinstance(self.relative, Real) and 0 <= self.relative < 1):
            raise ValueError(
                f"Got relative={self.relative!r}, but expected a number in [0, 1): 0 is the plain "
                "ratio, 1 would be no ratio at all."
            )
        check_count("n_centres", self.n_centres, 1)
        check_count("iterations", self.iterations, 1)
        check_positive_grid("bandwidths", self.bandwidths)
        check_positive_grid("ridges", self.ridges)
        if self.cv == "loo" and not self._has_closed_form():
            raise ValueError(
                "Got cv='loo' with relative > 0 or iterations > 1, for which leave-one-out has no "
                "closed form here; use folds, e.g. cv=5."
            )
        if self.cv is not None and self.cv != "loo":
            if not isinstance(self.cv, Integral):
                raise ValueError(
                    f"Got cv={self.cv!r}, but expected a number of folds, 'loo' or None."
                )
            check_count("cv", self.cv, 2)

    def _has_closed_form(self) -> bool:
        return self.relative == 0 and self.iterations == 1

    def _fit_samples(self, source: Any, target: Any) -> tuple[Any, Any]:
        self.centres_, places = distinct_rows(target, self.n_centres)
        self.bandwidths_ = bandwidth_grid(self.bandwidths, source, target, self.centres_)
        self.ridges_ = RIDGES if self.ridges is None else np.asarray(self.ridges, dtype=float)
        largest = max(source.shape[0], target.shape[0])
        small = self._has_closed_form() and largest <= MOST_LEFT_OUT
        if self.cv == "loo" or (self.cv is None and small):
            H, h = self._leave_one_out(source, target, places)
        else:
            H, h = self._folds(source, target, places, 5 if self.cv is None else int(self.cv))
        j, k = np.unravel_index(np.argmin(self.scores_), self.scores_.shape)
        self.bandwidth_, self.ridge_ = float(self.bandwidths_[j]), float(self.ridges_[k])
        eigen = Eigen(H[j], h[j])
        self.coef_ = eigen.coefficients(self.ridges_[[k]], self.iterations)[:, 0]
        return self._bounded(*(to_numpy(self._sum_of_kernels(part)) for part in (source, target)))

    def _bounded(self, source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scale and bound the ratio, given its values at the two samples; return its logarithms."""
        mean = (1 - self.relative) * np.maximum(source, FLOOR).mean()
        mean += self.relative * np.maximum(target, FLOOR).mean()
        scale = max(float(mean), 1.0)
        self.coef_ /= scale
        largest = max(source.max(), np.quantile(target, COMMON)) / scale
        self.largest_ = max(float(largest), FLOOR)
        if self.relative > 0:
            self.largest_ = min(self.largest_, 1 / self.relative)
        source, target = (np.clip(part / scale, FLOOR, self.largest_) for part in (source, target))
        return np.log(source), np.log(target)

    def _leave_one_out(
        self, source: Any, target: Any, places: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Score every candidate by leaving one out; return H and h for each bandwidth."""
        distances = [squared_distances(part, self.centres_) for part in (source, target)]
        H, h, scores = [], [], []
        pairs = zip(*(kernels(part, self.bandwidths_) for part in distances), strict=True)
        itself = places, np.arange(places.size)
        for kernel_source, kernel_target in (map(to_numpy, pair) for pair in pairs):
            kernel_target = kernel_target.copy()
            kernel_target[itself] += _without_itself(kernel_target.sum(axis=0), target.shape[0])
            scores.append(leave_one_out_scores(kernel_source, kernel_target, self.ridges_))
            H.append(kernel_source.T @ kernel_source / source.shape[0])
            h.append(kernel_target.mean(axis=0))
        self.scores_ = np.array(scores)
        return np.array(H), np.array(h)

    def _folds(
        self, source: Any, target: Any, places: np.ndarray, n_folds: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Score every candidate on held-out folds; return H and h for each bandwidth."""
        n_folds = min(n_folds, source.shape[0], target.shape[0])
        at = self.centres_, self.bandwidths_, n_folds
        source_sizes, H = _sums_by_fold(kernel_grams, source, *at)
        target_sizes, h = _sums_by_fold(kernel_sums, target, *at)
        fold_of_centre = np.searchsorted(np.cumsum(target_sizes), places, side="right")
        correction = _without_itself(h.sum(axis=0), target.shape[0])
        h[fold_of_centre, :, np.arange(places.size)] += correction.T
        # means over the rest of the folds and over the fold itself
        H_rest, H_fold = _means_without_and_within(H, source_sizes)
        h_rest, h_fold = _means_without_and_within(h, target_sizes)
        H_mean, h_mean = H.sum(axis=0) / source.shape[0], h.sum(axis=0) / target.shape[0]
        if self.relative > 0:
            a = self.relative
            G = _sums_by_fold(kernel_grams, target, *at)[1]
            G_rest, G_fold = _means_without_and_within(G, target_sizes)
            H_rest, H_fold = (1 - a) * H_rest + a * G_rest, (1 - a) * H_fold + a * G_fold
            H_mean = (1 - a) * H_mean + a * G.sum(axis=0) / target.shape[0]
        self.scores_ = np.zeros((len(self.bandwidths_), self.ridges_.size))
        for fold in range(n_folds):
            for j in range(len(self.bandwidths_)):
                theta = Eigen(H_rest[fold, j], h_rest[fold, j]).coefficients(
                    self.ridges_, self.iterations
                )
                self.scores_[j] += score(theta, H_fold[fold, j], h_fold[fold, j]) / n_folds
        return H_mean, h_mean

    def _sum_of_kernels(self, rows: Any) -> Any:
        xp = array_namespace(rows)
        coef = self.coef_ if xp is np else _like(xp, self.coef_, self.centres_)
        parts = []
        for block in row_blocks(rows.shape[0], self.centres_.shape[0], cached=xp is np):
            distances = squared_distances(rows[block, :], self.centres_)
            parts.append(next(kernels(distances, [self.bandwidth_])) @ coef)
        return xp.concat(parts)

    def _log_ratio(self, rows: Any) -> Any:
        xp = array_namespace(rows)
        return xp.log(xp.clip(self._sum_of_kernels(rows), FLOOR, self.largest_))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log odds that a row of the stacked samples comes from the target."""
        return self._plain_log_ratio(to_numpy(self.score_samples(X))) + self.log_prior_odds_

    def _plain_log_ratio(self, log_ratio: np.ndarray) -> np.ndarray:
        if self.relative == 0:
            return log_ratio
        # from the relative ratio q back to (1 - a) q / (1 - a q)
        rest = np.maximum(-np.expm1(log_ratio + np.log(self.relative)), FLOOR)
        return log_ratio + np.log1p(-self.relative) - np.log(rest)


def _without_itself(sums: np.ndarray, n_target: int) -> np.ndarray:
    """Return what to add where a centre meets its own row, whose kernel is 1 and says nothing.

    In its place comes the mean over the other rows. With the 1 left in, ever narrower kernels look
    ever better, as long as they know their own rows.
    """
    return (sums - 1) / (n_target - 1) - 1


def _sums_by_fold(
    summed: Callable[..., np.ndarray], rows: Any, centres: Any, bandwidths: Any, n_folds: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the fold sizes, and the sums of each fold.

    The rows are in random order: a fold is a stretch of them.
    """
    edges = np.linspace(0, rows.shape[0], n_folds + 1).astype(int)
    sums = [summed(rows[start:end, :], centres, bandwidths) for start, end in pairwise(edges)]
    return np.diff(edges), np.array(sums)


def _means_without_and_within(sums: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each fold the mean over all other folds, and that over the fold."""
    shape = (-1,) + (1,) * (sums.ndim - 1)
    rest = (sums.sum(axis=0) - sums) / (sizes.sum() - sizes).reshape(shape)
    return rest, sums / sizes.reshape(shape)


def _like(xp: Any, values: np.ndarray, array: Any) -> Any:
    """Return NumPy values as an array of another library, beside `array`."""
    return xp.asarray(values, dtype=array.dtype, device=array.device)
