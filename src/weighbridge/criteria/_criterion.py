"""What every criterion has in common."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from sklearn.base import BaseEstimator

from weighbridge.geodesic import log_weight
from weighbridge.ratios import effective_sample_size
from weighbridge.search import Evaluation, Point, weighted_mean
from weighbridge.tables import FloatArray
from weighbridge.weighting import mean_one

if TYPE_CHECKING:
    from weighbridge.criteria._rows import RowLoss, SourceRows


# exp(t) is finite and 1 + lam * expm1(t) keeps its digits
_SAFE = 600.0


def candidate_weights(
    log_ratio: FloatArray,
    points: Sequence[tuple[float, float]],
    sample_weight: FloatArray | None = None,
) -> FloatArray:
    """Return one row of weights for each (lam, alpha), scaled to mean 1 under `sample_weight`."""
    weights = np.empty((len(points), log_ratio.size))
    by_alpha: dict[float, list[int]] = {}
    for index, (_, alpha) in enumerate(points):
        by_alpha.setdefault(alpha, []).append(index)
    low, high = log_ratio.min(), log_ratio.max()
    for alpha, indices in by_alpha.items():
        k = (1 - alpha) / 2
        lam = np.array([points[index][0] for index in indices])
        simple = max(abs(low), abs(high)) < (_SAFE / abs(k) if k else np.inf)
        if not (simple and ((lam >= 0) & (lam <= 1)).all()):
            rows = log_weight(log_ratio, lam[:, None], alpha)
        elif k == 0:
            rows = lam[:, None] * log_ratio
        else:
            rows = np.where(lam[:, None] == 1, log_ratio, 0.0)
            lower, upper = (lam > 0) & (lam <= 0.5), (lam > 0.5) & (lam < 1)
            rows[lower] = np.log1p(lam[lower, None] * np.expm1(k * log_ratio)) / k
            rest = 1 - lam[upper, None]
            rows[upper] = log_ratio + np.log1p(rest * np.expm1(-k * log_ratio)) / k
        weights[indices] = _mean_one_rows(rows, sample_weight)  # while they are in the cache
    return weights


def _mean_one_rows(log_weights: FloatArray, sample_weight: FloatArray | None) -> FloatArray:
    """Turn rows of log weights, in place, into weights of mean 1 under `sample_weight`."""
    top = log_weights.max(axis=1, keepdims=True)
    if not (np.abs(top) < _SAFE).all():  # else nothing overflows, and not all is lost
        log_weights -= top
    weights = np.exp(log_weights, out=log_weights)
    if sample_weight is None:
        weights /= weights.mean(axis=1, keepdims=True)
    else:
        weights /= (weights @ sample_weight / sample_weight.sum())[:, None]
    return weights


class Tempered(BaseEstimator):  # type: ignore[misc, unused-ignore]
    """The power of the ratio that leaves at least a given number of effective rows.

    ``r ** q`` with the largest ``q <= 1`` for which the effective sample size of the source rows
    reaches `ess`: the ratio where it is tame, no weights where even a small power leaves too few.

    Parameters
    ----------
    ess : float, default=20.0
        Effective number of rows; half of all rows where there are fewer than twice as many.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.criteria import Tempered
    >>> log_ratio = np.linspace(-20, 20, 200)
    >>> weights = np.exp(Tempered(ess=20)(log_ratio))
    >>> float((weights.sum() ** 2 / (weights**2).sum()).round(6))
    20.0
    """

    def __init__(self, ess: float = 20.0) -> None:
        self.ess = ess

    def __call__(self, log_ratio: Any) -> np.ndarray:
        """Return the log weights at the log ratios of the whole source sample."""
        if not self.ess >= 1:
            raise ValueError(f"Got ess={self.ess!r}, but expected at least 1 row.")
        log_ratio = np.asarray(log_ratio, dtype=float)
        wanted = min(float(self.ess), log_ratio.size / 2)
        top = log_ratio.max()
        low = np.maximum(log_ratio - top, -1e6)  # a ratio of 0 stays next to nothing

        def excess(power: float) -> float:
            return float(effective_sample_size(np.exp(power * low)) - wanted)

        if excess(1.0) >= 0:
            return np.asarray(log_ratio)
        power = 0.0 if excess(0.0) <= 0 else float(brentq(excess, 0.0, 1.0, xtol=1e-14))
        return np.asarray(power * low)


# Weights of as many candidates as fit into so many numbers are formed together.
_NUMBERS = 4_000_000


class Outcome(NamedTuple):
    """Losses and held-out predictions of one candidate, or why there are none."""

    losses: FloatArray | None = None
    predictions: FloatArray | None = None
    error: str | None = None
    seconds: float = 0.0


class CandidateObjective(ABC):
    """Scores weightings of fixed rows; what a search minimises."""

    def __init__(self, rows: SourceRows) -> None:
        self.rows = rows
        self._done: dict[Point, Evaluation] = {}

    @property
    def log_ratio(self) -> FloatArray:
        """Log ratios of the rows, of which every weight is made."""
        return self.rows.log_ratio

    @property
    @abstractmethod
    def unit_weights(self) -> FloatArray:
        """What each loss counts."""

    @abstractmethod
    def outcomes(self, weights: FloatArray) -> Iterator[Outcome]:
        """Score each row of `weights`, lazily and in order; a failure is recorded, not raised."""

    @property
    def held_rows(self) -> npt.NDArray[np.intp]:
        """Numbers of the rows that predictions are held out for, in their order."""
        return np.arange(self.log_ratio.size)

    # whether a candidate more costs next to nothing, because all are solved together
    solved_together = False

    @property
    def row_loss(self) -> RowLoss | None:
        """What a held-out prediction of a row costs; None where a value is no mean over rows."""
        return None

    def predictions(self, evaluations: Sequence[Evaluation]) -> FloatArray:
        """Held-out predictions of evaluated candidates, one row each."""
        kept = [evaluation.predictions for evaluation in evaluations]
        if any(each is None for each in kept):
            raise ValueError(
                "Got a candidate without held-out predictions: there are none where the metric is "
                "not a mean over rows, for an information criterion, and after a failure."
            )
        return np.stack([np.asarray(each) for each in kept])

    def evaluate(self, points: Sequence[Point]) -> Iterator[Evaluation]:
        """Score candidates in the order given, lazily, none of them twice."""
        missing = [each for each in dict.fromkeys(points) if each not in self._done]
        fresh = self._evaluate(missing)
        for point in points:
            if point not in self._done:
                self._done[point] = next(fresh)
            yield self._done[point]

    def _evaluate(self, points: Sequence[Point]) -> Iterator[Evaluation]:
        size = max(1, _NUMBERS // self.log_ratio.size)
        for start in range(0, len(points), size):
            block = points[start : start + size]
            begun = time.perf_counter()
            weights = candidate_weights(self.log_ratio, block, self.rows.sample_weight)
            share = (time.perf_counter() - begun) / len(block)
            for point, outcome in zip(block, self.outcomes(weights), strict=True):
                seconds = outcome.seconds + share
                yield Evaluation(point, *outcome[:3], seconds)


@dataclass(frozen=True)
class Scores:
    """What a criterion says about one candidate; lower is better.

    Parameters
    ----------
    losses : ndarray of shape (n_units,)
        One loss for each row, or for each fold where the metric is not a mean over rows.
    weights : ndarray of shape (n_units,)
        How much each of them counts.
    predictions : ndarray, optional
        The held-out predictions behind the losses.
    penalties : ndarray of shape (n_units,), optional
        The part of the losses that `information_criterion` has added to them.

    Examples
    --------
    Two candidates are compared in pairs, unit by unit:

    >>> import numpy as np
    >>> from weighbridge.criteria import Scores
    >>> first = Scores(np.array([1.0, 2.0, 3.0]), np.ones(3))
    >>> second = Scores(np.array([1.1, 2.2, 3.3]), np.ones(3))
    >>> round(first.value, 6), round(first.standard_error, 6)
    (2.0, 0.57735)
    >>> difference = first - second
    >>> round(difference.value, 6), round(difference.standard_error, 6)
    (-0.2, 0.057735)
    """

    losses: FloatArray
    weights: FloatArray
    predictions: FloatArray | None = None
    penalties: FloatArray | None = None

    @property
    def value(self) -> float:
        """Weighted mean of the losses."""
        return weighted_mean(self.losses, self.weights).value

    @property
    def standard_error(self) -> float:
        """Standard error of the weighted mean."""
        return weighted_mean(self.losses, self.weights).standard_error

    @property
    def effective_parameters(self) -> float:
        """``tr(J H^-1)`` of an information criterion; 0 elsewhere."""
        return 0.0 if self.penalties is None else float(self.weights @ self.penalties)

    @property
    def penalty(self) -> float:
        """Part of the value that is penalty, ``tr(J H^-1) / n``; the rest is the mean loss."""
        return self.effective_parameters / float(self.weights.sum())

    def __sub__(self, other: Scores) -> Scores:
        if not np.array_equal(self.weights, other.weights):
            raise ValueError(
                "Got scores with other units or other weights; only scores of one criterion on the "
                "same rows can be compared in pairs."
            )
        return Scores(self.losses - other.losses, self.weights)


class Criterion(BaseEstimator, ABC):  # type: ignore[misc, unused-ignore]
    """Abstract: an estimate of the loss on the target, from labelled source rows.

    A criterion is called for one weighting; a search takes its `objective`, which scores many.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.criteria import LeaveOneOut
    >>> from weighbridge.datasets import make_cubic
    >>> from weighbridge.search import GridSearch
    >>> data = make_cubic(random_state=0)
    >>> objective = LeaveOneOut().objective(LinearRegression(), data.X, data.y, data.log_ratio)
    >>> GridSearch(lam=5, alpha=2)(objective).best.lam > 0
    True
    """

    @abstractmethod
    def objective(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        log_ratio: Any,
        sample_weight: Any = None,
        *,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> CandidateObjective:
        """Prepare to score weightings of these rows.

        Parameters
        ----------
        estimator : estimator
            What is to be fitted; it is left as it is.
        X, y : array-like
            Labelled source rows.
        log_ratio : array of shape (n_samples,)
            Log density ratios at the rows.
        sample_weight : array of shape (n_samples,), optional
            Your weights for the rows; they multiply the weights in fitting and in validation.
        n_jobs : int, optional
            Fits run in parallel, by joblib.
        random_state : int, RandomState instance or None
            Seed for the folds, where the criterion does not set one.

        Returns
        -------
        CandidateObjective
            What a search of `weighbridge.search` minimises.
        """

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        log_ratio: Any,
        log_weight: Any,
        sample_weight: Any = None,
    ) -> Scores:
        """Score one weighting."""
        objective = self.objective(estimator, X, y, log_ratio, sample_weight)
        rows = objective.rows
        log_weight = np.array(log_weight, dtype=float)
        if log_weight.shape != np.shape(log_ratio):
            raise ValueError(
                f"Got log_weight of shape {log_weight.shape} for {np.size(log_ratio)} log ratios; "
                "there must be one for each row."
            )
        kept = log_weight if rows.kept is None else log_weight[rows.kept]
        weights = mean_one(kept, rows.sample_weight)[None]
        outcome = next(iter(objective.outcomes(weights)))
        if outcome.losses is None:
            raise ValueError(f"This weighting cannot be scored. {outcome.error}")
        return Scores(outcome.losses, objective.unit_weights, outcome.predictions)
