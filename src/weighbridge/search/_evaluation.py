"""What a search asks, and what it is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from weighbridge.search._point import Point

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
        Held-out predictions, for who wants to use them later.
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
    fingerprint : str
        Identifies data, estimator and criterion: what is stored under one fingerprint is never
        used for another.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.search import Evaluation, GridSearch
    >>> class Parabola:  # best at lam = 0.3, whatever alpha is
    ...     log_ratio = np.linspace(-1, 1, 20)
    ...     unit_weights = np.ones(1)
    ...     fingerprint = "parabola"
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

    @property
    def fingerprint(self) -> str:
        """Identifies data, estimator and criterion."""
        ...

    def evaluate(self, points: Sequence[Point]) -> Iterator[Evaluation]:
        """Evaluate the points one after another, in order, each when it is asked for.

        A candidate that fails gives an `Evaluation` with an error; it does not raise.
        """
        ...
