"""Bayesian optimisation with the expected improvement of the paper."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import pi, sqrt
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from scipy.special import erfcx, ndtr
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from weighbridge.model_selection._chart import Chart
from weighbridge.model_selection._points import Bounds, Point, named_points
from weighbridge.model_selection._result import Evaluation, SearchResult
from weighbridge.model_selection._search import Objective, Proposal, Search

# Log ratios that differ by less give the same weights to ten digits.
NO_SHIFT = 1e-10
# Values needed before a search may converge, and the least noise, as a share of their range.
MIN_VALUES, MIN_NOISE = 4, 0.05


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
    >>> from weighbridge import ImportanceWeightedCV
    >>> from weighbridge.datasets import make_cubic
    >>> from weighbridge.model_selection import BayesianSearch
    >>> data = make_cubic(random_state=0)
    >>> model = ImportanceWeightedCV(LinearRegression(), data.ratio, search=BayesianSearch())
    >>> result = model.fit(data.X, data.y).search_result_
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
        self._check_parameters()
        log_ratio = _check_log_ratio(objective.log_ratio)
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

    def _check_parameters(self) -> None:
        number: object = self.n_evaluations
        tol: object = self.tol
        if isinstance(number, bool) or not isinstance(number, Integral):
            raise ValueError(f"Got n_evaluations={number!r}, but expected a whole number.")
        if number < 2:
            raise ValueError(
                f"Got n_evaluations={number}, but a search compares at least no weights "
                "and one weighting. Give 2 or more."
            )
        if self.coordinates not in ("hellinger", "plain"):
            raise ValueError(
                f"Got coordinates={self.coordinates!r}, but expected 'hellinger' or 'plain'."
            )
        if not isinstance(tol, Real) or not 0 <= float(tol) < np.inf:
            raise ValueError(f"Got tol={tol!r}, but expected a number of at least 0.")


def _noise(result: SearchResult) -> float:
    """Return the standard error of the difference between the two best; 0 if it is unknown."""
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


def _check_log_ratio(log_ratio: ArrayLike) -> np.ndarray:
    s = np.asarray(log_ratio, dtype=float)
    if s.ndim != 1 or s.size == 0 or np.isnan(s).any() or s.max() in (-np.inf, np.inf):
        raise ValueError(
            f"Got log ratios of shape {s.shape} from the objective, but needed one number below "
            "+inf for each of one or more rows, not all of them -inf and none NaN."
        )
    return s
