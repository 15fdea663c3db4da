"""The loop that evaluates proposed points, and the search over a grid."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import nan
from numbers import Integral
from typing import Protocol, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from weighbridge.model_selection._points import (
    DEFAULT_BOUNDS,
    Bounds,
    Point,
    canonical,
    named_points,
)
from weighbridge.model_selection._result import Evaluation, Scores, SearchResult
from weighbridge.tables import check_count

# Returns the next points for all evaluations so far; none if no other is worth its cost.
Proposal: TypeAlias = Callable[[tuple[Evaluation, ...]], Sequence[Point]]
# Called with an evaluation, the number of evaluations, the planned number and the smallest value.
Progress: TypeAlias = Callable[[Evaluation, int, int, float], object]


class AllFailedError(RuntimeError):
    """Not one candidate could be evaluated."""


class Objective(Protocol):
    """What a search minimises; see `Search`."""

    @property
    def log_ratio(self) -> np.ndarray: ...
    @property
    def unit_weights(self) -> np.ndarray: ...
    def evaluate(self, points: Sequence[Point]) -> Iterator[Evaluation]: ...


class Search(BaseEstimator, ABC):  # type: ignore[misc, unused-ignore]
    """Abstract: proposes points and receives their losses.

    A search is called with an objective and `Bounds`, and returns a `SearchResult`.

    Notes
    -----
    An objective is any object with three members. ``log_ratio`` has the log density ratios of the
    rows, by which a search measures how similar two candidates are. ``unit_weights`` has the weight
    of each unit's loss, at least 0, the same for all candidates. ``evaluate(points)`` yields one
    `Evaluation` for each point, lazily and in order. A candidate that fails gives an `Evaluation`
    with an error; it does not raise.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.model_selection import Evaluation, GridSearch
    >>> class Parabola:  # best at lam = 0.3, whatever alpha is
    ...     log_ratio = np.linspace(-1, 1, 20)
    ...     unit_weights = np.ones(1)
    ...
    ...     def evaluate(self, points):
    ...         for point in points:
    ...             yield Evaluation(point, np.array([(point.lam - 0.3) ** 2]))
    >>> GridSearch(lam=11, alpha=1)(Parabola()).best.lam
    0.3
    """

    def __call__(
        self,
        objective: Objective,
        bounds: Bounds = DEFAULT_BOUNDS,
        *,
        progress: Progress | None = None,
    ) -> SearchResult:
        """Minimise the objective."""
        propose, planned = self._plan(objective, bounds)
        return _run(objective, propose, planned, progress)

    @abstractmethod
    def _plan(self, objective: Objective, bounds: Bounds) -> tuple[Proposal, int]:
        """Return the proposals, and the largest number of evaluations."""


def evaluate_points(
    objective: Objective, points: Sequence[Point], progress: Progress | None = None
) -> SearchResult:
    """Evaluate the given points and no others."""
    return _run(objective, lambda done: () if done else points, len(points), progress)


def _run(
    objective: Objective, propose: Proposal, planned: int, progress: Progress | None
) -> SearchResult:
    """Evaluate all proposed points, each once."""
    units = np.asarray(objective.unit_weights, dtype=np.float64)
    if units.ndim != 1 or not (np.isfinite(units).all() and (units >= 0).all() and units.any()):
        raise ValueError(
            f"Got unit weights of shape {units.shape} from the objective, but needed a finite "
            "number of at least 0 for each unit, not all of them 0."
        )
    evaluations: tuple[Evaluation, ...] = ()
    least = nan
    while points := propose(evaluations):
        stream = iter(objective.evaluate(points))
        for point in points:
            evaluation = _checked(next(stream, None), point, units)
            evaluations += (evaluation,)
            if evaluation.losses is not None:
                least = float(np.fmin(least, Scores(evaluation.losses, units).value))
            if progress is not None:
                progress(evaluation, len(evaluations), planned, least)
    if evaluations and all(evaluation.failed for evaluation in evaluations):
        point, message = evaluations[0].point, evaluations[0].error
        raise AllFailedError(
            f"All {len(evaluations)} candidates failed, the first (lam={point.lam:g}, "
            f"alpha={point.alpha:g}) with: {message}. Where every weighting fails, the cause is "
            "seldom the weights: check whether the estimator fits these rows by itself, whether "
            "each fold has rows of every class, and whether the metric takes sample_weight."
        )
    return SearchResult(evaluations, units, converged=len(evaluations) < planned)


def _checked(evaluation: Evaluation | None, point: Point, units: np.ndarray) -> Evaluation:
    """Return the evaluation with its losses as an array, or as failed if they are not finite."""
    if evaluation is None or evaluation.point != point:
        raise RuntimeError(
            f"The objective returned {evaluation} where an evaluation of {point} was expected. It "
            "must return one for each point in their order, those that fail included."
        )
    if evaluation.losses is None or evaluation.error is not None:
        return replace(evaluation, losses=None, error=evaluation.error or "no losses, no message")
    losses = np.asarray(evaluation.losses, dtype=float)
    if losses.shape != units.shape:
        raise RuntimeError(
            f"The objective returned losses of shape {losses.shape} at {point}, but has "
            f"{units.size} unit weights. It must return one loss for each."
        )
    n_bad = int((~np.isfinite(losses[units > 0])).sum())
    if n_bad:
        message = f"{n_bad} of {losses.size} losses are NaN or infinite"
        return replace(evaluation, losses=None, error=message)
    return replace(evaluation, losses=losses)


class GridSearch(Search):
    """Evaluate every point of a grid, the named points (ERM, IWERM, ...) before all others.

    Parameters
    ----------
    lam, alpha : int or sequence of float, default=11 and 3
        The number of equally spaced values within the bounds, both ends included (a single one is
        the lower bound); or the values themselves.

    Examples
    --------
    >>> from weighbridge.model_selection import GridSearch
    >>> [tuple(point) for point in GridSearch(lam=[0.2], alpha=2).points()]
    [(0.0, 1.0), (1.0, 1.0), (0.8, 3.0), (0.5, 1.0), (0.2, 1.0), (0.2, 3.0)]
    """

    def __init__(self, lam: int | Sequence[float] = 11, alpha: int | Sequence[float] = 3) -> None:
        self.lam = lam
        self.alpha = alpha

    def _plan(self, objective: Objective, bounds: Bounds) -> tuple[Proposal, int]:
        points = self.points(bounds)
        return lambda done: () if done else points, len(points)

    def points(self, bounds: Bounds = DEFAULT_BOUNDS) -> list[Point]:
        """Return the points in order of evaluation, without any weights twice."""
        lams = _values("lam", self.lam, bounds.lam)
        alphas = _values("alpha", self.alpha, bounds.alpha)
        grid = [canonical((lam, alpha), bounds) for lam in lams for alpha in alphas]
        return list(dict.fromkeys(named_points(bounds) + grid))


def _values(name: str, given: int | Sequence[float], bounds: tuple[float, float]) -> list[float]:
    """Return the checked values of one axis of a grid."""
    low, high = bounds
    if isinstance(given, Integral):
        check_count(name, given, 1)
        spaced = np.linspace(low, high, int(given) if low < high else 1).tolist()
        # linspace gives 0.30000000000000004; readers expect the shortest decimal next to it.
        return [min(max(round(value, 12), low), high) for value in spaced]
    try:
        values = [float(value) for value in given]  # type: ignore[union-attr]
    except (TypeError, ValueError):
        values = []
    if not values or not all(low <= value <= high for value in values):
        raise ValueError(
            f"Got {name}={given!r}, but expected a number of values, or values within {bounds}."
        )
    return values
