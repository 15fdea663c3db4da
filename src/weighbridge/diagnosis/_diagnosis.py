"""Compute a diagnosis once, and report it for any weighting."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator

from weighbridge._estimators import share_beyond
from weighbridge._folds import one_thread
from weighbridge.diagnosis._attribution import attribute_domain
from weighbridge.diagnosis._balance import balance_table
from weighbridge.diagnosis._findings import report_findings, table_findings
from weighbridge.diagnosis._labels import judge_labels
from weighbridge.diagnosis._report import ShiftReport, shift_size, summarize_weights
from weighbridge.diagnosis._samples import Samples, estimate_mean_ratio, score_rows
from weighbridge.domain import CrossFittedDomain, DomainRows, Support, outside_support
from weighbridge.label_shift import ShiftKind
from weighbridge.ratios import OverlapJudgement, judge_weights
from weighbridge.weighting import Geodesic, source_weights, weighting_name


class Diagnosis:
    """Two samples and a fitted ratio, compared once for any number of weightings.

    `support`, `domain` and `kind` are computed unless they are given. `log_ratio` is that of the
    source rows, scaled to a mean ratio of 1, and `log_ratio_target` that of the target rows on the
    same scale. `by_features` is the first one by the features alone, for a ratio in the label.
    """

    def __init__(
        self,
        ratio: BaseEstimator,
        samples: Samples,
        *,
        n_parameters: int,
        confidence: float,
        random_state: int | np.random.RandomState | None,
        support: Support | None = None,
        domain: CrossFittedDomain | None = None,
        kind: ShiftKind | None = None,
    ):
        X, X_target, _, self.sample_weight = samples
        self.X, self.X_target, self.ratio, self.confidence = X, X_target, ratio, confidence
        with one_thread():
            self.domain = domain or CrossFittedDomain(
                DomainRows(X, X_target, random_state=random_state)
            )
            self.support = support or outside_support(X, X_target, random_state=random_state)
            self.log_ratio, self.by_features, self.log_ratio_target, log_scale = score_rows(
                ratio, samples
            )
            self.mean_ratio = estimate_mean_ratio(self.by_features + log_scale, confidence)
            self.label_shift, findings = judge_labels(
                ratio, samples, self.domain, self.support, kind, random_state
            )
            self.auc = self.domain.auc(confidence)
            self.shift = shift_size(self.auc)
            self.attribution = attribute_domain(self.domain)
            self.findings = [*table_findings(X, X_target, self.attribution), *findings]
        self.overlap = self._judge_overlap(n_parameters)

    def _judge_overlap(self, n_parameters: int) -> OverlapJudgement:
        weights, beyond = self.fit_weights(None), share_beyond(self.ratio)
        return judge_weights(weights, self.support.share, n_parameters, self.sample_weight, beyond)

    def for_parameters(self, n_parameters: int) -> Diagnosis:
        """Return the same diagnosis for a model with another number of parameters."""
        other = copy(self)
        other.overlap = self._judge_overlap(n_parameters)
        return other

    def importance_weights(self, weighting: BaseEstimator | None) -> np.ndarray:
        """Return the weights that should make the samples alike; None is the full ratio."""
        weighting = Geodesic() if weighting is None else weighting
        return source_weights(weighting, self.log_ratio, self.sample_weight)

    def fit_weights(self, weighting: BaseEstimator | None) -> np.ndarray:
        """Return the importance weights times the sample weights, which a fit gets."""
        weights = self.importance_weights(weighting)
        return weights if self.sample_weight is None else self.sample_weight * weights

    def report(self, weighting: BaseEstimator | None) -> ShiftReport:
        """Return the report, with the shift that this weighting leaves."""
        weights, after = self.importance_weights(weighting), self.domain
        if np.ptp(weights) > 0:  # Equal weights change nothing.
            after = CrossFittedDomain(self.domain.rows, weights)
        report = ShiftReport(
            n_source=self.log_ratio.size,
            n_target=self.log_ratio_target.size,
            weighting=weighting_name(weighting),
            auc=self.auc,
            auc_after=after.auc(self.confidence),
            attribution=self.attribution,
            balance=balance_table(self.X, self.X_target, weights),
            support=self.support,
            full=summarize_weights(self.fit_weights(None)),
            weights=summarize_weights(self.fit_weights(weighting)),
            mean_ratio=self.mean_ratio,
            label_shift=self.label_shift,
            overlap_judgement=self.overlap,
            findings=(),
        )
        findings = report_findings(report, self.ratio)
        return replace(report, findings=(*self.findings, *findings))
