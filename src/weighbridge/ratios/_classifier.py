"""Density ratio from a classifier that distinguishes the two samples."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state, get_tags

from weighbridge._folds import Fold, assign_folds
from weighbridge.ratios._base import EstimatedRatio
from weighbridge.ratios._candidates import dense_if_narrow, given_model, quadratic
from weighbridge.ratios._cross_fit import CrossFitted, refuse_class_weight
from weighbridge.tables import RowScores, TableEncoder, shuffled, take_rows


class ClassifierRatio(EstimatedRatio):
    """Density ratio from a probabilistic classifier of source against target rows.

    The odds of the target, divided by the odds of the sample sizes, estimate
    ``p_target(x) / p_source(x)``. Every row seen in ``fit`` is scored by a model that did not see
    it (cross-fitting): a flexible classifier would otherwise recognise its own training rows and
    give them extreme ratios. New rows are scored by the mean of the fold models' log odds.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``, optional
        Default: logistic regression on standardised columns, their squares and products, its
        penalty chosen by held-out log loss. Products are left out beyond 40 columns and where they
        exceed half of scikit-learn's working memory, squares beyond 1,000 columns, or 40 of a
        sparse `X`.
        ``HistGradientBoostingClassifier`` gets the columns of a data frame as they are: numbers
        with missing values, and text as categories (unless it names ``categorical_features``).
    cv : int or splitter, default=5
        Folds for cross-fitting. With an integer they are stratified by sample, equal rows stay
        together (unless most of them are in both samples, as with categories), and there are
        fewer folds if a sample has fewer rows.
    calibration : {None, "sigmoid", "isotonic"}, default=None
        Recalibrate the out-of-fold log odds by a straight line or a monotone step function.
        Boosting and forests are over-confident: give them "sigmoid".
    random_state : int, RandomState instance or None, default=0
        Shuffles the rows before they are assigned to folds.

    Attributes
    ----------
    estimators_ : list of classifiers
        One fitted model per fold.

    Notes
    -----
    n rows cannot show a probability closer to 0 or 1 than about 1/(2n); probabilities of
    `estimator` are clipped to that bound. Log odds of logistic regression are used as they are.
    ``class_weight`` would undo the correction for the sample sizes and is refused.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge import fit_ratio
    >>> from weighbridge.ratios import ClassifierRatio
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (2000, 1)), rng.normal(1, 1, (1000, 1))
    >>> ratio = fit_ratio(X, X_target, ClassifierRatio())
    >>> ratio.score_samples([[0.0], [0.5], [1.0]]).round(1)  # truth: -0.5, 0, 0.5
    array([-0.4,  0.1,  0.6])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        cv: Any = 5,
        calibration: str | None = None,
        random_state: Any = 0,
    ):
        self.estimator = estimator
        self.cv = cv
        self.calibration = calibration
        self.random_state = random_state

    def _estimate(self, X: Any, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.estimator is None:
            X = dense_if_narrow(X)
        if isinstance(self.cv, Integral):  # Another splitter may rely on the order of the rows.
            order = np.concatenate(shuffled(X, codes, check_random_state(self.random_state)))
            X, codes = take_rows(X, order), codes[order]
        rows = RowScores(X)
        folds = self._folds(rows.group, codes)
        if self.estimator is None:
            candidate = quadratic(TableEncoder().fit(X, codes), X)
        else:
            candidate = given_model(self.estimator, X, codes)
        candidate = replace(candidate, calibration=self.calibration)
        self.cross_fitted_ = CrossFitted(candidate, X, codes, folds)
        log_ratio = self.cross_fitted_.held_out
        self.cross_fitted_.remember(rows)
        return log_ratio[codes == 0], log_ratio[codes == 1]

    def _score(self, X: Any) -> np.ndarray:
        return self.cross_fitted_.score(X)

    @property
    def estimators_(self) -> list[Any]:
        """The fitted classifiers, one per fold."""
        return [model.estimator for model in self.cross_fitted_.models]

    def _folds(self, group: np.ndarray, codes: np.ndarray) -> list[Fold]:
        if isinstance(self.cv, Integral):
            return assign_folds(group, codes, int(self.cv))
        rows = np.zeros((codes.size, 1))
        folds = list(check_cv(self.cv, codes, classifier=True).split(rows, codes))
        if any(np.unique(codes[train]).size < 2 for train, _ in folds):
            raise ValueError(
                "Got a cv with a training fold that holds one sample (class) only; both samples "
                "must be in every training fold. Use an integer, or a stratified splitter."
            )
        return folds

    @property
    def _finite(self) -> bool | str:  # type: ignore[override]
        # The user's estimator itself decides what it can take.
        return "allow-nan" if self.estimator is None else False

    def _check_parameters(self) -> None:
        if self.calibration not in (None, "sigmoid", "isotonic"):
            raise ValueError(
                f"Got calibration={self.calibration!r}, but expected None, 'sigmoid' or 'isotonic'."
            )
        if isinstance(self.cv, Integral) and self.cv < 2:
            raise ValueError(f"Got cv={self.cv}, but cross-fitting needs at least 2 folds.")
        if self.estimator is None:
            return
        name = type(self.estimator).__name__
        if not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                f"Got estimator={name}, which has no predict_proba; a ratio needs probabilities. "
                "Wrap it: CalibratedClassifierCV(...)."
            )
        refuse_class_weight(self.estimator)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            inner = get_tags(self.estimator).input_tags
            tags.input_tags.sparse, tags.input_tags.string = inner.sparse, inner.string
            tags.input_tags.allow_nan = inner.allow_nan
        return tags
