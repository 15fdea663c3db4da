"""Compute a diagnosis once, and report it for any weighting."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from weighbridge._estimators import share_beyond
from weighbridge._findings import Estimate, Finding
from weighbridge._folds import one_thread
from weighbridge.diagnosis._attribution import attribute_domain
from weighbridge.diagnosis._balance import balance_table
from weighbridge.diagnosis._findings import rare_classes, report_findings, table_findings
from weighbridge.diagnosis._report import ShiftReport, shift_size, summarize_weights
from weighbridge.domain import CrossFittedDomain, DomainRows, Support, outside_support
from weighbridge.label_shift import LabelRatio, ShiftKind, coded_classes, judge_kind
from weighbridge.ratios import OUTSIDE, OverlapJudgement, judge_weights, source_log_ratio
from weighbridge.tables import (
    FEWEST_ROWS,
    as_labels,
    check_sample_weight,
    is_continuous,
    read_features,
    refuse_missing,
    stacked_table,
    take_rows,
    target_like_source,
    to_numpy,
)
from weighbridge.weighting import (
    Geodesic,
    log_mean,
    mean_one_log_ratio,
    source_weights,
    weighting_name,
)

# Integers with more distinct values than this are quantities, not classes.
MAX_INTEGER_CLASSES = 50


class Samples(NamedTuple):
    """Source rows of positive weight and target rows, with their columns in one order."""

    X: Any
    X_target: Any
    y: Any
    sample_weight: np.ndarray | None


def read_samples(
    X: Any, X_target: Any, y: Any = None, sample_weight: ArrayLike | None = None
) -> Samples:
    """Match the columns and drop rows of weight 0; refuse few rows and missing labels."""
    n_source, n_target = np.bincount(stacked_table(X, X_target)[1]).tolist()
    X_target = target_like_source(X, X_target)
    weight = check_sample_weight(sample_weight, n_source)
    if weight is not None and not weight.all():
        used = np.flatnonzero(weight)
        y = _take(y, used) if y is not None and np.shape(y)[:1] == (n_source,) else y
        X, weight, n_source = _take(X, used), weight[used], used.size
    counted = "" if weight is None else " that count"
    for rows, n_rows in ((f"rows{counted} in X", n_source), ("rows in X_target", n_target)):
        if n_rows < FEWEST_ROWS:
            raise ValueError(
                f"Got {n_rows} {rows}; at least {FEWEST_ROWS} are needed to say anything about a "
                "shift. Collect more rows; target rows need no labels."
            )
    if y is not None:
        refuse_missing(y)
    for _ in read_features(X, X_target):  # This refuses infinite values.
        pass
    return Samples(X, X_target, y, weight)


def _take(values: Any, rows: np.ndarray) -> Any:
    if isinstance(values, list | tuple):
        return [values[row] for row in rows]
    return take_rows(sp.csr_array(values) if sp.issparse(values) else values, rows)


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
        X, X_target, y, self.sample_weight = samples
        self.X, self.X_target, self.ratio, self.confidence = X, X_target, ratio, confidence
        with one_thread():
            self.domain = domain or CrossFittedDomain(
                DomainRows(X, X_target, random_state=random_state)
            )
            self.support = support or outside_support(X, X_target, random_state=random_state)
            self._score_rows(y)
            self.label_shift, findings = kind, list[Finding]()
            if y is not None and not _are_quantities(y):
                findings = self._judge_classes(y, random_state)
            self.auc = self.domain.auc(confidence)
            self.attribution = attribute_domain(self.domain)
            self.findings = [*table_findings(X, X_target, self.attribution), *findings]
            self.full = summarize_weights(self.fit_weights(None))
        self.overlap = self._judge_overlap(n_parameters)

    def _score_rows(self, y: ArrayLike | None) -> None:
        raw = source_log_ratio(self.ratio, self.X, self.sample_weight, y)
        log_scale = log_mean(raw, self.sample_weight)
        raw_by_features = raw
        if hasattr(self.ratio, "score_labels"):
            raw_by_features = _finite_log_ratio(self.ratio, self.X, "source")
        raw_target = _finite_log_ratio(self.ratio, self.X_target, "target")
        self.log_ratio = mean_one_log_ratio(raw, self.sample_weight)
        self.by_features, self.log_ratio_target = (
            raw_by_features - log_scale,
            raw_target - log_scale,
        )
        self.mean_ratio = _mean_ratio(raw_by_features, self.confidence)

    def _judge_classes(
        self, y: ArrayLike, random_state: int | np.random.RandomState | None
    ) -> list[Finding]:
        """Judge the kind of shift unless it is given, and return findings about the classes."""
        try:
            labels, codes = coded_classes(y, self.log_ratio.size)
        except ValueError as error:
            reason = str(error)
            message = f"Label shift was not checked: {reason[0].lower()}{reason[1:]}"
            return [Finding("WB117", "note", message, "Everything else needs no labels.")]
        # Label shift keeps the support.
        if self.label_shift is None and self.support.share <= OUTSIDE:
            by_label: Any = self.ratio
            if not _was_fitted_to(by_label, codes, self.log_ratio_target):
                by_label = LabelRatio(random_state=random_state).fit(self.X, y, self.X_target)
            self.label_shift = judge_kind(by_label, self.ratio, self.X, self.X_target, self.domain)
        return rare_classes(labels, codes)

    def _judge_overlap(self, n_parameters: int) -> OverlapJudgement:
        weights, share = self.fit_weights(None), self.support.share
        beyond = share_beyond(self.ratio)
        return judge_weights(weights, share, n_parameters, self.sample_weight, beyond)

    def for_parameters(self, n_parameters: int) -> Diagnosis:
        """Return the same diagnosis for a model with another number of parameters."""
        other = copy(self)
        other.overlap = self._judge_overlap(n_parameters)
        return other

    @property
    def shift(self) -> str:
        """The size of the shift: none, slight, moderate, strong or almost complete."""
        return shift_size(self.auc)

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
            full=self.full,
            weights=summarize_weights(self.fit_weights(weighting)),
            mean_ratio=self.mean_ratio,
            label_shift=self.label_shift,
            overlap_judgement=self.overlap,
            findings=(),
        )
        findings = report_findings(report, self.ratio)
        return replace(report, findings=(*self.findings, *findings))


def _are_quantities(y: ArrayLike) -> bool:
    """Return True for labels with decimals, and for integers with many distinct values."""
    y = as_labels(y)
    return is_continuous(y) or (y.dtype.kind in "iuf" and np.unique(y).size > MAX_INTEGER_CLASSES)


def _was_fitted_to(ratio: Any, codes: np.ndarray, log_ratio_target: np.ndarray) -> bool:
    """Return True for a ratio in the label that was fitted to these classes and target rows."""
    fitted = getattr(ratio, "probabilities_", None)
    if fitted is None or not np.array_equal(fitted.codes, codes):
        return False
    log_ratio = np.log(fitted.targets.mean(axis=0) @ ratio.class_weights_)
    same_size = log_ratio.size == log_ratio_target.size
    return same_size and bool(np.ptp(log_ratio - log_ratio_target) < 1e-9)


def _finite_log_ratio(ratio: BaseEstimator, X: Any, sample: str) -> np.ndarray:
    """Return the log ratio of each row of a sample; raise ValueError if it is NaN or infinite."""
    log_ratio = to_numpy(ratio.score_samples(X)).astype(float)
    n_bad = int(np.sum(np.isnan(log_ratio) | (log_ratio == math.inf)))
    if n_bad:
        raise ValueError(
            f"Got a ratio ({type(ratio).__name__}) that is NaN or infinite at {n_bad} of "
            f"{log_ratio.size} {sample} rows; every row needs a finite log ratio, or -inf for a "
            "ratio of 0."
        )
    return log_ratio


def _mean_ratio(log_ratio: np.ndarray, confidence: float) -> Estimate:
    """Return the mean of the ratio over source rows, with the interval of a normal mean."""
    largest = float(log_ratio.max())
    if largest == -math.inf:
        return Estimate(0.0, 0.0, 0.0, 0.0)
    scaled = np.exp(log_ratio - largest)
    error = float(scaled.std(ddof=1)) / math.sqrt(scaled.size)
    mean = Estimate.normal(float(scaled.mean()), error, confidence, (0.0, math.inf))
    with np.errstate(over="ignore", divide="ignore"):
        logs = largest + np.log([mean.value, mean.standard_error, mean.low, mean.high])
        return Estimate(*np.exp(logs).tolist())
