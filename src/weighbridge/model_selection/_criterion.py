"""What all criteria share: one objective, which scores a list of weightings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from weighbridge.model_selection._losses import RowLoss
from weighbridge.model_selection._points import Point
from weighbridge.model_selection._result import Evaluation, Scores
from weighbridge.model_selection._rows import SourceRows, source_rows
from weighbridge.weighting import Geodesic, mean_one

# Losses and held-out predictions, or why there are none.
Outcome: TypeAlias = tuple[np.ndarray, np.ndarray | None] | str
Seed: TypeAlias = int | np.random.RandomState | None


class Validator(ABC):
    """Abstract: scores fits under given weights, by folds or by a closed form."""

    # Loss of a single row; None if a value is no mean over rows.
    row_loss: RowLoss | None = None
    # Whether one more candidate costs little beside the first.
    is_closed_form = False

    def __init__(self, rows: SourceRows) -> None:
        self.rows = rows

    @property
    def held_out(self) -> NDArray[np.intp]:
        """Numbers of the rows that have held-out predictions, in their order."""
        return np.arange(self.rows.log_ratio.size)

    @property
    def unit_weights(self) -> np.ndarray:
        """Weight of each loss."""
        return self.rows.unit_weights[self.held_out]

    def check_metric(self, model: BaseEstimator) -> None:  # noqa: B027 - closed forms have none
        """Raise TypeError if the metric takes no weights. `model` is fitted."""

    @abstractmethod
    def outcomes(self, weights: Iterable[np.ndarray]) -> Iterator[Outcome]:
        """Score each of the weights, lazily and in order; return failures as text."""


class ClosedForm(Validator):
    """Abstract: scores one fit after another by a formula."""

    is_closed_form = True

    def outcomes(self, weights: Iterable[np.ndarray]) -> Iterator[Outcome]:
        """Score each of the weights, lazily and in order; return failures as text."""
        for row in weights:
            try:
                yield self.score(self.rows.fit_weights(row))
            except (ValueError, np.linalg.LinAlgError) as error:
                yield f"{type(error).__name__}: {error}"

    @abstractmethod
    def score(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return losses and held-out predictions of a fit with `weights`."""


class WeightingObjective:
    """Scores weightings of fixed rows; what a search minimises."""

    def __init__(self, validator: Validator) -> None:
        self.validator, self.rows = validator, validator.rows
        self.log_ratio, self.unit_weights = self.rows.log_ratio, validator.unit_weights
        self._done: dict[Point, Evaluation] = {}

    def evaluate(self, points: Sequence[Point]) -> Iterator[Evaluation]:
        """Score candidates in the order given, lazily, each once."""
        missing = [point for point in dict.fromkeys(points) if point not in self._done]
        weights = (
            mean_one(Geodesic(*point)(self.log_ratio), self.rows.sample_weight) for point in missing
        )
        outcomes = self.validator.outcomes(weights)
        for point in points:
            if point not in self._done:
                outcome = next(outcomes)
                losses, predictions = (None, None) if isinstance(outcome, str) else outcome
                error = outcome if isinstance(outcome, str) else None
                self._done[point] = Evaluation(point, losses, predictions, error)
            yield self._done[point]


class Criterion(BaseEstimator, ABC):  # type: ignore[misc, unused-ignore]
    """Abstract: an estimate of the loss on the target, from labelled source rows.

    A criterion is called for one weighting. A search takes its `objective`, which scores many.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.datasets import make_cubic
    >>> from weighbridge.model_selection import GridSearch, LeaveOneOut
    >>> data = make_cubic(random_state=0)
    >>> objective = LeaveOneOut().objective(LinearRegression(), data.X, data.y, data.log_ratio)
    >>> GridSearch(lam=5, alpha=2)(objective).best.lam > 0
    True
    """

    # Weighting of the validation losses; None for RIWERM(0.9).
    validation: BaseEstimator | None = None

    def objective(
        self,
        estimator: BaseEstimator,
        X: Any,
        y: ArrayLike,
        log_ratio: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> WeightingObjective:
        """Prepare to score weightings of these rows.

        Parameters
        ----------
        estimator : estimator
            The estimator to fit; it is left unchanged.
        X, y : array-like
            Labelled source rows.
        log_ratio : array of shape (n_samples,)
            Log density ratios at the rows.
        sample_weight : array of shape (n_samples,), optional
            Your weights for the rows. They multiply the weights in fitting and in validation.
        n_jobs : int, optional
            Number of parallel fits, by joblib. A closed form has no use for it.
        random_state : int, RandomState instance or None
            Seed for the folds, if the criterion does not set one.

        Returns
        -------
        WeightingObjective
            The objective of a search.
        """
        rows = source_rows(estimator, X, y, log_ratio, sample_weight, self.validation)
        return WeightingObjective(self._validator(estimator, rows, n_jobs, random_state))

    @abstractmethod
    def _validator(
        self, estimator: BaseEstimator, rows: SourceRows, n_jobs: int | None, seed: Seed
    ) -> Validator:
        """Prepare folds or a closed form for checked rows."""

    def __call__(
        self,
        estimator: BaseEstimator,
        X: Any,
        y: ArrayLike,
        log_ratio: ArrayLike,
        log_weight: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> Scores:
        """Score one weighting."""
        validator = self.objective(estimator, X, y, log_ratio, sample_weight).validator
        rows, log_weight = validator.rows, np.array(log_weight, dtype=float)
        if log_weight.shape != np.shape(log_ratio):
            raise ValueError(
                f"Got log_weight of shape {log_weight.shape} for {np.size(log_ratio)} log ratios. "
                "There must be one for each row."
            )
        used = log_weight if rows.numbers is None else log_weight[rows.numbers]
        outcome = next(validator.outcomes([mean_one(used, rows.sample_weight)]))
        if isinstance(outcome, str):
            raise ValueError(f"This weighting cannot be scored. {outcome}")
        losses, predictions = outcome
        return Scores(losses, validator.unit_weights, predictions)
