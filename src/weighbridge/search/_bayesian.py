"""Bayesian optimisation in coordinates in which near points are near models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi, sqrt
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import erfcx, expit, log_ndtr, logsumexp, ndtr, softmax

from weighbridge.geodesic import log_weight
from weighbridge.search._point import (
    Bounds,
    FloatArray,
    Objective,
    Point,
    canonical,
    groups,
    named_points,
)
from weighbridge.search._result import SearchResult
from weighbridge.search._run import Proposals, Search, check_budget

# Below -FAR the tail is a series in 1/z^2, which four terms give to rounding.
FAR = 200.0


def expected_improvement(mean: Any, sd: Any, best: Any) -> Any:
    """How far below `best` a normal variable is expected to be, counting 0 where it is above.

    ``E[max(best - Y, 0)] = (best - mean) Phi(z) + sd phi(z)`` with ``z = (best - mean) / sd``, for
    ``Y ~ N(mean, sd**2)``. The larger, the more a candidate is worth trying.

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
    >>> from weighbridge.search import expected_improvement
    >>> expected_improvement(mean=[1.0, 2.0, 1.5], sd=[0.0, 1.0, 0.1], best=1.5).round(3)
    array([0.5  , 0.198, 0.04 ])
    """
    return np.exp(log_expected_improvement(mean, sd, best))[()]


def log_expected_improvement(mean: Any, sd: Any, best: Any) -> FloatArray:
    """Its logarithm, which orders candidates even where every improvement underflows."""
    gap, sd, z = _standardised(mean, sd, best)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        density = -(z**2) / 2 - np.log(2 * pi) / 2
        below = np.log(sd) + density + np.log(_tail(z))
        value = gap * ndtr(z) + sd * np.exp(density)
        above = np.log(np.where(sd == 0, np.maximum(gap, 0.0), value))
    return np.asarray(np.where((z < 0) & (sd > 0), below, above))


def probability_of_improvement(mean: Any, sd: Any, best: Any) -> Any:
    """How likely a normal variable is to be below `best`: ``Phi((best - mean) / sd)``.

    Parameters
    ----------
    mean, sd, best
        As in `expected_improvement`.

    Returns
    -------
    float or array
        The probability, between 0 and 1.

    Examples
    --------
    >>> from weighbridge.search import probability_of_improvement
    >>> probability_of_improvement(mean=[1.0, 2.0], sd=[0.0, 1.0], best=1.5).round(3)
    array([1.   , 0.309])
    """
    gap, sd, z = _standardised(mean, sd, best)
    return np.where(sd == 0, gap > 0, ndtr(z))[()]


def lower_confidence_bound(mean: Any, sd: Any, best: Any = 0.0, kappa: float = 2.0) -> Any:
    """How far below `best` the bound ``mean - kappa sd`` lies: larger is better.

    Parameters
    ----------
    mean, sd, best
        As in `expected_improvement`; `best` does not change the order.
    kappa : float, default=2.0
        How much uncertainty counts.

    Returns
    -------
    float or array
        ``best - mean + kappa sd``.

    Examples
    --------
    >>> from weighbridge.search import lower_confidence_bound
    >>> lower_confidence_bound(mean=[1.0, 2.0], sd=[0.0, 1.0], best=1.5)
    array([0.5, 1.5])
    """
    gap, sd, _ = _standardised(mean, sd, best)
    return (gap + kappa * sd)[()]


def _standardised(mean: Any, sd: Any, best: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    mean, sd, best = (np.asarray(value, dtype=float) for value in (mean, sd, best))
    if np.any(sd < 0):
        raise ValueError(
            f"Got sd={np.min(sd)}, but a standard deviation is at least 0; did you pass a variance "
            "or a logarithm?"
        )
    gap = best - mean
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = gap / sd
    return gap, sd, z


def _tail(z: FloatArray) -> FloatArray:
    """``1 + z Phi(z) / phi(z)`` for z < 0."""
    size = np.abs(z)
    inverse = np.where(size > FAR, size, FAR) ** -2.0
    series = inverse * (1 - inverse * (3 - inverse * (15 - 105 * inverse)))
    return np.where(size > FAR, series, 1 - size * sqrt(pi / 2) * erfcx(size / sqrt(2)))


# Log ratios that differ by less give the same weights to ten digits, and so one model.
NO_SHIFT = 1e-10
# Successes before a search may end by itself, and the least noise, as a share of their range.
FEWEST, FLOOR = 4, 0.05
ACQUISITIONS: dict[Any, Callable[..., Any]] = {
    "expected_improvement": log_expected_improvement,
    "lower_confidence_bound": lower_confidence_bound,
    "probability_of_improvement": lambda mean, sd, best: log_ndtr((best - mean) / sd),
}


class BayesianSearch(Search):
    """Few evaluations, each where a Gaussian process promises most, until it promises little.

    The named points (ERM, IWERM, RIWERM at 0.8, AIWERM at 0.5) come first, in one call of the
    objective; then one point after another, the arg max of the acquisition over a pool of
    candidates and then between them.

    Parameters
    ----------
    n_evaluations : int, default=15
        How many candidates to evaluate at most, 2 or more; one if the log ratio is constant.
    coordinates : {"hellinger", "plain"}, default="hellinger"
        "hellinger" places the candidates by the Hellinger distance between their weights: all of
        lam = 0 is one model, and much of the square differs little. "plain" is (lam, alpha) as in
        the paper, and needs more evaluations.
    acquisition : str or callable, default="expected_improvement"
        Also "lower_confidence_bound", "probability_of_improvement", or a function
        ``acquisition(mean, sd, best)`` of arrays in the unit of the losses (larger is better), such
        as ``functools.partial(lower_confidence_bound, kappa=3)``.
    initial : int or sequence of (lam, alpha), optional
        The initial design: that many points, first the named ones, then those farthest from all
        before them; or the points themselves. By default the named points.
    tol : float, default=0.01
        The search ends when the largest expected improvement is below this share of the noise: the
        standard error of the difference between the two best candidates, paired by unit, or 5 % of
        the range of the values if that is more. 0 makes all evaluations.

    Notes
    -----
    ``BayesianSearch(25, coordinates="plain", initial=points, tol=0)`` is the paper's Algorithm 1,
    without the slips of sign in its appendix D.

    The kernel is Matern 5/2 with one length scale; it, the mean, variance and noise are averaged
    over by their likelihood. Nothing is drawn at random: equal values of the objective give equal
    points. A failed candidate counts as the worst. Four or more values, all equal, end the search.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge import ImportanceWeightedCV
    >>> from weighbridge.datasets import make_cubic
    >>> from weighbridge.search import BayesianSearch
    >>> data = make_cubic(random_state=0)
    >>> model = ImportanceWeightedCV(LinearRegression(), data.ratio, search=BayesianSearch())
    >>> result = model.fit(data.X, data.y).search_result_
    >>> result.converged, len(result.points) < 15
    (True, True)
    """

    def __init__(
        self,
        n_evaluations: int = 15,
        *,
        coordinates: str = "hellinger",
        acquisition: str | Callable[..., Any] = "expected_improvement",
        initial: int | Sequence[tuple[float, float]] | None = None,
        tol: float = 0.01,
    ) -> None:
        self.n_evaluations = n_evaluations
        self.coordinates = coordinates
        self.acquisition = acquisition
        self.initial = initial
        self.tol = tol

    def _plan(self, objective: Objective, bounds: Bounds) -> tuple[Proposals, int]:
        budget = check_budget(self.n_evaluations)
        if self.coordinates not in ("hellinger", "plain"):
            raise ValueError(
                f"Got coordinates={self.coordinates!r}, but expected 'hellinger' or 'plain'."
            )
        if not callable(self.acquisition) and self.acquisition not in list(ACQUISITIONS):
            raise ValueError(
                f"Got acquisition={self.acquisition!r}, but expected {', '.join(ACQUISITIONS)}, or "
                "a function of mean, sd and best."
            )
        tol: Any = self.tol
        if not isinstance(tol, Real) or not 0 <= float(tol) < np.inf:
            raise ValueError(f"Got tol={self.tol!r}, but expected a number of at least 0.")
        log_ratio = _check_log_ratio(objective.log_ratio)
        chart = _Chart(bounds, None if self.coordinates == "plain" else log_ratio)
        first = self._first(chart, budget)
        if np.ptp(log_ratio) <= NO_SHIFT:  # all candidates are one model
            first, budget = first[:1], 1
        budget = min(budget, max(len(first), len(chart.pool)))
        return self._proposals(objective, chart, first, budget), budget

    def _first(self, chart: _Chart, budget: int) -> list[Point]:
        """Return the initial design."""
        given: Any = self.initial
        pool = list(chart.pool)
        points = pool[: max(1, len(named_points(chart.bounds)))]
        if given is None:
            return points[:budget]
        if given is not True and isinstance(given, Integral) and 1 <= int(given) <= budget:
            places = chart.places(pool)
            while len(points) < min(int(given), len(pool)):
                apart = cdist(places, chart.places(points)).min(axis=1)
                points.append(pool[int(np.argmax(apart))])
            return points[: int(given)]
        try:
            points = [canonical((lam, alpha), chart.bounds) for lam, alpha in given]
        except (TypeError, ValueError):
            points = []
        if not 1 <= len(points) <= budget or not all(point in chart.bounds for point in points):
            raise ValueError(
                f"Got initial={given!r}, but expected how many points to begin with, or the points "
                f"(lam, alpha): from 1 to {budget}, the number of evaluations, in {chart.bounds}."
            )
        return points

    def _proposals(
        self, objective: Objective, chart: _Chart, first: list[Point], budget: int
    ) -> Proposals:
        done = yield first
        pool = list(chart.pool)
        while len(done) < budget:
            seen = SearchResult(tuple(done), np.asarray(objective.unit_weights, dtype=float))
            outlook = _Outlook(self.acquisition, chart, seen)
            tried = {each.point for each in done}
            worth = np.where([point in tried for point in pool], -np.inf, outlook.worth(pool))
            point = outlook.refined(pool[int(np.argmax(worth))], tried)
            if outlook.known.size >= FEWEST and outlook.gain([point, *pool]) < self.tol:
                return True
            done = yield [point]
        return False


class _Outlook:
    """What the evaluations so far promise elsewhere."""

    def __init__(self, acquisition: Any, chart: _Chart, seen: SearchResult) -> None:
        self.acquisition, self.chart, self.seen = acquisition, chart, seen
        self.places = chart.places([each.point for each in seen.evaluations])
        self.known = seen.values[np.isfinite(seen.values)]
        self.low = float(self.known.min()) if self.known.size else 0.0
        self.range = float(self.known.max(initial=self.low)) - self.low
        if self.range:
            # to the unit interval, losses of any size; a failure is as bad as the worst
            scaled = np.nan_to_num((seen.values - self.low) / self.range, nan=1.0)
            self.predict = _kriging(self.places, scaled)

    def worth(self, points: Sequence[Point]) -> FloatArray:
        """The acquisition; the distance to all that was tried where nothing was learned."""
        places = self.chart.places(points)
        if not self.range:
            return np.asarray(cdist(places, self.places).min(axis=1))
        mean, sd = self.predict(places)
        if isinstance(self.acquisition, str):
            return np.asarray(ACQUISITIONS[self.acquisition](mean, sd, 0.0))
        mean, sd = self.low + self.range * mean, self.range * sd
        worth = np.asarray(self.acquisition(mean, sd, self.low), dtype=float)
        if worth.shape != mean.shape or np.isnan(worth).any():
            raise ValueError(f"Got acquisition values {worth!r}, but expected {mean.size} numbers.")
        return worth

    def refined(self, point: Point, tried: set[Point]) -> Point:
        """Zoom into the box around a candidate of the pool."""
        low, high = self.chart.pool[point]
        for _ in range(3):
            grid = np.meshgrid(*np.linspace(low, high, 7).T)
            pairs = np.stack(grid, axis=-1).reshape(-1, 2).round(DECIMALS).clip(low, high)
            points = [canonical((lam, alpha), self.chart.bounds) for lam, alpha in pairs.tolist()]
            best, reach = int(np.argmax(self.worth(points))), (high - low) / 6
            low, high = np.maximum(low, pairs[best] - reach), np.minimum(high, pairs[best] + reach)
        return point if points[best] in tried else points[best]

    def gain(self, points: Sequence[Point]) -> float:
        """The largest expected improvement as a share of the noise."""
        if not self.range:
            return 0.0
        first, second = np.argsort(self.seen.values)[:2].tolist()
        noise = np.nan_to_num(self.seen.difference(second, first).standard_error) / self.range
        gain = expected_improvement(*self.predict(self.chart.places(points)), 0.0)
        return float(gain.max() / max(noise, FLOOR))


# Length scales, as shares of the spread of all candidates, each with shares of noise.
LENGTHS = np.repeat(np.geomspace(0.1, 5.0, 12), 4).reshape(-1, 1, 1)
NOISES = np.tile([1e-8, 1e-6, 1e-4, 1e-2], 12).reshape(-1, 1, 1)


def _kriging(at: FloatArray, values: FloatArray) -> Callable[..., tuple[FloatArray, FloatArray]]:
    """Return what gives mean and standard deviation elsewhere."""
    n, values = len(values), values[:, None]
    kernel = _matern(cdist(at, at)) + NOISES * np.eye(n)
    inverse = np.linalg.inv(kernel)
    ones = inverse.sum(axis=2, keepdims=True)
    total = ones.sum(axis=1, keepdims=True)
    level = (ones * values).sum(axis=1, keepdims=True) / total
    slope = inverse @ (values - level)
    square = np.maximum(((values - level) * slope).sum(axis=1, keepdims=True), 1e-12)
    # twice the log likelihood, with mean and variance integrated out
    fit = -(n - 1) * np.log(square) - np.log(total) - np.linalg.slogdet(kernel)[1][:, None, None]
    share = softmax(fit / 2)

    def predict(places: FloatArray) -> tuple[FloatArray, FloatArray]:
        near = _matern(cdist(places, at))
        mean = level + near @ slope
        left = 1 - (near @ inverse * near).sum(axis=2, keepdims=True)
        left += (1 - near @ ones) ** 2 / total
        moment = mean**2 + square / max(n - 3, 1) * np.maximum(left, 0)
        first, second = ((share * each).sum(axis=0)[:, 0] for each in (mean, moment))
        return first, np.sqrt(np.maximum(second - first**2, 1e-16))

    return predict


def _matern(gap: FloatArray) -> FloatArray:
    scaled = sqrt(5) * gap / LENGTHS
    return np.asarray((1 + scaled + scaled**2 / 3) * np.exp(-scaled))


def _check_log_ratio(log_ratio: Any) -> FloatArray:
    s = np.asarray(log_ratio, dtype=float)
    if s.ndim != 1 or s.size == 0 or np.isnan(s).any() or s.max() in (-np.inf, np.inf):
        raise ValueError(
            f"Got log ratios of shape {s.shape} from the objective, but needed one number below "
            "+inf for each of one or more rows, not all of them -inf and none NaN."
        )
    return s


# The pool; curves, and points of each, that lengths are measured with; decimals of its points.
LAMS, ALPHAS, FINE, DECIMALS = 41, 17, 33, 6


class _Chart:
    """Coordinates, plain or roots of weights (a Hellinger distance), and a pool spaced by them."""

    def __init__(self, bounds: Bounds, log_ratio: FloatArray | None) -> None:
        self.bounds, self.spread = bounds, 1.0
        self.groups = None if log_ratio is None else groups(log_ratio)
        # models change fast near the ends of curves of large alpha
        share = expit(np.linspace(-10, 10, FINE))
        lams = np.interp(share, (share[0], share[-1]), bounds.lam)
        alphas = np.linspace(*bounds.alpha, FINE)
        curves = np.array([self.places([(lam, a) for lam in lams]) for a in alphas])
        self.spread = float(np.linalg.norm(curves - curves[0, 0], axis=2).max()) or 1.0
        # each point with the corners of its box; no model twice
        self.pool = {point: np.array([point, point]) for point in named_points(bounds)}
        apart = np.linalg.norm(np.diff(curves, axis=0), axis=2).max(axis=1)
        for alpha, below, above in _spaced(alphas, apart, ALPHAS):
            steps = np.diff(self.places([(lam, alpha) for lam in lams]), axis=0)
            for lam, left, right in _spaced(lams, np.linalg.norm(steps, axis=1), LAMS):
                point = canonical((lam, alpha), bounds)
                self.pool[point] = np.array([[left, below], [right, above]])

    def places(self, points: Sequence[tuple[float, float]]) -> FloatArray:
        """Coordinates of points, with a spread of about 1."""
        if self.groups is None:
            low, high = np.array([self.bounds.lam, self.bounds.alpha]).T
            return np.asarray((np.array(points) - low) / np.where(high > low, high - low, 1.0))
        (lam, alpha), (centre, count) = np.array(points).T, self.groups
        log_mass = log_weight(centre, lam[:, None], alpha[:, None]) + np.log(count)
        log_mass -= logsumexp(log_mass, axis=1, keepdims=True)
        return np.asarray(np.exp(log_mass / 2) / self.spread)


def _spaced(values: FloatArray, steps: FloatArray, number: int) -> list[tuple[float, ...]]:
    """Values at equal lengths of a path with these steps, each with those next to it."""
    length = np.insert(np.cumsum(steps + 1e-9), 0, 0.0)
    found = np.interp(np.linspace(0, length[-1], number), length, values)
    found = np.clip(np.round(found, DECIMALS), values[0], values[-1]).tolist()
    return list(zip(found, [found[0], *found], [*found[1:], found[-1]], strict=False))
