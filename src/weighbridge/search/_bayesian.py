"""Bayesian optimisation in coordinates in which near points are near models."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import pi, sqrt
from typing import Any

import numpy as np
from scipy.special import erfcx, logsumexp, ndtr
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from weighbridge.geodesic import log_weight
from weighbridge.search._point import (
    ROUNDING,
    Bounds,
    Evaluation,
    FloatArray,
    Objective,
    Point,
    canonical,
    groups,
    named_points,
)
from weighbridge.search._result import weighted_mean
from weighbridge.search._run import Proposals, Search, check_budget, spaced

# Below -FAR the tail is a series in 1/z^2, which four terms give to rounding.
FAR = 200.0


def expected_improvement(mean: Any, sd: Any, best: Any) -> Any:
    """How much smaller than `best` a normal variable is expected to be, counting only if it is.

    ``E[max(best - Y, 0)] = (best - mean) Phi(z) + sd phi(z)`` with ``z = (best - mean) / sd``, for
    ``Y ~ N(mean, sd**2)``. The larger, the more a candidate is worth trying.

    Parameters
    ----------
    mean, sd : float or array
        Mean and standard deviation of the candidates; they broadcast. ``sd = 0`` is a known value.
    best : float or array
        Smallest value seen.

    Returns
    -------
    float or array
        The expected improvement, at least 0.

    Notes
    -----
    For z far below 0 the two terms of the formula cancel: it is then computed as
    ``sd phi(z) (1 + z Phi(z) / phi(z))``, to about ``eps z**2`` of itself.

    Examples
    --------
    >>> from weighbridge.search import expected_improvement
    >>> expected_improvement(mean=[1.0, 2.0, 1.5], sd=[0.0, 1.0, 0.1], best=1.5).round(3)
    array([0.5  , 0.198, 0.04 ])
    """
    gap, sd, z = _standardised(mean, sd, best)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        density = np.exp(-(z**2) / 2) / sqrt(2 * pi)
        above = gap * ndtr(z) + sd * density
        value = np.where(z < 0, sd * density * _tail(z), above)
    return np.where(sd == 0, np.maximum(gap, 0.0), value)[()]


def log_expected_improvement(mean: Any, sd: Any, best: Any) -> FloatArray:
    """Its logarithm, which orders candidates even where every improvement underflows."""
    _, sd, z = _standardised(mean, sd, best)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        below = np.log(sd) - z**2 / 2 - np.log(2 * pi) / 2 + np.log(_tail(z))
        value = np.log(expected_improvement(mean, sd, best))
    # near 0 the plain formula is as good, and it also covers a standard deviation of 0
    return np.asarray(np.where((z < -1) & (sd > 0), below, value))


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
RESTARTS = 2


class BayesianSearch(Search):
    """Few evaluations, each where a Gaussian process expects the largest improvement.

    The named points (ERM, IWERM, RIWERM at 0.8, AIWERM at 0.5) come first, in one call of the
    objective; then one point after another, the arg max of the expected improvement over a grid
    of 41 lam by 9 alpha.

    Parameters
    ----------
    n_evaluations : int, default=15
        How many candidates to evaluate, at least 2. Fewer are where fewer models differ: with a
        constant log ratio all candidates are one model, and only the first is evaluated.
    coordinates : {"hellinger", "plain"}, default="hellinger"
        "hellinger" places the candidates by the Hellinger distance between their weights: all of
        lam = 0 is one model, and much of the square differs little. "plain" is (lam, alpha) as in
        the paper, and needs more evaluations.
    random_state : int, RandomState instance or None, default=None
        Seed of the restarts in the fit of the kernel. None is a fixed seed too: equal values of
        the objective give equal points.

    Notes
    -----
    Matern 5/2 kernel with one length scale for all coordinates, whose parameters maximise the
    marginal likelihood. Candidates that fail are left out of the process and not tried again.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.search import BayesianSearch, Evaluation
    >>> class Valley:
    ...     log_ratio = np.linspace(-2, 2, 50)
    ...     unit_weights = np.ones(1)
    ...     fingerprint = "valley"
    ...
    ...     def evaluate(self, points):
    ...         for point in points:
    ...             yield Evaluation(point, np.array([(point.lam - 0.3) ** 2]))
    >>> result = BayesianSearch(n_evaluations=10)(Valley())
    >>> abs(result.best.lam - 0.3) < 0.03
    True
    """

    def __init__(
        self, n_evaluations: int = 15, *, coordinates: str = "hellinger", random_state: Any = None
    ) -> None:
        self.n_evaluations = n_evaluations
        self.coordinates = coordinates
        self.random_state = random_state

    def _plan(self, objective: Objective, bounds: Bounds) -> tuple[Proposals, int]:
        budget = check_budget(self.n_evaluations)
        if self.coordinates not in ("hellinger", "plain"):
            raise ValueError(
                f"Got coordinates={self.coordinates!r}, but expected 'hellinger' or 'plain'."
            )
        log_ratio = _check_log_ratio(objective.log_ratio)
        pool = candidate_pool(bounds)
        if np.ptp(log_ratio) <= NO_SHIFT:  # all candidates are one model
            pool = pool[:1]
        if self.coordinates == "plain":
            places = plain_coordinates(pool, bounds)
        else:
            places = hellinger_coordinates(pool, log_ratio)
        first = pool[: min(budget, max(1, len(named_points(bounds))))]
        budget = min(budget, len(pool))
        seed = 0 if self.random_state is None else self.random_state
        return _proposals(pool, places, first, budget, objective, seed), budget


def _proposals(
    pool: Sequence[Point],
    places: FloatArray,
    first: Sequence[Point],
    budget: int,
    objective: Objective,
    seed: Any,
) -> Proposals:
    place_of = {point: number for number, point in enumerate(pool)}
    done = yield first
    while len(done) < budget:
        tried = [place_of[each.point] for each in done]
        values = _values(done, objective.unit_weights)
        score = _score(places, tried, values, seed)
        score[tried] = -np.inf
        done = yield [pool[int(np.argmax(score))]]


def _values(done: Sequence[Evaluation], unit_weights: FloatArray) -> FloatArray:
    """Values of the evaluations, NaN where they failed."""
    units = np.asarray(unit_weights, dtype=float)
    return np.array(
        [
            np.nan if each.losses is None else weighted_mean(each.losses, units).value
            for each in done
        ]
    )


def _score(places: FloatArray, tried: list[int], values: FloatArray, seed: Any) -> FloatArray:
    """Log expected improvement of the whole pool; the distance to what was tried if all failed."""
    known = np.isfinite(values)
    if not known.any():
        gaps = places[:, None, :] - places[tried]
        return np.asarray(np.linalg.norm(gaps, axis=2).min(axis=1))
    low, high = values[known].min(), values[known].max()
    # to the unit interval: losses of any size, and the noise below is relative to their range
    scaled = (values[known] - low) / (high - low if high > low else 1.0)
    process = GaussianProcessRegressor(
        ConstantKernel(1.0, (1e-2, 1e3)) * Matern(0.5, (0.05, 10.0), nu=2.5)
        + WhiteKernel(1e-5, (1e-8, 1e-2)),
        normalize_y=True,
        n_restarts_optimizer=RESTARTS,
        random_state=seed,
    )
    with warnings.catch_warnings():
        # four values often put a parameter at its bound, and tried points have a variance of 0:
        # neither matters for the choice of the next point
        warnings.simplefilter("ignore")
        process.fit(places[tried][known], scaled)
        mean, sd = process.predict(places, return_std=True)
    return log_expected_improvement(mean, sd, 0.0)


def _check_log_ratio(log_ratio: Any) -> FloatArray:
    s = np.asarray(log_ratio, dtype=float)
    if s.ndim != 1 or s.size == 0 or np.isnan(s).any() or s.max() in (-np.inf, np.inf):
        raise ValueError(
            f"Got log ratios of shape {s.shape} from the objective, but needed one number below "
            "+inf for each of one or more rows, not all of them -inf and none NaN."
        )
    return s


LAMS = 41
ALPHAS = 9


def candidate_pool(bounds: Bounds) -> list[Point]:
    """The named points, then a grid of 41 lam by 9 alpha in the bounds; no model twice."""
    grid = [
        (lam, alpha) for lam in spaced(bounds.lam, LAMS) for alpha in spaced(bounds.alpha, ALPHAS)
    ]
    points = named_points(bounds) + [canonical(point, bounds) for point in grid]
    return list(dict.fromkeys(points))


COMPONENTS = 3


def plain_coordinates(points: Sequence[Point], bounds: Bounds) -> FloatArray:
    """(lam, alpha) scaled to the unit square."""
    low, high = np.array([bounds.lam, bounds.alpha]).T
    scale = np.where(high > low, high - low, 1.0)
    return np.asarray((np.array(points) - low) / scale)


def hellinger_coordinates(points: Sequence[Point], log_ratio: FloatArray) -> FloatArray:
    """Principal components of the root weights: near points are near models."""
    centre, count = groups(log_ratio)
    lam, alpha = np.array(points).T
    log_mass = log_weight(centre, lam[:, None], alpha[:, None]) + np.log(count)
    root = np.exp((log_mass - logsumexp(log_mass, axis=1, keepdims=True)) / 2)
    root -= root.mean(axis=0)
    # the candidates are fewer than the groups: their Gram matrix is the smaller problem
    value, vector = np.linalg.eigh(root @ root.T)
    order = slice(-1, -1 - COMPONENTS, -1)
    scores = vector[:, order] * np.sqrt(np.maximum(value[order], 0.0))
    spread = float(np.ptp(scores, axis=0).max())
    # without shift all candidates are one, and what is left is rounding
    return np.asarray(scores / spread if spread > ROUNDING else np.zeros_like(scores))
