"""Density ratio by least squares importance fitting (uLSIF, RuLSIF)."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from weighbridge.ratios._base import TwoSampleRatio
from weighbridge.ratios._kernel import (
    Eigen,
    FoldSums,
    bandwidth_grid,
    beside,
    distinct_rows,
    exponents,
    kernel_blocks,
    kernels,
    without_itself,
)
from weighbridge.ratios._sample import MOST_FIRST, Sample
from weighbridge.tables import array_namespace, check_count, check_positive_grid, to_numpy

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
    value of that error. All of it comes from sums over blocks of rows, wherever these live: in
    memory, in files, on other machines or on a GPU (see `weighbridge.blocks`).

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
    choice_rows : int or None, default=100_000
        Choose on that many rows of each sample, drawn at random, where there are more; then fit to
        all rows at that bandwidth, with a ridge chosen on all. None chooses on all rows, at the
        price of all bandwidths for every row.
    random_state : int, RandomState instance or None, default=0
        Draws the centres and folds.

    Attributes
    ----------
    bandwidth_, ridge_ : float
        The chosen ones.
    scores_ : ndarray of shape (n_bandwidths, n_ridges)
        Held-out scores (smaller is better) by which the bandwidth was chosen.
    bandwidths_, ridges_ : ndarray
        The candidates.
    centres_ : array of shape (n_centres, n_encoded)
        Centres, in standardised columns.
    coef_ : ndarray of shape (n_centres,)
        Coefficients of the kernels, of either sign.
    largest_ : float
        Largest ratio that any row gets; see the notes.

    Notes
    -----
    The ratio is never smaller than 0.001: a sum of kernels with negative coefficients can fall
    below 0, a density ratio cannot. (Forcing the coefficients themselves to be positive triples the
    error.) Nor is it larger than at the source rows seen in ``fit`` or, if that is more, than at 90
    percent of the target rows (of 100,000 of them at most): further out no source row says how
    rare the source is there, and the sum of kernels can take any value. The weights of the source
    rows in ``fit`` are not touched by this. A ratio that averages more than 1 over the source is
    divided by its average; one that averages less is left as it is, so that samples without
    overlap can be recognised.

    Columns are standardised; missing values and categories are handled as described in the guide.
    Arrays of other libraries (torch, cupy) are worked on where they are.

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
        choice_rows: int | None = 100_000,
        random_state: Any = 0,
    ):
        self.relative = relative
        self.n_centres = n_centres
        self.bandwidths = bandwidths
        self.ridges = ridges
        self.iterations = iterations
        self.cv = cv
        self.choice_rows = choice_rows
        self.random_state = random_state

    def _check_parameters(self) -> None:
        relative: Any = self.relative
        if not (isinstance(relative, Real) and 0 <= float(relative) < 1):
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
        if self.choice_rows is not None:
            check_count("choice_rows", self.choice_rows, MOST_LEFT_OUT)

    def _has_closed_form(self) -> bool:
        return self.relative == 0 and self.iterations == 1

    @property
    def _most_rows(self) -> int:  # type: ignore[override]
        return max(MOST_FIRST, self.choice_rows or 0)

    def _fit_streams(self, source: Sample, target: Sample) -> tuple[Any, Any]:
        self.centres_, places = distinct_rows(target.first, self.n_centres)
        self.bandwidths_ = bandwidth_grid(
            self.bandwidths, source.first, target.first, self.centres_
        )
        self.ridges_ = RIDGES if self.ridges is None else np.asarray(self.ridges, dtype=float)
        largest = max(source.n, target.n)
        small = self._has_closed_form() and largest <= MOST_LEFT_OUT
        if self.cv == "loo" or (self.cv is None and small):
            eigen = self._leave_one_out(source, target, places)
        else:
            eigen = self._folds(source, target, places, 5 if self.cv is None else int(self.cv))
        theta = eigen.coefficients(np.array([self.ridge_]), self.iterations)
        self.coef_ = to_numpy(theta)[:, 0]
        return self._bounded(source, target)

    def _bounded(self, source: Sample, target: Sample) -> tuple[np.ndarray, np.ndarray]:
        """Scale and bound the ratio; return its logarithm at the first rows of both samples."""
        total, largest = self._sum_and_largest(source)
        mean = (1 - self.relative) * total / source.n
        if self.relative > 0:
            mean += self.relative * self._sum_and_largest(target)[0] / target.n
        scale = max(mean, 1.0)
        first = [to_numpy(self._sum_of_kernels(part.first)) for part in (source, target)]
        largest = max(largest, float(np.quantile(first[1][:MOST_FIRST], COMMON))) / scale
        self.coef_ = self.coef_ / scale
        self.largest_ = max(float(largest), FLOOR)
        if self.relative > 0:
            self.largest_ = min(self.largest_, 1 / self.relative)
        at_source, at_target = (np.clip(part / scale, FLOOR, self.largest_) for part in first)
        return np.log(at_source), np.log(at_target)

    def _sum_and_largest(self, sample: Sample) -> tuple[float, float]:
        """Return the sum of the ratio over a sample, and its largest value there."""
        return sample.sum(self._total).pair

    def _total(self, numbers: Any, keys: np.ndarray) -> _Total:
        xp, values = array_namespace(numbers), self._sum_of_kernels(numbers)
        return _Total((float(xp.sum(xp.clip(values, FLOOR, None))), float(xp.max(values))))

    def _leave_one_out(self, source: Sample, target: Sample, places: np.ndarray) -> Eigen:
        """Choose by leaving one out; return the equations at the chosen bandwidth."""
        for sample in (source, target):
            if not sample.complete:
                raise ValueError(
                    f"Got cv='loo' for a sample of {sample.n:,} rows, all of which it would take "
                    "at once; use folds, e.g. cv=5."
                )
        widest = float(self.bandwidths_[0])
        exponent = [exponents(part.first, self.centres_, widest) for part in (source, target)]
        found = []
        pairs = zip(*(kernels(part, self.bandwidths_) for part in exponent), strict=True)
        itself = places, np.arange(places.size)
        for kernel_source, kernel_target in (map(to_numpy, pair) for pair in pairs):
            kernel_target = kernel_target.copy()
            kernel_target[itself] += without_itself(kernel_target.sum(axis=0), target.n)
            found.append(_leave_one_out_scores(kernel_source, kernel_target, self.ridges_))
        self.scores_ = np.array([scores for _, scores in found])
        j, k = np.unravel_index(np.argmin(self.scores_), self.scores_.shape)
        self.bandwidth_, self.ridge_ = float(self.bandwidths_[j]), float(self.ridges_[k])
        return found[j][0]

    def _folds(self, source: Sample, target: Sample, places: np.ndarray, n_folds: int) -> Eigen:
        """Choose by held-out folds; return the equations at the chosen bandwidth."""
        ridges, iterations = self.ridges_, self.iterations
        most = self.choice_rows
        few = (source, target) if most is None else (source.head(most), target.head(most))
        n_folds = min(n_folds, few[0].n, few[1].n)
        fits = FoldSums(self.centres_, n_folds, float(self.relative), places)
        equations = fits.equations(few[0], few[1], self.bandwidths_)
        self.scores_ = np.array([each.scores(ridges, iterations) for each in equations])
        j, k = np.unravel_index(np.argmin(self.scores_), self.scores_.shape)
        chosen = equations[j]
        if few != (source, target):
            (chosen,) = fits.equations(source, target, self.bandwidths_[[j]])
            k = np.argmin(chosen.scores(ridges, iterations))
        self.bandwidth_, self.ridge_ = float(self.bandwidths_[j]), float(ridges[k])
        return chosen.whole()

    def _sum_of_kernels(self, rows: Any) -> Any:
        xp = array_namespace(rows)
        coef = beside(xp, self.coef_, self.centres_)
        blocks = kernel_blocks(rows, self.centres_, [self.bandwidth_])
        return xp.concat([kernel @ coef for _, kernel in blocks])

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


@dataclass(frozen=True)
class _Total:
    """A sum and a largest value."""

    pair: tuple[float, float]

    def __add__(self, other: _Total) -> _Total:
        (total, largest), (more, larger) = self.pair, other.pair
        return _Total((total + more, max(largest, larger)))


def _leave_one_out_scores(
    kernel_source: np.ndarray, kernel_target: np.ndarray, ridges: np.ndarray
) -> tuple[Eigen, np.ndarray]:
    """Return the equations of one bandwidth, and leave-one-out scores of all ridges."""
    n, m = kernel_source.shape[0], kernel_target.shape[0]
    pairs = min(n, m)
    eigen = Eigen(kernel_source.T @ kernel_source / n, kernel_target.mean(axis=0))
    Q, P = kernel_source[:pairs] @ eigen.vectors, kernel_target[:pairs] @ eigen.vectors
    c = 1 / (eigen.values[:, None] + ridges * (n - 1) / n)
    gc = eigen.g[:, None] * c
    q, hy, hx = (Q * Q) @ c, Q @ gc, P @ gc
    xy, xx = (P * Q) @ c, (P * P) @ c
    left = n - q
    factor = (n - 1) / (n * (m - 1))
    at_source = factor * (m * (hy + q * hy / left) - (xy + q * xy / left))
    at_target = factor * (m * (hx + xy * hy / left) - (xx + xy**2 / left))
    return eigen, (at_source**2).mean(axis=0) / 2 - at_target.mean(axis=0)
