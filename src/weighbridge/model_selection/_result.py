"""Evaluated weightings, with the uncertainty of every comparison."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import norm

from weighbridge.model_selection._points import Point

# Rows of the printed table, besides ERM and IWERM.
PRINTED_ROWS = 5


@dataclass(frozen=True, eq=False)
class Scores:
    """Losses of one weighting, or differences of two; lower is better.

    Parameters
    ----------
    losses : ndarray of shape (n_units,)
        One loss for each row, or for each fold if the metric is not a mean over rows.
    weights : ndarray of shape (n_units,)
        Weight of each loss in the mean.
    penalties : ndarray of shape (n_units,), optional
        The part of the losses that `information_criterion` has added to them.

    Notes
    -----
    The mean is ``D = sum(u d) / sum(u)``. Its variance is ``n / (n - 1) sum(u^2 (d - D)^2) /
    sum(u)^2`` over the n units with ``u > 0``.

    Examples
    --------
    Two candidates are compared in pairs, unit by unit:

    >>> import numpy as np
    >>> from weighbridge.model_selection import Scores
    >>> first = Scores(np.array([1.0, 2.0, 3.0]), np.ones(3))
    >>> difference = first - Scores(np.array([1.1, 2.2, 3.3]), np.ones(3))
    >>> round(difference.value, 6), round(difference.standard_error, 6)
    (-0.2, 0.057735)
    """

    losses: np.ndarray
    weights: np.ndarray
    penalties: np.ndarray | None = None

    def _shares(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the losses with positive weight, and their shares of the total weight."""
        used = self.weights > 0
        shares = self.weights[used] / self.weights[used].max()  # Sums must not overflow.
        return self.losses[used], shares / shares.sum()

    @property
    def value(self) -> float:
        """Weighted mean of the losses."""
        losses, shares = self._shares()
        return float(losses @ shares)

    @property
    def standard_error(self) -> float:
        """Standard error of the weighted mean; NaN for fewer than two units."""
        losses, shares = self._shares()
        n = shares.size
        if n < 2:
            return float("nan")
        # BLAS scales before it squares, so that large losses do not overflow.
        return float(
            np.sqrt(n / (n - 1)) * norm(shares * (losses - self.value), check_finite=False)
        )

    @property
    def effective_parameters(self) -> float:
        """``tr(J H^-1)`` of an information criterion; 0 for other criteria."""
        return 0.0 if self.penalties is None else float(self.weights @ self.penalties)

    @property
    def penalty(self) -> float:
        """Part of the value that is penalty, ``tr(J H^-1) / n``; the rest is the mean loss."""
        return self.effective_parameters / float(self.weights.sum())

    def __sub__(self, other: Scores) -> Scores:
        if not np.array_equal(self.weights, other.weights):
            raise ValueError(
                "Got scores with other units or other weights. Only scores of one criterion on the "
                "same rows can be compared in pairs."
            )
        return Scores(self.losses - other.losses, self.weights)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The losses of one candidate.

    Parameters
    ----------
    point : Point
        The candidate.
    losses : array of shape (n_units,) or None
        One loss per unit (a row, or a fold), smaller is better; None if the candidate failed.
    error : str or None
        Why the candidate failed.

    Examples
    --------
    >>> from weighbridge.model_selection import Evaluation, Point
    >>> Evaluation(Point(1.0, 1.0), losses=None, error="singular matrix").failed
    True
    """

    point: Point
    losses: np.ndarray | None
    error: str | None = None

    @property
    def failed(self) -> bool:
        """Whether there are no losses to compare."""
        return self.losses is None


@dataclass(frozen=True, eq=False, repr=False)
class SearchResult:
    """The evaluated candidates, the best of them, and those that are not significantly worse.

    Parameters
    ----------
    evaluations : tuple of Evaluation
        In order of evaluation.
    unit_weights : array of shape (n_units,)
        Weight of each unit's loss.
    converged : bool
        Whether the search ended before all evaluations because it expected no more improvement.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.model_selection import Evaluation, Point, SearchResult
    >>> plain = Evaluation(Point(0.0, 1.0), np.array([3.0, 1.0, 2.0]))
    >>> full = Evaluation(Point(1.0, 1.0), np.array([2.0, 1.0, 1.5]))
    >>> result = SearchResult((plain, full), unit_weights=np.ones(3))
    >>> result.values, result.best
    (array([2. , 1.5]), Point(lam=1.0, alpha=1.0))
    >>> gain = result.difference(0, 1)  # the units are the same: their own variation cancels
    >>> round(gain.value, 6), round(gain.standard_error, 6)
    (0.5, 0.288675)
    >>> result.not_worse(z=1.0), result.not_worse(z=2.0)
    (array([False,  True]), array([ True,  True]))
    """

    evaluations: tuple[Evaluation, ...]
    unit_weights: np.ndarray
    converged: bool = False

    @cached_property
    def points(self) -> np.ndarray:
        """Every candidate's lam and alpha, of shape (n_candidates, 2)."""
        return np.array([evaluation.point for evaluation in self.evaluations], dtype=float)

    @cached_property
    def values(self) -> np.ndarray:
        """Weighted mean loss of every candidate; NaN if it failed."""
        return np.array([scores.value for scores in self._scores])

    @cached_property
    def standard_errors(self) -> np.ndarray:
        """Standard error of every value by itself; that of a `difference` is usually smaller."""
        return np.array([scores.standard_error for scores in self._scores])

    @property
    def failures(self) -> list[tuple[Point, str]]:
        """The candidates that failed, with the messages."""
        failed = [evaluation for evaluation in self.evaluations if evaluation.failed]
        return [(evaluation.point, str(evaluation.error)) for evaluation in failed]

    @cached_property
    def best_index(self) -> int:
        """Index of the smallest value. If there is a tie, the smallest lam is the best."""
        if np.isnan(self.values).all():
            raise ValueError(
                f"Got no candidate with a value among {len(self.evaluations)}, so none is the "
                "best. See `failures`."
            )
        lam, alpha = self.points.T
        return int(np.lexsort((alpha, lam, self.values))[0])  # NaN comes last

    @property
    def best(self) -> Point:
        """The candidate with the smallest value."""
        return self.evaluations[self.best_index].point

    def index_of(self, point: tuple[float, float]) -> int:
        """Return the index of a candidate (lam, alpha). Alpha is ignored if lam is 0 or 1."""
        lam, alpha = point
        same = (self.points[:, 0] == lam) & ((self.points[:, 1] == alpha) | (lam in (0, 1)))
        if not same.any():
            raise ValueError(
                f"Got lam={lam}, alpha={alpha}, which is not among the {len(self.evaluations)} "
                "candidates. `points` lists them."
            )
        return int(same.argmax())

    def difference(self, first: int, second: int) -> Scores:
        """Return the losses of one candidate minus those of another, paired by unit.

        Parameters
        ----------
        first, second : int
            Indices of two candidates that did not fail.

        Returns
        -------
        Scores
            With ``value`` (below 0 if the first candidate is better) and ``standard_error``.
        """
        for index in (first, second):
            evaluation = self.evaluations[index]
            if evaluation.failed:
                raise ValueError(
                    f"Got candidate {index}, {evaluation.point}, which failed ({evaluation.error}) "
                    "and has no losses to compare. Choose one whose value is not NaN."
                )
        return self._scores[first] - self._scores[second]

    def not_worse(self, z: float = 1.0) -> NDArray[np.bool_]:
        """Return which candidates are not significantly worse than the best.

        Parameters
        ----------
        z : float, default=1.0
            The largest difference from the best, in standard errors of that difference.

        Returns
        -------
        array of bool, of shape (n_candidates,)
            True for the best itself, False for those that failed.
        """
        similar = np.isfinite(self.values)
        for index in np.flatnonzero(similar).tolist():
            difference = self.difference(index, self.best_index)
            # A tie counts even if a single unit leaves the standard error unknown.
            similar[index] = difference.value <= 0 or (
                difference.value <= z * difference.standard_error
            )
        return similar

    @cached_property
    def _scores(self) -> list[Scores]:
        """Return the scores of every candidate, NaN if it failed."""
        unknown = np.full(self.unit_weights.size, np.nan)
        losses = [evaluation.losses for evaluation in self.evaluations]
        return [Scores(unknown if row is None else row, self.unit_weights) for row in losses]

    def __repr__(self) -> str:
        """Return a table of the best candidates, ERM and IWERM."""
        lines = [f"{'lam':>7} {'alpha':>7} {'value':>12} {'std. error':>12}"]
        order = np.argsort(self.values, kind="stable").tolist()
        ends = np.flatnonzero(np.isin(self.points[:, 0], (0, 1))).tolist()
        for index in dict.fromkeys(order[:PRINTED_ROWS] + ends):
            lam, alpha = self.evaluations[index].point
            remarks = [name for end, name in ((0, "ERM"), (1, "IWERM")) if lam == end]
            if self.evaluations[index].failed:
                remarks.append("failed")
            elif index == self.best_index:
                remarks.append("best")
            numbers = f"{self.values[index]:12.6g} {self.standard_errors[index]:12.3g}"
            lines.append(f"{lam:7.4g} {alpha:7.4g} {numbers}  {', '.join(remarks)}".rstrip())
        number, n_failed = len(self.evaluations), len(self.failures)
        summary = f"{number} evaluation{'' if number == 1 else 's'}"
        summary += f", {n_failed} failed" if n_failed else ""
        return "\n".join([*lines, summary + ", no more expected" * self.converged])
