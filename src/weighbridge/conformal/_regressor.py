"""Prediction intervals that hold on the target."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold
from sklearn.utils.validation import _num_samples

from weighbridge._pass_weights import answer_of
from weighbridge.conformal._calibrated import CalibratedEstimator, Part
from weighbridge.conformal._report import ConformalReport
from weighbridge.ratios import is_fitted

_FOLDS = 5


class ConformalRegressor(CalibratedEstimator):
    """Prediction intervals around any regressor, with a stated coverage on the target.

    Weighted split conformal prediction (Tibshirani, Barber, Candes & Ramdas 2019): errors on
    calibration rows are weighted by the density ratio, and a row's interval reaches as far as the
    quantile of these errors. With the true ratio it holds a new target label with probability
    at least `coverage`, whatever the model and the distribution of its errors.

    Parameters
    ----------
    estimator : regressor
        Not fitted: it is fitted to one part of the rows and calibrated on the other. Frozen
        (``sklearn.frozen.FrozenEstimator(model)``): calibrated on all rows, which it must not have
        been fitted to. May be `ImportanceWeighted` or `ImportanceWeightedCV`; one of them without
        its own ratio shares this one.
    ratio : str or density ratio, optional
        How to estimate ``p_target(x) / p_source(x)``; default `AutoRatio()`. A ratio already fitted
        and frozen, or known, needs no ``X_target`` in ``fit``. A constant factor cancels.
    coverage : float, default=0.9
        Share of target labels that the intervals should hold. It may be changed after ``fit``.
    scale : regressor, optional
        Model of the size of an error at x, for intervals that are wider where errors are larger.
        It is fitted to absolute errors at held-out rows of the part that the estimator is fitted
        to, or comes frozen if the estimator does; its predictions must be positive. Default:
        intervals differ in width only by their ratio.
    calibration_size : float or int, default=0.5
        Share or number of rows to calibrate on, where the estimator is not fitted.
    random_state : int, RandomState instance or None
        Seed for the split.
    shift : {"covariate", "label", "auto"}, default="covariate"
        What changed: the features, met by a ratio in them, as "auto" does for numbers; or the
        label, met by weights by bin (`weighbridge.label_shift.LabelRatio`). The label of a new
        row is not known, so its mass is the largest that a label may have.

    Attributes
    ----------
    estimator_ : regressor
        The fitted inner estimator.
    scale_ : regressor or None
        The fitted model of the size of errors.
    shift_ : ShiftKind or None
        None: the kind can be told for classes only.
    scores_ : ndarray of shape (n_calibration,)
        Absolute errors at the calibration rows, divided by their scale if there is one.
    calibration_weights_ : ndarray of shape (n_calibration,)
        Ratio at the calibration rows times their ``sample_weight``, with mean 1.
    ess_ : float
        Effective sample size of these weights.
    n_calibration_ : int
        Number of calibration rows.
    rows_checked_ : bool
        Whether the model is known not to be fitted to the calibration rows: False for a frozen one
        that does not keep its rows, where ``fit`` had no ``X_fit`` either.
    ratio_, n_features_in_, feature_names_in_
        As in `weighbridge.ImportanceWeighted`.

    See Also
    --------
    ConformalClassifier : Sets of classes.

    Notes
    -----
    The coverage is an average over target rows and calibration samples, not a promise for each
    row. It holds up to the error of an estimated ratio. An interval is infinite where the row's
    own share of the weights exceeds ``1 - coverage``: there the calibration rows cannot tell. A
    `weighbridge.exceptions.OverlapWarning` (WB307) says when that is so for most of the target.

    It holds rows out, so scikit-learn's ``check_estimator`` needs ``expected_failed_checks``; the
    guide to `weighbridge.ImportanceWeighted` lists them with the reasons.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.conformal import ConformalRegressor
    >>> from weighbridge.ratios import KnownRatio
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (1000, 1)), rng.normal(1, 1, (1000, 1))
    >>> y, y_target = X[:, 0] ** 2, X_target[:, 0] ** 2  # a straight line misses it
    >>> ratio = KnownRatio(lambda X: X[:, 0])
    >>> model = ConformalRegressor(LinearRegression(), ratio, random_state=0).fit(X, y)
    >>> low, high = model.predict_interval(X_target).T
    >>> bool(np.mean((low <= y_target) & (y_target <= high)) > 0.88)
    True
    """

    _by_class: ClassVar[bool] = False
    _example: ClassVar[str] = "LinearRegression()"

    def __init__(
        self,
        estimator: Any,
        ratio: Any = None,
        *,
        coverage: float = 0.9,
        scale: Any = None,
        calibration_size: Any = 0.5,
        random_state: Any = None,
        shift: str = "covariate",
    ):
        self.estimator = estimator
        self.ratio = ratio
        self.coverage = coverage
        self.scale = scale
        self.calibration_size = calibration_size
        self.random_state = random_state
        self.shift = shift

    def predict_interval(self, X: Any) -> np.ndarray:
        """Return an interval for the label of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends, infinite where the calibration rows cannot tell.
        """
        half = self._half_width(X)
        centre = answer_of(self.estimator_, "predict", X)
        return np.column_stack([centre - half, centre + half])

    def report(self, X: Any) -> ConformalReport:
        """Say what the intervals at some rows look like, and what they rest on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        Returns
        -------
        ConformalReport
            Target coverage, effective calibration rows, share of infinite intervals, width.
        """
        half = self._half_width(X)
        finite = half[np.isfinite(half)]
        width = float(2 * finite.mean()) if finite.size else None
        return ConformalReport(mean_width=width, **self._found(half[:, None], half.size))

    def _half_width(self, X: Any) -> np.ndarray:
        limit = self._thresholds(X)[:, 0]
        return np.broadcast_to(limit, _num_samples(X)) * _sizes(self.scale_, X)

    def _log_ratio_of_labels(self) -> np.ndarray:
        # the label of a new row may be any number: with the largest weight none is left out
        labels = np.array(self.ratio_.frequencies_.classes)
        return np.array([self.ratio_.score_labels(labels).max()])

    def _checked_labels(self, y: np.ndarray) -> np.ndarray:
        if is_classifier(self.estimator):
            raise TypeError(
                f"Got the classifier {type(self.estimator).__name__}; classes come in sets: use "
                "weighbridge.conformal.ConformalClassifier."
            )
        odd = [label for label in y.tolist() if not isinstance(label, Real | Decimal)]
        if odd:
            raise ValueError(
                f"Got y with labels that are not numbers ({odd[0]!r}); an interval is made of "
                "numbers. Convert them, or use weighbridge.conformal.ConformalClassifier for "
                "classes."
            )
        return y.astype(np.float64)

    def _fit_models(
        self, part: Part | None, ratio: Any, X_target: Any, rng: np.random.RandomState
    ) -> dict[str, Any]:
        scale = None if self.scale is None else clone(self.scale)
        if scale is not None and not is_fitted(scale):
            if part is None:
                raise ValueError(
                    f"Got scale={type(self.scale).__name__}, which is not frozen, with an "
                    "estimator that is: all rows are calibration rows. Fit the scale to absolute "
                    "errors at other rows and pass sklearn.frozen.FrozenEstimator(scale), or pass "
                    "an estimator that is not fitted."
                )
            scale.fit(part.X, self._held_out_errors(part, ratio, X_target, rng))
        return {"estimator_": self._fit_inner(part, ratio, X_target), "scale_": scale}

    def _held_out_errors(
        self, part: Part, ratio: Any, X_target: Any, rng: np.random.RandomState
    ) -> np.ndarray:
        """Return absolute errors at rows that each model has not seen: those it has are small."""
        errors = np.empty(part.n_rows)
        folds = KFold(min(_FOLDS, part.n_rows), shuffle=True, random_state=rng)
        for train, test in folds.split(part.y):
            model = self._fit_inner(part.take(train), ratio, X_target)
            held = part.take(test)
            errors[test] = np.abs(held.y - answer_of(model, "predict", held.X))
        return errors

    def _scores(self, models: dict[str, Any], part: Part) -> np.ndarray:
        errors = np.abs(part.y - answer_of(models["estimator_"], "predict", part.X))
        return errors / _sizes(models["scale_"], part.X)


def _sizes(scale: Any, X: Any) -> Any:
    """Return the expected size of an error at each row; 1 without a model of it."""
    if scale is None:
        return 1.0
    sizes = answer_of(scale, "predict", X)
    wrong = int((~((sizes > 0) & (sizes < np.inf))).sum())
    if wrong:
        raise ValueError(
            f"Got a scale ({type(scale).__name__}) that is not a positive number at {wrong} of "
            f"{sizes.size} rows; use a model whose predictions are positive, e.g. "
            "sklearn.linear_model.GammaRegressor or a forest."
        )
    return sizes
