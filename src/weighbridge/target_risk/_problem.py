"""What is estimated: the measure and the settings, and the rows, ratio and folds it rests on."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import check_random_state, indexable
from sklearn.utils.validation import _num_samples

from weighbridge._estimators import JudgedRatio, is_estimated
from weighbridge.domain import Support, covered_rows, outside_support
from weighbridge.exceptions import OverlapWarning
from weighbridge.label_shift import AUTO, COVARIATE, check_shift
from weighbridge.model_selection import ROW_LOSSES, RowLoss, source_rows, table_rows
from weighbridge.ratios import source_log_ratio
from weighbridge.tables import (
    FEWEST_ROWS,
    check_confidence,
    check_sample_weight,
    target_like_source,
    to_numpy,
    unmasked,
)
from weighbridge.target_risk._forecast import BRIDGE, CrossFittedRidge, LabelModel
from weighbridge.target_risk._procedures import fit_ratio_of
from weighbridge.weighting import Geodesic

# The information of a ratio is learned from about this many rows of each sample.
_INFORMATION_ROWS = 20_000
# Names of scorers as they are shown.
NAMES = {
    "accuracy": "error",
    "neg_log_loss": "log loss",
    "neg_brier_score": "Brier score",
    "neg_squared_margin": "squared margin",
    "neg_mean_squared_error": "MSE",
    "neg_root_mean_squared_error": "RMSE",
    "neg_mean_absolute_error": "MAE",
    "neg_mean_poisson_deviance": "Poisson deviance",
    "roc_auc": "AUC",
    "roc_auc_ovr": "AUC (one vs rest)",
    "f1": "F1",
    "f1_macro": "macro F1",
    "balanced_accuracy": "balanced accuracy",
    "r2": "R²",
}
# Scorers with values from 0 to 1, and other scorers with 1 as their best value.
_SHARES = re.compile("average_prec|balanced_acc|f1|jaccard|precision|recall|roc_auc|top_k_accuracy")
_AT_MOST_ONE = re.compile("d2_|explained_variance|matthews|r2")
# Methods that can rank rows.
_RANKINGS = {"roc_auc": ("predict_proba", "decision_function"), "roc_auc_ovr": ("predict_proba",)}


@dataclass(frozen=True)
class Measure:
    """A loss that is a mean over rows, or the root of one, or a score of a whole sample."""

    name: str
    row_loss: RowLoss | None
    root: bool = False
    scorer: Any = None

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        if self.row_loss is None:
            if _SHARES.match(self.name):
                return 0.0, 1.0
            return -np.inf, 1.0 if _AT_MOST_ONE.match(self.name) else np.inf
        if self.row_loss.scoring not in ROW_LOSSES:
            return -np.inf, np.inf
        return 0.0, 1.0 if self.row_loss.scoring == "accuracy" else np.inf


def find_measure(scoring: Any, loss: Any, estimator: Any) -> Measure:
    """Return the measure for a scorer or its name, or for a function ``loss(y, prediction)``."""
    has_classes = is_classifier(estimator)
    if loss is not None:
        return _custom_measure(scoring, loss, has_classes)
    if scoring is None:
        scoring = "accuracy" if has_classes else "neg_root_mean_squared_error"
    root = isinstance(scoring, str) and scoring == "neg_root_mean_squared_error"
    name = "neg_mean_squared_error" if root else scoring
    row_loss = ROW_LOSSES.get(name) if isinstance(name, str) else None
    if row_loss is not None and row_loss.of_classes != has_classes:
        kind = "classifier" if has_classes else "regressor"
        raise ValueError(
            f"Got scoring={scoring!r} for a {kind}, which has no such loss; choose another, e.g. "
            f"{'accuracy' if has_classes else 'neg_root_mean_squared_error'!r}."
        )
    methods = _RANKINGS.get(str(scoring), ("predict",))
    methods = methods if row_loss is None else (row_loss.response,)
    if not any(hasattr(estimator, method) for method in methods):
        raise ValueError(
            f"Got scoring={scoring!r} for {type(estimator).__name__}, which has no "
            f"{' or '.join(methods)}; use 'accuracy', or wrap it in "
            "sklearn.calibration.CalibratedClassifierCV."
        )
    if row_loss is not None:
        return Measure(NAMES[scoring], row_loss, root)
    name = scoring if isinstance(scoring, str) else "score"
    return Measure(name, None, scorer=get_scorer(scoring))


def _custom_measure(scoring: Any, function: Any, has_classes: bool) -> Measure:
    """Return the measure for a user's function. Of classes, it gets their positions."""
    if scoring is not None:
        raise ValueError(f"Got scoring={scoring!r} and a loss as well; give only one of them.")
    if not callable(function):
        raise TypeError(
            f"Got loss={function!r}, but expected a function loss(y, prediction) that returns one "
            "number for each row. Names of scikit-learn's scorers go into scoring=..."
        )

    def loss(y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
        values = np.asarray(function(y, prediction), dtype=float)
        if values.shape != y.shape or not np.isfinite(values).all():
            raise ValueError(
                f"Got a loss that returns an array of shape {values.shape} for {y.size} rows, or "
                "values that are not finite; it must return one finite number for each row."
            )
        return values

    name = str(getattr(function, "__name__", "loss")).replace("<lambda>", "loss")
    response = "predict_proba" if has_classes else "predict"
    return Measure(name, RowLoss(name, response, loss, has_classes))


@dataclass(frozen=True)
class Question:
    """Settings that the functions above this package share."""

    ratio: Any = None
    shift: str = AUTO
    scoring: Any = None
    loss: Any = None
    confidence: float = 0.95
    cv: int = 5
    n_jobs: int | None = None
    random_state: Any = None
    candidates: Any = None
    worthwhile: float | None = None
    progress: Any = None
    metrics: Mapping[str, str] = field(default_factory=dict)  # further scorers, by their names

    def metrics_of(self, estimator: Any) -> dict[str, Measure]:
        """Return the further measures by their names."""
        metrics = self.metrics.items()
        return {name: find_measure(scorer, None, estimator) for name, scorer in metrics}

    def measure_of(self, estimator: Any) -> Measure:
        """Return the measure for an estimator; reject settings that do not fit it."""
        measure = find_measure(self.scoring, self.loss, estimator)
        self.metrics_of(estimator)
        check_confidence(self.confidence)
        check_shift(self.shift)
        return measure

    def check_folds(self, n_rows: int) -> None:
        """Raise ValueError unless the rows can be split into this number of folds."""
        cv: Any = self.cv
        is_integer = isinstance(cv, Integral) and not isinstance(cv, bool)
        if not is_integer or not 2 <= int(cv) <= n_rows:
            raise ValueError(
                f"Got cv={self.cv!r}, but expected a whole number of folds from 2 to the {n_rows} "
                "rows of X."
            )


class RatioInfluence:
    """Influence of the rows on a ratio that is estimated like a logistic regression on phi.

    Row i, of domain d_i and with P(target | x_i) = p_i, moves log r(x) by phi(x)' H^-1 phi_i
    (d_i - p_i), with the penalised information H = I + sum_i p_i (1 - p_i) phi_i phi_i'.
    """

    def __init__(
        self, ridge: CrossFittedRidge, log_ratio: np.ndarray, log_ratio_target: np.ndarray
    ):
        log_prior_odds = np.log(log_ratio_target.size / log_ratio.size)
        log_odds, log_odds_target = log_ratio + log_prior_odds, log_ratio_target + log_prior_odds
        self.ridge = ridge
        self.scores = -expit(log_odds)[:, None], expit(-log_odds_target)[:, None]
        self.information = np.eye(ridge.width)
        for numbers, odds in ((ridge.source, log_odds), (ridge.target, log_odds_target)):
            step = max(1, odds.size // _INFORMATION_ROWS)
            spread = (expit(odds) * expit(-odds))[::step]
            self.information += ridge.gram(numbers[::step], spread * odds.size / spread.size)

    def of_mean(self, contributions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the influence of the rows of both samples on sum_i c_i log r(x_i)."""
        source, target = self.ridge.source, self.ridge.target
        coefficients = self._solve(self.ridge.moments(source, contributions[:, None]))
        changes = self.ridge.times(source, coefficients), self.ridge.times(target, coefficients)
        return (self.scores[0] * changes[0])[:, 0], (self.scores[1] * changes[1])[:, 0]

    def log_ratio_change(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the change of the log ratio at the source rows if rows count this much more."""
        total = self.ridge.moments(self.ridge.source, source * self.scores[0])
        total += self.ridge.moments(self.ridge.target, target * self.scores[1])
        return self.ridge.times(self.ridge.source, self._solve(total))

    def _solve(self, moments: np.ndarray) -> np.ndarray:
        return np.asarray(np.linalg.solve(self.information, moments), dtype=np.float64)


class LabelRatioInfluence:
    """Influence of the rows on the class weights of a label ratio."""

    def __init__(self, ratio: Any, y: np.ndarray, rows: np.ndarray | None):
        estimate, self.class_shares = ratio.estimate_, ratio.class_shares(y)
        probabilities, used = ratio.probabilities_, slice(None) if rows is None else rows
        scale = ratio.class_weights_ * probabilities.priors
        # A class weight is a prevalence in the target divided by that in the source.
        counts = np.eye(scale.size)[probabilities.codes] / probabilities.priors - 1
        self.source = (estimate.of_source / scale - counts / probabilities.codes.size)[used]
        self.target = estimate.of_target / scale

    def of_mean(self, contributions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the influence of the rows of both samples on sum_i c_i log r(y_i)."""
        by_class = self.class_shares.T @ contributions
        return self.source @ by_class, self.target @ by_class

    def log_ratio_change(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the change of the log ratio at the source rows if rows count this much more."""
        return np.asarray(self.class_shares @ (self.source.T @ source + self.target.T @ target))


class RiskProblem:
    """Two samples, a fitted ratio, outer folds and a model of the labels, shared by all models."""

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        X_target: Any,
        sample_weight: Any = None,
        question: Question | None = None,
        support: Support | None = None,
        step: Callable[[], object] | None = None,
    ):
        self.question = question = question or Question()
        self.estimator = estimator
        sample_weight = check_sample_weight(sample_weight, _num_samples(X))
        random_state = question.random_state
        if isinstance(random_state, np.random.Generator):
            random_state = int(random_state.integers(2**31 - 1))
        self.random_state = random_state
        self.seed = int(check_random_state(random_state).randint(2**31 - 1))
        X, X_target = _as_table(X), target_like_source(_as_table(X), _as_table(X_target))
        self.X_target, self.n_target = X_target, _num_samples(X_target)
        n_source = _num_samples(X) if sample_weight is None else np.count_nonzero(sample_weight)
        for name, n in (("X", n_source), ("X_target", self.n_target)):
            if n < FEWEST_ROWS:
                raise ValueError(
                    f"Got {n} rows in {name}; at least {FEWEST_ROWS} are needed to say anything "
                    "about a risk. Collect more rows; those of the target need no labels."
                )
        question.check_folds(_num_samples(X))
        self.n_folds = int(question.cv)
        self._all_rows = X, y, sample_weight
        ratio_and_shift = question.ratio, question.shift
        fitted = fit_ratio_of(estimator, X, y, X_target, ratio_and_shift, support, step)
        self.ratio, self.kind, self._other_ratio, domain = fitted
        log_ratio = source_log_ratio(self.ratio, X, sample_weight, y)
        # Under label shift, forecasts that were made for the source mislead, so that the weights
        # have to account for the whole shift.
        self.by_label = hasattr(self.ratio, "score_labels")
        self.bridge = Geodesic() if self.by_label else BRIDGE
        self.rows = source_rows(estimator, X, y, log_ratio, sample_weight, self.bridge)
        # A diagnosis of the same rows with the same seed can use these.
        is_same = self.rows.numbers is None and random_state == 0
        self.support, self.domain = (support, domain) if is_same else (None, None)
        self.outside_share = None
        with suppress(TypeError, ValueError):  # A pipeline of the ratio may read any table.
            known = self.support or outside_support(self.rows.X, X_target)
            self.outside_share = known.share
        self.ratio = JudgedRatio(self.ratio, self.outside_share)
        # As the ratio gives it. The log ratio of `rows` is scaled to a mean ratio of 1.
        self.log_ratio = log_ratio if self.rows.numbers is None else log_ratio[self.rows.numbers]
        self._check_classes()
        kind = StratifiedKFold if is_classifier(estimator) else KFold
        splitter = kind(self.n_folds, shuffle=True, random_state=self.seed)
        self.fold = np.zeros(self.rows.y.size, dtype=np.intp)
        for k, (_, test) in enumerate(splitter.split(self.rows.y, self.rows.y)):
            self.fold[test] = k

    def _check_classes(self) -> None:
        if self.rows.classes is None:
            return
        counts = np.bincount(self.rows.codes)
        if counts.min() < self.n_folds:
            raise ValueError(
                f"Got {counts.min()} rows of class {self.rows.classes[counts.argmin()].item()!r} "
                f"for cv={self.n_folds} folds; every fold needs a row of every class. Use fewer "
                "folds, or merge rare classes."
            )

    @cached_property
    def shares(self) -> np.ndarray:
        """Importance weights of the source rows under the full ratio, scaled to sum to 1."""
        weights = np.exp(self.rows.log_ratio - self.rows.log_ratio.max())
        return np.asarray(weights / weights.sum())

    @cached_property
    def log_ratio_target(self) -> np.ndarray:
        """Log ratio at the target rows, as the ratio gives it."""
        return to_numpy(self.ratio.score_samples(self.X_target)).astype(float)

    @property
    def log_ratios(self) -> tuple[np.ndarray, np.ndarray]:
        """Log ratios of both samples, scaled to a mean ratio of 1 over the source rows."""
        row = self.rows.log_ratio.argmax()  # Rows of ratio 0 do not show the scale.
        log_scale = float(self.log_ratio[row] - self.rows.log_ratio[row])
        return self.rows.log_ratio, self.log_ratio_target - log_scale

    @cached_property
    def ridge(self) -> CrossFittedRidge:
        """Regression on the features, which smooths labels and losses."""
        return CrossFittedRidge(self.rows.X, self.X_target, self.rows.validation, self.fold)

    @cached_property
    def labels(self) -> LabelModel:
        """The model of the labels."""
        n_classes = None if self.rows.classes is None else self.rows.classes.size
        return LabelModel(self.ridge, self.rows.codes, n_classes)

    @cached_property
    def ratio_influence(self) -> RatioInfluence | LabelRatioInfluence | None:
        """The influence of the rows on an estimated ratio; None for a known one."""
        if self.by_label:
            probabilities = self.ratio.probabilities_
            codes = self.ratio.class_shares(self._all_rows[1]).argmax(axis=1)
            n_rows = probabilities.codes.size, len(probabilities.target)
            is_same = (codes.size, self.n_target) == n_rows and (
                self.ratio.bin_medians_ is not None or (codes == probabilities.codes).all()
            )
            if not is_same:  # The ratio was fitted to other rows.
                return None
            return LabelRatioInfluence(self.ratio, self.rows.y, self.rows.numbers)
        if not is_estimated(self.ratio):
            return None
        return RatioInfluence(self.ridge, self.log_ratio, self.log_ratio_target)

    @cached_property
    def covered(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """The target rows that were compared with the support, and which of them it covers."""
        return covered_rows(self.rows.X, self.X_target)

    @cached_property
    def covered_part(self) -> RiskProblem:
        """The same source rows and folds with the covered target rows, and a ratio for these."""
        rows, X_target = self.rows, table_rows(self.X_target, self.covered[0][self.covered[1]])
        arguments = self.estimator, rows.X, rows.y, X_target, rows.sample_weight, self.question
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OverlapWarning)  # The whole samples have caused one.
            part = RiskProblem(*arguments)
        part.fold = self.fold
        return part

    @cached_property
    def otherwise(self) -> RiskProblem | None:
        """The same rows and folds under the other kind of shift, unless that is ruled out."""
        if self.kind is None or self.kind.kind == COVARIATE:
            return None
        X, y, sample_weight = self._all_rows
        question = replace(self.question, ratio=FrozenEstimator(self._other_ratio))
        other = RiskProblem(self.estimator, X, y, self.X_target, sample_weight, question)
        other.fold = self.fold
        return other


def _as_table(X: Any) -> Any:
    """Return lists as arrays, and sparse matrices in a form whose rows can be taken."""
    return unmasked(np.asarray(X) if isinstance(X, list | tuple) else indexable(X)[0])
