"""Whether class prevalence explains the shift, if the source rows have classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from weighbridge._findings import Finding
from weighbridge.diagnosis._samples import Samples
from weighbridge.domain import CrossFittedDomain, Support
from weighbridge.label_shift import LabelRatio, ShiftKind, coded_classes, judge_kind
from weighbridge.ratios import OUTSIDE
from weighbridge.tables import as_labels, is_continuous

# Integers with more distinct values than this are quantities, not classes.
MAX_INTEGER_CLASSES = 50
# Classes with fewer rows have no reliable prevalence.
MIN_CLASS_ROWS = 20


def judge_labels(
    ratio: BaseEstimator,
    samples: Samples,
    domain: CrossFittedDomain,
    support: Support,
    kind: ShiftKind | None,
    random_state: int | np.random.RandomState | None,
) -> tuple[ShiftKind | None, list[Finding]]:
    """Return the kind of shift, judged here unless it is given, and findings about the classes."""
    X, X_target, y, _ = samples
    if y is None or _are_quantities(y):
        return kind, []
    try:
        labels, codes = coded_classes(y, domain.rows.n_source)
    except ValueError as error:
        reason = str(error)
        message = f"Label shift was not checked: {reason[0].lower()}{reason[1:]}"
        return kind, [Finding("WB117", "note", message, "Everything else needs no labels.")]
    # Label shift keeps the support.
    if kind is None and support.share <= OUTSIDE:
        by_label: Any = ratio
        if not _was_fitted_to(ratio, codes, X_target):
            by_label = LabelRatio(random_state=random_state).fit(X, y, X_target)
        kind = judge_kind(by_label, ratio, X, X_target, domain)
    counts = np.bincount(codes)
    if counts.min() >= MIN_CLASS_ROWS:
        return kind, []
    rarest, n_others = labels.tolist()[counts.argmin()], np.sum(counts < MIN_CLASS_ROWS) - 1
    others = f" (and {n_others} other class{'es' * int(n_others > 1)})" if n_others else ""
    message = f"Class {rarest!r} has only {counts.min()} rows{others}."
    remedy = "Its prevalence is unreliable. Merge rare classes, or collect more rows."
    return kind, [Finding("WB117", "note", message, remedy)]


def _are_quantities(y: ArrayLike) -> bool:
    """Return True for labels with decimals, and for integers with many distinct values."""
    y = as_labels(y)
    return is_continuous(y) or (y.dtype.kind in "iuf" and np.unique(y).size > MAX_INTEGER_CLASSES)


def _was_fitted_to(ratio: Any, codes: np.ndarray, X_target: Any) -> bool:
    """Return True for a ratio in the label that was fitted to these classes and target rows."""
    fitted = getattr(ratio, "probabilities_", None)
    if fitted is None or not np.array_equal(fitted.codes, codes):
        return False
    mean, expected = fitted.targets.mean(axis=0), fitted.predict(X_target)
    return mean.shape == expected.shape and np.allclose(mean, expected, rtol=1e-9, atol=1e-12)
