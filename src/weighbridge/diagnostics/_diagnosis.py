"""Everything that a diagnosis computes once, and the report for any weighting."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from weighbridge._namespace import to_numpy
from weighbridge._source_ratio import mean_one_log_ratio, source_log_ratio, source_log_weight
from weighbridge._validation import check_sample_weight
from weighbridge._weighted_estimator import is_estimated
from weighbridge.diagnostics._attribution import attributed
from weighbridge.diagnostics._balance import balance_table
from weighbridge.diagnostics._calibration import calibration
from weighbridge.diagnostics._domain import CrossFittedDomain, DomainRows
from weighbridge.diagnostics._feature_shift import feature_shift
from weighbridge.diagnostics._label_shift import LabelShift, label_shift
from weighbridge.diagnostics._overlap_word import judge_overlap
from weighbridge.diagnostics._shift_findings import find_all
from weighbridge.diagnostics._shift_report import ShiftReport
from weighbridge.diagnostics._support import outside_support
from weighbridge.diagnostics._two_sample import two_sample_test
from weighbridge.diagnostics._weights import summarize_weights
from weighbridge.weighting import mean_one


class Diagnosis:
    """Two samples and a fitted ratio, looked at once.

    Parameters
    ----------
    ratio : fitted density ratio
        The ratio.
    X, X_target : tables
        Source rows and target rows.
    y : array-like or None
        Labels of the source rows.
    sample_weight : array-like or None
        Own weights of the source rows.
    n_parameters : int
        Number of parameters of the model that is to be fitted.
    confidence : float
        Of the intervals.
    random_state : int, RandomState instance or None
        Draws rows of large samples, deals folds, shuffles.
    """

    def __init__(
        self,
        ratio: Any,
        X: Any,
        X_target: Any,
        *,
        y: Any,
        sample_weight: Any,
        n_parameters: int,
        confidence: float,
        random_state: Any,
    ):
        self.X, self.X_target, self.confidence = X, X_target, confidence
        self.rows = DomainRows(X, X_target, random_state=random_state)
        self.own = own = check_sample_weight(sample_weight, self.rows.n_source)
        self.estimated = is_estimated(ratio)
        raw = source_log_ratio(ratio, X, own)
        raw_target = to_numpy(ratio.score_samples(X_target)).astype(float)
        self.log_ratio = mean_one_log_ratio(raw, own)
        self.calibration = calibration(raw, raw_target)
        self.label_shift = _label_shift(X, y, X_target, raw, raw_target, random_state)
        self.domain = CrossFittedDomain(self.rows, own)
        self.auc = self.domain.auc(confidence)
        self.attribution = attributed(self.domain)
        self.features = feature_shift(X, X_target)
        self.test = two_sample_test(X, X_target, random_state=random_state)
        self.support = outside_support(X, X_target, random_state=random_state)
        self.n_target = raw_target.size
        self.full = summarize_weights(self.weights_of(None))
        self.overlap = judge_overlap(
            n_rows=self.log_ratio.size,
            worth=self.full.ess,
            tail_index=self.full.pareto_k,
            outside=self.support.share,
            n_parameters=n_parameters,
        )

    def weights_of(self, weighting: Any) -> np.ndarray:
        """Return the weights of the source rows, own ones included; None is the full ratio."""
        log_weight = self.log_ratio
        if weighting is not None:
            log_weight = source_log_weight(weighting, self.log_ratio, self.own)
        weights = mean_one(log_weight, self.own)
        return weights if self.own is None else self.own * weights

    def report(self, weighting: Any) -> ShiftReport:
        """Return the report, with what this weighting does to the difference."""
        used = self.weights_of(weighting)
        report = ShiftReport(
            n_source=self.log_ratio.size,
            n_target=self.n_target,
            weighting=weighting_name(weighting),
            auc=self.auc,
            auc_after=CrossFittedDomain(self.rows, used).auc(self.confidence),
            test=self.test,
            attribution=self.attribution,
            features=self.features,
            balance=balance_table(self.X, self.X_target, used),
            support=self.support,
            full=self.full,
            weights=summarize_weights(used),
            calibration=self.calibration,
            label_shift=self.label_shift,
            overlap_judgement=self.overlap,
            findings=(),
        )
        return replace(report, findings=tuple(find_all(report, estimated=self.estimated)))


def weighting_name(weighting: Any) -> str:
    """Return what a weighting is called in a report; None is the full ratio."""
    if weighting is None:
        return "full"
    lam, alpha = getattr(weighting, "lam", None), getattr(weighting, "alpha", None)
    if lam is None:
        return repr(weighting)
    if lam in (0, 1):
        return "none" if lam == 0 else "full"
    return f"lam {lam:.2f}, alpha {alpha:.2f}"


def _label_shift(
    X: Any,
    y: Any,
    X_target: Any,
    log_ratio: np.ndarray,
    log_ratio_target: np.ndarray,
    random_state: Any,
) -> LabelShift | None:
    """Check for label shift where there are classes."""
    if y is None or type_of_target(y) not in ("binary", "multiclass"):
        return None
    return label_shift(
        X,
        y,
        log_ratio,
        X_target=X_target,
        log_ratio_target=log_ratio_target,
        random_state=random_state,
    )
