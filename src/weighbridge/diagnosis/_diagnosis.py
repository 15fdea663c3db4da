"""Compute a diagnosis once, and report it for any weighting."""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import BaseEstimator

from weighbridge._estimators import is_estimated, share_beyond
from weighbridge._findings import Estimate, Finding
from weighbridge._folds import one_thread
from weighbridge.diagnosis._attribution import attribute_domain
from weighbridge.diagnosis._balance import balance_table
from weighbridge.diagnosis._columns import Samples
from weighbridge.diagnosis._findings import rare_class_findings, report_findings, table_findings
from weighbridge.diagnosis._report import ShiftReport, shift_size
from weighbridge.diagnosis._weights import summarize_weights
from weighbridge.domain import CrossFittedDomain, DomainRows, outside_support
from weighbridge.label_shift import LabelRatio, Seen, ShiftKind, coded_classes, judge_kind
from weighbridge.ratios import OUTSIDE, OverlapJudgement, judge_weights, source_log_ratio
from weighbridge.tables import as_labels, check_confidence, is_continuous, to_numpy
from weighbridge.weighting import (
    Geodesic,
    log_mean,
    mean_one,
    mean_one_log_ratio,
    source_log_weight,
)

# Integers with more distinct values than this are quantities, not classes.
MAX_INTEGER_CLASSES = 50


class Diagnosis:
    """Two samples and a fitted ratio, compared once for any number of weightings."""

    def __init__(
        self,
        ratio: BaseEstimator,
        samples: Samples,
        *,
        n_parameters: int,
        confidence: float,
        random_state: int | np.random.RandomState | None,
        kind: ShiftKind | None = None,
        seen: Seen = Seen(),  # noqa: B008
    ):
        self.confidence = check_confidence(confidence)
        self.X, self.X_target = samples.X, samples.X_target
        self.sample_weight = samples.sample_weight
        self.ratio, self.label_shift = ratio, kind
        with one_thread():
            self.domain = seen.domain or CrossFittedDomain(
                DomainRows(self.X, self.X_target, random_state=random_state)
            )
            self.support = seen.support or outside_support(
                self.X, self.X_target, random_state=random_state
            )
            self._score_ratio(samples.y)
            label_findings = list(self._label_findings(samples.y, random_state))
            self.auc = self.domain.auc(self.confidence)
            self.attribution = attribute_domain(self.domain)
            self.findings = [*table_findings(samples, self.attribution), *label_findings]
            self.full = summarize_weights(self.fit_weights(None))
        self.overlap = self._judged(n_parameters)

    def _score_ratio(self, y: Any) -> None:
        """Store the log ratio of both samples, scaled to mean 1 over the source."""
        raw = source_log_ratio(self.ratio, self.X, self.sample_weight, y)
        raw_target = _checked_log_ratio(self.ratio, self.X_target, "target")
        # A ratio in the label is also scored by the features alone.
        by_features = raw
        if hasattr(self.ratio, "score_labels"):
            by_features = _checked_log_ratio(self.ratio, self.X, "source")
        log_scale = log_mean(raw, self.sample_weight)
        self.by_features, self.log_ratio_target = by_features - log_scale, raw_target - log_scale
        self.log_ratio = mean_one_log_ratio(raw, self.sample_weight)
        self.mean_ratio = mean_ratio(by_features, self.confidence)

    def _label_findings(
        self, y: Any, random_state: int | np.random.RandomState | None
    ) -> Iterator[Finding]:
        """Judge the kind of shift if there are classes, and yield the findings about them."""
        if y is None or _are_quantities(y):
            return
        try:
            labels, codes = coded_classes(y, self.log_ratio.size)
        except ValueError as error:
            reason = str(error)
            message = f"Label shift was not checked: {reason[0].lower()}{reason[1:]}"
            yield Finding("WB117", "note", message, "Everything else needs no labels.")
            return
        # Label shift keeps the support.
        if self.label_shift is None and self.support.share <= OUTSIDE:
            by_label = LabelRatio(random_state=random_state).fit(self.X, y, self.X_target)
            self.label_shift = judge_kind(by_label, self.ratio, self.X, self.X_target, self.domain)
        yield from rare_class_findings(labels, codes)

    def _judged(self, n_parameters: int) -> OverlapJudgement:
        return judge_weights(
            self.fit_weights(None),
            self.support.share,
            n_parameters,
            self.sample_weight,
            share_beyond(self.ratio),
        )

    def for_parameters(self, n_parameters: int) -> Diagnosis:
        """Return the same diagnosis for a model with another number of parameters."""
        other = copy(self)
        other.overlap = self._judged(n_parameters)
        return other

    @property
    def shift(self) -> str:
        """The size of the shift: none, slight, moderate, strong or almost complete."""
        return shift_size(self.auc)

    def importance_weights(self, weighting: BaseEstimator | None) -> np.ndarray:
        """Return the weights that should make the samples alike; None is the full ratio."""
        log_weight = self.log_ratio
        if weighting is not None:
            log_weight = source_log_weight(weighting, self.log_ratio, self.sample_weight)
        return mean_one(log_weight, self.sample_weight)

    def fit_weights(self, weighting: BaseEstimator | None) -> np.ndarray:
        """Return the importance weights times the sample weights, which a fit gets."""
        weights = self.importance_weights(weighting)
        return weights if self.sample_weight is None else self.sample_weight * weights

    def report(self, weighting: BaseEstimator | None) -> ShiftReport:
        """Return the report, with the shift that this weighting leaves."""
        weights = self.importance_weights(weighting)
        # Equal weights change nothing.
        after = (
            self.domain if np.ptp(weights) == 0 else CrossFittedDomain(self.domain.rows, weights)
        )
        report = ShiftReport(
            n_source=self.log_ratio.size,
            n_target=self.log_ratio_target.size,
            weighting=weighting_name(weighting),
            auc=self.auc,
            auc_after=after.auc(self.confidence),
            attribution=self.attribution,
            balance=balance_table(self.X, self.X_target, weights),
            support=self.support,
            full=self.full,
            weights=summarize_weights(self.fit_weights(weighting)),
            mean_ratio=self.mean_ratio,
            label_shift=self.label_shift,
            overlap_judgement=self.overlap,
            findings=(),
        )
        findings = report_findings(report, is_estimated=is_estimated(self.ratio))
        return replace(report, findings=(*self.findings, *findings))


def _checked_log_ratio(ratio: BaseEstimator, X: Any, sample: str) -> np.ndarray:
    """Return the log ratio of each row of a sample; raise ValueError if it is NaN or infinite."""
    log_ratio = to_numpy(ratio.score_samples(X)).astype(float)
    if log_ratio.ndim != 1:
        raise ValueError(
            f"Got log ratios of shape {log_ratio.shape} from {type(ratio).__name__}, but expected "
            f"one number for each {sample} row."
        )
    n_bad = int(np.sum(np.isnan(log_ratio) | (log_ratio == math.inf)))
    if n_bad:
        raise ValueError(
            f"Got a ratio ({type(ratio).__name__}) that is NaN or infinite at {n_bad} of "
            f"{log_ratio.size} {sample} rows; every row needs a finite log ratio, or -inf for a "
            "ratio of 0."
        )
    return log_ratio


def _are_quantities(y: Any) -> bool:
    """Return True for labels with decimals, and for integers with many distinct values."""
    y = as_labels(y)
    return is_continuous(y) or (y.dtype.kind in "iuf" and np.unique(y).size > MAX_INTEGER_CLASSES)


def mean_ratio(log_ratio: np.ndarray, confidence: float) -> Estimate:
    """Return the mean of the ratio over source rows, with the interval of a normal mean."""
    largest = float(log_ratio.max())
    if largest == -math.inf:
        return Estimate(0.0, 0.0, 0.0, 0.0)
    scaled = np.exp(log_ratio - largest)
    mean = float(scaled.mean())
    relative_error = float(scaled.std(ddof=1)) / math.sqrt(scaled.size) / mean
    with np.errstate(over="ignore"):
        value = float(np.exp(largest + math.log(mean)))
    step = float(ndtri((1 + confidence) / 2)) * relative_error
    # 0 * inf would be NaN.
    error, low = (factor * value if factor > 0 else 0.0 for factor in (relative_error, 1 - step))
    return Estimate(value, error, low, (1 + step) * value)


def weighting_name(weighting: BaseEstimator | None) -> str:
    """Return the name of a weighting in a report; None is the full ratio."""
    if weighting is None:
        return "full"
    if not isinstance(weighting, Geodesic):
        parameters = (f"{key}={value!r}" for key, value in weighting.get_params().items())
        return f"{type(weighting).__name__}({', '.join(parameters)})"
    if weighting.lam in (0, 1):
        return "none" if weighting.lam == 0 else "full"
    return f"lam {weighting.lam:.2f}, alpha {weighting.alpha:.2f}"
