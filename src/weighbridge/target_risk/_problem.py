"""Everything about two samples and a ratio that the risk of any model is estimated from."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples

from weighbridge._estimators import (
    WeightedEstimator,
    is_estimated,
    refuse_text,
    rows_told,
    share_beyond,
)
from weighbridge.domain import Support, covered_rows, outside_support
from weighbridge.exceptions import OverlapWarning
from weighbridge.label_shift import AUTO, COVARIATE, LABEL, ByKind, fit_by_kind
from weighbridge.model_selection import RowLoss, SourceRows, source_rows, table_rows
from weighbridge.ratios import (
    OverlapJudgement,
    check_ratio,
    effective_sample_size,
    fit_ratio,
    is_default,
    is_fitted,
    judge_weights,
    pareto_k,
    source_log_ratio,
)
from weighbridge.tables import (
    FEWEST_ROWS,
    check_sample_weight,
    target_like_source,
    to_numpy,
    unmasked,
)
from weighbridge.target_risk._held_out import HeldOut, Step, fit_finals
from weighbridge.target_risk._influence import BRIDGED, LabelInfluence, Losses, RatioInfluence
from weighbridge.target_risk._labels import Features, PlausibleLabels, Smoothed, smooth
from weighbridge.target_risk._question import Question
from weighbridge.weighting import Geodesic


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
        step: Step | None = None,
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
        _check_size(
            _num_samples(X) if sample_weight is None else int(np.count_nonzero(sample_weight)),
            self.n_target,
        )
        question.check_folds(_num_samples(X))
        self.n_folds = int(question.cv)
        self._given = X, y, sample_weight
        by_kind = _frozen_ratio(estimator, X, y, X_target, question, support, step)
        self.ratio, self.kind, self._other, domain = by_kind
        log_ratio = source_log_ratio(self.ratio, X, sample_weight, y)
        # where labels are weighted, forecasts made for the source mislead: weights go all the way
        self.by_label = hasattr(self.ratio, "score_labels")
        self.bridge = Geodesic() if self.by_label else BRIDGED
        self.rows: SourceRows = source_rows(estimator, X, y, log_ratio, sample_weight, self.bridge)
        # what told the kind serves a diagnosis of the same rows, by the same seed
        is_same = self.rows.numbers is None and random_state == 0
        self.support, self.domain = (support, domain) if is_same else (None, None)
        # as the ratio gives it; that of `rows` has mean 1
        self.log_ratio = log_ratio if self.rows.numbers is None else log_ratio[self.rows.numbers]
        self._check_classes(question.cv)
        kind = StratifiedKFold if is_classifier(estimator) else KFold
        splitter = kind(question.cv, shuffle=True, random_state=self.seed)
        self.fold_rows: dict[Any, Any] = {}
        self.fold = np.zeros(self.rows.y.size, dtype=np.intp)
        for k, (_, test) in enumerate(splitter.split(self.rows.y, self.rows.y)):
            self.fold[test] = k

    def _check_classes(self, cv: int) -> None:
        if self.rows.classes is None:
            return
        counts = np.bincount(self.rows.codes)
        if counts.min() < cv:
            raise ValueError(
                f"Got {counts.min()} rows of class {self.rows.classes[counts.argmin()].item()!r} "
                f"for cv={cv} folds; every fold needs a row of every class. Use fewer folds, or "
                "merge rare classes."
            )

    @cached_property
    def shares(self) -> np.ndarray:
        """Importance weights of the source rows, the full ratio, adding up to 1."""
        weights = np.exp(self.rows.log_ratio - self.rows.log_ratio.max())
        return np.asarray(weights / weights.sum())

    @cached_property
    def plain_shares(self) -> np.ndarray:
        """Shares of the source rows as they are."""
        return np.full(self.rows.y.size, 1 / self.rows.y.size)

    @cached_property
    def log_ratio_target(self) -> np.ndarray:
        """Log ratio at the target rows, as the ratio gives it."""
        return to_numpy(self.ratio.score_samples(self.X_target)).astype(float)

    @property
    def log_ratios(self) -> tuple[np.ndarray, np.ndarray]:
        """Log ratios at both samples, scaled to a mean ratio of 1 over the source rows."""
        row = self.rows.log_ratio.argmax()  # any but those of ratio 0
        off = float(self.log_ratio[row] - self.rows.log_ratio[row])
        return self.rows.log_ratio, self.log_ratio_target - off

    @cached_property
    def ess(self) -> float:
        """Effective number of rows under the full ratio."""
        return effective_sample_size(self.shares)

    @cached_property
    def tail_index(self) -> float:
        """Pareto k-hat of the full ratio."""
        return pareto_k(self.shares)

    @cached_property
    def overlap(self) -> OverlapJudgement:
        """The judgement for one parameter."""
        support = self.support or outside_support(self.rows.X, self.X_target)
        return judge_weights(self.shares, support.share, beyond=share_beyond(self.ratio))

    @cached_property
    def features(self) -> Features:
        """What labels and ratio are smoothed by."""
        return Features(self.rows.X, self.X_target)

    @cached_property
    def covered(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """The target rows that were looked at, and which of them the source covers."""
        return covered_rows(self.rows.X, self.X_target)

    @cached_property
    def covered_part(self) -> RiskProblem:
        """The same source rows and folds with the covered target rows, and their ratio."""
        rows, X_target = self.rows, table_rows(self.X_target, self.covered[0][self.covered[1]])
        made = self.estimator, rows.X, rows.y, X_target, rows.sample_weight, self.question
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OverlapWarning)  # of the whole it has been said
            part = RiskProblem(*made)
        part.fold = self.fold
        return part

    @cached_property
    def otherwise(self) -> RiskProblem | None:
        """The same rows and folds under the other kind of shift, where it may be that one."""
        if self.kind is None or self.kind.kind == COVARIATE:
            return None
        X, y, sample_weight = self._given  # all rows, as the ratio saw them
        question = replace(self.question, ratio=FrozenEstimator(self._other))
        other = RiskProblem(self.estimator, X, y, self.X_target, sample_weight, question)
        other.fold = self.fold
        return other

    @cached_property
    def labels(self) -> PlausibleLabels:
        """The model of the labels."""
        n_classes = None if self.rows.classes is None else self.rows.classes.size
        return PlausibleLabels(self.smooth, self.rows.codes, n_classes, self.rows.validation)

    @cached_property
    def ratio_influence(self) -> RatioInfluence | LabelInfluence | None:
        """The error of an estimated ratio; None for a known one."""
        if self.by_label:
            chances = self.ratio.probabilities_
            codes = self.ratio.class_shares(self._given[1]).argmax(axis=1)
            same = (codes.size, self.n_target) == (chances.codes.size, len(chances.target))
            if not same or (self.ratio.bin_medians_ is None and (codes != chances.codes).any()):
                return None  # one that was fitted to other rows says nothing of these
            return LabelInfluence(self.ratio, self.rows.y, self.rows.numbers)
        if not is_estimated(self.ratio):
            return None
        return RatioInfluence(
            self.features, self.rows.X, self.X_target, self.log_ratio, self.log_ratio_target
        )

    def fit_finals(self, estimators: Sequence[Any], step: Step | None = None) -> list[Any]:
        """Fit procedures to all rows; one that has no fitted ratio gets this one."""
        finals = fit_finals([self.ready(each) for each in estimators], self, step)
        refuse_text(finals[0], self.rows.X, self.ratio)
        return finals

    def ready(self, estimator: Any) -> Any:
        """Return a procedure with a fitted ratio; refuse a frozen one that knows the rows."""
        if isinstance(estimator, FrozenEstimator):
            seen = rows_told(estimator, self.rows.X)
            if seen:
                raise ValueError(
                    f"Got a frozen model that was fitted to {seen} of the {self.rows.y.size} rows "
                    "of X: its losses there are too small. Pass rows that it has not seen, or the "
                    "model without FrozenEstimator: then it is refitted without each fold."
                )
        if isinstance(estimator, WeightedEstimator) and not _has_ratio(estimator):
            # a copy with the very same inner estimator: what is shared is told by that
            options = {**estimator.get_params(deep=False), "ratio": self.ratio}
            options |= {"shift": COVARIATE} if "shift" in options else {}  # the ratio settles it
            return type(estimator)(**options)
        return estimator

    def losses(self, loss: RowLoss, responses: HeldOut, chances: HeldOut | None) -> Losses:
        """Return the losses of a procedure, found and expected."""
        labels = self.labels
        found = loss.loss(self.rows.codes, responses.at_source)
        expected = labels.expected_loss(loss, labels.source, responses.at_source)
        targets = [
            labels.expected_loss(loss, labels.target, response) for response in responses.at_target
        ]
        at_target = np.mean(targets, axis=0)
        if self.rows.classes is None:
            smoothed = self.smooth(found[:, None])
            forecasts = [(smoothed.at_source[:, 0], smoothed.at_target[:, 0])]
        else:
            forecasts = [(expected, at_target)]
        if chances is not None:
            pairs = zip(chances.at_target, responses.at_target, strict=True)
            own = np.mean([loss.expected(*each) for each in pairs], axis=0)
            forecasts.append((loss.expected(chances.at_source, responses.at_source), own))
        return Losses(
            found,
            expected,
            at_target,
            np.array([part.mean() for part in targets]),
            float(labels.expected_loss(loss, labels.target, responses.of_final).mean()),
            tuple(forecasts),
        )

    def smooth(self, values: np.ndarray) -> Smoothed:
        """Return values of the source rows by their features, held out, and at the target."""
        X, weights = self.rows.X, self.rows.validation
        return smooth(self.features, X, self.X_target, values, weights, self.fold)


def _check_size(n_source: int, n_target: int) -> None:
    for name, n in (("X", n_source), ("X_target", n_target)):
        if n < FEWEST_ROWS:
            raise ValueError(
                f"Got {n} rows in {name}; at least {FEWEST_ROWS} are needed to say anything about "
                "a risk. Collect more rows; those of the target need no labels."
            )


def _as_table(X: Any) -> Any:
    """Return lists as arrays, and sparse matrices in a form whose rows can be taken."""
    if isinstance(X, list | tuple):
        return np.asarray(X)
    return X.tocsr() if issparse(X) else unmasked(X)


def _has_ratio(estimator: Any) -> bool:
    """True for an estimator whose copies keep a ratio that is fitted or known."""
    return estimator.ratio is not None and is_fitted(clone(check_ratio(estimator.ratio)))


def _frozen_ratio(
    estimator: Any,
    X: Any,
    y: Any,
    X_target: Any,
    question: Question,
    support: Support | None,
    step: Step | None,
) -> ByKind:
    """Return the ratio, fitted if it is not yet, so that copies keep it, and the kind of shift."""
    ratio, shift = question.ratio, question.shift
    if ratio is None and isinstance(estimator, WeightedEstimator):
        ratio = estimator.ratio
        shift = estimator.shift if shift == AUTO and estimator.shift == LABEL else shift
    if ratio is not None and is_fitted(check_ratio(ratio)):
        lasting = isinstance(ratio, FrozenEstimator) or not is_estimated(ratio)
        return ByKind(ratio if lasting else FrozenEstimator(ratio))
    by_kind = is_default(ratio) and (shift == LABEL or (shift == AUTO and is_classifier(estimator)))
    if by_kind:
        numbers = not is_classifier(estimator)
        fitted = fit_by_kind(shift, X, y, X_target, numbers=numbers, support=support, step=step)
    else:
        fitted = ByKind(fit_ratio(X, X_target, ratio, y=y))
    return fitted._replace(ratio=FrozenEstimator(fitted.ratio))
