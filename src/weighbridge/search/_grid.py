"""All points of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import numpy as np

from weighbridge.search._point import Bounds, Objective, Point, canonical, named_points
from weighbridge.search._run import Proposals, Search

LAMS = 41
ALPHAS = 9


def candidate_pool(bounds: Bounds) -> list[Point]:
    """The named points, then a grid of 41 lam by 9 alpha in the bounds; no model twice."""
    grid = [
        (lam, alpha) for lam in spaced(bounds.lam, LAMS) for alpha in spaced(bounds.alpha, ALPHAS)
    ]
    points = named_points(bounds) + [canonical(point, bounds) for point in grid]
    return list(dict.fromkeys(points))


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
    ...     fingerprint = "parabola"
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
            Where.

        Returns
        -------
        list of Point
            The named points, then the grid; no model twice.
        """
        lams = _values("lam", self.lam, bounds.lam)
        alphas = _values("alpha", self.alpha, bounds.alpha)
        grid = [canonical((lam, alpha), bounds) for lam in lams for alpha in alphas]
        return list(dict.fromkeys(named_points(bounds) + grid))


def _all(points: Sequence[Point]) -> Proposals:
    yield points


def _values(name: str, given: int | Sequence[float], bounds: tuple[float, float]) -> list[float]:
    if isinstance(given, Integral) and not isinstance(given, bool):
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
