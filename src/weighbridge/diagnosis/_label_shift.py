"""Whether class frequencies explain the shift, if the source rows have classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from weighbridge._findings import Finding
from weighbridge.diagnosis._columns import Samples
from weighbridge.domain import CrossFittedDomain, Support
from weighbridge.label_shift import LabelRatio, ShiftKind, coded_classes, judge_kind
from weighbridge.ratios import OUTSIDE
from weighbridge.tables import as_labels, is_continuous

# Integers with more distinct values than this are quantities, not classes.
MAX_INTEGER_CLASSES = 50
# Classes with fewer rows have no reliable prevalence.
MIN_CLASS_ROWS = 20


def judge_label_shift(
    ratio: BaseEstimator,
    samples: Samples,
    domain: CrossFittedDomain,
    support: Support,
    kind: ShiftKind | None,
    random_state: int | np.random.RandomState | None,
) -> tuple[ShiftKind | None, list[Finding]]:
    """Return the kind of shift, unless it is given or unknown, and findings about the labels."""
    X, X_target, y = samples.X, samples.X_target, samples.y
    if y is None or _are_quantities(y):
        return kind, []
    try:
        labels, codes = coded_classes(y, int(np.sum(samples.codes == 0)))
    except ValueError as error:
        reason = str(error)
        message = f"Label shift was not checked: {reason[0].lower()}{reason[1:]}"
        return kind, [Finding("WB117", "note", message, "Everything else needs no labels.")]
    # Label shift keeps the support.
    if kind is None and support.share <= OUTSIDE:
        by_label = LabelRatio(random_state=random_state).fit(X, y, X_target)
        kind = judge_kind(by_label, ratio, X, X_target, domain)
    return kind, _rare_classes(labels, codes)


def _are_quantities(y: ArrayLike) -> bool:
    """Return True for labels with decimals, and for integers with many distinct values."""
    y = as_labels(y)
    return is_continuous(y) or (y.dtype.kind in "iuf" and np.unique(y).size > MAX_INTEGER_CLASSES)


def _rare_classes(labels: np.ndarray, codes: np.ndarray) -> list[Finding]:
    """Return a finding if there are classes with few rows."""
    counts = np.bincount(codes)
    n_rare = int(np.count_nonzero(counts < MIN_CLASS_ROWS))
    if not n_rare:
        return []
    rarest = int(np.argmin(counts))
    others = "" if n_rare == 1 else f" (and {n_rare - 1} other class{'es' * (n_rare > 2)})"
    message = f"Class {labels.tolist()[rarest]!r} has only {counts[rarest]} rows{others}."
    remedy = "Its frequency in the deployment is a guess; merge rare classes, or collect more rows."
    return [Finding("WB117", "note", message, remedy)]
