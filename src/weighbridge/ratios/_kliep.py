"""Density ratio by maximum likelihood of the target (KLIEP)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls
from sklearn import get_config
from sklearn.exceptions import ConvergenceWarning

from weighbridge._findings import users_line
from weighbridge._folds import row_blocks
from weighbridge.ratios._base import TwoSampleRatio
from weighbridge.ratios._cross_fit import in_order_of_appearance
from weighbridge.ratios._kernel import (
    bandwidth_grid,
    distinct_rows,
    exponents,
    kernel_sums,
    kernels,
    squared_distances,
)
from weighbridge.tables import RowScores, check_count, check_positive, check_positive_grid

# Candidates need not be solved as exactly as the final ratio.
CANDIDATE_TOLERANCE = 1e-3
# A kernel whose mean over the source is smaller belongs to a target row that no source row is near.
SMALLEST_MEAN = 1e-200


class KLIEP(TwoSampleRatio):
    """Density ratio by the Kullback-Leibler importance estimation procedure.

    The ratio is a sum of Gaussian kernels at target rows with coefficients >= 0 that maximise the
    mean log ratio over the target, while the ratio averages 1 over the source. The bandwidth
    maximises the mean log ratio of held-out target rows, which are never among the centres.

    Parameters
    ----------
    n_centres, bandwidths, random_state
        As in `ULSIF`.
    cv : int, default=5
        Number of folds of the target for the choice.
    tol : float, default=1e-6
        Stop when no other coefficients can raise the mean log ratio by more.
    max_iter : int, default=200
        Largest number of Newton steps; a `ConvergenceWarning` says when they were not enough.

    Attributes
    ----------
    bandwidth_ : float
        The chosen one.
    bandwidths_, scores_ : ndarray of shape (n_bandwidths,)
        The candidates and their held-out mean log ratio (larger is better).
    centres_ : ndarray of shape (n_centres, n_encoded)
        Centres, in standardised columns.
    coef_ : ndarray of shape (n_centres,)
        Coefficients of the kernels.
    n_iter_ : int
        Newton steps of the final fit.
    gap_ : float
        The most by which the mean log ratio could still rise.
    n_rows_ : ndarray of shape (2,)
        Numbers of source and target rows used: at most 100,000 of a sample, drawn at random.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge import fit_ratio
    >>> from weighbridge.ratios import KLIEP
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (2000, 1)), rng.normal(0.5, 1, (1000, 1))
    >>> ratio = fit_ratio(X, X_target, KLIEP())
    >>> round(float(np.exp(ratio.score_samples(X)).mean()), 6)
    1.0
    """

    _log_far = np.log(1000)  # many target rows are centres, where the ratio is highest

    def __init__(
        self,
        *,
        n_centres: int = 100,
        bandwidths: Any = None,
        cv: int = 5,
        tol: float = 1e-6,
        max_iter: int = 200,
        random_state: Any = 0,
    ):
        self.n_centres = n_centres
        self.bandwidths = bandwidths
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_count("n_centres", self.n_centres, 1)
        check_positive_grid("bandwidths", self.bandwidths)
        check_count("cv", self.cv, 2)
        check_count("max_iter", self.max_iter, 1)
        check_positive("tol", self.tol)

    def _fit_samples(self, source: Any, target: Any) -> None:
        self.centres_, places = distinct_rows(target, self.n_centres)
        self.bandwidths_ = bandwidth_grid(self.bandwidths, source, target, self.centres_)
        means = kernel_sums(source, self.centres_, self.bandwidths_)
        means /= source.shape[0]
        usable = np.all(means > SMALLEST_MEAN, axis=1)
        if not usable.any():
            raise ValueError(
                f"No source row is near the target at any of the bandwidths {self.bandwidths_}: "
                "the samples have nothing in common there. Check units and columns, or pass wider "
                "bandwidths."
            )
        self.scores_ = np.full(usable.size, -np.inf)
        if usable.sum() == 1:
            self.scores_[usable] = np.nan  # nothing to choose
            best = int(np.argmax(usable))
        else:
            self._score_bandwidths(target, places, means, usable)
            best = int(np.argmax(self.scores_))
        self.bandwidth_ = float(self.bandwidths_[best])
        likelihood = _Likelihood(target, self.centres_, self.bandwidth_, means[best])
        mixture, self.gap_, self.n_iter_ = _maximise(likelihood, self.tol, self.max_iter)
        if self.gap_ > self.tol:
            warnings.warn(
                f"KLIEP has not converged in {self.n_iter_} steps: its mean log ratio may still "
                f"rise by {self.gap_:.1e} (tol={self.tol:g}). Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=users_line(),
            )
        self.coef_ = mixture / means[best]

    def _score_bandwidths(
        self, target: Any, places: np.ndarray, means: np.ndarray, usable: np.ndarray
    ) -> None:
        """Score each bandwidth by target rows that were left out, as rows and as centres."""
        n_folds = min(int(self.cv), target.shape[0], self.centres_.shape[0])
        if n_folds < 2:  # copies of one target row: the narrower, the nearer to that row
            self.scores_[usable] = -self.bandwidths_[usable]
            return
        group = in_order_of_appearance(RowScores(target).group)
        n_different = int(group.max()) + 1
        if 5 * n_different < target.shape[0]:  # categories: each value is in other folds too
            fold_of_row, fold_of_centre = np.arange(group.size) % n_folds, np.full(places.size, -1)
        else:
            fold_of_row = group % n_folds
            fold_of_centre = fold_of_row[places]
        for j in np.flatnonzero(usable):
            whole = _Likelihood(target, self.centres_, self.bandwidths_[j], means[j])
            held_out = 0.0
            for fold in range(n_folds):
                rest = fold_of_centre != fold
                part = whole.part(fold_of_row != fold, rest)
                mixture, _, _ = _maximise(part, CANDIDATE_TOLERANCE, self.max_iter)
                held_out += whole.part(fold_of_row == fold, rest).log_ratio(mixture).sum()
            self.scores_[j] = held_out / target.shape[0]

    def _log_ratio(self, rows: Any) -> np.ndarray:
        log_ratio = np.empty(rows.shape[0])
        with np.errstate(divide="ignore"):
            log_coef = np.log(self.coef_)
        for block in row_blocks(rows.shape[0], self.centres_.shape[0], cached=True):
            exponent = squared_distances(rows[block], self.centres_)
            exponent *= -0.5 / self.bandwidth_**2
            exponent += log_coef
            largest = exponent.max(axis=1, keepdims=True)  # far rows keep a finite logarithm
            exponent -= largest
            log_ratio[block] = np.log(np.exp(exponent).sum(axis=1)) + largest[:, 0]
        return log_ratio


class _Likelihood:
    """Mean log of a mixture of kernels, each scaled to mean 1 over the source, at target rows."""

    def __init__(
        self,
        rows: Any,
        centres: Any,
        bandwidth: float,
        means: np.ndarray,
        kept: np.ndarray | None = None,
    ):
        self.rows, self.centres, self.bandwidth, self.means = rows, centres, bandwidth, means
        self.kept = kept
        numbers = rows.shape[0] * centres.shape[0]
        if kept is None and numbers * 8 <= get_config()["working_memory"] * 2**20 / 4:
            self.kept = np.concatenate(list(self._blocks()))

    def part(self, rows: np.ndarray, centres: np.ndarray) -> _Likelihood:
        """Return the likelihood of some rows and centres only (marked by booleans)."""
        kept = None if self.kept is None else self.kept[rows][:, centres]
        chosen = self.rows[rows], self.centres[centres], self.bandwidth, self.means[centres]
        return _Likelihood(*chosen, kept)

    def _blocks(self) -> Iterator[np.ndarray]:
        if self.kept is not None:
            yield self.kept
            return
        for block in row_blocks(self.rows.shape[0], self.centres.shape[0], cached=True):
            exponent = exponents(self.rows[block], self.centres, self.bandwidth)
            yield next(kernels(exponent, [self.bandwidth])) / self.means

    def log_ratio(self, mixture: np.ndarray) -> np.ndarray:
        """Return the log ratio at each row; a row that no kernel reaches counts as 1e-300."""
        ratios = [block @ mixture for block in self._blocks()]
        return np.log(np.maximum(np.concatenate(ratios), 1e-300))

    def derivatives(self, mixture: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return gradient and (negative) Hessian of the mean log ratio."""
        gradient, hessian, n = np.zeros(mixture.size), np.zeros((mixture.size,) * 2), 0
        for block in self._blocks():
            share = block / np.maximum(block @ mixture, 1e-300)[:, None]
            gradient += share.sum(axis=0)
            hessian += share.T @ share
            n += share.shape[0]
        return gradient / n, hessian / n


def _maximise(likelihood: _Likelihood, tol: float, max_iter: int) -> tuple[np.ndarray, float, int]:
    """Maximise the mean log ratio over mixtures; return them, the duality gap, and the steps."""
    mixture = np.full(likelihood.means.size, 1 / likelihood.means.size)
    value = likelihood.log_ratio(mixture).mean()
    for step in range(max_iter):
        gradient, hessian = likelihood.derivatives(mixture)
        gap = float(gradient.max() - 1)
        if gap <= tol:
            return mixture, gap, step
        direction = _newton_point(gradient, hessian) - mixture
        rise = float((gradient - 1) @ direction)
        size, improved = 1.0, False
        while size > 1e-10 and not improved:
            trial = np.maximum(mixture + size * direction, 0.0)
            trial /= trial.sum()
            new = likelihood.log_ratio(trial).mean()
            improved = new >= value + 1e-4 * size * max(rise, 0.0)
            size /= 2
        if not improved:
            break  # rounding hides any further rise
        mixture, value = trial, new
    gradient = likelihood.derivatives(mixture)[0]
    return mixture, float(gradient.max() - 1), step + 1


def _newton_point(gradient: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    """Maximise the quadratic model of the mean log ratio minus the sum, over weights >= 0."""
    damped = hessian + 1e-10 * np.trace(hessian) / len(hessian) * np.eye(len(hessian))
    root = cholesky(damped)
    return nnls(root, solve_triangular(root, 2 * gradient - 1, trans="T"), maxiter=1000)[0]
