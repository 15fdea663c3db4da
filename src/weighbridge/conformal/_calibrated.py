"""What conformal regressors and classifiers have in common: split, ratio, masses, report."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from weighbridge._findings import Finding, effective_sample_size, users_line, warn_if_apart
from weighbridge._namespace import to_numpy
from weighbridge._pass_weights import fit_with_weights
from weighbridge._source_ratio import mean_one_log_ratio, source_log_ratio
from weighbridge._validation import one_number
from weighbridge._weighted_estimator import WeightedEstimator, is_estimated
from weighbridge.conformal._parts import Part, labelled_rows, split
from weighbridge.conformal._report import few_rows_finding
from weighbridge.conformal._seen_rows import refuse_seen_rows
from weighbridge.conformal._thresholds import infinite_share_expected, thresholds
from weighbridge.exceptions import OverlapWarning
from weighbridge.ratios._fit_ratio import is_fitted, target_like_source
from weighbridge.weighting import log_mean


class CalibratedEstimator(WeightedEstimator):
    """Abstract: a model and the weighted scores of rows that it has not seen.

    Members say what labels and scores are: `_checked_labels`, `_fit_models`, `_scores`.
    """

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"X_target": True, "X_fit": True}
    _by_class: ClassVar[bool]
    _example: ClassVar[str]

    coverage: float
    calibration_size: Any
    random_state: Any

    @abstractmethod
    def _checked_labels(self, y: np.ndarray) -> np.ndarray:
        """Refuse labels of the wrong kind."""

    @abstractmethod
    def _fit_models(
        self, part: Part | None, ratio: Any, X_target: Any, rng: np.random.RandomState
    ) -> dict[str, Any]:
        """Return fitted attributes; `part` is None where the model is fitted already."""

    @abstractmethod
    def _scores(self, models: dict[str, Any], part: Part) -> np.ndarray:
        """Return how badly each label fits the model."""

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, X_target: Any = None, X_fit: Any = None
    ) -> Self:
        """Fit the estimator to one part of the rows, and calibrate it on the other.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Source rows; calibration rows only, where the estimator is frozen.
        y : array-like of shape (n_samples,)
            Labels of the source rows.
        sample_weight : array-like of shape (n_samples,), optional
            Own weights of the rows, in fitting and in calibration, where they multiply the ratio;
            a new row has their mean. 0 leaves a row out. The ratio itself compares the two
            samples as they are.
        X_target : array-like of shape (n_target, n_features), optional
            Target rows, without labels. Required unless `ratio` is fitted or known. Columns of
            data frames are matched by name, whatever their order.
        X_fit : array-like of shape (n_fit, n_features), optional
            Rows that a frozen estimator was fitted to, for a check that none of them is used
            again. `ImportanceWeighted`, `ImportanceWeightedCV` and models that keep their rows
            need no reminder. For any other frozen model nothing is checked without it, and
            ``rows_checked_`` is False.

        Returns
        -------
        estimator
            The fitted object.
        """
        coverage = self._checked_coverage()
        ready = self._is_ready(X_fit)
        rows = labelled_rows(X, y, sample_weight, type(self).__name__)
        rng = check_random_state(self.random_state)
        used = (
            rows
            if rows.sample_weight is None
            else rows.take(np.flatnonzero(rows.sample_weight > 0))
        )
        used = Part(used.X, self._checked_labels(used.y), used.sample_weight)
        checked = True
        if X_target is not None:
            X_target = target_like_source(rows.X, X_target)
        if ready:
            checked = refuse_seen_rows(self.estimator, used.X, X_fit)
            fitting, calibration = None, used
        else:
            self._check_fitting(used)
            fitting, calibration = split(used, self.calibration_size, rng, by_class=self._by_class)
        # of all rows: one of the fitted part alone covered no better, with half of the rows
        ratio = self._fitted_ratio(rows.X, X_target)
        models = self._fit_models(fitting, ratio, X_target, rng)
        scores = self._scores(models, calibration)
        weights, log_scale = _masses(ratio, calibration)

        for name, value in models.items():
            setattr(self, name, value)
        self.ratio_, self.scores_, self.calibration_weights_ = ratio, scores, weights
        self.n_calibration_, self.ess_ = calibration.n_rows, effective_sample_size(weights)
        self.rows_checked_, self._log_scale = checked, log_scale
        self._copy_features()
        if X_target is None and is_estimated(ratio):  # one that was fitted here has said so itself
            warn_if_apart(log_scale)
        self._warn_if_infinite(X_target, coverage)
        return self

    def _check_fitting(self, rows: Part) -> None:
        """Refuse rows that no model can be fitted to; any will do, unless a member knows better."""

    def _checked_coverage(self) -> float:
        coverage = one_number(self.coverage, "coverage")
        if not 0 < coverage < 1:
            raise ValueError(
                f"Got coverage={self.coverage!r}, but expected a share between 0 and 1, e.g. 0.9."
            )
        return coverage

    def _is_ready(self, X_fit: Any) -> bool:
        """True for a frozen model; one that is fitted but not frozen is refused."""
        if isinstance(self.estimator, type):
            name = self.estimator.__name__
            raise TypeError(f"Got the class {name}, but expected an object: write {name}().")
        if not hasattr(self.estimator, "fit"):
            raise TypeError(
                f"Got estimator={self.estimator!r}, but expected an estimator of scikit-learn or "
                f"one like it; e.g. {type(self).__name__}({self._example})."
            )
        if is_fitted(clone(self.estimator)):
            return True
        if is_fitted(self.estimator):
            raise ValueError(
                f"Got an estimator ({type(self.estimator).__name__}) that is fitted but not "
                "frozen: every clone forgets its fit. Wrap it, to calibrate it as it is: "
                "sklearn.frozen.FrozenEstimator(estimator); or pass one that is not fitted, to "
                "fit it to one part of the rows."
            )
        if X_fit is not None:
            raise ValueError(
                "Got X_fit with an estimator that is not fitted: it names the rows that a fitted "
                "one has seen. Leave it out; the rows to fit to are taken from X."
            )
        return False

    def _fit_inner(self, part: Part, ratio: Any, X_target: Any) -> Any:
        """Fit a copy of the estimator; one that weights its rows shares the ratio."""
        estimator = clone(self.estimator)
        if isinstance(estimator, WeightedEstimator):
            if estimator.ratio is None:
                estimator.set_params(ratio=FrozenEstimator(ratio))
            given = None if is_fitted(clone(estimator.ratio)) else X_target
            return estimator.fit(part.X, part.y, part.sample_weight, X_target=given)
        if part.sample_weight is None:
            return estimator.fit(part.X, part.y)
        return fit_with_weights(estimator, part.X, part.y, part.sample_weight)

    def _thresholds(self, X: Any) -> np.ndarray:
        """Return the largest score that a label may have at each row of `X`."""
        check_is_fitted(self)
        if np.shape(X)[:1] == (0,):
            raise ValueError(
                "Got X with 0 samples (rows); pass the rows of the target to predict at."
            )
        log_ratio = to_numpy(self.ratio_.score_samples(X)).astype(float)
        missing = int(np.isnan(log_ratio).sum())
        if missing:
            raise ValueError(
                f"Got a ratio ({type(self.ratio_).__name__}) that is NaN at {missing} of "
                f"{log_ratio.size} rows; look for NaN in X or in the densities there."
            )
        with np.errstate(over="ignore"):  # an infinite ratio gives an infinite threshold
            ratio = np.exp(log_ratio - self._log_scale)
        return thresholds(self.scores_, self.calibration_weights_, ratio, self._checked_coverage())

    def _warn_if_infinite(self, X_target: Any, coverage: float) -> None:
        if X_target is None:
            share = infinite_share_expected(self.calibration_weights_, coverage)
        else:
            share = float(np.isinf(self._thresholds(X_target)).mean())
        finding = few_rows_finding(self.ess_, self.n_calibration_, share, coverage)
        if finding is not None:
            warnings.warn(
                f"{finding.code} {finding.message} {finding.help}",
                OverlapWarning,
                stacklevel=users_line(),
            )

    def _found(self, limit: np.ndarray) -> dict[str, Any]:
        """Return what every report holds."""
        share, coverage = float(np.isinf(limit).mean()), self._checked_coverage()
        finding = few_rows_finding(self.ess_, self.n_calibration_, share, coverage)
        findings: tuple[Finding, ...] = () if finding is None else (finding,)
        return {
            "coverage": coverage,
            "n_calibration": self.n_calibration_,
            "ess": self.ess_,
            "n_rows": int(limit.size),
            "infinite_share": share,
            "rows_checked": self.rows_checked_,
            "findings": findings,
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False
        return tags


def _masses(ratio: Any, part: Part) -> tuple[np.ndarray, float]:
    """Return the weights of the calibration rows, with mean 1, and the log of their scale.

    Own weights count relative to their mean, which is what a new row is taken to have.
    """
    log_ratio = source_log_ratio(ratio, part.X, None)
    infinite = int(np.isposinf(log_ratio).sum())
    if infinite:
        raise ValueError(
            f"Got a ratio that is infinite at {infinite} calibration rows: they lie where the "
            "source density is 0. Correct the densities, or leave the rows out (sample_weight 0)."
        )
    if part.sample_weight is not None:
        log_ratio = log_ratio + np.log(part.sample_weight) - np.log(part.sample_weight.mean())
    log_weight = mean_one_log_ratio(log_ratio, None)
    return np.exp(log_weight), float(log_mean(log_ratio))
