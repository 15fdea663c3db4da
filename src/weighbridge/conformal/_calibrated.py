"""What conformal regressors and classifiers have in common: split, ratio, masses, report."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state, indexable
from sklearn.utils.validation import _num_samples, assert_all_finite, check_is_fitted, column_or_1d

from weighbridge._estimators import (
    FittedRows,
    WeightedEstimator,
    column_names,
    is_estimated,
    refuse_text,
    rows_told,
)
from weighbridge._findings import Finding, users_line
from weighbridge._pass_weights import fit_with_weights
from weighbridge.exceptions import OverlapWarning
from weighbridge.label_shift import LABEL, ratio_by_kind
from weighbridge.model_selection import table_rows
from weighbridge.ratios import (
    effective_sample_size,
    is_default,
    is_fitted,
    source_log_ratio,
    warn_if_apart,
)
from weighbridge.tables import (
    check_sample_weight,
    one_number,
    refuse_missing,
    target_like_source,
    to_numpy,
    unmasked,
)
from weighbridge.weighting import log_mean, mean_one_log_ratio

# Sums of weights and products with a decimal coverage are right up to their last bits: a share that
# misses the coverage by less than this reaches it.
SLACK = 1e-12
# From this share of infinite sets on the calibration says more about itself than about the target.
MOSTLY = 0.5


@dataclass(frozen=True)
class Part:
    """Some labelled rows, with the user's own weights."""

    X: Any
    y: np.ndarray
    sample_weight: np.ndarray | None

    def take(self, rows: np.ndarray) -> Part:
        """Return some of the rows, by their positions."""
        sample_weight = None if self.sample_weight is None else self.sample_weight[rows]
        return Part(table_rows(self.X, rows), self.y[rows], sample_weight)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.y.size)


def labelled_rows(X: Any, y: Any, sample_weight: Any, name: str) -> Part:
    """Check that there is one label for each row."""
    if y is None:
        raise ValueError(
            f"{name} requires y to be passed, but the target y is None: it holds the labels of "
            "the source rows."
        )
    X, y = unmasked(X), unmasked(y, "y")
    shape = np.asarray(y).shape
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"Got y of shape {shape}; {name} takes one label for each row. Calibrate one "
            "model for each output."
        )
    X = np.asarray(X) if isinstance(X, list | tuple) else indexable(X)[0]
    labels, n = column_or_1d(y, warn=True), _num_samples(X)
    if labels.size != n:
        raise ValueError(f"Got X with {n} rows and y with {labels.size}; each row needs a label.")
    refuse_missing(labels if labels.dtype == object else ())
    assert_all_finite(labels, input_name="y")
    return Part(X, labels, check_sample_weight(sample_weight, n))


def split(
    part: Part, calibration_size: Any, rng: np.random.RandomState, *, by_class: bool
) -> tuple[Part, Part]:
    """Deal the rows at random, one part to fit to, one to calibrate on."""
    n = part.n_rows
    wanted = _calibration_rows(calibration_size, n)
    order = rng.permutation(n)
    first = np.zeros(n, dtype=bool)
    if by_class:
        codes = np.unique(part.y, return_inverse=True)[1]
        order = order[np.argsort(codes[order], kind="stable")]
        first = np.diff(codes[order], prepend=-1) > 0
        if wanted > n - first.sum():
            raise ValueError(
                f"Got {n} rows of {first.sum()} classes, {wanted} of them to calibrate on; the "
                "rest cannot hold a row of each class. Give more rows, or a smaller "
                "calibration_size."
            )
    rest = order[~first]
    marks = (np.arange(rest.size + 1) * wanted + rng.randint(rest.size)) // rest.size
    held = rest[np.diff(marks) > 0]
    fitted = np.setdiff1d(order, held)
    return part.take(fitted), part.take(np.sort(held))


def _calibration_rows(size: Any, n: int) -> int:
    if n < 2:
        raise ValueError(
            f"Got n_samples={n} rows; one part is for fitting and the other for calibration, "
            "which takes at least 2 rows, and a few hundred to be of use."
        )
    if not isinstance(size, bool) and isinstance(size, Integral) and 1 <= int(size) < n:
        return int(size)
    if isinstance(size, Real) and 0 < float(size) < 1:
        return min(max(round(n * float(size)), 1), n - 1)
    raise ValueError(
        f"Got calibration_size={size!r} for {n} rows, but expected a share between 0 and 1, or a "
        f"number of rows from 1 to {n - 1}."
    )


def refuse_seen_rows(model: Any, X: Any, X_fit: Any) -> bool:
    """Raise where more rows of `X` than chance explains were used to fit `model`."""
    if X_fit is None:
        seen = rows_told(model, X)
    else:
        _check_columns(X, X_fit)
        seen = FittedRows(X_fit).known_beyond_chance(X)
    if seen:
        raise ValueError(
            f"Got {seen} of {_num_samples(X)} calibration rows that the model was fitted to: their "
            "errors are too small, and so would be every set. Calibrate on rows that the model "
            "has not seen, or pass an estimator that is not fitted: then the rows are split."
        )
    return seen is not None


def _check_columns(X: Any, X_fit: Any) -> None:
    n, n_fit = (_num_columns(part) for part in (X, X_fit))
    if n != n_fit:
        raise ValueError(
            f"Got X_fit with {n_fit} columns and X with {n}; X_fit has the rows that the model was "
            "fitted to, with the same columns."
        )
    names, names_fit = column_names(X), column_names(X_fit)
    if names is not None and names_fit is not None and set(names) != set(names_fit):
        raise ValueError(
            f"Got X_fit with columns {names_fit} and X with columns {names}; X_fit has the rows "
            "that the model was fitted to, with the same columns."
        )


def _num_columns(X: Any) -> int:
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    return int(shape[1]) if len(shape) == 2 else 0


class CalibratedEstimator(WeightedEstimator):
    """Abstract: a model and the weighted scores of rows that it has not seen.

    Members say what labels and scores are: `_checked_labels`, `_fit_models`, `_scores`.
    """

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"X_target": True, "X_fit": True}
    _single_output: ClassVar[bool] = True
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
    def _log_ratio_of_labels(self) -> np.ndarray:
        """Return the log ratio of each class that a new row may have, by a ratio in the label."""

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
            Your weights for the rows, in fitting and calibration, where they multiply the ratio; a
            new row has their mean. 0 leaves a row out. The ratio compares the samples as they are.
        X_target : array-like of shape (n_target, n_features), optional
            Target rows, without labels. Required unless `ratio` is fitted or known. Columns of
            data frames are matched by name, whatever their order.
        X_fit : array-like of shape (n_fit, n_features), optional
            Rows that a frozen estimator was fitted to, for a check that none of them is used
            again. `ImportanceWeighted`, `ImportanceWeightedCV` and models that keep their rows
            need no reminder. For any other frozen model, nothing is checked without it, and
            ``rows_checked_`` is False.

        Returns
        -------
        estimator
            The fitted object.
        """
        self._checked_coverage()
        ready = self._is_ready(X_fit)
        rows = labelled_rows(X, y, sample_weight, type(self).__name__)
        rng = check_random_state(self.random_state)
        used = rows
        if rows.sample_weight is not None:
            used = rows.take(np.flatnonzero(rows.sample_weight > 0))
        used = replace(used, y=self._checked_labels(used.y))
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
        by_kind = ratio_by_kind(self, rows.X, X_target, rows.y)
        kind = by_kind and by_kind.kind
        ratio = by_kind.ratio if by_kind else self._fitted_ratio(rows.X, X_target, rows.y)
        models = self._fit_models(fitting, ratio, X_target, rng)
        refuse_text(models["estimator_"], rows.X, ratio)
        scores = self._scores(models, calibration)
        weights, log_scale = _masses(ratio, calibration)

        for name, value in models.items():
            setattr(self, name, value)
        self.ratio_, self.scores_, self.calibration_weights_ = ratio, scores, weights
        self.shift_ = kind
        self.n_calibration_, self.ess_ = calibration.n_rows, effective_sample_size(weights)
        self.rows_checked_, self._log_scale = checked, log_scale
        self._copy_features()
        if X_target is None and is_estimated(ratio):  # one that was fitted here has said so itself
            warn_if_apart(log_scale)
        self._warn_if_infinite(X_target)
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
                f"Got estimator={self.estimator!r}, but expected a scikit-learn estimator or "
                f"one like it, e.g. {type(self).__name__}({self._example})."
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
                "Got X_fit with an estimator that is not fitted: it has the rows that a fitted "
                "one has seen. Leave it out; the rows to fit to are taken from X."
            )
        return False

    def _fit_inner(self, part: Part | None, ratio: Any, X_target: Any) -> Any:
        """Fit a copy of the estimator, if it is not yet; one that weights rows shares the ratio."""
        estimator = clone(self.estimator)
        if part is None:
            return estimator
        if isinstance(estimator, WeightedEstimator):
            if is_default(estimator.ratio) and estimator.shift != LABEL:
                estimator.set_params(ratio=FrozenEstimator(ratio))
            given = None if is_fitted(clone(estimator.ratio, safe=False)) else X_target
            return estimator.fit(part.X, part.y, part.sample_weight, X_target=given)
        if part.sample_weight is None:
            return estimator.fit(part.X, part.y)
        return fit_with_weights(estimator, part.X, part.y, part.sample_weight)

    def _thresholds(self, X: Any) -> np.ndarray:
        """Return the largest score that a label may have, by row and class, or one for all."""
        check_is_fitted(self)
        if np.shape(X)[:1] == (0,):
            raise ValueError(
                "Got X with 0 samples (rows); pass the rows of the target to predict at."
            )
        coverage = self._checked_coverage()
        if hasattr(self.ratio_, "score_labels"):
            log_ratio = self._log_ratio_of_labels()[None, :]
        else:
            log_ratio = self._log_ratio_at(X)[:, None]
        with np.errstate(over="ignore"):  # an infinite ratio gives an infinite threshold
            ratio = np.exp(log_ratio - self._log_scale)
        return thresholds(self.scores_, self.calibration_weights_, ratio, coverage)

    def _log_ratio_at(self, X: Any) -> np.ndarray:
        """Return the log ratio at new rows."""
        log_ratio = to_numpy(self.ratio_.score_samples(X)).astype(float)
        missing = int(np.isnan(log_ratio).sum())
        if missing:
            raise ValueError(
                f"Got a ratio ({type(self.ratio_).__name__}) that is NaN at {missing} of "
                f"{log_ratio.size} rows; look for NaN in X or in the densities there."
            )
        return log_ratio

    def _warn_if_infinite(self, X_target: Any) -> None:
        unknown = X_target is None and not hasattr(self.ratio_, "score_labels")
        finding = self._few_rows(None if unknown else self._thresholds(X_target))
        if finding is not None:
            warnings.warn(
                f"{finding.code} {finding.message} {finding.help}",
                OverlapWarning,
                stacklevel=users_line(),
            )

    def _few_rows(self, limit: np.ndarray | None) -> Finding | None:
        """Return WB307 where thresholds, or those to be expected, are infinite for most rows."""
        coverage = self._checked_coverage()
        by_class = limit is not None and limit.shape[1] > 1
        if limit is None or by_class:
            share = infinite_share_expected(self.calibration_weights_, coverage)
        else:
            share = infinite_share(limit)
        if share <= MOSTLY:
            return None
        sets = "of the prediction sets on the target are infinite"
        if by_class:
            sets = "of the target has classes that are in every set"
        found = (
            f"{100 * share:.0f} % {sets}: the {self.n_calibration_} calibration rows have "
            f"{self.ess_:.1f} effective rows"
        )
        least = math.ceil(coverage / (1 - coverage) - SLACK)
        if self.ess_ < least:
            return Finding(
                "WB307",
                "warning",
                f"{found}, and {coverage:.4g} coverage takes at least {least}.",
                "Calibrate on more rows like those in the target, ask for less coverage, or check "
                "whether one feature alone tells the samples apart.",
            )
        return Finding(
            "WB307",
            "warning",
            f"{found}, enough for {coverage:.4g} coverage at rows like them, but most target rows "
            "have a far larger ratio.",
            "Calibrate on rows like those in the target, or check whether one feature alone tells "
            "the samples apart.",
        )

    def _found(self, limit: np.ndarray, n_rows: int) -> dict[str, Any]:
        """Return what every report holds."""
        finding = self._few_rows(limit)
        return {
            "coverage": self._checked_coverage(),
            "n_calibration": self.n_calibration_,
            "ess": self.ess_,
            "n_rows": n_rows,
            "infinite_share": infinite_share(limit),
            "rows_checked": self.rows_checked_,
            "findings": () if finding is None else (finding,),
        }


def _masses(ratio: Any, part: Part) -> tuple[np.ndarray, float]:
    """Return the weights of the calibration rows, with mean 1, and the log of their scale."""
    log_ratio = source_log_ratio(ratio, part.X, None, part.y)
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


def thresholds(
    scores: np.ndarray, weights: np.ndarray, ratio: np.ndarray, coverage: float
) -> np.ndarray:
    """Return the quantile of the scores for each new row, infinite where they do not reach it."""
    order = np.argsort(scores)
    mass = np.cumsum(weights[order])
    needed = coverage * (mass[-1] + ratio) * (1 - SLACK)
    return np.append(scores[order], np.inf)[np.searchsorted(mass, needed)]


def infinite_share(limit: np.ndarray) -> float:
    """Return the share of rows that no threshold is large enough for, whatever the class."""
    return float(np.isinf(limit).all(axis=1).mean())


def infinite_share_expected(weights: np.ndarray, coverage: float) -> float:
    """Return the share of target rows whose threshold will be infinite, by the calibration rows."""
    infinite = weights > (1 - coverage) * (weights.sum() + weights) * (1 + SLACK)
    return float(weights[infinite].sum() / weights.sum())
