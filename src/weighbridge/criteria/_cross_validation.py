"""Importance-weighted cross-validation, for any estimator and any metric."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from weighbridge.criteria._fold_criterion import FoldCriterion
from weighbridge.criteria._fold_objective import Split
from weighbridge.criteria._rows import SourceRows


class CrossValidation(FoldCriterion):
    """Importance-weighted cross-validation (Sugiyama et al. 2007).

    Each fold's model is fitted with the candidate's weights on the other folds, and its losses on
    the rows held out are averaged with validation weights, so that they stand for the target.

    Parameters
    ----------
    cv : int or splitter, default=5
        Number of folds (shuffled, stratified for a classifier), or a splitter of scikit-learn.
    scoring : str or scorer, optional
        As in scikit-learn; its metric must take ``sample_weight``. Default: squared error, of
        probabilities (the Brier score) or of margins for classifiers.
    validation : weighting, optional
        Which weights the losses are averaged with: `RIWERM(0.9)` (the default, never more than 10
        times the weight of a plain row), `Tempered()`, or `IWERM()` for the ratio itself, which is
        unbiased and wild.
    random_state : int, RandomState instance or None
        Seed of the folds.

    See Also
    --------
    HoldOut, LeaveOneOut, InformationCriterion

    Notes
    -----
    Metrics that are means over rows (squared, absolute and Poisson errors, log loss, Brier score,
    accuracy) give one loss for each row; any other gives one for each fold.
    A row that is held out several times, by repeated folds, is one unit with the average loss.
    Support vector machines and kernel ridge share one kernel matrix, histogram boosting its bins,
    and from 20,000 rows on linear and ridge regression are scored from moments of the rows in one
    pass. There transformers of a pipeline that ignore the labels are fitted once, on all rows.

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
        self,
        cv: Any = 5,
        *,
        scoring: Any = None,
        validation: Any = None,
        random_state: Any = None,
    ) -> None:
        self.cv = cv
        self.scoring = scoring
        self.validation = validation
        self.random_state = random_state

    def _splits(self, estimator: Any, rows: SourceRows, seed: Any) -> list[Split]:
        return _dealt(self.cv, estimator, rows, seed)


def _dealt(cv: Any, estimator: Any, rows: SourceRows, seed: Any) -> list[Split]:
    """Split the rows; the same folds for all candidates."""
    n = rows.y.size
    if isinstance(cv, Integral):
        if not 2 <= int(cv) <= n:
            raise ValueError(
                f"Got cv={cv} for {n} source rows; there are at least 2 folds, and at most as "
                "many as rows."
            )
        kind = StratifiedKFold if is_classifier(estimator) else KFold
        cv = kind(int(cv), shuffle=True, random_state=seed)
    given = cv is not None and not hasattr(cv, "split")
    cv = check_cv(cv, rows.y, classifier=is_classifier(estimator))
    with warnings.catch_warnings():
        # a class with fewer rows than folds: the folds without it give it probability 0
        warnings.filterwarnings("ignore", message="The least populated class", module="sklearn")
        splits = [(np.asarray(train), np.asarray(test)) for train, test in cv.split(rows.X, rows.y)]
    if not given or rows.kept is None:
        return splits
    # row numbers of the caller, who has not left out any
    kept = rows.kept
    return [
        (np.flatnonzero(np.isin(kept, train)), np.flatnonzero(np.isin(kept, test)))
        for train, test in splits
    ]
