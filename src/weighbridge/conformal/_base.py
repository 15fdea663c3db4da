"""The base of the conformal estimators: fitting, calibration, and the report."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from weighbridge._estimators import WeightedEstimator, check_unseen, is_estimated, refuse_text
from weighbridge._findings import Finding, Record
from weighbridge._pass_weights import fit_with_weights
from weighbridge.conformal import _quantile as quantile
from weighbridge.conformal._rows import LabelledRows, split_rows
from weighbridge.label_shift import LABEL, ratio_by_kind
from weighbridge.ratios import (
    effective_sample_size,
    is_default,
    is_fitted,
    source_log_ratio,
    warn_if_apart,
)
from weighbridge.tables import check_confidence, check_labelled, target_like_source

Fit: TypeAlias = Callable[[LabelledRows | None], Any]
Rng: TypeAlias = np.random.RandomState


@dataclass(frozen=True)
class ConformalReport(Record):
    """Size of the intervals or sets at some rows, and the calibration behind them.

    Returned by ``report`` of `ConformalRegressor` and `ConformalClassifier`.

    Attributes
    ----------
    coverage, n_calibration, ess, rows_checked : float, int, float, bool
        As parameter and attributes of `ConformalRegressor`.
    n_rows : int
        Number of rows in the report.
    infinite_share : float
        Share of rows whose interval is infinite, or for which no class has a finite limit.
    mean_width : float or None
        Mean width of the finite intervals; None if there are none, and for classes.
    mean_size, empty_share : float or None
        Mean number of classes in a set, and share of sets without any; None for intervals.
    findings : tuple of Finding
        WB307 if most sets are infinite, or most of the target has classes that are in every set.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.conformal import ConformalRegressor
    >>> from weighbridge.datasets import make_quadratic
    >>> data = make_quadratic(random_state=0)
    >>> model = ConformalRegressor(LinearRegression(), random_state=0)
    >>> report = model.fit(data.X, data.y, X_target=data.X_target).report(data.X_target)
    >>> report.infinite_share < 0.1
    True
    """

    coverage: float
    n_calibration: int
    ess: float
    n_rows: int
    infinite_share: float
    mean_width: float | None = None
    mean_size: float | None = None
    empty_share: float | None = None
    rows_checked: bool = True
    findings: tuple[Finding, ...] = ()

    def __str__(self) -> str:
        lines = [
            f"nominal coverage {self.coverage:.4g}; {self.n_calibration:,} calibration rows, "
            f"effective sample size {self.ess:,.1f}",
            f"{self.infinite_share:.1%} of {self.n_rows:,} intervals or sets are infinite",
        ]
        if self.mean_width is not None:
            lines.append(f"mean width of the finite intervals {self.mean_width:.3g}")
        if self.mean_size is not None:
            lines.append(f"mean size {self.mean_size:.3g} classes; {self.empty_share:.1%} empty")
        if not self.rows_checked:
            lines.append("not checked whether calibration rows were used to fit (pass X_fit)")
        return "\n".join([*lines, *map(str, self.findings)])


class ConformalEstimator(WeightedEstimator):
    """Abstract: a model, and the weighted scores of calibration rows."""

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"X_target": True, "X_fit": True}
    _single_output: ClassVar[bool] = True
    _has_classes: ClassVar[bool]

    coverage: float
    calibration_size: float
    random_state: Any  # an int, a RandomState or None

    @abstractmethod
    def _checked_labels(self, y: np.ndarray) -> np.ndarray:
        """Return the labels; raise an error if they or the estimator are of another kind."""

    @abstractmethod
    def _fit_and_score(
        self, fitting: LabelledRows | None, calibration: LabelledRows, fit_inner: Fit, rng: Rng
    ) -> dict[str, Any]:
        """Return fitted attributes; `fitting` is None if the estimator is frozen."""

    @abstractmethod
    def _log_ratio_of_labels(self) -> np.ndarray:
        """Return the log ratio of each label that a new row may have, by a ratio in the label."""

    @abstractmethod
    def _set_sizes(self, X: Any, limits: np.ndarray) -> dict[str, float | None]:
        """Return the entries of the report that describe the size of intervals or sets."""

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_target: ArrayLike | None = None,
        X_fit: ArrayLike | None = None,
    ) -> Self:
        """Fit the estimator to one subset of the rows, and calibrate it on the others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Source rows. If the estimator is frozen, all of them are calibration rows.
        y : array-like of shape (n_samples,)
            Labels of the source rows.
        sample_weight : array-like of shape (n_samples,), optional
            Your weights for the rows in fitting and in calibration, where they multiply the ratio
            and a new row has their mean. 0 leaves a row out.
        X_target : array-like of shape (n_target, n_features), optional
            Target rows, without labels. Required unless `ratio` is fitted or known. Columns of
            data frames are matched by name, in any order.
        X_fit : array-like of shape (n_fit, n_features), optional
            Rows that a frozen estimator was fitted to, to check that none of them is used again.
            Without it, only models that store their rows are checked, such as `ImportanceWeighted`.

        Returns
        -------
        estimator
            The fitted object.
        """
        check_confidence(self.coverage, "coverage")
        is_frozen = self._is_frozen(X_fit)
        rows = LabelledRows(*check_labelled(X, y, sample_weight))
        rng = check_random_state(self.random_state)
        used = rows
        if rows.sample_weight is not None:
            used = rows.take(np.flatnonzero(rows.sample_weight))
        used = replace(used, y=self._checked_labels(used.y))
        if X_target is not None:
            X_target = target_like_source(rows.X, X_target)
        if is_frozen:
            rows_checked = check_unseen(self.estimator, used.X, X_fit)
            fitting, calibration = None, used
        else:
            rows_checked = True
            fitting, calibration = split_rows(used, self.calibration_size, rng, self._has_classes)
        # A ratio of the rows to fit to covered no better, with half of the rows.
        by_kind = ratio_by_kind(self, rows.X, X_target, rows.y)
        ratio = by_kind.ratio if by_kind else self._fitted_ratio(rows.X, X_target, rows.y)
        fit_inner = partial(self._fit_inner, ratio=ratio, X_target=X_target)
        fitted = self._fit_and_score(fitting, calibration, fit_inner, rng)
        refuse_text(fitted["estimator_"], rows.X, ratio)
        weights, log_scale = quantile.calibration_weights(ratio, calibration)

        for name, value in fitted.items():
            setattr(self, name, value)
        self.ratio_, self.shift_ = ratio, by_kind.kind if by_kind else None
        self.calibration_weights_, self._log_scale = weights, log_scale
        self.n_calibration_, self.ess_ = weights.size, effective_sample_size(weights)
        self.rows_checked_ = rows_checked
        self._copy_features()
        # A ratio that was fitted here has already warned.
        if X_target is None and is_estimated(ratio):
            warn_if_apart(log_scale)
        has_limits = X_target is not None or hasattr(ratio, "score_labels")
        limits = self._limits(X_target) if has_limits else None
        quantile.warn_if_infinite(weights, self.coverage, limits)
        return self

    def report(self, X: ArrayLike) -> ConformalReport:
        """Describe the intervals or sets at some rows, and the calibration behind them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        Returns
        -------
        ConformalReport
            Nominal coverage, effective sample size, share of infinite intervals or sets, sizes.
        """
        limits = self._limits(X)
        finding = quantile.infinite_finding(self.calibration_weights_, self.coverage, limits)
        return ConformalReport(
            float(self.coverage),
            self.n_calibration_,
            self.ess_,
            np.shape(X)[0],
            quantile.infinite_share(limits),
            rows_checked=self.rows_checked_,
            findings=() if finding is None else (finding,),
            **self._set_sizes(X, limits),
        )

    def _is_frozen(self, X_fit: ArrayLike | None) -> bool:
        """Return True for a frozen estimator, False for an unfitted one, or raise an error."""
        if not hasattr(self.estimator, "fit"):
            raise TypeError(f"Got estimator={self.estimator!r}, but expected one with fit.")
        if is_fitted(clone(self.estimator)):
            return True
        if is_fitted(self.estimator):
            raise ValueError(
                f"Got a {type(self.estimator).__name__} that is fitted but not frozen. Pass "
                "sklearn.frozen.FrozenEstimator(estimator) to calibrate it as it is, or an "
                "unfitted estimator to fit it to a subset of the rows."
            )
        if X_fit is not None:
            raise ValueError(
                "Got X_fit and an estimator that is not fitted, but expected a frozen one. Leave "
                "X_fit out. The rows to fit to are taken from X."
            )
        return False

    def _fit_inner(self, rows: LabelledRows | None, ratio: Any, X_target: Any) -> BaseEstimator:
        """Return a copy of the estimator, fitted unless frozen, with this ratio by default."""
        estimator = clone(self.estimator)
        if rows is None:
            return estimator
        if isinstance(estimator, WeightedEstimator):
            if is_default(estimator.ratio) and estimator.shift != LABEL:
                estimator.set_params(ratio=FrozenEstimator(ratio))
            if is_fitted(clone(estimator.ratio, safe=False)):
                X_target = None
            return estimator.fit(rows.X, rows.y, rows.sample_weight, X_target=X_target)
        return fit_with_weights(estimator, rows.X, rows.y, rows.sample_weight)

    def _limits(self, X: Any) -> np.ndarray:
        """Return the largest score that a label may have, by row and class, or one for all."""
        check_is_fitted(self)
        if np.shape(X)[:1] == (0,):
            raise ValueError("Got X with 0 samples (rows), but expected at least 1. Pass more.")
        coverage = check_confidence(self.coverage, "coverage")
        if hasattr(self.ratio_, "score_labels"):
            log_ratio = self._log_ratio_of_labels()[None, :]
        else:
            log_ratio = source_log_ratio(self.ratio_, X, None)[:, None]
        with np.errstate(over="ignore"):  # An infinite ratio gives an infinite limit.
            ratio = np.exp(log_ratio - self._log_scale)
        return quantile.weighted_quantile(self.scores_, self.calibration_weights_, ratio, coverage)
