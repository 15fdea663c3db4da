"""Density ratio by least squares importance fitting (uLSIF, RuLSIF)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np

from weighbridge.ratios._array_encoder import ArrayEncoder
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

# Held-out scores of the candidates, and the equations A theta = b of all rows, by bandwidth.
Scored = tuple[np.ndarray, np.ndarray, np.ndarray]


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
    iterations : int, default=1
        Steps of iterated regularisation. More than one removes most of the ridge's bias.
    cv : int or "loo", optional
        Number of folds for the choice, or leave-one-out in closed form, which needs
        ``relative=0`` and ``iterations=1``. Default: leave-one-out if that is possible and no
        sample has more than 1,000 rows, else five folds.
    random_state : int, RandomState instance or None, default=0
        Draws the centres and folds.

    Attributes
    ----------
    bandwidth_, ridge_ : float
        The chosen candidates.
    bandwidths_, ridges_ : ndarray
        The candidates.
    scores_ : ndarray of shape (n_bandwidths, n_ridges)
        Held-out scores of the candidates (smaller is better).
    centres_ : array of shape (n_centres, n_encoded)
        Centres of the kernels, in standardised columns.
    coef_ : ndarray of shape (n_centres,)
        Coefficients of the kernels, of either sign.
    largest_ : float
        Upper bound of the ratio; see the notes.

    Notes
    -----
    The ratio is at least 0.001, because a sum of kernels with negative coefficients can fall below
    0. (Coefficients constrained to be positive triple the error.) It is at most the largest ratio
    of a source row in ``fit`` or, if that is more, of 90 percent of the target rows. Further out,
    no source row shows how rare the source is, and the sum of kernels can take any value. A ratio
    whose mean over the source exceeds 1 is divided by that mean. A smaller mean is left as it is,
    so that samples without overlap can be recognised.

    Arrays of other libraries (torch, cupy) are processed on their device.

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

    def _has_closed_form(self) -> bool:
        return self.relative == 0 and self.iterations == 1

    def _fit_samples(self, source: Any, target: Any) -> tuple[np.ndarray, np.ndarray]:
        self.centres_, centre_rows = distinct_rows(target, self.n_centres)
        self.bandwidths_ = bandwidth_grid(self.bandwidths, source, target, self.centres_)
        self.ridges_ = RIDGES if self.ridges is None else np.asarray(self.ridges, dtype=float)
        is_small = max(source.shape[0], target.shape[0]) <= MAX_LEAVE_ONE_OUT_ROWS
        leave_one_out = (
            is_small and self._has_closed_form() if self.cv is None else self.cv == "loo"
        )
        score = self._score_by_leaving_one_out if leave_one_out else self._score_by_folds
        self.scores_, A, b = score(source, target, centre_rows)
        j, k = np.unravel_index(np.argmin(self.scores_), self.scores_.shape)
        self.bandwidth_, self.ridge_ = float(self.bandwidths_[j]), float(self.ridges_[k])
        self.coef_ = _solve_ridge(A[j], b[j], self.ridges_[[k]], self.iterations)[:, 0]
        at_samples = [to_numpy(self._sum_of_kernels(rows)) for rows in (source, target)]
        scale = self._set_scale(*at_samples)
        bounds = MIN_RATIO, self.largest_
        log_ratios = (np.log(np.clip(values / scale, *bounds)) for values in at_samples)
        at_source, at_target = map(self._plain_log_ratio, log_ratios)
        return at_source, at_target

    def _set_scale(self, at_source: np.ndarray, at_target: np.ndarray) -> float:
        """Scale and bound the ratio, given its values; return their divisor."""
        means = [np.maximum(values, MIN_RATIO).mean() for values in (at_source, at_target)]
        scale = max((1 - self.relative) * means[0] + self.relative * means[1], 1.0)
        largest = max(at_source.max(), np.quantile(at_target, COMMON_SHARE)) / scale
        limit = 1 / self.relative if self.relative > 0 else np.inf
        self.largest_ = min(max(float(largest), MIN_RATIO), limit)
        self.coef_ = self.coef_ / scale
        return scale

    def _score_by_leaving_one_out(self, source: Any, target: Any, centre_rows: Any) -> Scored:
        widest = float(self.bandwidths_[0])
        by_sample = (
            map(to_numpy, kernels(exponents(rows, self.centres_, widest), self.bandwidths_))
            for rows in (source, target)
        )
        scored = [
            _leave_one_out(at_source, at_target, centre_rows, self.ridges_)
            for at_source, at_target in zip(*by_sample, strict=True)
        ]
        scores, A, b = (np.array(values) for values in zip(*scored, strict=True))
        return scores, A, b

    def _score_by_folds(self, source: Any, target: Any, centre_rows: Any) -> Scored:
        n, m = source.shape[0], target.shape[0]
        n_folds = min(5 if self.cv is None else int(self.cv), n, m)
        edges, target_edges = (np.arange(n_folds + 1) * size // n_folds for size in (n, m))
        H, G = self._fold_sums(source, edges, grams=True), np.zeros(n_folds)
        if self.relative > 0:
            G = self._fold_sums(target, target_edges, grams=True)
        h = self._fold_sums(target, target_edges)
        fold = np.searchsorted(target_edges, centre_rows, side="right") - 1
        h[fold, :, np.arange(fold.size)] += _without_itself(h.sum(axis=0), m).T

        def equations(H: Any, G: Any, h: Any, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
            return (1 - self.relative) * H / n + self.relative * G / m, h / m

        sums = H, G, h, np.diff(edges), np.diff(target_edges)
        totals = [values.sum(axis=0) for values in sums]
        scores = np.zeros((self.bandwidths_.size, self.ridges_.size))
        for in_fold in zip(*sums, strict=True):
            rest = (total - values for total, values in zip(totals, in_fold, strict=True))
            theta = _solve_ridge(*equations(*rest), self.ridges_, self.iterations)
            A, b = equations(*in_fold)
            scores += np.sum(theta * (A @ theta / 2 - b[..., None]), axis=1)
        return scores / n_folds, *equations(*totals)

    def _fold_sums(self, rows: Any, edges: np.ndarray, *, grams: bool = False) -> np.ndarray:
        """Return sums of the kernel by fold and bandwidth."""
        folds = [slice(start, stop) for start, stop in pairwise(edges.tolist())]
        given = self.centres_, self.bandwidths_
        return np.array([kernel_sums(rows[fold, :], *given, grams=grams) for fold in folds])

    def _sum_of_kernels(self, rows: Any) -> Any:
        xp = array_namespace(rows)
        coef = self.coef_ if xp is np else xp.asarray(self.coef_, device=rows.device)
        blocks = kernel_blocks(rows, self.centres_, [self.bandwidth_])
        values = [kernel @ coef for _, kernel in blocks]
        return xp.concat(values) if values else rows[:, 0]

    def _log_ratio(self, numbers: Any) -> Any:
        xp = array_namespace(numbers)
        return xp.log(xp.clip(self._sum_of_kernels(numbers), MIN_RATIO, self.largest_))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log odds that a row of the stacked samples comes from the target."""
        return self._plain_log_ratio(to_numpy(self.score_samples(X))) + self.log_prior_odds_

    def _plain_log_ratio(self, log_ratio: np.ndarray) -> np.ndarray:
        """Return log((1 - a) q / (1 - a q)) for the relative ratio q with a = `relative`."""
        if self.relative == 0:
            return log_ratio
        rest = np.maximum(-np.expm1(log_ratio + np.log(self.relative)), MIN_RATIO)
        return log_ratio + np.log1p(-self.relative) - np.log(rest)

    def _checked_rows(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        if is_foreign(X) and not reset and isinstance(self.encoder_, ArrayEncoder):
            return X  # The encoder checks them.
        checked = super()._checked_rows(X, y, reset=reset)
        return (X, checked[1]) if is_foreign(X) and reset else checked

    def _fitted_encoder(self, X: Any, codes: np.ndarray) -> Any:
        if is_foreign(X):
            return ArrayEncoder().fit(to_numpy(X), codes)
        return super()._fitted_encoder(X, codes)

    def _in_blocks(self, X: Any, function: Callable[[Any], Any]) -> Any:
        return function(X) if is_foreign(X) else super()._in_blocks(X, function)


def _solve_ridge(A: np.ndarray, b: np.ndarray, ridges: np.ndarray, iterations: int) -> np.ndarray:
    """Return the solutions of (A + ridge I) theta = b, one column for each ridge.

    Each further iteration solves (A + ridge I) theta' = b + ridge theta for theta'.
    """
    values, vectors = np.linalg.eigh(A)
    values = np.maximum(values, 0.0)[..., None]  # Rounding makes the smallest ones negative.
    series = sum((ridges / (values + ridges)) ** j for j in range(iterations))
    return vectors @ (vectors.mT @ b[..., None] / (values + ridges) * series)


def _without_itself(sums: np.ndarray, n_target: int) -> np.ndarray:
    """Return what turns a centre's kernel at its own row, 1, into the mean at other rows."""
    return (sums - 1) / (n_target - 1) - 1


def _leave_one_out(source: Any, target: Any, centre_rows: np.ndarray, ridges: np.ndarray) -> Scored:
    """Return the leave-one-out score of each ridge, and the equations A theta = b of all rows.

    Row i of the source and row i of the target are left out together. The equations without them
    differ by a matrix of rank one, and the Sherman-Morrison formula solves them (Kanamori, Hido
    and Sugiyama, 2009).
    """
    n, m = source.shape[0], target.shape[0]
    pairs = min(n, m)
    target = target.copy()
    target[centre_rows, np.arange(centre_rows.size)] += _without_itself(target.sum(axis=0), m)
    A, b = source.T @ source / n, target.mean(axis=0)
    values, vectors = np.linalg.eigh(A)
    Q, P = source[:pairs] @ vectors, target[:pairs] @ vectors
    c = 1 / (np.maximum(values, 0.0)[:, None] + ridges * (n - 1) / n)
    gc = (b @ vectors)[:, None] * c
    q, hy, hx = (Q * Q) @ c, Q @ gc, P @ gc
    xy, xx = (P * Q) @ c, (P * P) @ c
    left = n - q
    factor = (n - 1) / (n * (m - 1))
    at_source = factor * (m * (hy + q * hy / left) - (xy + q * xy / left))
    at_target = factor * (m * (hx + xy * hy / left) - (xx + xy**2 / left))
    return (at_source**2).mean(axis=0) / 2 - at_target.mean(axis=0), A, b
