"""What a search found, with the uncertainty of every comparison."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import norm

from weighbridge.search._point import Evaluation, FloatArray, Point

# Rows of the printed table, besides ERM and IWERM.
SHOWN = 5


class Difference(NamedTuple):
    """A difference of two candidates' values, and its standard error.

    Parameters
    ----------
    value : float
        Mean difference; below 0, the first candidate is better.
    standard_error : float
        Of that mean, over the units; NaN with fewer than two of them.

    Examples
    --------
    >>> from weighbridge.search import Difference
    >>> Difference(value=-0.2, standard_error=0.1).value
    -0.2
    """

    value: float
    standard_error: float


@dataclass(frozen=True, eq=False, repr=False)
class SearchResult:
    """The evaluated candidates, the best of them, and which cannot be told apart from it.

    Parameters
    ----------
    evaluations : tuple of Evaluation
        In order of evaluation.
    unit_weights : array of shape (n_units,)
        How much each unit's loss counts.
    converged : bool
        Whether the search ended before all evaluations because it expected no more improvement.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.search import Evaluation, Point, SearchResult
    >>> result = SearchResult(
    ...     (
    ...         Evaluation(Point(0.0, 1.0), np.array([3.0, 1.0, 2.0])),
    ...         Evaluation(Point(1.0, 1.0), np.array([2.0, 1.0, 1.5])),
    ...     ),
    ...     unit_weights=np.ones(3),
    ... )
    >>> result.values, result.best
    (array([2. , 1.5]), Point(lam=1.0, alpha=1.0))
    >>> result.difference(0, 1)  # the units are the same: their own variation cancels
    Difference(value=0.5, standard_error=0.28867513459481287)
    >>> result.not_worse(z=1.0), result.not_worse(z=2.0)
    (array([False,  True]), array([ True,  True]))
    """

    evaluations: tuple[Evaluation, ...]
    unit_weights: FloatArray
    converged: bool = False

    @cached_property
    def points(self) -> FloatArray:
        """Every candidate's lam and alpha, of shape (n_candidates, 2)."""
        points = [evaluation.point for evaluation in self.evaluations]
        return np.array(points, dtype=float).reshape(-1, 2)

    @cached_property
    def values(self) -> FloatArray:
        """Weighted mean loss of every candidate; NaN where it failed."""
        used, share = unit_shares(self.unit_weights)
        # a surface has hundreds of candidates: the shares are formed once
        if used.all():
            return self._of_all(lambda losses: losses @ share)
        return self._of_all(lambda losses: losses[used] @ share)

    @cached_property
    def standard_errors(self) -> FloatArray:
        """Standard error of every value by itself; that of a `difference` is usually smaller."""
        return self._of_all(lambda losses: weighted_mean(losses, self.unit_weights).standard_error)

    @cached_property
    def seconds(self) -> FloatArray:
        """Time that every candidate took."""
        return np.array([evaluation.seconds for evaluation in self.evaluations], dtype=float)

    @property
    def failures(self) -> list[tuple[Point, str]]:
        """The candidates that failed, each with its message."""
        return [(each.point, str(each.error)) for each in self.evaluations if each.failed]

    @cached_property
    def best_index(self) -> int:
        """Index of the smallest value; of equal ones, the one with the smallest lam."""
        if np.isnan(self.values).all():
            raise ValueError(
                f"Got no candidate with a value among {len(self.evaluations)}, so none is the "
                "best; see `failures`."
            )
        lam, alpha = self.points.T
        return int(np.lexsort((alpha, lam, self.values))[0])  # NaN comes last

    @property
    def best(self) -> Point:
        """The candidate with the smallest value."""
        return self.evaluations[self.best_index].point

    @property
    def best_so_far(self) -> FloatArray:
        """Smallest value up to each evaluation; NaN before the first success."""
        return np.fmin.accumulate(self.values)

    def index_of(self, point: tuple[float, float]) -> int:
        """Index of a candidate; lam = 0 and lam = 1 are found whatever their alpha.

        Parameters
        ----------
        point : (float, float)
            lam and alpha.

        Returns
        -------
        int
            Its place among the evaluations.
        """
        lam, alpha = point
        for index, evaluation in enumerate(self.evaluations):
            same = evaluation.point.lam == lam
            if same and (lam in (0, 1) or evaluation.point.alpha == alpha):
                return index
        raise ValueError(
            f"Got lam={lam}, alpha={alpha}, which is not among the {len(self.evaluations)} "
            "candidates; `points` lists them."
        )

    def difference(self, first: int, second: int) -> Difference:
        """Mean difference of two candidates, paired by unit, with its standard error.

        Parameters
        ----------
        first, second : int
            Indices of two candidates that did not fail.

        Returns
        -------
        Difference
            ``D = sum(u * d) / sum(u)`` for the differences ``d`` of their losses; its variance is
            ``n / (n - 1) * sum(u**2 (d - D)**2) / sum(u)**2`` over the n units with ``u > 0``.
        """
        return weighted_mean(self._losses(first) - self._losses(second), self.unit_weights)

    def not_worse(self, z: float = 1.0) -> NDArray[np.bool_]:
        """Which candidates cannot be told apart from the best.

        Parameters
        ----------
        z : float, default=1.0
            A candidate is one of them if its difference from the best is at most this many
            standard errors of that difference.

        Returns
        -------
        array of bool, of shape (n_candidates,)
            True for the best itself, False for those that failed.
        """
        best = self.best_index
        chosen = [
            not each.failed and _within(self.difference(index, best), z)
            for index, each in enumerate(self.evaluations)
        ]
        return np.array(chosen, dtype=bool)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, without those of single units, in a form that JSON can hold.

        Returns
        -------
        dict
            points, values, standard_errors, seconds, failures, best and converged; None for NaN.
        """
        return {
            "points": self.points.tolist(),
            "values": _without_nan(self.values),
            "standard_errors": _without_nan(self.standard_errors),
            "seconds": self.seconds.tolist(),
            "failures": [
                {"lam": point.lam, "alpha": point.alpha, "message": message}
                for point, message in self.failures
            ],
            "best": None if np.isnan(self.values).all() else self.best._asdict(),
            "converged": self.converged,
        }

    def __repr__(self) -> str:
        number = len(self.evaluations)
        if np.isnan(self.values).all():
            return f"<SearchResult of {number} failed evaluations>"
        lam, alpha = self.best
        best = f"lam={lam:g}, alpha={alpha:g}, value {self.values[self.best_index]:.6g}"
        return f"<SearchResult of {number} evaluations, best {best}>"

    def __str__(self) -> str:
        lines = [f"{'lam':>7} {'alpha':>7} {'value':>12} {'std. error':>12}"]
        ends = [index for index, lam in enumerate(self.points[:, 0]) if lam in (0, 1)]
        order = np.argsort(self.values, kind="stable").tolist()
        for index in list(dict.fromkeys(order[:SHOWN] + ends)):
            lam, alpha = self.points[index]
            numbers = f"{self.values[index]:12.6g} {self.standard_errors[index]:12.3g}"
            lines.append(f"{lam:7.4g} {alpha:7.4g} {numbers}  {self._remark(index)}".rstrip())
        failed = f", {len(self.failures)} failed" if self.failures else ""
        number = len(self.evaluations)
        lines.append(f"{number} evaluation{'' if number == 1 else 's'}{failed}")
        return "\n".join(lines) + (", no more expected" if self.converged else "")

    def _remark(self, index: int) -> str:
        name = {0.0: "ERM", 1.0: "IWERM"}.get(float(self.points[index, 0]), "")
        mark = "failed" if self.evaluations[index].failed else ""
        mark = "best" if not mark and index == self.best_index else mark
        return ", ".join(part for part in (name, mark) if part)

    def _losses(self, index: int) -> FloatArray:
        evaluation = self.evaluations[index]
        if evaluation.losses is None or evaluation.failed:
            raise ValueError(
                f"Got candidate {index}, {evaluation.point}, which failed ({evaluation.error}) and "
                "has no losses to compare; choose one whose value is not NaN."
            )
        return evaluation.losses

    def _of_all(self, statistic: Any) -> FloatArray:
        return np.array(
            [np.nan if each.failed else statistic(each.losses) for each in self.evaluations],
            dtype=float,
        )


def unit_shares(unit_weights: FloatArray) -> tuple[NDArray[np.bool_], FloatArray]:
    """Return which units count, and their shares of the total."""
    used = unit_weights > 0
    share = unit_weights[used] / unit_weights[used].max()  # sums of large weights must not overflow
    return used, share / share.sum()


def weighted_mean(losses: FloatArray, unit_weights: FloatArray) -> Difference:
    """Weighted mean over the units that count, and its standard error."""
    used, share = unit_shares(unit_weights)
    part = losses[used]
    mean = float(part @ share)
    n = part.size
    if n < 2:
        return Difference(mean, float("nan"))
    # BLAS scales before it squares: no overflow
    return Difference(mean, float(np.sqrt(n / (n - 1)) * norm(share * (part - mean))))


def _within(difference: Difference, z: float) -> bool:
    # a difference of 0 counts even where the standard error is unknown (a single unit)
    value, error = difference
    return value <= 0 or value <= z * error


def _without_nan(values: FloatArray) -> list[float | None]:
    return [None if np.isnan(value) else value for value in values.tolist()]
