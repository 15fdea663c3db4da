"""What criteria that hold folds out have in common."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, check_cv, train_test_split

from weighbridge.criteria._criterion import Criterion
from weighbridge.criteria._fold_objective import FoldObjective, Split
from weighbridge.criteria._rows import SourceRows, default_scoring, source_rows


class FoldCriterion(Criterion):
    """Abstract: fits on some rows, losses of others. Members say which."""

    scoring: Any
    validation: Any
    random_state: Any

    @abstractmethod
    def _splits(self, estimator: Any, rows: SourceRows, seed: Any) -> list[Split]:
        """Split the rows; the same for all candidates."""

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
    ) -> FoldObjective:
        """Split the rows into folds; see `Criterion.objective`."""
        scoring = default_scoring(estimator) if self.scoring is None else self.scoring
        seed = random_state if self.random_state is None else self.random_state
        rows = source_rows(estimator, X, y, log_ratio, sample_weight, self.validation)
        splits = self._splits(estimator, rows, seed)
        return FoldObjective(estimator, rows, splits, scoring, n_jobs=n_jobs)


class CrossValidation(FoldCriterion):
    """Importance-weighted cross-validation (Sugiyama et al. 2007).

    Each fold's model is fitted with the candidate's weights on the other folds, and its losses on
    the held-out rows are averaged with validation weights, so that they represent the target.

    Parameters
    ----------
    cv : int or splitter, default=5
        Number of folds (shuffled, stratified for a classifier), or a scikit-learn splitter.
    scoring : str or scorer, optional
        As in scikit-learn; its metric must take ``sample_weight``. Default: squared error, of
        probabilities (the Brier score) or of margins for classifiers.
    validation : weighting, optional
        Which weights the losses are averaged with: `RIWERM(0.9)` (the default, never more than 10
        times the weight of a plain row), `Tempered()`, or `IWERM()` for the ratio itself, which is
        consistent and wild.
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
    Support vector machines and kernel ridge share one kernel matrix, histogram boosting its bins.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.criteria import CrossValidation
    >>> from weighbridge.datasets import make_quadratic
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
        self, cv: Any = 5, *, scoring: Any = None, validation: Any = None, random_state: Any = None
    ) -> None:
        self.cv = cv
        self.scoring = scoring
        self.validation = validation
        self.random_state = random_state

    def _splits(self, estimator: Any, rows: SourceRows, seed: Any) -> list[Split]:
        n, cv = rows.y.size, self.cv
        if isinstance(cv, Integral):
            if not 2 <= int(cv) <= n:
                raise ValueError(
                    f"Got cv={cv} for {n} source rows; there must be at least 2 folds, and at most "
                    "as many as rows."
                )
            kind = StratifiedKFold if is_classifier(estimator) else KFold
            cv = kind(int(cv), shuffle=True, random_state=seed)
        given = cv is not None and not hasattr(cv, "split")
        cv = check_cv(cv, rows.y, classifier=is_classifier(estimator))
        with warnings.catch_warnings():
            # a class with fewer rows than folds: the folds without it give it probability 0
            warnings.filterwarnings("ignore", message="The least populated class", module="sklearn")
            splits = [
                (np.asarray(train), np.asarray(test)) for train, test in cv.split(rows.X, rows.y)
            ]
        if not given or rows.kept is None:
            return splits
        # row numbers of the caller, who has not left out any
        kept = rows.kept
        return [
            (np.flatnonzero(np.isin(kept, train)), np.flatnonzero(np.isin(kept, test)))
            for train, test in splits
        ]


class HoldOut(FoldCriterion):
    """Importance-weighted loss on held-out source rows: the paper's ``L(h; lam, alpha)``.

    Cheaper than `CrossValidation` and much more variable: with 1,000 rows of the paper's toy
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
    >>> from weighbridge.criteria import HoldOut
    >>> from weighbridge.datasets import make_cubic
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
        scoring: Any = None,
        validation: Any = None,
        random_state: Any = None,
    ) -> None:
        self.test_size = test_size
        self.scoring = scoring
        self.validation = validation
        self.random_state = random_state

    def _splits(self, estimator: Any, rows: SourceRows, seed: Any) -> list[Split]:
        _, counts = np.unique(rows.y, return_counts=True)
        stratify = rows.y if is_classifier(estimator) and counts.min() > 1 else None
        train, test = train_test_split(
            np.arange(rows.y.size), test_size=self.test_size, random_state=seed, stratify=stratify
        )
        return [(train, test)]
