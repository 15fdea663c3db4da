"""Criteria that hold rows out: cross-validation and a single split."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.model_selection import (
    BaseCrossValidator,
    KFold,
    StratifiedKFold,
    check_cv,
    train_test_split,
)

from weighbridge.model_selection._criterion import Criterion, Seed
from weighbridge.model_selection._folds import FoldValidator, Scorer, Split
from weighbridge.model_selection._losses import default_scoring
from weighbridge.model_selection._rows import SourceRows


class FoldCriterion(Criterion):
    """Abstract: losses of held-out rows. Subclasses split the rows."""

    scoring: str | Scorer | None
    random_state: Seed

    @abstractmethod
    def _splits(self, estimator: BaseEstimator, rows: SourceRows, seed: Seed) -> list[Split]:
        """Split the rows; the same for all candidates."""

    def _validator(
        self, estimator: BaseEstimator, rows: SourceRows, n_jobs: int | None, seed: Seed
    ) -> FoldValidator:
        scoring = default_scoring(estimator) if self.scoring is None else self.scoring
        seed = seed if self.random_state is None else self.random_state
        return FoldValidator(estimator, rows, self._splits(estimator, rows, seed), scoring, n_jobs)


class CrossValidation(FoldCriterion):
    """Importance-weighted cross-validation (Sugiyama et al. 2007).

    The model of each fold is fitted with the candidate's weights on the other folds. Its losses on
    the held-out rows are averaged with validation weights, so that they represent the target.

    Parameters
    ----------
    cv : int or splitter, default=5
        Number of folds (shuffled, stratified for a classifier), or a scikit-learn splitter.
    scoring : str or scorer, optional
        As in scikit-learn; its metric must take ``sample_weight``. Default: squared error, of
        probabilities (the Brier score) or of margins for classifiers.
    validation : weighting, optional
        Weights of the losses: `RIWERM(0.9)` (the default, at most 10 for a row of weight 1),
        `Tempered()`, or `IWERM()` for the ratio itself, which is consistent and has a large
        variance.
    random_state : int, RandomState instance or None
        Seed for the folds.

    See Also
    --------
    HoldOut, LeaveOneOut, InformationCriterion

    Notes
    -----
    Metrics that are means over rows (squared, absolute and Poisson errors, log loss, Brier score,
    accuracy) give one loss for each row; any other gives one for each fold.
    A row that is held out several times, by repeated folds, is one unit with the average loss.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.datasets import make_quadratic
    >>> from weighbridge.model_selection import CrossValidation
    >>> from weighbridge.weighting import ERM, IWERM
    >>> data = make_quadratic(random_state=0)
    >>> criterion = CrossValidation(random_state=0)
    >>> plain, full = (
    ...     criterion(LinearRegression(), data.X, data.y, data.log_ratio, weighting(data.log_ratio))
    ...     for weighting in (ERM(), IWERM())
    ... )
    >>> full.value < plain.value
    True
    """

    def __init__(
        self,
        cv: int | BaseCrossValidator = 5,
        *,
        scoring: str | Scorer | None = None,
        validation: BaseEstimator | None = None,
        random_state: Seed = None,
    ) -> None:
        self.cv = cv
        self.scoring = scoring
        self.validation = validation
        self.random_state = random_state

    def _splits(self, estimator: BaseEstimator, rows: SourceRows, seed: Seed) -> list[Split]:
        n, cv = rows.y.size, self.cv
        if isinstance(cv, Integral):
            if not 2 <= int(cv) <= n:
                raise ValueError(
                    f"Got cv={cv} for {n} source rows; there must be at least 2 folds, and at most "
                    "as many as rows."
                )
            kind = StratifiedKFold if is_classifier(estimator) else KFold
            cv = kind(int(cv), shuffle=True, random_state=seed)
        is_list = cv is not None and not hasattr(cv, "split")
        cv = check_cv(cv, rows.y, classifier=is_classifier(estimator))
        with warnings.catch_warnings():
            # Folds without a class of few rows give it probability 0.
            warnings.filterwarnings("ignore", message="The least populated class", module="sklearn")
            splits = [
                (np.asarray(train), np.asarray(test)) for train, test in cv.split(rows.X, rows.y)
            ]
        if not is_list or rows.numbers is None:
            return splits
        # Given splits have the row numbers of the caller's table.
        numbers = rows.numbers
        return [
            (np.flatnonzero(np.isin(numbers, train)), np.flatnonzero(np.isin(numbers, test)))
            for train, test in splits
        ]


class HoldOut(FoldCriterion):
    """Importance-weighted loss on held-out source rows: the paper's ``L(h; lam, alpha)``.

    Cheaper than `CrossValidation`, with a much larger variance: on 1,000 rows of the paper's toy
    problem it has three times the excess risk of five folds.

    Parameters
    ----------
    test_size : float or int, default=0.2
        Share or number of the rows to hold out.
    scoring, validation
        As in `CrossValidation`; the paper's validation is `IWERM()`, the ratio itself.
    random_state : int, RandomState instance or None
        Seed for the split.

    See Also
    --------
    CrossValidation, LeaveOneOut, InformationCriterion

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from weighbridge.datasets import make_cubic
    >>> from weighbridge.model_selection import HoldOut
    >>> from weighbridge.weighting import IWERM, RIWERM
    >>> data = make_cubic(random_state=0)
    >>> criterion = HoldOut(validation=IWERM(), random_state=0)
    >>> tree = DecisionTreeRegressor(max_depth=2, random_state=0)
    >>> scores = criterion(tree, data.X, data.y, data.log_ratio, RIWERM(0.5)(data.log_ratio))
    >>> scores.losses.shape
    (20,)
    """

    def __init__(
        self,
        test_size: float = 0.2,
        *,
        scoring: str | Scorer | None = None,
        validation: BaseEstimator | None = None,
        random_state: Seed = None,
    ) -> None:
        self.test_size = test_size
        self.scoring = scoring
        self.validation = validation
        self.random_state = random_state

    def _splits(self, estimator: BaseEstimator, rows: SourceRows, seed: Seed) -> list[Split]:
        _, counts = np.unique(rows.y, return_counts=True)
        stratify = rows.y if is_classifier(estimator) and counts.min() > 1 else None
        train, test = train_test_split(
            np.arange(rows.y.size), test_size=self.test_size, random_state=seed, stratify=stratify
        )
        return [(train, test)]
