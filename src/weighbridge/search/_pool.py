"""The candidates among which the Bayesian search chooses."""

from __future__ import annotations

import numpy as np

from weighbridge.search._point import Bounds, Point, canonical, named_points

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
