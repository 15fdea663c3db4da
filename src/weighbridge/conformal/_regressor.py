"""Prediction intervals with nominal coverage on the target."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import KFold

from weighbridge._pass_weights import answer_of
from weighbridge.conformal._base import ConformalEstimator, Fit, Rng
from weighbridge.conformal._rows import LabelledRows
from weighbridge.ratios import is_fitted

N_FOLDS = 5


class ConformalRegressor(ConformalEstimator):
    """Prediction intervals around any regressor, with nominal coverage on the target.

    Weighted split conformal prediction (Tibshirani, Barber, Candes & Ramdas 2019): the half-width
    of an interval is the quantile of absolute errors at calibration rows, weighted by the density
    ratio. With the true ratio, it contains a new target label with probability at least
    `coverage`, whatever the model and the distribution of its errors.

    Parameters
    ----------
    estimator : regressor
        Unfitted: fitted to a subset of the rows and calibrated on the others. Frozen: calibrated on
        all rows, which it must not have been fitted to. `ImportanceWeighted` and
        `ImportanceWeightedCV` use this ratio by default.
    ratio : str or density ratio, optional
        How to estimate ``p_target(x) / p_source(x)``; default `AutoRatio()`. A frozen or known
        ratio needs no ``X_target`` in ``fit``. A constant factor cancels.
    coverage : float, default=0.9
        Share of target labels to be covered. It may be changed after ``fit``.
    scale : regressor, optional
        Model of the absolute error at x, for intervals that are wider where errors are larger, with
        positive predictions. It is fitted to out-of-fold errors, or frozen if the estimator is.
    calibration_size : float or int, default=0.5
        Share or number of rows to calibrate on, unless the estimator is frozen.
    random_state : int, RandomState instance or None
        Seed for the split.
    shift : {"covariate", "label", "auto"}, default="covariate"
        "label": rows are weighted by bins of the label (`weighbridge.label_shift.LabelRatio`), and
        a new row has the largest weight of all, because its label is unknown. "auto" means
        "covariate" for numbers.

    Attributes
    ----------
    estimator_, scale_ : regressor
        The fitted inner estimator, and the fitted model of the absolute error or None.
    shift_ : None
        The kind of shift is distinguished for classes only.
    scores_ : ndarray of shape (n_calibration,)
        Absolute errors at the calibration rows, divided by their scale if there is one.
    calibration_weights_ : ndarray of shape (n_calibration,)
        Ratio at the calibration rows times their ``sample_weight``, with mean 1.
    ess_, n_calibration_ : float, int
        Effective sample size of these weights, and number of calibration rows.
    rows_checked_ : bool
        Whether it was checked that the model was not fitted to the calibration rows. False for a
        frozen model that does not store its rows, if ``fit`` had no ``X_fit``.
    ratio_, n_features_in_, feature_names_in_
        As in `weighbridge.ImportanceWeighted`.

    Notes
    -----
    The coverage is an average over target rows and calibration samples, and nominal up to the error
    of an estimated ratio. An interval is infinite if the row has more than ``1 - coverage`` of the
    total weight. If this holds for most of the target, ``fit`` warns (WB307). scikit-learn's
    ``check_estimator`` needs ``expected_failed_checks``, listed in the guide to estimators.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.conformal import ConformalRegressor
    >>> from weighbridge.ratios import KnownRatio
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (1000, 1)), rng.normal(1, 1, (1000, 1))
    >>> y, y_target = X[:, 0] ** 2, X_target[:, 0] ** 2  # A straight line does not fit.
    >>> ratio = KnownRatio(lambda X: X[:, 0])
    >>> model = ConformalRegressor(LinearRegression(), ratio, random_state=0).fit(X, y)
    >>> low, high = model.predict_interval(X_target).T
    >>> bool(np.mean((low <= y_target) & (y_target <= high)) > 0.88)
    True
    """

    _has_classes: ClassVar[bool] = False

    def __init__(
        self,
        estimator: BaseEstimator,
        ratio: BaseEstimator | str | None = None,
        *,
        coverage: float = 0.9,
        scale: BaseEstimator | None = None,
        calibration_size: float = 0.5,
        random_state: Any = None,
        shift: str = "covariate",
    ):
        self.estimator, self.ratio, self.coverage = estimator, ratio, coverage
        self.scale, self.calibration_size = scale, calibration_size
        self.random_state, self.shift = random_state, shift

    def predict_interval(self, X: ArrayLike) -> np.ndarray:
        """Return an interval for the label of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends, infinite if too few calibration rows resemble the row.
        """
        half_width = self._half_width(X, self._limits(X))
        centre = answer_of(self.estimator_, "predict", X)
        return np.column_stack([centre - half_width, centre + half_width])

    def _half_width(self, X: ArrayLike, limits: np.ndarray) -> np.ndarray:
        return np.broadcast_to(limits[:, 0] * _error_scale(self.scale_, X), np.shape(X)[0])

    def _set_sizes(self, X: ArrayLike, limits: np.ndarray) -> dict[str, float | None]:
        half_width = self._half_width(X, limits)
        finite = half_width[np.isfinite(half_width)]
        return {"mean_width": float(2 * finite.mean()) if finite.size else None}

    def _log_ratio_of_labels(self) -> np.ndarray:
        # A new label may be any number. The largest weight covers all of them.
        labels = np.array(self.ratio_.frequencies_.classes)
        return np.array([self.ratio_.score_labels(labels).max()])

    def _checked_labels(self, y: np.ndarray) -> np.ndarray:
        if is_classifier(self.estimator):
            raise TypeError(
                f"Got the classifier {type(self.estimator).__name__}, but expected a regressor. "
                "Use ConformalClassifier for sets of classes."
            )
        others = [label for label in y.tolist() if not isinstance(label, Real | Decimal)]
        if others:
            raise ValueError(
                f"Got y with labels that are not numbers ({others[0]!r}). Convert them, or use "
                "ConformalClassifier for sets of classes."
            )
        return y.astype(np.float64)

    def _fit_and_score(
        self, fitting: LabelledRows | None, calibration: LabelledRows, fit_inner: Fit, rng: Rng
    ) -> dict[str, Any]:
        scale = None if self.scale is None else clone(self.scale)
        if scale is not None and not is_fitted(scale):
            if fitting is None:
                raise ValueError(
                    f"Got scale={type(self.scale).__name__}, which is not frozen, with a frozen "
                    "estimator. Fit it to absolute errors at rows other than X and pass "
                    "sklearn.frozen.FrozenEstimator(scale), or pass an unfitted estimator."
                )
            errors = np.empty(fitting.y.size)
            folds = KFold(min(N_FOLDS, errors.size), shuffle=True, random_state=rng)
            for train, test in folds.split(errors):
                model = fit_inner(fitting.take(train))
                errors[test] = _absolute_errors(model, fitting.take(test))
            scale.fit(fitting.X, errors)
        estimator = fit_inner(fitting)
        scores = _absolute_errors(estimator, calibration) / _error_scale(scale, calibration.X)
        return {"estimator_": estimator, "scale_": scale, "scores_": scores}


def _absolute_errors(model: BaseEstimator, rows: LabelledRows) -> np.ndarray:
    return np.abs(rows.y - answer_of(model, "predict", rows.X))


def _error_scale(scale: Any, X: ArrayLike) -> np.ndarray:
    """Return the predicted absolute error at each row, or 1 without a model of it."""
    if scale is None:
        return np.ones(1)
    predicted = answer_of(scale, "predict", X)
    n_wrong = int((~((predicted > 0) & (predicted < np.inf))).sum())
    if n_wrong:
        raise ValueError(
            f"Got a scale ({type(scale).__name__}) that is not positive and finite at {n_wrong} of "
            f"{predicted.size} rows. Use a model whose predictions are positive, e.g. "
            "sklearn.linear_model.GammaRegressor or a forest."
        )
    return predicted
