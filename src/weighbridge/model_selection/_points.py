"""Points (lam, alpha), the bounds of a search, and the points that have names."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan
from typing import NamedTuple

import numpy as np


class Point(NamedTuple):
    """A weighting as a candidate of a search.

    Parameters
    ----------
    lam : float
        Position on the curve, 0 for no weights and 1 for the full ratio.
    alpha : float
        Which curve.

    Examples
    --------
    >>> from weighbridge.model_selection import Point
    >>> Point(0.5, 3.0)
    Point(lam=0.5, alpha=3.0)
    """

    lam: float
    alpha: float


@dataclass(frozen=True)
class Bounds:
    """The rectangle in which lam and alpha are searched.

    Parameters
    ----------
    lam : (float, float), default=(0.0, 1.0)
        Smallest and largest lam, within [0, 1].
    alpha : (float, float), default=(1.0, 3.0)
        Smallest and largest alpha. Equal numbers fix the parameter.

    Examples
    --------
    >>> from weighbridge.model_selection import Bounds
    >>> Bounds(alpha=(3, 3))  # the relative ratio only
    Bounds(lam=(0.0, 1.0), alpha=(3.0, 3.0))
    """

    lam: tuple[float, float] = (0.0, 1.0)
    alpha: tuple[float, float] = (1.0, 3.0)

    def __post_init__(self) -> None:
        for name in ("lam", "alpha"):
            object.__setattr__(self, name, _checked(name, getattr(self, name)))
        if self.lam[0] < 0 or self.lam[1] > 1:
            raise ValueError(
                f"Got lam={self.lam} as bounds, but lam lies between 0 (no weights) and 1 (the "
                "full ratio). Give bounds within [0, 1]."
            )

    def __contains__(self, point: tuple[float, float]) -> bool:
        lam, alpha = point
        return self.lam[0] <= lam <= self.lam[1] and self.alpha[0] <= alpha <= self.alpha[1]


def _checked(name: str, bounds: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError):
        low = high = nan
    if not -inf < low <= high < inf:
        raise ValueError(
            f"Got {name}={bounds!r} as bounds, but expected two finite numbers, the smallest "
            "first. Give the same number twice to fix the parameter."
        )
    return low, high


# lam within [0, 1] and alpha within [1, 3].
DEFAULT_BOUNDS = Bounds()


def canonical(point: tuple[float, float], bounds: Bounds) -> Point:
    """Return the one point that represents all points with the same weights.

    Every alpha gives the same weights at lam = 0, and again at lam = 1. There alpha becomes the
    number nearest 1 within the bounds. Any other point is returned as it is.
    """
    lam, alpha = point
    if lam in (0.0, 1.0):
        low, high = bounds.alpha
        alpha = min(max(1.0, low), high)
    return Point(float(lam) + 0.0, float(alpha) + 0.0)  # Adding 0.0 turns -0.0 into 0.0.


def named_points(bounds: Bounds = DEFAULT_BOUNDS) -> list[Point]:
    """Return the points that a search tries first: ERM, IWERM, RIWERM(0.8) and AIWERM(0.5).

    Parameters
    ----------
    bounds : Bounds, default=Bounds()
        Points outside are left out.

    Returns
    -------
    list of Point
        In this order. Alpha is the number nearest 1 within the bounds where lam is 0 or 1.

    Examples
    --------
    >>> from weighbridge.model_selection import Bounds, named_points
    >>> [tuple(point) for point in named_points()]
    [(0.0, 1.0), (1.0, 1.0), (0.8, 3.0), (0.5, 1.0)]
    >>> [tuple(point) for point in named_points(Bounds(lam=(0, 0.6)))]
    [(0.0, 1.0), (0.5, 1.0)]
    """
    named = [(0.0, 1.0), (1.0, 1.0), (0.8, 3.0), (0.5, 1.0)]
    points = [canonical(point, bounds) for point in named]
    return [point for point in points if point in bounds]


def few_points(bounds: Bounds = DEFAULT_BOUNDS, *, by_label: bool = False) -> list[Point]:
    """Return ERM, IWERM, AIWERM(0.5) and RIWERM(0.5), moved into the bounds.

    These gain as much as a search over all of (lam, alpha) (development tasks of the natural
    suite). Weights of classes are right or wrong as a whole: for these, ERM and IWERM.
    """
    few = [(0.0, 1.0), (1.0, 1.0)] + [(0.5, 1.0), (0.5, 3.0)] * (not by_label)
    clipped = np.clip(few, *np.transpose([bounds.lam, bounds.alpha])).tolist()
    return list(dict.fromkeys(canonical(point, bounds) for point in clipped))
