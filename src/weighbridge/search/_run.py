"""The one loop behind all searches, whose members only propose points; the simplest is a grid."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from math import isfinite, nan
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from weighbridge.search._point import (
    Bounds,
    Evaluation,
    FloatArray,
    Objective,
    Point,
    canonical,
    named_points,
)
from weighbridge.search._result import SearchResult, weighted_mean

# Yields batches of points and is sent all evaluations so far. Returns True if no further evaluation
# is worth its cost.
Proposals: TypeAlias = Generator[Sequence[Point], list[Evaluation], bool]
Progress: TypeAlias = Callable[[Evaluation, int, int, float], object]


def run(
    objective: Objective,
    proposals: Proposals,
    planned: int,
    progress: Progress | None = None,
) -> SearchResult:
    """Evaluate what is proposed, no model twice, and collect the result."""
    units = _check_units(objective.unit_weights)
    evaluations: list[Evaluation] = []
    least = nan
    converged = False
    with closing(_evaluations(objective, proposals, units)) as stream:
        for evaluation in stream:
            converged = evaluation is None
            if evaluation is None:
                break
            evaluations.append(evaluation)
            if progress is None:
                continue
            if evaluation.losses is not None:
                least = float(np.fmin(least, weighted_mean(evaluation.losses, units).value))
            progress(evaluation, len(evaluations), planned, least)
    _check_successes(evaluations)
    return SearchResult(tuple(evaluations), units, converged)


def _evaluations(
    objective: Objective, proposals: Proposals, units: FloatArray
) -> Generator[Evaluation | None, None, None]:
    """Yield the evaluation of each proposed point, and None if the search ends early."""
    done: dict[Point, Evaluation] = {}
    with closing(proposals):
        batch = next(proposals, None)
        while batch is not None:
            new = [point for point in dict.fromkeys(batch) if point not in done]
            with closing(_fresh(objective, new, units)) as fresh:
                for evaluation in fresh:
                    done[evaluation.point] = evaluation
                    yield evaluation
            try:
                batch = proposals.send(list(done.values()))
            except StopIteration as end:
                if end.value:
                    yield None
                return


def _fresh(
    objective: Objective, points: Sequence[Point], units: FloatArray
) -> Generator[Evaluation, None, None]:
    """Ask the objective for all the points in one call; each is computed when it is taken."""
    answers: Iterator[Evaluation] = iter(objective.evaluate(points) if points else ())
    try:
        for point in points:
            answer = next(answers, None)
            if answer is None:
                raise RuntimeError(
                    f"The objective returned fewer evaluations than the {len(points)} points it "
                    "was given; it must return one for each, those that fail included."
                )
            yield _checked(answer, point, units)
    finally:
        close = getattr(answers, "close", None)  # lets a parallel objective stop its workers
        if close is not None:
            close()


def _checked(evaluation: Evaluation, point: Point, units: FloatArray) -> Evaluation:
    """Return the evaluation with its losses as an array, or as failed if they are no numbers."""
    if evaluation.point != point:
        raise RuntimeError(
            f"The objective returned an evaluation of {evaluation.point} where that of {point} was "
            "due; it must keep the order of the points."
        )
    if evaluation.losses is None or evaluation.error is not None:
        return replace(evaluation, losses=None, error=evaluation.error or "no losses, no message")
    losses = np.asarray(evaluation.losses, dtype=np.float64)
    if losses.shape != units.shape:
        raise RuntimeError(
            f"The objective returned losses of shape {losses.shape} at {point}, but has "
            f"{units.size} unit weights; it must return one loss for each."
        )
    # a finite sum has finite terms, and is quickly formed
    if not isfinite(losses.sum()) and (bad := int((~np.isfinite(losses[units > 0])).sum())):
        message = f"{bad} of {losses.size} losses are NaN or infinite"
        return replace(evaluation, losses=None, error=message)
    return evaluation if losses is evaluation.losses else replace(evaluation, losses=losses)


def _check_units(unit_weights: FloatArray) -> FloatArray:
    units = np.asarray(unit_weights, dtype=np.float64)
    if units.ndim != 1 or not (np.isfinite(units).all() and (units >= 0).all() and units.any()):
        raise ValueError(
            f"Got unit weights of shape {units.shape} from the objective, but needed a finite "
            "number of at least 0 for each unit, not all of them 0."
        )
    return units


class AllFailedError(RuntimeError):
    """Not one candidate could be evaluated."""


def _check_successes(evaluations: Sequence[Evaluation]) -> None:
    if evaluations and all(evaluation.failed for evaluation in evaluations):
        point, message = evaluations[0].point, evaluations[0].error
        raise AllFailedError(
            f"All {len(evaluations)} candidates failed, the first (lam={point.lam:g}, "
            f"alpha={point.alpha:g}) with: {message}. Where every weighting fails, the cause is "
            "seldom the weights: check whether the estimator fits these rows by itself, whether "
            "each fold has rows of every class, and whether the metric takes sample_weight."
        )


class Search(BaseEstimator, ABC):  # type: ignore[misc, unused-ignore]
    """Abstract: proposes points, and is told what they are worth.

    Examples
    --------
    All searches are called with an objective and bounds:

    >>> from weighbridge.search import BayesianSearch, GridSearch, Search
    >>> all(issubclass(search, Search) for search in (BayesianSearch, GridSearch))
    True
    """

    def __call__(
        self,
        objective: Objective,
        bounds: Bounds = Bounds(),  # noqa: B008 - it cannot be changed
        *,
        progress: Progress | None = None,
    ) -> SearchResult:
        """Minimise the objective."""
        proposals, planned = self._plan(objective, bounds)
        return run(objective, proposals, planned, progress)

    @abstractmethod
    def _plan(self, objective: Objective, bounds: Bounds) -> tuple[Proposals, int]:
        """Return what is proposed, and how many evaluations that will be at most."""


def check_budget(n_evaluations: Any) -> int:
    """Return the number of evaluations, at least 2."""
    if isinstance(n_evaluations, bool) or not isinstance(n_evaluations, Integral):
        raise ValueError(f"Got n_evaluations={n_evaluations!r}, but expected a whole number.")
    if n_evaluations < 2:
        raise ValueError(
            f"Got n_evaluations={n_evaluations}, but a search compares at least no weights "
            "and one weighting; give 2 or more."
        )
    return int(n_evaluations)


def spaced(bounds: tuple[float, float], count: int) -> list[float]:
    """Equally spaced values with both ends; a single one where the bounds are equal."""
    values = np.linspace(*bounds, count if bounds[0] < bounds[1] else 1).tolist()
    # linspace gives 0.30000000000000004; the shortest decimal next to it is what a reader expects
    return [min(max(round(value, 12), bounds[0]), bounds[1]) for value in values]


class GridSearch(Search):
    """Evaluate every point of a grid, the named points (ERM, IWERM, ...) before all others.

    The objective is given all points in one call, so that it can share work among them or run
    them in parallel.

    Parameters
    ----------
    lam, alpha : int or sequence of float, default=11 and 3
        How many equally spaced values within the bounds, both ends included (a single one is the
        lower bound); or the values themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.search import Evaluation, GridSearch
    >>> class Parabola:
    ...     log_ratio = np.linspace(-1, 1, 20)
    ...     unit_weights = np.ones(1)
    ...
    ...     def evaluate(self, points):
    ...         for point in points:
    ...             loss = (point.lam - 0.6) ** 2 + 0.01 * point.alpha
    ...             yield Evaluation(point, np.array([loss]))
    >>> result = GridSearch(lam=[0.2, 0.4, 0.6], alpha=2)(Parabola())
    >>> result.best, len(result.points)
    (Point(lam=0.6, alpha=1.0), 10)
    """

    def __init__(self, lam: int | Sequence[float] = 11, alpha: int | Sequence[float] = 3) -> None:
        self.lam = lam
        self.alpha = alpha

    def _plan(self, objective: Objective, bounds: Bounds) -> tuple[Proposals, int]:
        points = self.points(bounds)
        return _all(points), len(points)

    def points(self, bounds: Bounds = Bounds()) -> list[Point]:  # noqa: B008
        """Return the points in the order in which they are evaluated.

        Parameters
        ----------
        bounds : Bounds, default=Bounds()
            The bounds of the search.

        Returns
        -------
        list of Point
            The named points, then the grid; no model twice.
        """
        lams = _values("lam", self.lam, bounds.lam)
        alphas = _values("alpha", self.alpha, bounds.alpha)
        grid = [canonical((lam, alpha), bounds) for lam in lams for alpha in alphas]
        return list(dict.fromkeys(named_points(bounds) + grid))


class Handful(GridSearch):
    """No weights, the full ratio, and what lies between them on the curve of the largest alpha."""

    def __init__(self, n_points: int = 3) -> None:
        self.n_points = n_points

    def points(self, bounds: Bounds = Bounds()) -> list[Point]:  # noqa: B008
        """Return the points; by default those of ERM, IWERM and RIWERM(0.5)."""
        lams = spaced(bounds.lam, self.n_points)
        ordered = [lams[0], lams[-1], *lams[1:-1]]
        return list(dict.fromkeys(canonical((lam, bounds.alpha[1]), bounds) for lam in ordered))


def _all(points: Sequence[Point]) -> Proposals:
    yield points
    return False


def _values(name: str, given: int | Sequence[float], bounds: tuple[float, float]) -> list[float]:
    if not isinstance(given, bool) and isinstance(given, Integral):
        if given < 1:
            raise ValueError(f"Got {name}={given}, but a grid has at least 1 value of {name}.")
        return spaced(bounds, int(given))
    try:
        values = [float(value) for value in given]  # type: ignore[union-attr]
    except (TypeError, ValueError):
        values = []
    if not values:
        raise ValueError(
            f"Got {name}={given!r}, but expected how many values of {name} to try, or the values."
        )
    for value in values:
        if not bounds[0] <= value <= bounds[1]:
            raise ValueError(
                f"Got {name}={value} in the grid, which is outside the bounds {bounds}; leave it "
                "out or widen the bounds."
            )
    return values
