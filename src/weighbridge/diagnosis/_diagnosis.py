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
from weighbridge.diagnosis._columns import Samples
from weighbridge.diagnosis._findings import report_findings, table_findings
from weighbridge.diagnosis._label_shift import judge_label_shift
from weighbridge.diagnosis._report import ShiftReport, shift_size
from weighbridge.diagnosis._scores import RatioScores, weighting_name
from weighbridge.diagnosis._weights import summarize_weights
from weighbridge.domain import CrossFittedDomain, DomainRows, Support, outside_support
from weighbridge.label_shift import ShiftKind
from weighbridge.ratios import OverlapJudgement, judge_weights


class Diagnosis:
    """Two samples and a fitted ratio, compared once for any number of weightings.

    `support`, `domain` and `kind` are computed unless they are given.
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
        X, X_target = samples.X, samples.X_target
        self.X, self.X_target, self.sample_weight = X, X_target, samples.sample_weight
        self.ratio, self.confidence = ratio, confidence
        with one_thread():
            self.domain = domain or CrossFittedDomain(
                DomainRows(X, X_target, random_state=random_state)
            )
            self.support = support or outside_support(X, X_target, random_state=random_state)
            self.scores = RatioScores(ratio, samples, confidence)
            self.label_shift, findings = judge_label_shift(
                ratio, samples, self.domain, self.support, kind, random_state
            )
            self.auc = self.domain.auc(confidence)
            self.attribution = attribute_domain(self.domain)
            self.findings = [*table_findings(samples, self.attribution), *findings]
            self.full = summarize_weights(self.scores.fit_weights(None))
        self.overlap = self._judged(n_parameters)

    def _judged(self, n_parameters: int) -> OverlapJudgement:
        return judge_weights(
            self.scores.fit_weights(None),
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

    def report(self, weighting: BaseEstimator | None) -> ShiftReport:
        """Return the report, with the shift that this weighting leaves."""
        weights, after = self.scores.importance_weights(weighting), self.domain
        if np.ptp(weights) > 0:  # Equal weights change nothing.
            after = CrossFittedDomain(self.domain.rows, weights)
        report = ShiftReport(
            n_source=self.scores.log_ratio.size,
            n_target=self.scores.log_ratio_target.size,
            weighting=weighting_name(weighting),
            auc=self.auc,
            auc_after=after.auc(self.confidence),
            attribution=self.attribution,
            balance=balance_table(self.X, self.X_target, weights),
            support=self.support,
            full=self.full,
            weights=summarize_weights(self.scores.fit_weights(weighting)),
            mean_ratio=self.scores.mean_ratio,
            label_shift=self.label_shift,
            overlap_judgement=self.overlap,
            findings=(),
        )
        findings = report_findings(report, self.ratio)
        return replace(report, findings=(*self.findings, *findings))
