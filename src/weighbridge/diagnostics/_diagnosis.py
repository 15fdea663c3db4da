"""Everything that a diagnosis computes once, and the report for any weighting."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped, unused-ignore]

from weighbridge._findings import Finding, OverlapJudgement, judge_weights
from weighbridge._namespace import to_numpy
from weighbridge._source_ratio import mean_one_log_ratio, source_log_ratio, source_log_weight
from weighbridge._weighted_estimator import is_estimated
from weighbridge.diagnostics._attribution import attributed
from weighbridge.diagnostics._balance import balance_table
from weighbridge.diagnostics._calibration import calibration
from weighbridge.diagnostics._classes import coded_classes, is_regression
from weighbridge.diagnostics._domain import CrossFittedDomain, DomainRows, check_confidence
from weighbridge.diagnostics._feature_shift import feature_shift
from weighbridge.diagnostics._label_shift import LabelShift, label_shift
from weighbridge.diagnostics._samples import Samples, read_samples
from weighbridge.diagnostics._shift_findings import find_all
from weighbridge.diagnostics._shift_report import ShiftReport
from weighbridge.diagnostics._table_findings import (
    label_findings,
    labels_not_checked,
    table_findings,
)
from weighbridge.diagnostics._two_sample import two_sample_test
from weighbridge.diagnostics._weights import summarize_weights
from weighbridge.ratios import AutoRatio, outside_support
from weighbridge.weighting import Geodesic, log_mean, mean_one


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
        Own weights of the source rows; those of weight 0 are left out first. Domain classifier,
        attribution and weights count them, as does what the balance shows after weighting; the
        balance before, the tests, the support and the identities of the ratio do not.
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
        self.confidence = check_confidence(confidence)
        samples = read_samples(X, X_target, y, sample_weight)
        self.X, self.X_target, self.sample_weight = (
            samples.X,
            samples.X_target,
            samples.sample_weight,
        )
        self.ratio = ratio
        self.estimated, self.automatic = is_estimated(ratio), _is_automatic(ratio)
        # small fits: on a busy machine threads would wait for each other
        with ThreadpoolController().limit(limits=1):
            self._look(ratio, samples, random_state)
        self.overlap = self._judged(n_parameters)

    def _look(self, ratio: Any, samples: Samples, random_state: Any) -> None:
        X, X_target, confidence = self.X, self.X_target, self.confidence
        self.rows = DomainRows(X, X_target, random_state=random_state)
        raw = source_log_ratio(ratio, X, self.sample_weight)
        raw_target = to_numpy(ratio.score_samples(X_target)).astype(float)
        self.log_ratio = mean_one_log_ratio(raw, self.sample_weight)
        self.log_ratio_target = raw_target - log_mean(raw, self.sample_weight)
        self.calibration = calibration(raw, raw_target, confidence=confidence)
        self.label_shift, notes = _label_shift(samples, raw, raw_target, random_state)
        self.domain = CrossFittedDomain(self.rows)  # as the ratio sees the rows
        self.auc = self.domain.auc(confidence)
        self.attribution = attributed(self.domain)
        self.notes = [*table_findings(samples, self.attribution), *notes]
        self.features = feature_shift(X, X_target)
        self.test = two_sample_test(X, X_target, random_state=random_state)
        self.support = outside_support(X, X_target, random_state=random_state)
        self.n_target = raw_target.size
        self.full = summarize_weights(self.weights_of(None))

    def _judged(self, n_parameters: int) -> OverlapJudgement:
        return judge_weights(self.weights_of(None), self.support.share, n_parameters)

    def for_parameters(self, n_parameters: int) -> Diagnosis:
        """Return the same diagnosis for a model of so many parameters."""
        other = copy(self)
        other.overlap = self._judged(n_parameters)
        return other

    def weights_of(self, weighting: Any) -> np.ndarray:
        """Return the weights that a fit gets, own ones included; None is the full ratio."""
        weights = self.alone(weighting)
        return weights if self.sample_weight is None else self.sample_weight * weights

    def alone(self, weighting: Any) -> np.ndarray:
        """Return the importance weights, which alone should make the samples alike."""
        log_weight = self.log_ratio
        if weighting is not None:
            log_weight = source_log_weight(weighting, self.log_ratio, self.sample_weight)
        return mean_one(log_weight, self.sample_weight)

    def report(self, weighting: Any) -> ShiftReport:
        """Return the report, with what this weighting does to the difference."""
        used, alone = self.weights_of(weighting), self.alone(weighting)
        report = ShiftReport(
            n_source=self.log_ratio.size,
            n_target=self.n_target,
            weighting=weighting_name(weighting),
            auc=self.auc,
            auc_after=CrossFittedDomain(self.rows, alone).auc(self.confidence),
            test=self.test,
            attribution=self.attribution,
            features=self.features,
            balance=balance_table(self.X, self.X_target, alone),
            support=self.support,
            full=self.full,
            weights=summarize_weights(used),
            calibration=self.calibration,
            label_shift=self.label_shift,
            overlap_judgement=self.overlap,
            findings=(),
        )
        found = find_all(report, estimated=self.estimated, automatic=self.automatic)
        return replace(report, findings=(*self.notes, *found))


def weighting_name(weighting: Any) -> str:
    """Return what a weighting is called in a report; None is the full ratio."""
    if weighting is None:
        return "full"
    if not isinstance(weighting, Geodesic):
        parameters = (f"{key}={value!r}" for key, value in weighting.get_params().items())
        return f"{type(weighting).__name__}({', '.join(parameters)})"
    if weighting.lam in (0, 1):
        return "none" if weighting.lam == 0 else "full"
    return f"lam {weighting.lam:.2f}, alpha {weighting.alpha:.2f}"


def _is_automatic(ratio: Any) -> bool:
    """True for a ratio that was chosen among several."""
    while isinstance(ratio, FrozenEstimator | Pipeline):
        ratio = ratio.estimator if isinstance(ratio, FrozenEstimator) else ratio.steps[-1][1]
    return isinstance(ratio, AutoRatio)


def _label_shift(
    samples: Samples, log_ratio: np.ndarray, log_ratio_target: np.ndarray, random_state: Any
) -> tuple[LabelShift | None, list[Finding]]:
    """Check for label shift where there are classes; no label keeps a diagnosis from the rest."""
    y = samples.y
    if y is None or is_regression(y):
        return None, []
    try:
        labels, codes = coded_classes(y, log_ratio.size)
    except ValueError as error:
        return None, [labels_not_checked(error)]
    found = label_shift(
        samples.X,
        y,
        log_ratio,
        X_target=samples.X_target,
        log_ratio_target=log_ratio_target,
        random_state=random_state,
    )
    return found, list(label_findings(labels, codes))
