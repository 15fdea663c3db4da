"""The findings of a diagnosis, each with its code and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from weighbridge._estimators import FittedRows, is_estimated
from weighbridge._findings import Finding, percent
from weighbridge.diagnosis._attribution import FeatureAttribution
from weighbridge.diagnosis._columns import Feature, Samples, in_a_sentence, listed, stacked_features
from weighbridge.label_shift import LABEL, UNCLEAR, ShiftKind
from weighbridge.ratios import SOME_OUTSIDE
from weighbridge.tables import take_rows

if TYPE_CHECKING:
    from weighbridge.diagnosis._report import ShiftReport

# A feature with a larger AUC alone distinguishes the samples by itself.
SEPARATING_AUC = 0.95
# A larger share of the rows of one sample in the other is a finding.
MAX_SHARED = 0.5
# A larger standardised difference is worth mentioning, before and after weighting.
DIFFERENT = 0.1
# If a smaller share of the rows carries half of the weight, few rows decide the fit.
MIN_SHARE_FOR_HALF = 0.02
# A larger AUC after weighting, its interval included, shows that the ratio missed something.
MAX_AUC_AFTER = 0.55
# Largest distance of the mean ratio from 1, in standard errors and as a number.
MEAN_RATIO_ERRORS, MEAN_RATIO_MARGIN = 3.0, 0.1
# Where a feature has no value, by whether source and target have none.
_EMPTY = {
    (True, True): "either sample",
    (True, False): "any training row",
    (False, True): "any deployment row",
}


def table_findings(
    samples: Samples, attribution: tuple[FeatureAttribution, ...]
) -> Iterator[Finding]:
    """Yield the findings about shared rows, keys, and columns that are empty or constant."""
    source, target = (
        take_rows(samples.stacked, np.flatnonzero(samples.codes == code)) for code in (0, 1)
    )
    shared = mostly_shared(source, target)
    if shared:
        yield Finding(
            "WB112",
            "note",
            f"The deployment contains {shared:,} of the {source.shape[0]:,} training rows.",
            "Training rows cannot also represent the deployment: remove the shared rows from one "
            "of the samples.",
        )
    separating = {feature.name for feature in attribution if feature.alone > SEPARATING_AUC}
    empty: dict[tuple[bool, bool], list[str]] = {where: [] for where in _EMPTY}
    constant, keys = [], []
    for feature in stacked_features(samples.stacked, samples.codes):
        no_source, no_target = (bool(missing.all()) for missing in feature.missing())
        if no_source or no_target:
            empty[no_source, no_target].append(feature.name)
        elif _is_constant(feature):
            constant.append(feature.name)
        elif feature.name in separating and _is_key(feature):
            keys.append(feature.name)
    for name in keys:
        yield Finding(
            "WB111",
            "note",
            f"{in_a_sentence(name)} is different in every row and tells the samples apart.",
            "A running number or a key does not describe the cases: leave it out of both samples.",
        )
    for where, names in empty.items():
        if names:
            yield Finding(
                "WB114",
                "note",
                f"No value in {_EMPTY[where]}: {listed(names)}.",
                "There is nothing to compare; it is left out."
                if all(where)
                else "Whether a value is there tells the samples apart; leave the feature out of "
                "both.",
            )
    if constant:
        yield Finding(
            "WB115",
            "note",
            f"The same value in every row of both samples: {listed(constant)}.",
            "Such a feature says nothing about a shift, and can be left out.",
        )


def mostly_shared(source: Any, target: Any) -> int:
    """Return how many source rows are also target rows, or 0 if these need not be copies."""
    rows = FittedRows(source)
    shared, share = FittedRows(target).known_beyond_chance(source), rows.share(target)
    if share > MAX_SHARED:
        return shared
    # Repeated source rows match a few target rows by chance.
    are_copies = shared / source.shape[0] > MAX_SHARED and rows.known_beyond_chance(target)
    return shared if are_copies else 0


def _is_constant(feature: Feature) -> bool:
    """Return True if all rows have the same value, and none is missing."""
    if any(bool(missing.any()) for missing in feature.missing()):
        return False
    lowest = min(feature.source.min(), feature.target.min())
    return bool(lowest == max(feature.source.max(), feature.target.max()))


def _is_key(feature: Feature) -> bool:
    """Return True for text or integers that are different in every row."""
    values = np.concatenate([feature.source, feature.target])
    return bool((values == np.rint(values)).all()) and np.unique(values).size == values.size


def report_findings(report: ShiftReport, ratio: BaseEstimator) -> Iterator[Finding]:
    """Yield the findings that follow from the numbers of a report."""
    has_shift = report.shift != "none"
    if not has_shift:
        yield _no_shift(report)
    if report.label_shift is not None:
        yield from _label_shift(report.label_shift, has_shift=has_shift)
    if has_shift:
        yield from _missing_values(report)
    yield from _overlap(report)
    if has_shift and report.overlap != "broken":
        yield from _remaining_differences(report)
        if is_estimated(ratio):
            yield from _mean_ratio(report)


def _no_shift(report: ShiftReport) -> Finding:
    auc = report.auc
    numbers = f"(AUC {auc.value:.2f} [{auc.low:.2f}, {auc.high:.2f}])"
    if report.too_few:
        message = f"No shift found, but the rows are too few to tell {numbers}."
        remedy = "Collect more rows of the smaller sample; deployment rows need no labels."
    else:
        chance = "hardly better than chance" if auc.value > 0.5 else "no better than chance"
        message = f"No shift found: a classifier tells the samples apart {chance} {numbers}."
        remedy = "Weights are not needed; expect about the training error."
    return Finding("WB201", "note", message, remedy)


def _label_shift(kind: ShiftKind, *, has_shift: bool) -> Iterator[Finding]:
    if kind.kind == LABEL:
        yield Finding(
            "WB202",
            "note",
            f"{kind} Class frequencies tell the samples apart as well as any other difference.",
            "Weights are one number per class; if you know that the features changed for another "
            "reason, ask for the shift covariate.",
        )
    elif kind.kind == UNCLEAR and (has_shift or kind.gain > 2):
        yield Finding(
            "WB204",
            "note",
            f"{kind} If the mix did: {kind.frequencies.change}.",
            "Think about how the data came about, or label deployment rows; ask for the shift "
            "label or covariate if you know which it is.",
        )


def _missing_values(report: ShiftReport) -> Iterator[Finding]:
    rows = [row for row in report.balance.rows if row.kind == "missing"]
    row = max(rows, key=lambda row: abs(row.before), default=None)
    if row is not None and abs(row.before) > DIFFERENT:
        yield Finding(
            "WB203",
            "note",
            f"{in_a_sentence(row.feature)} is missing in {percent(row.mean_source)} of the "
            f"training rows and {percent(row.mean_target)} of the deployment rows.",
            "Ask why: a change in how data are recorded is not a change in the cases.",
        )


def _overlap(report: ShiftReport) -> Iterator[Finding]:
    """Yield the findings about the overlap, rows outside the support, and heavy weights."""
    judgement, support, weights = report.overlap_judgement, report.support, report.weights
    is_broken = report.overlap == "broken"
    if is_broken:
        separating = [f.name for f in report.attribution if f.alone > SEPARATING_AUC]
        yield Finding(
            judgement.code,
            "warning",
            f"{judgement.reason[0].upper()}{judgement.reason[1:]}.",
            f"{in_a_sentence(separating[0])} alone tells the samples apart. If it does not "
            "describe the cases, leave it out of both; otherwise label some deployment rows."
            if separating
            else "Label some deployment rows, or look for training rows like them.",
        )
    elif report.overlap == "thin":
        yield Finding(
            judgement.code,
            "warning",
            f"Overlap is thin: {judgement.reason}.",
            "If you weight, prefer a smaller lam, or alpha > 1, which caps every weight; read all "
            "figures for the deployment as rough."
            if judgement.can_weight
            else "Keep the unweighted model, and read all figures for the deployment as rough.",
        )
    if support.unseen_levels:
        shown = ", ".join(support.unseen_levels[:3]) + ", ..." * (len(support.unseen_levels) > 3)
        yield Finding(
            "WB113",
            "note",
            f"Never seen in training: {shown}.",
            "Check its spelling in both tables; rows that have it are outside the training data.",
        )
    if support.share > SOME_OUTSIDE and not is_broken:
        yield Finding(
            "WB304",
            "warning",
            f"{percent(support.share)} of the deployment rows lie outside the training data.",
            "No weighting can represent them; label some of them, or leave them out of the claim.",
        )
    if weights.rows_for_half < MIN_SHARE_FOR_HALF * weights.n_rows and not is_broken:
        yield Finding(
            "WB306",
            "warning",
            f"Half of the weight sits on {weights.rows_for_half:,} of {weights.n_rows:,} rows.",
            "A smaller lam, or alpha > 1, spreads it.",
        )


def _remaining_differences(report: ShiftReport) -> Iterator[Finding]:
    """Yield the findings about what weighting leaves of the shift."""
    left = {row.name: abs(row.after) for row in report.balance.rows if row.after is not None}
    left = {name: size for name, size in left.items() if DIFFERENT < size < math.inf}
    if left:
        name = max(left, key=lambda name: left[name])
        n_others = len(left) - 1
        others = f" (and {n_others} other feature{'s' * (n_others > 1)})" if n_others else ""
        yield Finding(
            "WB305",
            "note",
            f"After weighting {in_a_sentence(name)} still differs by {left[name]:.2f} standard "
            f"deviations{others}.",
            _closer(report.weighting),
        )
    if report.weighting == "full" and report.auc_after.low > MAX_AUC_AFTER:
        yield Finding(
            "WB401",
            "warning",
            "After weighting by the full ratio a classifier still tells the samples apart (AUC "
            f"{report.auc_after.value:.2f}).",
            "The ratio misses part of the shift; try several others: ClassifierRatio, ULSIF, or "
            "AutoRatio, which chooses among them.",
        )


def _closer(weighting: str) -> str:
    """Return how to reduce the remaining difference."""
    if weighting == "full":
        return "These are the weights of the full ratio; another ratio may do better."
    closer = "A larger lam" if weighting.startswith(("lam", "none")) else "More of the full ratio"
    return f"{closer} reduces it, but leaves fewer effective rows."


def _mean_ratio(report: ShiftReport) -> Iterator[Finding]:
    mean = report.mean_ratio
    # If target rows lie outside the source, the right ratio averages less than 1 by their share.
    outside = max(report.support.share, report.support.unseen_share)
    off = max(mean.value - 1, 1 - outside - mean.value)
    if off > max(MEAN_RATIO_ERRORS * mean.standard_error, MEAN_RATIO_MARGIN):
        yield Finding(
            "WB402",
            "warning",
            f"The estimated ratio averages {mean.value:.2f} over the training rows, where a "
            "density ratio averages 1.",
            "Weights are scaled to mean 1 afterwards; check the ratio, or try another one.",
        )
