"""Density ratio by kernel mean matching (KMM)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.exceptions import ConvergenceWarning

from weighbridge._findings import users_line
from weighbridge._folds import row_blocks
from weighbridge.exceptions import OverlapWarning
from weighbridge.ratios._base import TwoSampleRatio
from weighbridge.ratios._kernel import distinct_rows, exponents, kernels, typical_distance
from weighbridge.tables import check_count, check_positive


@dataclass(frozen=True)
class Box:
    """Weights between `low` and `high` whose mean differs from 1 by no more than `slack`."""

    low: float
    high: float
    slack: float

    def shift(self, values: np.ndarray) -> float:
        """Return the number that, added to all values, brings their clipped mean into bounds."""
        mean = self._clip(values).mean()
        if abs(mean - 1) <= self.slack:
            return 0.0
        wanted = 1 + self.slack if mean > 1 else 1 - self.slack
        left, right = self.low - values.max(), self.high - values.min()
        for _ in range(200):
            middle = (left + right) / 2
            if self._clip(values + middle).mean() < wanted:
                left = middle
            else:
                right = middle
            if right - left <= 1e-15 * max(abs(left), abs(right)):
                break
        return float((left + right) / 2)

    def project(self, values: np.ndarray) -> np.ndarray:
        """Return the nearest weights that keep all bounds."""
        return self._clip(values + self.shift(values))

    def _clip(self, values: np.ndarray) -> np.ndarray:
        return np.clip(values, self.low, self.high)


# Weights, how far they are from a fixed point, and the steps it took.
Solution = tuple[np.ndarray, float, int]


def solve_by_gradient(
    features: _Features, mean_target: np.ndarray, ridge: float, box: Box, tol: float, max_iter: int
) -> Solution:
    """Minimise |Z'w / n - m|^2 / 2 + ridge |w|^2 / (2 n) over the box."""
    step = 1 / (features.largest_eigenvalue() + ridge)
    weights = momentum = np.ones(features.n)
    inertia, error = 1.0, np.inf
    for iteration in range(1, max_iter + 1):
        slope = features.product(features.transposed(momentum) - mean_target) + ridge * momentum
        new = box.project(momentum - step * slope)
        moved = new - momentum
        # scaled to the length of a step along the flattest direction, which the ridge alone bends
        error = float(np.abs(moved).max() / (step * ridge))
        if error <= tol:
            return new, error, iteration
        if (moved @ (new - weights)) < 0:
            momentum, inertia = new, 1.0
        else:
            faster = (1 + np.sqrt(1 + 4 * inertia**2)) / 2
            momentum = new + (inertia - 1) / faster * (new - weights)
            inertia = faster
        weights = new
    return weights, error, max_iter


def solve_by_piqp(
    features: np.ndarray, mean_target: np.ndarray, ridge: float, box: Box
) -> Solution:
    """Solve the same programme by the interior-point solver of the package piqp."""
    import piqp

    n = features.shape[0]
    solver: Any = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
    quadratic = features @ features.T / n**2 + ridge / n * np.eye(n)
    linear = -features @ mean_target / n
    average = np.full((1, n), 1 / n)
    solver.setup(
        P=quadratic,
        c=linear,
        G=average,
        h_l=np.array([1 - box.slack]),
        h_u=np.array([1 + box.slack]),
        x_l=np.full(n, box.low),
        x_u=np.full(n, box.high),
    )
    status = solver.solve()
    solved = status == piqp.PIQP_SOLVED
    weights = box.project(np.asarray(solver.result.x))
    return weights, 0.0 if solved else np.inf, int(solver.result.info.iter)


# The smallest weight.
FLOOR = 1e-3
# The exact solver inverts matrices of n_source x n_source.
MOST_EXACT = 1000
# Share of the target's mean that the weighted source must reach.
REACHED = 0.5


class KMM(TwoSampleRatio):
    """Density ratio by kernel mean matching.

    Weights of the source rows that bring the mean of a Gaussian kernel's features closest to their
    mean over the target. They lie between 0.001 and `bound`, and their mean within
    `mean_tolerance` of 1; a small ridge makes them a function of x, which scores new rows too.

    Parameters
    ----------
    bandwidth : float, optional
        Width of the kernel, in units of the standardised columns. Default: the median distance.
    bound : float, default=1000.0
        Largest weight.
    mean_tolerance : float, default=0.01
        How far the mean of the weights may be from 1.
    ridge : float, default=0.001
        Penalty on the mean of squared weights. The kernel's own scale is 1.
    n_features : int, default=300
        The kernel is expanded in its values at this many rows, half of them of each sample. With as
        many rows or fewer this is exact; with more it bounds memory and time. No row is left out.
    solver : {"piqp", "gradient"}, optional
        "piqp" is an interior-point solver, in the package of that name (``weighbridge[qp]``);
        "gradient" an accelerated projected gradient. Both give the same weights. Default: piqp
        where it is installed and the source has no more than 1,000 rows.
    tol : float, default=1e-3
        The gradient solver stops when no weight is further from its best value than about this.
    max_iter : int, default=20000
        Largest number of its steps; a `ConvergenceWarning` says when they were not enough.
    random_state : int, RandomState instance or None, default=0
        Draws the rows of the expansion.

    Attributes
    ----------
    bandwidth_ : float
        The bandwidth used.
    n_iter_ : int
        Steps of the solver.
    reached_ : float
        Share of the target's feature mean that the weighted source reaches; 1 is a perfect match.
    n_rows_ : ndarray of shape (2,)
        Numbers of source and target rows used: at most 100,000 of a sample, drawn at random.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge import fit_ratio
    >>> from weighbridge.ratios import KMM
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
        solver: str | None = None,
        tol: float = 1e-3,
        max_iter: int = 20_000,
        random_state: Any = 0,
    ):
        self.bandwidth = bandwidth
        self.bound = bound
        self.mean_tolerance = mean_tolerance
        self.ridge = ridge
        self.n_features = n_features
        self.solver = solver
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
        if self.solver not in (None, "piqp", "gradient"):
            raise ValueError(
                f"Got solver={self.solver!r}, but expected 'piqp', 'gradient' or None."
            )
        if self.solver == "piqp" and find_spec("piqp") is None:
            raise ImportError(
                "solver='piqp' needs the package piqp: pip install \"weighbridge[qp]\""
            )

    def _fit_samples(self, source: Any, target: Any) -> None:
        self._expand(source, target)
        self.box_ = Box(FLOOR, float(self.bound), float(self.mean_tolerance))
        features = _Features(self, source)
        mean_target = _Features(self, target).transposed(np.ones(target.shape[0]))
        weights, self.n_iter_ = self._solve(features, mean_target)
        # the optimality conditions make a weight the clipped value of a function of x
        residual = mean_target - features.transposed(weights)
        self.direction_ = residual / self.ridge
        self.shift_ = self.box_.shift(features.product(self.direction_))
        left = float(np.linalg.norm(residual) / (np.linalg.norm(mean_target) or 1.0))
        self.reached_ = 1 - left

    def _warn_if_apart(self, at_source: np.ndarray, at_target: np.ndarray) -> None:
        if self.reached_ >= REACHED:
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

    def _expand(self, source: Any, target: Any) -> None:
        """Choose the rows whose kernels span the features, and the map onto orthonormal ones."""
        half = self.n_features // 2
        rows = [distinct_rows(part, half)[0] for part in (source, target)]
        self.landmarks_ = np.unique(np.vstack(rows), axis=0)
        self.bandwidth_ = (
            (typical_distance(source, rows[1]) + typical_distance(target, rows[1])) / 2
            if self.bandwidth is None
            else float(self.bandwidth)
        )
        among = next(
            kernels(exponents(self.landmarks_, self.landmarks_, self.bandwidth_), [self.bandwidth_])
        )
        values, vectors = np.linalg.eigh(among)
        kept = values > 1e-10 * values[-1]
        self.whiten_ = vectors[:, kept] / np.sqrt(values[kept])

    def _solve(self, features: _Features, mean_target: np.ndarray) -> tuple[np.ndarray, int]:
        """Return the weights and the steps it took; warn where these were not enough."""
        few = features.n <= MOST_EXACT
        exact = self.solver is None and few and find_spec("piqp") is not None
        if self.solver == "piqp" or exact:
            weights, error, n_iter = solve_by_piqp(
                features.all(), mean_target, self.ridge, self.box_
            )
        else:
            weights, error, n_iter = solve_by_gradient(
                features, mean_target, self.ridge, self.box_, self.tol, self.max_iter
            )
        if error > self.tol:
            warnings.warn(
                f"KMM has not converged in {n_iter} steps: a weight may be off by "
                f"{error:.1e} (tol={self.tol:g}). Raise max_iter, tol or ridge.",
                ConvergenceWarning,
                stacklevel=users_line(),
            )
        return weights, n_iter

    def _encode_rows(self, rows: Any) -> np.ndarray:
        exponent = exponents(rows, self.landmarks_, self.bandwidth_)
        return next(kernels(exponent, [self.bandwidth_])) @ self.whiten_

    def _log_ratio(self, rows: Any) -> np.ndarray:
        values = _Features(self, rows).product(self.direction_) + self.shift_
        return np.log(np.clip(values, self.box_.low, self.box_.high))


class _Features:
    """Kernel features Z of some rows: kept where they fit the working memory, else made anew."""

    def __init__(self, kmm: KMM, rows: Any):
        self.kmm, self.rows, self.n = kmm, rows, rows.shape[0]
        self.width = kmm.landmarks_.shape[0]
        self.kept: np.ndarray | None = None

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        if self.kept is not None:
            yield slice(0, self.n), self.kept
            return
        for block in row_blocks(self.n, 2 * self.width):
            yield block, self.kmm._encode_rows(self.rows[block])

    def all(self) -> np.ndarray:
        """Return all features."""
        return np.concatenate([features for _, features in self._blocks()])

    def product(self, vector: np.ndarray) -> np.ndarray:
        """Return Z v."""
        return np.concatenate([features @ vector for _, features in self._blocks()])

    def transposed(self, weights: np.ndarray) -> np.ndarray:
        """Return Z'w / n."""
        return sum(weights[block] @ features for block, features in self._blocks()) / self.n

    def largest_eigenvalue(self) -> float:
        """Return the largest eigenvalue of Z'Z / n, and keep Z for later steps if it fits."""
        if self.n * self.width * 8 <= get_config()["working_memory"] * 2**20 / 4:
            self.kept = self.all()
        gram = sum(features.T @ features for _, features in self._blocks()) / self.n
        return float(np.linalg.eigvalsh(gram)[-1])
