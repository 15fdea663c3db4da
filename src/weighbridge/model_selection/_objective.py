"""What all criteria share: the objective that scores weightings of fixed rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from weighbridge.model_selection._points import Point
from weighbridge.model_selection._result import Evaluation, Scores
from weighbridge.model_selection._rows import SourceRows, source_rows
from weighbridge.weighting import Geodesic, mean_one

# The losses of the units, or the error message.
Outcome: TypeAlias = np.ndarray | str
Seed: TypeAlias = int | np.random.RandomState | None


class WeightingObjective(ABC):
    """Abstract: scores weightings of fixed rows; what a search minimises."""

    def __init__(self, rows: SourceRows, unit_weights: np.ndarray) -> None:
        self.rows, self.log_ratio, self.unit_weights = rows, rows.log_ratio, unit_weights

    def evaluate(self, points: Sequence[Point]) -> Iterator[Evaluation]:
        """Score candidates in the order given, lazily."""
        counts = self.rows.sample_weight
        weights = (mean_one(Geodesic(*point)(self.log_ratio), counts) for point in points)
        for point, outcome in zip(points, self.outcomes(weights), strict=True):
            if isinstance(outcome, str):
                yield Evaluation(point, None, outcome)
            else:
                yield Evaluation(point, outcome)

    @abstractmethod
    def outcomes(self, weights: Iterable[np.ndarray]) -> Iterator[Outcome]:
        """Score each of the weights, lazily and in order; return failures as text."""


class ClosedForm(WeightingObjective):
    """Abstract: scores one fit after another by a formula."""

    def outcomes(self, weights: Iterable[np.ndarray]) -> Iterator[Outcome]:
        """Score each of the weights, lazily and in order; return failures as text."""
        for row in weights:
            try:
                yield self.losses(self.rows.fit_weights(row))
            except (ValueError, np.linalg.LinAlgError) as error:
                yield f"{type(error).__name__}: {error}"

    @abstractmethod
    def losses(self, weights: np.ndarray) -> np.ndarray:
        """Return the losses of a fit with `weights`."""


class Criterion(BaseEstimator, ABC):  # type: ignore[misc, unused-ignore]
    """Abstract: an estimate of the loss on the target, from labelled source rows.

    A criterion is called for one weighting. A search takes its `objective`, which scores many.

    Examples
    --------
    >>> from weighbridge.model_selection import Criterion, CrossValidation, InformationCriterion
    >>> issubclass(CrossValidation, Criterion), issubclass(InformationCriterion, Criterion)
    (True, True)
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
        """Prepare to score weightings of labelled source rows.

        Parameters
        ----------
        estimator : estimator
            The estimator to fit; it is left unchanged.
        X, y, log_ratio : array-like
            The rows, their labels, and the log density ratios there.
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
        return self._objective(estimator, rows, n_jobs, random_state)

    @abstractmethod
    def _objective(
        self, estimator: BaseEstimator, rows: SourceRows, n_jobs: int | None, seed: Seed
    ) -> WeightingObjective:
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
        objective = self.objective(estimator, X, y, log_ratio, sample_weight)
        rows, log_weight = objective.rows, np.array(log_weight, dtype=float)
        if log_weight.shape != np.shape(log_ratio):
            raise ValueError(
                f"Got log_weight of shape {log_weight.shape} for {np.size(log_ratio)} log ratios. "
                "There must be one for each row."
            )
        used = log_weight if rows.numbers is None else log_weight[rows.numbers]
        outcome = next(objective.outcomes([mean_one(used, rows.sample_weight)]))
        if isinstance(outcome, str):
            raise ValueError(f"This weighting cannot be scored. {outcome}")
        return Scores(outcome, objective.unit_weights)
