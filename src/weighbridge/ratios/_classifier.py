"""Density ratio by telling the two samples apart with a classifier."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state, get_tags

from weighbridge.blocks import Rows
from weighbridge.ratios._base import EstimatedRatio
from weighbridge.ratios._block_logistic import BlockLogistic, fit_block_logistic, streams
from weighbridge.ratios._cross_fit import (
    Family,
    Single,
    cross_fit,
    deal,
    log_prior_odds,
    refuse_class_weight,
    smallest_probability,
)
from weighbridge.ratios._encoder import TableEncoder, finite_sparse
from weighbridge.ratios._logistic import MAX_PRODUCTS, MAX_SQUARES, LogisticPath, QuadraticFeatures
from weighbridge.tables import RowScores, is_frame, shuffled, take_rows


class ClassifierRatio(EstimatedRatio):
    """Density ratio from a probabilistic classifier of source against target rows.

    The odds of the target, divided by the odds of the sample sizes, estimate
    ``p_target(x) / p_source(x)``. Every row seen in ``fit`` is scored by a model that did not see
    it (cross-fitting): a flexible classifier would otherwise recognise its own training rows and
    give them extreme ratios. New rows are scored by the mean of the fold models' log odds.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``, optional
        Default: logistic regression on standardised columns, their squares and products (squares
        only beyond 40 columns or where products exceed half of scikit-learn's working memory,
        neither beyond 1,000 columns, or 40 of a sparse `X`, whose squares would take many times
        longer), its penalty chosen by held-out log loss;
        missing values and categories are handled as described in the guide.
        ``HistGradientBoostingClassifier`` gets the columns of a data frame as they are: numbers
        with their gaps, and text as categories (unless its ``categorical_features`` are named).
    cv : int or splitter, default=5
        Folds for cross-fitting. With an integer they are stratified by sample, equal rows stay
        together (unless most of them are in both samples, as with categories), and there are
        fewer of them when a sample has fewer rows than that.
    calibration : {None, "sigmoid", "isotonic"}, default=None
        Recalibrate the out-of-fold log odds by a straight line or a monotone step function.
        Boosting and forests are over-confident: give them "sigmoid".
    random_state : int, RandomState instance or None, default=0
        Shuffles the rows before they are dealt into folds.

    Attributes
    ----------
    estimators_ : list of classifiers
        One fitted model per fold.
    classes_ : ndarray of shape (2,)
        Labels of source and target rows.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray
        Names of the columns, where `X` had names.
    log_prior_odds_ : float
        ``log(n_target / n_source)``.

    Notes
    -----
    n rows cannot show a probability closer to 0 or 1 than about 1/(2n); probabilities of
    `estimator` are moved to that bound. Log odds of logistic regression are used as they are.
    ``class_weight`` would undo the correction for the sample sizes and is refused.

    With rows in blocks (`weighbridge.blocks`) the default learns from all. Up to 100,000 rows of
    each sample, drawn at random by their content, are in memory: they choose the penalty, set the
    scales of squares and products, and fit the calibration; then all folds' coefficients are found
    by Newton steps, each of them one pass over all rows, up to rounding. A row's content decides
    its fold, and any row, seen or new, is scored by the model of its fold, which did not learn from
    it; where most rows occur more than once, it gets the mean of all models. Your own
    `estimator`, and the default with more than 1,000 columns, learn from the rows in memory alone.

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

    # one of them is None: scores by row where the fit was in memory, models where it was in blocks
    held_out_: Any
    block_models_: BlockLogistic | None

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

    def _estimate(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        X, y = self._checked_rows(X, y, reset=True)
        classes, codes = self._coded(y)
        if self.estimator is None:
            X = dense_if_narrow(X)
        if isinstance(self.cv, Integral):  # another splitter may rely on the order of the rows
            order = np.concatenate(shuffled(X, codes, check_random_state(self.random_state)))
            X, codes = take_rows(X, order), codes[order]
        rows = RowScores(X)
        folds = self._folds(rows.group, codes)
        family, self.view_ = self._family(X, codes)
        models, log_odds, _ = cross_fit(family, self.view_(X), codes, folds)
        calibrator = _fit_calibrator(self.calibration, log_odds, codes)
        self.fold_models_, self.calibrator_ = models, calibrator
        self.edge_ = smallest_probability(codes)
        self._keep_domains(classes, np.bincount(codes))
        self.known_odds_ = self.log_prior_odds_
        log_ratio = self._to_log_ratio(log_odds)
        rows.remember(log_ratio)
        self.held_out_, self.block_models_ = rows, None
        return log_ratio[codes == 0], log_ratio[codes == 1]

    def _estimate_blocks(self, source: Rows, target: Rows) -> tuple[np.ndarray, np.ndarray]:
        if not isinstance(self.cv, Integral):
            raise TypeError(
                f"Got cv={self.cv!r} with rows in blocks, whose folds go by the content of the "
                "rows, not by their order; give the number of folds, e.g. cv=5."
            )
        if self.estimator is not None:
            return super()._estimate_blocks(source, target)
        given = streams(source, target, self._seed(), self._most_rows)
        if given.encoder.width > MAX_SQUARES:
            return super()._estimate_blocks(source, target)
        models = fit_block_logistic(given, min(int(self.cv), source.n_rows, target.n_rows))
        # held-out log odds of the rows in memory, as if there were no others
        codes = np.repeat([0, 1], [part.n for part in given.sketch])
        self.known_odds_, self.edge_ = log_prior_odds(codes), smallest_probability(codes)
        log_ratio = [models.by_model(part.first, part.keys) for part in given.sketch]
        log_odds = np.concatenate(log_ratio) + self.known_odds_
        self.calibrator_ = _fit_calibrator(self.calibration, log_odds, codes)
        self.block_models_, self.held_out_ = models, None
        found = self._to_log_ratio(log_odds)
        return found[codes == 0], found[codes == 1]

    def _family(self, X: Any, codes: np.ndarray) -> tuple[Family, Callable[[Any], Any]]:
        """Return the models to fit, and what they see of the table."""
        if self.estimator is None:
            encoder = TableEncoder().fit(X, codes)
            view = QuadraticFeatures(encoder, factored=True).fit(X)
            return LogisticPath(encoder.sparse_centre), view
        return family_and_view(self.estimator, X, codes)

    def _score_block(self, X: Any) -> np.ndarray:
        if self.block_models_ is not None:
            return self._to_log_ratio(self.block_models_.log_ratio(X) + self.known_odds_)
        log_ratio, new = self.held_out_.find(X)
        if new.size:
            rows = self.view_(take_rows(X, new))
            log_odds = np.mean([model.log_odds(rows) for model in self.fold_models_], axis=0)
            log_ratio[new] = self._to_log_ratio(log_odds)
        return log_ratio

    @property
    def estimators_(self) -> list[Any]:
        """The fitted classifiers, one per fold."""
        if self.block_models_ is not None:
            return self.block_models_.models
        return [model.estimator for model in self.fold_models_]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "held_out_")

    def _to_log_ratio(self, log_odds: np.ndarray) -> np.ndarray:
        if isinstance(self.calibrator_, LogisticRegression):
            log_odds = self.calibrator_.decision_function(log_odds[:, None])
        elif self.calibrator_ is not None:
            probability = self.calibrator_.predict(expit(log_odds))
            log_odds = logit(np.clip(probability, self.edge_, 1 - self.edge_))
        return log_odds - self.known_odds_

    def _folds(self, group: np.ndarray, codes: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        if isinstance(self.cv, Integral):
            folds = deal(group, codes, int(self.cv))
        else:
            rows = np.zeros((codes.size, 1))
            folds = list(check_cv(self.cv, codes, classifier=True).split(rows, codes))
        for train, _ in folds:
            if np.unique(codes[train]).size < 2:
                raise ValueError(
                    "Got a cv with a training fold that holds one sample (class) only; both "
                    "samples must be in every training fold. Use an integer, or a stratified "
                    "splitter."
                )
        return folds

    @property
    def _finite(self) -> Any:
        # the user's estimator itself knows what it can take
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


def dense_if_narrow(X: Any) -> Any:
    """Return a sparse table as a dense one where its columns are few enough for products."""
    return finite_sparse(X).toarray() if sp.issparse(X) and X.shape[1] <= MAX_PRODUCTS else X


def whole_table(X: Any) -> Any:
    """Return the table as it is, for a model that understands it."""
    return X


def family_and_view(
    estimator: Any, X: Any, codes: np.ndarray
) -> tuple[Single, Callable[[Any], Any]]:
    """Return the user's model, and what it sees of the table: trees get our categories."""
    named = getattr(estimator, "categorical_features", None)
    unnamed = named is None or (isinstance(named, str) and named == "from_dtype")
    is_boosting = isinstance(estimator, HistGradientBoostingClassifier)
    if not (is_frame(X) and is_boosting and unnamed):
        return Single(estimator), whole_table
    encoder = TableEncoder().fit(X, codes)
    trees = clone(estimator).set_params(categorical_features=encoder.categorical)
    return Single(trees), encoder.for_trees


def _fit_calibrator(method: str | None, log_odds: np.ndarray, codes: np.ndarray) -> Any:
    if method == "sigmoid":
        return LogisticRegression(C=1e6).fit(log_odds[:, None], codes)
    if method == "isotonic":
        return IsotonicRegression(out_of_bounds="clip").fit(expit(log_odds), codes)
    return None
