"""Density ratio by kernel mean matching (KMM)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning

from weighbridge._findings import users_line
from weighbridge.exceptions import OverlapWarning
from weighbridge.ratios._base import TwoSampleRatio
from weighbridge.ratios._kernel import (
    distinct_rows,
    gaussian_kernel,
    kernel_blocks,
    typical_distance,
)
from weighbridge.tables import check_count, check_positive

MIN_WEIGHT = 1e-3
# The weighted source must reach this share of the target's kernel mean.
MIN_REACHED = 0.5


class KMM(TwoSampleRatio):
    """Density ratio by kernel mean matching.

    The weights of the source rows bring the mean of a Gaussian kernel's features closest to their
    mean over the target. They lie between 0.001 and `bound`, and their mean within
    `mean_tolerance` of 1. A small ridge makes them a function of x, which scores new rows too.

    Parameters
    ----------
    bandwidth : float, optional
        Width of the kernel, in units of the standardised columns. Default: the median distance.
    bound : float, default=1000.0
        Largest weight.
    mean_tolerance : float, default=0.01
        Largest distance of the mean weight from 1.
    ridge : float, default=0.001
        Penalty on the mean of squared weights. The kernel's own scale is 1.
    n_features : int, default=300
        The kernel is expanded in its values at this many rows, half of them of each sample. With as
        many distinct rows or fewer this is exact. No row is left out.
    tol : float, default=1e-3
        Stop if no weight is further from its optimum than about this.
    max_iter : int, default=20000
        Largest number of steps. More would be needed if there is a `ConvergenceWarning`.
    random_state : int, RandomState instance or None, default=0
        Draws the rows of the expansion.

    Attributes
    ----------
    bandwidth_, n_iter_ : float, int
        The bandwidth used, and the steps of the solver.
    reached_ : float
        Share of the target's feature mean that the weighted source reaches; 1 is a perfect match.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.ratios import KMM, fit_ratio
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (500, 1)), rng.normal(0.5, 1, (300, 1))
    >>> weights = np.exp(fit_ratio(X, X_target, KMM()).score_samples(X))
    >>> bool(abs(np.average(X[:, 0], weights=weights) - X_target.mean()) < 0.05)
    True
    """

    def __init__(
        self,
        *,
        bandwidth: float | None = None,
        bound: float = 1000.0,
        mean_tolerance: float = 0.01,
        ridge: float = 1e-3,
        n_features: int = 300,
        tol: float = 1e-3,
        max_iter: int = 20_000,
        random_state: Any = 0,
    ):
        self.bandwidth = bandwidth
        self.bound = bound
        self.mean_tolerance = mean_tolerance
        self.ridge = ridge
        self.n_features = n_features
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _check_parameters(self) -> None:
        if self.bandwidth is not None:
            check_positive("bandwidth", self.bandwidth)
        for name in ("bound", "mean_tolerance", "ridge", "tol"):
            check_positive(name, getattr(self, name))
        if self.bound < 1:
            raise ValueError(
                f"Got bound={self.bound!r}, but weights of mean 1 need a bound of at least 1."
            )
        check_count("n_features", self.n_features, 2)
        check_count("max_iter", self.max_iter, 1)

    def _fit_samples(self, source: Any, target: Any) -> None:
        landmarks = [distinct_rows(rows, self.n_features // 2)[0] for rows in (source, target)]
        self.landmarks_ = np.unique(np.vstack(landmarks), axis=0)
        self.bandwidth_ = self.bandwidth or sum(
            typical_distance(rows, landmarks[1]) / 2 for rows in (source, target)
        )
        # The features are the kernels at the landmarks, whitened.
        kernel = gaussian_kernel(self.landmarks_, self.landmarks_, self.bandwidth_)
        values, vectors = np.linalg.eigh(kernel)
        is_positive = values > 1e-10 * values[-1]
        self.whiten_ = vectors[:, is_positive] / np.sqrt(values[is_positive])
        Z, Z_target = (np.vstack(list(self._features(rows))) for rows in (source, target))
        mean_target = Z_target.mean(axis=0)
        weights = self._solve(Z, mean_target)
        # By the optimality conditions, a weight is the clipped value of a function of x.
        residual = mean_target - weights @ Z / len(Z)
        self.direction_ = residual / self.ridge
        self.shift_ = self._shift(Z @ self.direction_)
        distance = np.linalg.norm(residual) / (np.linalg.norm(mean_target) or 1.0)
        self.reached_ = 1 - float(distance)

    def _features(self, rows: Any) -> Iterator[np.ndarray]:
        for _, kernel in kernel_blocks(rows, self.landmarks_, [self.bandwidth_]):
            yield kernel @ self.whiten_

    def _solve(self, Z: np.ndarray, mean_target: np.ndarray) -> np.ndarray:
        """Minimise |Z'w / n - m|^2 / 2 + ridge |w|^2 / (2 n) over the weights within bounds.

        The method is the accelerated projected gradient. Its momentum is reset if it points uphill
        (O'Donoghue and Candes, 2015).
        """
        n, inertia = len(Z), 1.0
        step = 1 / (float(np.linalg.eigvalsh(Z.T @ Z / n)[-1]) + self.ridge)
        weights = momentum = np.ones(n)
        for iteration in range(1, self.max_iter + 1):
            self.n_iter_ = iteration
            gradient = Z @ (momentum @ Z / n - mean_target) + self.ridge * momentum
            trial = momentum - step * gradient
            previous, weights = weights, self._clip(trial + self._shift(trial))
            moved = weights - momentum
            # Scaled to a step along the flattest direction, whose curvature is the ridge alone.
            error = float(np.abs(moved).max() / (step * self.ridge))
            if error <= self.tol:
                break
            if moved @ (weights - previous) < 0:
                momentum, inertia = weights, 1.0
            else:
                next_inertia = (1 + np.sqrt(1 + 4 * inertia**2)) / 2
                momentum = weights + (inertia - 1) / next_inertia * (weights - previous)
                inertia = next_inertia
        if error > self.tol:
            warnings.warn(
                f"KMM has not converged in {self.n_iter_} steps: a weight may be off by "
                f"{error:.1e} (tol={self.tol:g}). Raise max_iter, tol or ridge.",
                ConvergenceWarning,
                stacklevel=users_line(),
            )
        return weights

    def _shift(self, values: np.ndarray) -> float:
        """Return the number that, added to all values, brings their clipped mean into bounds."""

        def excess(shift: float) -> float:
            return float(self._clip(values + shift).mean()) - goal

        mean = float(self._clip(values).mean())
        goal = float(np.clip(mean, 1 - self.mean_tolerance, 1 + self.mean_tolerance))
        if mean == goal:
            return 0.0
        # At these shifts all weights are at one of their bounds, whatever the rounding.
        low, high = MIN_WEIGHT - values.max() - 1, self.bound - values.min() + 1
        return float(brentq(excess, low, high, xtol=1e-15, maxiter=1000))

    def _clip(self, values: np.ndarray) -> np.ndarray:
        return np.clip(values, MIN_WEIGHT, self.bound)

    def _log_ratio(self, numbers: Any) -> np.ndarray:
        values = np.concatenate([Z @ self.direction_ for Z in self._features(numbers)])
        return np.log(self._clip(values + self.shift_))

    def _warn_if_apart(self, at_source: np.ndarray, at_target: np.ndarray) -> None:
        if self.reached_ >= MIN_REACHED:
            super()._warn_if_apart(at_source, at_target)
            return
        warnings.warn(
            f"WB302 the weighted source reaches {max(self.reached_, 0):.0%} of the target's kernel "
            "mean: almost no source row lies where the target is. Check that both samples have "
            "the same columns in the same units, and whether one feature tells them apart; with "
            "many columns, try a larger bandwidth.",
            OverlapWarning,
            stacklevel=users_line(),
        )
