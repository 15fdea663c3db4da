"""Points (lam, alpha), the bounds of a search, and the points that have names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


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
    >>> from weighbridge.search import Point
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
    >>> from weighbridge.search import Bounds
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
                "full ratio); give bounds within [0, 1]."
            )

    def __contains__(self, point: tuple[float, float]) -> bool:
        lam, alpha = point
        return self.lam[0] <= lam <= self.lam[1] and self.alpha[0] <= alpha <= self.alpha[1]


def _checked(name: str, bounds: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError):
        raise ValueError(
            f"Got {name}={bounds!r} as bounds, but expected two numbers, the smallest and the "
            "largest; give the same number twice to fix the parameter."
        ) from None
    if not (isfinite(low) and isfinite(high)):
        raise ValueError(f"Got {name}={bounds!r} as bounds, but both must be finite numbers.")
    if low > high:
        raise ValueError(
            f"Got {name}={bounds!r} as bounds, which are reversed: the first must not exceed the "
            f"second. Did you mean ({high:g}, {low:g})?"
        )
    return low, high


def canonical(point: tuple[float, float], bounds: Bounds | None = None) -> Point:
    """The one point that stands for all points of the same model.

    Every alpha gives the same weights at lam = 0, and again at lam = 1: there alpha becomes the
    number nearest 1 within the bounds. All other points stand for themselves.

    Parameters
    ----------
    point : (float, float)
        lam and alpha.
    bounds : Bounds, optional
        The bounds of the search; by default ``Bounds()``.

    Returns
    -------
    Point
        A point with the same weights.

    Examples
    --------
    >>> from weighbridge.search import canonical
    >>> canonical((0, 2.5)), canonical((0.5, 2.5))
    (Point(lam=0.0, alpha=1.0), Point(lam=0.5, alpha=2.5))
    """
    # adding 0.0 turns -0.0 into 0.0
    lam, alpha = float(point[0]) + 0.0, float(point[1]) + 0.0
    if lam in (0.0, 1.0):
        low, high = (Bounds() if bounds is None else bounds).alpha
        alpha = min(max(1.0, low), high) + 0.0
    return Point(lam, alpha)


def named_points(bounds: Bounds | None = None) -> list[Point]:
    """The points every search tries first: ERM, IWERM, RIWERM at 0.8 and AIWERM at 0.5.

    Parameters
    ----------
    bounds : Bounds, optional
        Points outside are left out; by default ``Bounds()``.

    Returns
    -------
    list of Point
        In this order, canonical.

    Examples
    --------
    >>> from weighbridge.search import Bounds, named_points
    >>> [tuple(point) for point in named_points()]
    [(0.0, 1.0), (1.0, 1.0), (0.8, 3.0), (0.5, 1.0)]
    >>> [tuple(point) for point in named_points(Bounds(lam=(0, 0.6)))]
    [(0.0, 1.0), (0.5, 1.0)]
    """
    bounds = Bounds() if bounds is None else bounds
    named = [(0.0, 1.0), (1.0, 1.0), (0.8, 3.0), (0.5, 1.0)]
    points = [canonical(point, bounds) for point in named]
    return [point for point in points if point in bounds]


FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What is known of one candidate.

    Parameters
    ----------
    point : Point
        The candidate.
    losses : array of shape (n_units,) or None
        One loss per unit (a row, or a fold), smaller is better; None if the candidate failed.
    predictions : array or None
        Held-out predictions, for anyone who wants to use them later.
    error : str or None
        Why the candidate failed.
    seconds : float
        Time it took.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.search import Evaluation, Point
    >>> Evaluation(Point(0.0, 1.0), losses=np.array([0.5, 1.5])).failed
    False
    >>> Evaluation(Point(1.0, 1.0), losses=None, error="singular matrix").failed
    True
    """

    point: Point
    losses: FloatArray | None
    predictions: FloatArray | None = None
    error: str | None = None
    seconds: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether there are no losses to compare."""
        return self.losses is None or self.error is not None


class Objective(Protocol):
    """What a search minimises: any object with these attributes and this method.

    Attributes
    ----------
    log_ratio : array of shape (n_samples,)
        Log density ratios of the rows; used only to tell how alike two candidates are.
    unit_weights : array of shape (n_units,)
        How much each unit's loss counts, at least 0, the same for all candidates.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.search import Evaluation, GridSearch
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

    @property
    def log_ratio(self) -> FloatArray:
        """Log density ratios of the rows."""
        ...

    @property
    def unit_weights(self) -> FloatArray:
        """Weight of each unit's loss."""
        ...

    def evaluate(self, points: Sequence[Point]) -> Iterator[Evaluation]:
        """Evaluate the points one after another, in order, each when it is asked for.

        A candidate that fails gives an `Evaluation` with an error; it does not raise.
        """
        ...


# More rows than this are grouped: weights depend on the log ratio only.
MOST_GROUPS = 1024
# Full weights of rows further below the largest are nothing beside it, exp(-60).
HEAVY = 60.0
# Spreads of unit vectors below this are rounding (the root of that of a double).
ROUNDING = 1e-7


def groups(log_ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean log ratio and number of rows of at most `MOST_GROUPS` groups of similar rows."""
    s = np.sort(log_ratio)
    if s.size <= MOST_GROUPS:
        return s, np.ones(s.size)
    finite = s[np.isfinite(s)]  # rows of ratio 0 (-inf) are one group
    half = MOST_GROUPS // 2 - 1
    top = np.linspace(max(finite[0], finite[-1] - HEAVY), finite[-1], half)
    edges = np.concatenate([np.quantile(finite, np.linspace(0, 1, half)), top])
    _, label = np.unique(np.searchsorted(np.unique(edges), finite), return_inverse=True)
    count = np.bincount(label).astype(float)
    centre = np.bincount(label, weights=finite) / count
    zero = s.size - finite.size
    if zero:
        centre, count = np.append(-np.inf, centre), np.append(float(zero), count)
    return centre, count
