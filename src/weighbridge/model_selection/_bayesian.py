"""Bayesian optimisation with the expected improvement of the paper."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import pi, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from scipy.special import erfcx, expit, logsumexp, ndtr
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from weighbridge.geodesic import log_weight
from weighbridge.model_selection._points import Bounds, Point, canonical, named_points
from weighbridge.model_selection._result import Evaluation, SearchResult
from weighbridge.model_selection._search import Objective, Proposal, Search
from weighbridge.tables import check_count, one_number

# Log ratios that differ by less give the same weights to ten digits.
NO_SHIFT = 1e-10
# Values needed before a search may converge, and the least noise, as a share of their range.
MIN_VALUES, MIN_NOISE = 4, 0.05
# Candidates of the pool: curves of constant alpha, and points on each.
N_ALPHAS, N_LAMS = 17, 41
# Steps in lam and alpha by which lengths are measured, and decimals of the candidates.
N_STEPS, DECIMALS = 33, 6
# More rows than this are grouped, because weights depend on the log ratio only.
MAX_GROUPS = 1024
# Rows further below the largest log ratio have a relative weight below exp(-60).
MAX_DEPTH = 60.0
# Distances of unit vectors below this are rounding errors (the square root of that of a double).
MIN_DISTANCE = 1e-7


def expected_improvement(mean: ArrayLike, sd: ArrayLike, best: ArrayLike) -> np.ndarray:
    """Return ``E[max(best - Y, 0)]`` for a normal variable Y.

    This is ``(best - mean) Phi(z) + sd phi(z)`` with ``z = (best - mean) / sd``, for
    ``Y ~ N(mean, sd**2)``. The candidate with the largest one is evaluated next.

    Parameters
    ----------
    mean, sd : float or array
        Mean and standard deviation of the candidates; they broadcast. ``sd = 0``: a known value.
    best : float or array
        Smallest value seen.

    Returns
    -------
    float or array
        The expected improvement, at least 0.

    Examples
    --------
    >>> from weighbridge.model_selection import expected_improvement
    >>> expected_improvement(mean=[1.0, 2.0, 1.5], sd=[0.0, 1.0, 0.1], best=1.5).round(3)
    array([0.5  , 0.198, 0.04 ])
    """
    mean, sd, best = (np.asarray(value, dtype=float) for value in (mean, sd, best))
    if np.any(sd < 0):
        raise ValueError(
            f"Got sd={np.min(sd)}, but a standard deviation is at least 0. Did you pass a variance "
            "or a logarithm?"
        )
    gap = best - mean
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        z = gap / sd
        density = np.exp(-(z**2) / 2) / sqrt(2 * pi)
        # For z < 0 the two terms cancel; erfcx keeps their digits.
        size = np.minimum(np.abs(z), 1e3)
        tail = 1 - size * sqrt(pi / 2) * erfcx(size / sqrt(2))
        value = np.where(z < 0, sd * density * tail, gap * ndtr(z) + sd * density)
        return np.where(sd == 0, np.maximum(gap, 0.0), value)[()]


class BayesianSearch(Search):
    """Evaluate the candidate with the largest expected improvement, until that is small.

    The named points (ERM, IWERM, RIWERM at 0.8, AIWERM at 0.5) come first, in one call of the
    objective. Then a Gaussian process is fitted to the values, and the candidate of a pool with
    the largest expected improvement is evaluated, one after another.

    Parameters
    ----------
    n_evaluations : int, default=15
        The largest number of evaluations, 2 or more. A constant log ratio takes one.
    coordinates : {"hellinger", "plain"}, default="hellinger"
        Coordinates of the Gaussian process. In "hellinger", distances are Hellinger distances
        between the weighted samples: all of lam = 0 is one point. "plain" is (lam, alpha) as in
        the paper, and needs more evaluations.
    tol : float, default=0.01
        The search ends when the largest expected improvement is below this share of the noise: the
        standard error of the difference between the two best candidates, paired by unit, or 5 % of
        the range of the values if that is more. 0 makes all evaluations.

    Notes
    -----
    ``BayesianSearch(25, coordinates="plain", tol=0)`` is the paper's Algorithm 1, without the
    slips of sign in its appendix D.

    The process is scikit-learn's `GaussianProcessRegressor` with a Matern 5/2 kernel and noise,
    whose parameters maximise the likelihood. Nothing is drawn at random: equal values of the
    objective give equal points. A failed candidate counts as the worst. Four or more values, all
    equal, end the search.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.datasets import make_cubic
    >>> from weighbridge.model_selection import BayesianSearch, LeaveOneOut
    >>> data = make_cubic(random_state=0)
    >>> objective = LeaveOneOut().objective(LinearRegression(), data.X, data.y, data.log_ratio)
    >>> result = BayesianSearch()(objective)
    >>> result.converged, len(result.points) < 15
    (True, True)
    """

    def __init__(
        self, n_evaluations: int = 15, *, coordinates: str = "hellinger", tol: float = 0.01
    ) -> None:
        self.n_evaluations = n_evaluations
        self.coordinates = coordinates
        self.tol = tol

    def _plan(self, objective: Objective, bounds: Bounds) -> tuple[Proposal, int]:
        check_count("n_evaluations", self.n_evaluations, 2)
        if self.coordinates not in ("hellinger", "plain"):
            raise ValueError(
                f"Got coordinates={self.coordinates!r}, but expected 'hellinger' or 'plain'."
            )
        if not 0 <= one_number(self.tol, "tol") < np.inf:
            raise ValueError(f"Got tol={self.tol!r}, but expected a number of at least 0.")
        log_ratio = np.asarray(objective.log_ratio, dtype=float)
        if log_ratio.ndim != 1 or not -np.inf < log_ratio.max(initial=-np.inf) < np.inf:
            raise ValueError(
                f"Got log ratios of shape {log_ratio.shape} from the objective, but needed one "
                "number below +inf for each of one or more rows, not all of them -inf and none NaN."
            )
        chart = Chart(bounds, None if self.coordinates == "plain" else log_ratio)
        first = chart.pool[: max(1, len(named_points(bounds)))][: self.n_evaluations]
        budget = min(int(self.n_evaluations), len(chart.pool))
        if np.ptp(log_ratio) <= NO_SHIFT:  # all candidates are one model
            first, budget = first[:1], 1

        def propose(evaluations: tuple[Evaluation, ...]) -> Sequence[Point]:
            if not evaluations or len(evaluations) >= budget:
                return () if evaluations else first
            units = np.asarray(objective.unit_weights, dtype=float)
            return self._next_points(chart, SearchResult(evaluations, units))

        return propose, budget

    def _next_points(self, chart: Chart, result: SearchResult) -> list[Point]:
        """Return the candidate with the largest expected improvement, or none if that is small."""
        places = chart.coordinates(chart.pool)
        tried = chart.coordinates([evaluation.point for evaluation in result.evaluations])
        values = result.values[np.isfinite(result.values)]
        spread = float(np.ptp(values)) if values.size else 0.0
        if spread:
            # A failure is as bad as the worst value.
            scaled = np.nan_to_num((result.values - values.min()) / spread, nan=1.0)
            mean, sd = _fit_process(tried, scaled).predict(places, return_std=True)
            # Level, variance and length are fitted: n - 3 degrees of freedom are left.
            sd *= sqrt(len(tried) / max(len(tried) - 3, 1))
            gain, order = expected_improvement(mean, sd, 0.0), -mean / sd
            noise = max(_noise(result) / spread, MIN_NOISE)
        else:  # as far as possible from all points
            order = cdist(places, tried).min(axis=1)
            gain, noise = 0 * order, 1.0
        if values.size >= MIN_VALUES and gain.max() < self.tol * noise:
            return []
        done = {evaluation.point for evaluation in result.evaluations}
        gain[[point in done for point in chart.pool]] = -1.0
        # If every improvement underflows, the ratio of mean and deviation orders the candidates.
        return [chart.pool[int(np.lexsort((order, gain))[-1])]]


def _noise(result: SearchResult) -> float:
    """Return the standard error of the difference between the two best, 0 if it is unknown."""
    first, second = np.argsort(result.values)[:2].tolist()
    return float(np.nan_to_num(result.difference(second, first).standard_error))


def _fit_process(places: np.ndarray, values: np.ndarray) -> GaussianProcessRegressor:
    """Fit by maximum likelihood; the noise is that of the fit, and no part of predictions."""
    kernel = ConstantKernel(1.0, (1e-2, 1e2)) * Matern(0.5, (0.05, 5.0), nu=2.5)
    process = GaussianProcessRegressor(kernel + WhiteKernel(1e-4, (1e-8, 1e-3)), normalize_y=True)
    with warnings.catch_warnings():
        # A parameter at its bound is no fault.
        warnings.simplefilter("ignore", ConvergenceWarning)
        process.fit(places, values)
        signal, noise = process.kernel_.k1, process.kernel_.k2
        noiseless = GaussianProcessRegressor(
            signal, alpha=noise.noise_level, optimizer=None, normalize_y=True
        )
        return noiseless.fit(places, values)


class Chart:
    """Coordinates of weightings, and a pool of candidates at equal distances in them.

    In the Hellinger chart a weighting has the coordinates ``sqrt(w / sum(w))``, so that distances
    are Hellinger distances between the weighted samples, up to a common scale. Without log ratios
    the coordinates are (lam, alpha), scaled to the unit square, as in the paper.
    """

    def __init__(self, bounds: Bounds, log_ratio: np.ndarray | None) -> None:
        self.bounds, self._scale = bounds, 1.0
        self._groups = None if log_ratio is None else group_rows(log_ratio)
        # Weights change fast near the ends of curves of large alpha.
        share = expit(np.linspace(-10, 10, N_STEPS))
        lams = np.interp(share, (share[0], share[-1]), bounds.lam)
        alphas = np.linspace(*bounds.alpha, N_STEPS)
        curves = np.array([self.coordinates([(lam, alpha) for lam in lams]) for alpha in alphas])
        self._scale = float(np.linalg.norm(curves - curves[0, 0], axis=2).max()) or 1.0
        points = named_points(bounds)
        between = np.linalg.norm(np.diff(curves, axis=0), axis=2).max(axis=1)
        for alpha in _equidistant(alphas, between, N_ALPHAS):
            curve = self.coordinates([(lam, alpha) for lam in lams])
            along = np.linalg.norm(np.diff(curve, axis=0), axis=1)
            spaced = _equidistant(lams, along, N_LAMS)
            points += [canonical((lam, alpha), bounds) for lam in spaced]
        self.pool: list[Point] = list(dict.fromkeys(points))

    def coordinates(self, points: Sequence[tuple[float, float]]) -> np.ndarray:
        """Return one row of coordinates for each point; the farthest from ERM is at about 1."""
        if self._groups is None:
            low, high = np.array([self.bounds.lam, self.bounds.alpha]).T
            return np.asarray((np.array(points) - low) / np.where(high > low, high - low, 1.0))
        (lam, alpha), (centre, count) = np.array(points).T, self._groups
        log_mass = log_weight(centre, lam[:, None], alpha[:, None]) + np.log(count)
        log_mass -= logsumexp(log_mass, axis=1, keepdims=True)
        return np.asarray(np.exp(log_mass / 2) / self._scale)


def _equidistant(values: np.ndarray, steps: np.ndarray, number: int) -> list[float]:
    """Return values at equal distances along a path whose steps have the given lengths."""
    length = np.insert(np.cumsum(steps + 1e-9), 0, 0.0)
    spaced = np.interp(np.linspace(0, length[-1], number), length, values)
    return np.clip(np.round(spaced, DECIMALS), values[0], values[-1]).tolist()


def group_rows(log_ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean log ratio and size of at most `MAX_GROUPS` groups of similar rows."""
    s = np.sort(log_ratio)
    if s.size <= MAX_GROUPS:
        return s, np.ones(s.size)
    finite = s[np.isfinite(s)]  # rows of ratio 0 (-inf) are one group
    half = MAX_GROUPS // 2 - 1
    top = np.linspace(max(finite[0], finite[-1] - MAX_DEPTH), finite[-1], half)
    edges = np.concatenate([np.quantile(finite, np.linspace(0, 1, half)), top])
    _, label = np.unique(np.searchsorted(np.unique(edges), finite), return_inverse=True)
    count = np.bincount(label).astype(float)
    centre = np.bincount(label, weights=finite) / count
    n_zero = s.size - finite.size
    if n_zero:
        centre, count = np.append(-np.inf, centre), np.append(float(n_zero), count)
    return centre, count
