"""What every criterion has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from weighbridge.criteria._objective import CandidateObjective
from weighbridge.criteria._scores import Scores
from weighbridge.weighting import mean_one


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
        """Make ready to score weightings of these rows.

        Parameters
        ----------
        estimator : estimator
            What is to be fitted; it stays as it is.
        X, y : array-like
            Labelled source rows.
        log_ratio : array of shape (n_samples,)
            Log density ratios at the rows.
        sample_weight : array of shape (n_samples,), optional
            Own weights of the rows; they multiply the weights in fitting and in validation.
        n_jobs : int, optional
            Fits in parallel, by joblib.
        random_state : int, RandomState instance or None
            Seed of the folds, where the criterion has none of its own.

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
        """Score one weighting.

        Parameters
        ----------
        estimator : estimator
            What is to be fitted; it stays as it is.
        X, y : array-like
            Labelled source rows.
        log_ratio : array of shape (n_samples,)
            Log density ratios at the rows, of which the validation weights are made.
        log_weight : array of shape (n_samples,)
            Log of the weights to fit with; their scale does not matter.
        sample_weight : array of shape (n_samples,), optional
            Own weights of the rows.

        Returns
        -------
        Scores
            One loss for each row or fold, what each counts, and their mean; lower is better.
        """
        objective = self.objective(estimator, X, y, log_ratio, sample_weight)
        rows = objective.rows
        log_weight = np.array(log_weight, dtype=float)
        if log_weight.shape != np.shape(log_ratio):
            raise ValueError(
                f"Got log_weight of shape {log_weight.shape} for {np.size(log_ratio)} log ratios; "
                "they must be one for each row."
            )
        kept = log_weight if rows.kept is None else log_weight[rows.kept]
        weights = mean_one(kept, rows.sample_weight)[None]
        outcome = next(iter(objective.outcomes(weights)))
        if outcome.losses is None:
            raise ValueError(f"This weighting cannot be scored. {outcome.error}")
        return Scores(outcome.losses, objective.unit_weights, outcome.predictions)
