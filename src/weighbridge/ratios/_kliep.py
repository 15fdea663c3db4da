"""Density ratio by maximum likelihood of the target (KLIEP)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from weighbridge._findings import users_line
from weighbridge._folds import in_order_of_appearance
from weighbridge.ratios._base import TwoSampleRatio
from weighbridge.ratios._kernel import (
    bandwidth_grid,
    distinct_rows,
    exponents,
    gaussian_kernel,
    kernel_sums,
)
from weighbridge.tables import RowScores, check_count, check_positive, check_positive_grid

# Candidates need a less exact solution than the final ratio.
CANDIDATE_TOLERANCE = 1e-3
# A kernel whose mean over the source is smaller belongs to a target row that no source row is near.
MIN_MEAN_KERNEL = 1e-200
# A ratio of 0 has no logarithm.
MIN_RATIO = 1e-300
STEP_SIZES = 0.5 ** np.arange(34)


class KLIEP(TwoSampleRatio):
    """Density ratio by the Kullback-Leibler importance estimation procedure.

    The ratio is a sum of Gaussian kernels at target rows. Its coefficients maximise the mean log
    ratio over the target, with a mean ratio of 1 over the source. The bandwidth maximises the mean
    log ratio of held-out target rows, which are never among the centres.

    Parameters
    ----------
    n_centres, bandwidths, random_state
        As in `ULSIF`.
    cv : int, default=5
        Number of folds of the target for the choice.
    tol : float, default=1e-6
        Stop if no other coefficients can raise the mean log ratio by more.
    max_iter : int, default=200
        Largest number of Newton steps. More would be needed if there is a `ConvergenceWarning`.

    Attributes
    ----------
    bandwidth_, bandwidths_, centres_, coef_
        As in `ULSIF`. The coefficients are >= 0. Bandwidths with a kernel that no source row is
        near are left out.
    scores_ : ndarray of shape (n_bandwidths,)
        Held-out mean log ratio of the candidates (larger is better); NaN if there is only one.
    n_iter_ : int
        Newton steps of the final fit.
    gap_ : float
        The most by which the mean log ratio could still rise.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.ratios import KLIEP, fit_ratio
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (2000, 1)), rng.normal(0.5, 1, (1000, 1))
    >>> ratio = fit_ratio(X, X_target, KLIEP())
    >>> round(float(np.exp(ratio.score_samples(X)).mean()), 6)
    1.0
    """

    # Many target rows are centres, where the ratio is highest.
    _log_extreme = np.log(1000)

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
        self.centres_, centre_rows = distinct_rows(target, self.n_centres)
        self.bandwidths_ = bandwidth_grid(self.bandwidths, source, target, self.centres_)
        means = kernel_sums(source, self.centres_, self.bandwidths_) / source.shape[0]
        usable = np.all(means > MIN_MEAN_KERNEL, axis=1)
        if not usable.any():
            raise ValueError(
                f"No source row is near the target at any of the bandwidths {self.bandwidths_}: "
                "the samples have nothing in common there. Check units and columns, or pass wider "
                "bandwidths."
            )
        self.bandwidths_, means = self.bandwidths_[usable], means[usable]
        self.scores_ = self._scores(target, centre_rows, means)
        best = int(np.argmax(self.scores_))
        self.bandwidth_ = float(self.bandwidths_[best])
        kernels = gaussian_kernel(target, self.centres_, self.bandwidth_) / means[best]
        mixture, self.gap_, self.n_iter_ = _maximise(kernels, self.tol, self.max_iter)
        self.coef_ = mixture / means[best]
        if self.gap_ > self.tol:
            warnings.warn(
                f"KLIEP has not converged in {self.n_iter_} steps: its mean log ratio may still "
                f"rise by {self.gap_:.1e} (tol={self.tol:g}). Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=users_line(),
            )

    def _scores(self, target: Any, centre_rows: np.ndarray, means: np.ndarray) -> np.ndarray:
        """Score each bandwidth by target rows that are left out, as rows and as centres."""
        if self.bandwidths_.size == 1:
            return np.array([np.nan])
        n_folds = min(int(self.cv), centre_rows.size)
        if n_folds < 2:  # All target rows are equal, and a narrower kernel is nearer to them.
            return -self.bandwidths_
        group = in_order_of_appearance(RowScores(target).group)
        fold_of_row = group % n_folds
        fold_of_centre = fold_of_row[centre_rows]
        if 5 * (group.max() + 1) < group.size:
            # Each value of categories is in all folds, and all centres are used.
            fold_of_row = np.arange(group.size) % n_folds
            fold_of_centre = np.full(centre_rows.size, -1)
        scores = np.zeros(self.bandwidths_.size)
        for j, bandwidth in enumerate(self.bandwidths_):
            kernels = gaussian_kernel(target, self.centres_, bandwidth) / means[j]
            for fold in range(n_folds):
                is_held_out = fold_of_row == fold
                others = kernels.compress(fold_of_centre != fold, axis=1)
                mixture, _, _ = _maximise(others[~is_held_out], CANDIDATE_TOLERANCE, self.max_iter)
                scores[j] += np.log(_mixture_ratio(others[is_held_out], mixture)).sum()
        return scores / group.size

    def _log_ratio(self, numbers: Any) -> np.ndarray:
        active = self.coef_ > 0
        exponent = exponents(numbers, self.centres_[active], self.bandwidth_)
        # Far rows, where every kernel is 0, keep a finite logarithm.
        return logsumexp(exponent, axis=1, b=self.coef_[active])


def _mixture_ratio(kernels: np.ndarray, mixture: np.ndarray) -> np.ndarray:
    return np.maximum(kernels @ mixture, MIN_RATIO)


def _maximise(kernels: np.ndarray, tol: float, max_iter: int) -> tuple[np.ndarray, float, int]:
    """Maximise the mean log ratio over mixtures; return these, the duality gap and the steps.

    A Newton step maximises the quadratic model of the mean log ratio minus the sum, over >= 0.
    """
    n_target, n_centres = kernels.shape
    mixture = np.full(n_centres, 1 / n_centres)
    for step in range(max_iter + 1):
        ratio = _mixture_ratio(kernels, mixture)
        shares = kernels / ratio[:, None]
        gradient, value = shares.mean(axis=0), np.log(ratio).mean()
        gap = float(gradient.max() - 1)
        if gap <= tol or step == max_iter:
            break
        hessian = shares.T @ shares / n_target
        root = cholesky(hessian + 1e-10 * np.trace(hessian) / n_centres * np.eye(n_centres))
        constant = solve_triangular(root, 2 * gradient - 1, trans="T")
        direction = nnls(root, constant, maxiter=1000)[0] - mixture
        rise = max(float((gradient - 1) @ direction), 0.0)
        for size in STEP_SIZES:
            trial = np.maximum(mixture + size * direction, 0.0)
            trial /= trial.sum()
            if np.log(_mixture_ratio(kernels, trial)).mean() >= value + 1e-4 * size * rise:
                mixture = trial
                break
        else:
            break  # Rounding hides any further rise.
    return mixture, gap, step
