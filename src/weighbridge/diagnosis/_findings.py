"""The findings of a diagnosis, each with its code and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from weighbridge._estimators import FittedRows, is_estimated
from weighbridge._findings import Finding, interval_text, percent
from weighbridge.diagnosis._attribution import FeatureAttribution
from weighbridge.domain import Feature, stacked_features
from weighbridge.label_shift import LABEL, UNCLEAR, ShiftKind
from weighbridge.ratios import SOME_OUTSIDE
from weighbridge.tables import stacked_table, take_rows

if TYPE_CHECKING:
    from weighbridge.diagnosis._report import ShiftReport

# A feature with a larger AUC alone distinguishes the samples by itself.
SEPARATING_AUC = 0.95
# A larger share of the rows of one sample in the other is a finding.
MAX_SHARED = 0.5
# Classes with fewer rows have no reliable prevalence.
MIN_CLASS_ROWS = 20
# A larger standardised difference is worth mentioning, before and after weighting.
DIFFERENT = 0.1
# If a smaller share of the rows carries half of the weight, few rows decide the fit.
MIN_SHARE_FOR_HALF = 0.02
# A larger AUC after weighting, its interval included, shows that the ratio missed something.
MAX_AUC_AFTER = 0.55
# Largest distance of the mean ratio from 1, in standard errors and as a number.
MEAN_RATIO_ERRORS, MEAN_RATIO_MARGIN = 3.0, 0.1
# Where a column has no value, and what to do about it.
_APART = "Whether a value is there tells the samples apart; leave the feature out of both."
_EMPTY = {
    "either sample": "There is nothing to compare; it is left out.",
    "any training row": _APART,
    "any deployment row": _APART,
}


def table_findings(
    X: ArrayLike, X_target: ArrayLike, attribution: tuple[FeatureAttribution, ...]
) -> Iterator[Finding]:
    """Yield the findings about shared rows, keys, and columns that are empty or constant."""
    stacked, codes = stacked_table(X, X_target)
    source, target = (take_rows(stacked, np.flatnonzero(codes == code)) for code in (0, 1))
    shared = mostly_shared(source, target)
    if shared:
        message = f"The deployment contains {shared:,} of the {source.shape[0]:,} training rows."
        remedy = (
            "Training rows cannot also represent the deployment: remove the shared rows from one "
            "of the samples."
        )
        yield Finding("WB112", "note", message, remedy)
    separating = {feature.name for feature in attribution if feature.alone > SEPARATING_AUC}
    constant: list[str] = []
    empty: dict[str, list[str]] = {place: [] for place in _EMPTY}
    for feature in stacked_features(stacked, codes):
        no_source, no_target = (bool(missing.all()) for missing in feature.missing())
        if no_source or no_target:
            sample = "any training row" if no_source else "any deployment row"
            empty["either sample" if no_source and no_target else sample].append(feature.name)
        elif _is_constant(feature):
            constant.append(feature.name)
        elif feature.name in separating and _is_key(feature):
            message = "is different in every row and tells the samples apart."
            remedy = "A running number or a key does not describe the cases: leave it out of both "
            yield Finding(
                "WB111", "note", f"{in_a_sentence(feature.name)} {message}", f"{remedy}samples."
            )
    for place, names in empty.items():
        if names:
            yield Finding("WB114", "note", f"No value in {place}: {listed(names)}.", _EMPTY[place])
    if constant:
        message = f"The same value in every row of both samples: {listed(constant)}."
        remedy = "Such a feature says nothing about a shift, and can be left out."
        yield Finding("WB115", "note", message, remedy)


def mostly_shared(source: ArrayLike, target: ArrayLike) -> int:
    """Return how many source rows are also target rows, or 0 if these need not be copies."""
    rows = FittedRows(source)
    shared, share = FittedRows(target).known_beyond_chance(source), rows.share(target)
    if share > MAX_SHARED:
        return shared
    # Repeated source rows match a few target rows by chance.
    are_copies = shared / np.shape(source)[0] > MAX_SHARED and rows.known_beyond_chance(target)
    return shared if are_copies else 0


def _is_constant(feature: Feature) -> bool:
    values = np.concatenate([feature.source, feature.target])
    has_gaps = np.concatenate(feature.missing()).any()
    return bool(not has_gaps and values.min() == values.max())


def _is_key(feature: Feature) -> bool:
    """Return True for text or integers that are different in every row."""
    values = np.concatenate([feature.source, feature.target])
    return bool((values == np.rint(values)).all()) and np.unique(values).size == values.size


def rare_classes(labels: np.ndarray, codes: np.ndarray) -> list[Finding]:
    """Return a finding if there are classes with few rows."""
    counts = np.bincount(codes)
    n_others = int(np.count_nonzero(counts < MIN_CLASS_ROWS)) - 1
    if n_others < 0:
        return []
    rarest = int(np.argmin(counts))
    others = f" (and {n_others} other class{'es' * (n_others > 1)})" if n_others else ""
    message = f"Class {labels.tolist()[rarest]!r} has only {counts[rarest]} rows{others}."
    remedy = "Its frequency in the deployment is a guess; merge rare classes, or collect more rows."
    return [Finding("WB117", "note", message, remedy)]


def report_findings(report: ShiftReport, ratio: BaseEstimator) -> Iterator[Finding]:
    """Yield the findings that follow from the numbers of a report."""
    has_shift, is_broken = report.shift != "none", report.overlap == "broken"
    if not has_shift:
        yield _no_shift(report)
    if report.label_shift is not None:
        yield from _kind_of_shift(report.label_shift, has_shift)
    if has_shift:
        yield from _missing_values(report)
    yield from _overlap(report)
    if report.support.unseen_levels:
        names = report.support.unseen_levels
        shown = ", ".join(names[:3]) + ", ..." * (len(names) > 3)
        remedy = "Check its spelling in both tables; rows that have it are outside the training "
        yield Finding("WB113", "note", f"Never seen in training: {shown}.", f"{remedy}data.")
    if not is_broken:
        yield from _concentration(report)
    if has_shift and not is_broken:
        yield from _remaining_differences(report)
        if is_estimated(ratio):
            yield from _mean_ratio(report)


def _no_shift(report: ShiftReport) -> Finding:
    numbers = f"(AUC {interval_text(report.auc)})"
    if report.too_few:
        message = f"No shift found, but the rows are too few to tell {numbers}."
        remedy = "Collect more rows of the smaller sample; deployment rows need no labels."
    else:
        chance = "hardly better than chance" if report.auc.value > 0.5 else "no better than chance"
        message = f"No shift found: a classifier tells the samples apart {chance} {numbers}."
        remedy = "Weights are not needed; expect about the training error."
    return Finding("WB201", "note", message, remedy)


def _kind_of_shift(kind: ShiftKind, has_shift: bool) -> Iterator[Finding]:
    if kind.kind == LABEL:
        message = (
            f"{kind} Class frequencies tell the samples apart as well as any other difference."
        )
        remedy = (
            "Weights are one number per class; if you know that the features changed for another "
            "reason, ask for the shift covariate."
        )
        yield Finding("WB202", "note", message, remedy)
    elif kind.kind == UNCLEAR and (has_shift or kind.gain > 2):
        remedy = (
            "Think about how the data came about, or label deployment rows; ask for the shift "
            "label or covariate if you know which it is."
        )
        message = f"{kind} If the mix did: {kind.frequencies.change}."
        yield Finding("WB204", "note", message, remedy)


def _missing_values(report: ShiftReport) -> Iterator[Finding]:
    rows = [row for row in report.balance.largest(len(report.balance)) if row.kind == "missing"]
    if rows and abs(rows[0].before) > DIFFERENT:
        message = (
            f"{in_a_sentence(rows[0].feature)} is missing in {percent(rows[0].mean_source)} of the "
            f"training rows and {percent(rows[0].mean_target)} of the deployment rows."
        )
        remedy = "Ask why: a change in how data are recorded is not a change in the cases."
        yield Finding("WB203", "note", message, remedy)


def _overlap(report: ShiftReport) -> Iterator[Finding]:
    judgement = report.overlap_judgement
    if judgement.word == "enough":
        return
    if judgement.word == "thin":
        message = f"Overlap is thin: {judgement.reason}."
        remedy = "Keep the unweighted model, and read all figures for the deployment as rough."
        if judgement.can_weight:
            remedy = (
                "If you weight, prefer a smaller lam, or alpha > 1, which caps every weight; read "
                "all figures for the deployment as rough."
            )
    else:
        message = f"{judgement.reason[0].upper()}{judgement.reason[1:]}."
        separating = [f.name for f in report.attribution if f.alone > SEPARATING_AUC]
        remedy = "Label some deployment rows, or look for training rows like them."
        if separating:
            remedy = (
                f"{in_a_sentence(separating[0])} alone tells the samples apart. If it does not "
                "describe the cases, leave it out of both; otherwise label some deployment rows."
            )
    yield Finding(judgement.code, "warning", message, remedy)


def _concentration(report: ShiftReport) -> Iterator[Finding]:
    """Yield the findings about target rows outside the support, and about heavy weights."""
    share, weights = report.support.share, report.weights
    if share > SOME_OUTSIDE:
        message = f"{percent(share)} of the deployment rows lie outside the training data."
        remedy = "No weighting can represent them; label some of them, or leave them out of the "
        yield Finding("WB304", "warning", message, f"{remedy}claim.")
    if weights.rows_for_half < MIN_SHARE_FOR_HALF * weights.n_rows:
        half = f"{weights.rows_for_half:,} of {weights.n_rows:,} rows"
        message, remedy = f"Half of the weight sits on {half}.", "A smaller lam, or alpha > 1, "
        yield Finding("WB306", "warning", message, f"{remedy}spreads it.")


def _remaining_differences(report: ShiftReport) -> Iterator[Finding]:
    """Yield the findings about what weighting leaves of the shift."""
    left = {row.name: abs(row.after) for row in report.balance.rows if row.after is not None}
    left = {name: size for name, size in left.items() if DIFFERENT < size < math.inf}
    if left:
        name, n_others = max(left, key=lambda name: left[name]), len(left) - 1
        others = f" (and {n_others} other feature{'s' * (n_others > 1)})" if n_others else ""
        message = f"After weighting {in_a_sentence(name)} still differs by {left[name]:.2f} "
        remedy = "These are the weights of the full ratio; another ratio may do better."
        if report.weighting != "full":
            is_named = report.weighting.startswith(("lam", "none"))
            closer = "A larger lam" if is_named else "More of the full ratio"
            remedy = f"{closer} reduces it, but leaves fewer effective rows."
        yield Finding("WB305", "note", f"{message}standard deviations{others}.", remedy)
    if report.weighting == "full" and report.auc_after.low > MAX_AUC_AFTER:
        message = (
            "After weighting by the full ratio a classifier still tells the samples apart (AUC "
            f"{report.auc_after.value:.2f})."
        )
        remedy = (
            "The ratio misses part of the shift; try several others: ClassifierRatio, ULSIF, or "
            "AutoRatio, which chooses among them."
        )
        yield Finding("WB401", "warning", message, remedy)


def _mean_ratio(report: ShiftReport) -> Iterator[Finding]:
    mean = report.mean_ratio
    # If target rows lie outside the source, the right ratio averages less than 1 by their share.
    outside = max(report.support.share, report.support.unseen_share)
    off = max(mean.value - 1, 1 - outside - mean.value)
    if off > max(MEAN_RATIO_ERRORS * mean.standard_error, MEAN_RATIO_MARGIN):
        message = (
            f"The estimated ratio averages {mean.value:.2f} over the training rows, where a "
            "density ratio averages 1."
        )
        remedy = "Weights are scaled to mean 1 afterwards; check the ratio, or try another one."
        yield Finding("WB402", "warning", message, remedy)


def in_a_sentence(name: str) -> str:
    """Return the name of a feature in a sentence: "column 0" for a column of an array."""
    return f"column {name}" if name.isdigit() else name


def listed(names: Sequence[str], most: int = 3) -> str:
    """Return the first names, and how many more there are."""
    shown = [in_a_sentence(name) for name in names[:most]]
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    return ", ".join(shown)
