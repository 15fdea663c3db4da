"""From the numbers of a diagnosis to findings, each with what to do about it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from weighbridge._estimators import FittedRows
from weighbridge._findings import Finding, percent
from weighbridge.diagnostics._attribution import FeatureAttribution
from weighbridge.diagnostics._features import Feature, features_of
from weighbridge.diagnostics._samples import Samples, in_a_sentence, listed
from weighbridge.label_shift import LABEL, UNCLEAR
from weighbridge.ratios import SOME_OUTSIDE
from weighbridge.tables import take_rows

if TYPE_CHECKING:
    from weighbridge.diagnostics._shift_report import ShiftReport


# A feature tells the samples apart by itself from this AUC on.
TELLS_APART = 0.95
# Share of the rows of a sample that the other has as well, from which on it is worth mentioning.
MOSTLY_SHARED = 0.5
# Where a feature has no value, by whether source and target have none, and what is done about it.
_EMPTY = {
    (True, True): "either sample",
    (True, False): "any training row",
    (False, True): "any deployment row",
}
_LEFT_OUT = "There is nothing to compare; it is left out."
_LEAVE_OUT = "Whether a value is there tells the samples apart; leave the feature out of both."


def table_findings(
    samples: Samples, attribution: tuple[FeatureAttribution, ...]
) -> Iterator[Finding]:
    """Yield the findings about rows and columns."""
    yield from _of_shared_rows(samples)
    telling = {each.name for each in attribution if each.alone > TELLS_APART}
    empty: dict[tuple[bool, bool], list[str]] = {each: [] for each in _EMPTY}
    constant, keys = [], []
    for feature in features_of(samples.table, samples.codes):
        source, target = (bool(gaps.all()) for gaps in feature.missing())
        if source or target:
            empty[source, target].append(feature.name)
        elif _is_constant(feature):
            constant.append(feature.name)
        elif feature.name in telling and _is_key(feature):
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
            said = f"No value in {_EMPTY[where]}: {listed(names)}."
            yield Finding("WB114", "note", said, _LEFT_OUT if all(where) else _LEAVE_OUT)
    if constant:
        yield Finding(
            "WB115",
            "note",
            f"The same value in every row of both samples: {listed(constant)}.",
            "Such a feature says nothing about a shift, and can be left out.",
        )


def _of_shared_rows(samples: Samples) -> Iterator[Finding]:
    source, target = (
        take_rows(samples.table, np.flatnonzero(samples.codes == code)) for code in (0, 1)
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


def mostly_shared(source: Any, target: Any) -> int:
    """Return how many source rows the target has too, if so many that they must be copies."""
    known = FittedRows(source)
    shared, share = FittedRows(target).known_beyond_chance(source), known.share(target)
    if share > MOSTLY_SHARED:
        return shared
    # source rows that repeat meet a few of the target's by chance
    meant = shared / source.shape[0] > MOSTLY_SHARED and known.known_beyond_chance(target)
    return shared if meant else 0


def _is_constant(feature: Feature) -> bool:
    """True for one value everywhere, and no gaps."""
    if any(bool(gaps.any()) for gaps in feature.missing()):
        return False
    lowest = min(feature.source.min(), feature.target.min())
    return bool(lowest == max(feature.source.max(), feature.target.max()))


def _is_key(feature: Feature) -> bool:
    """True for text or whole numbers that are different in every row."""
    values = np.concatenate([feature.source, feature.target])
    whole = bool((values == np.rint(values)).all())  # NaN is not
    return whole and np.unique(values).size == values.size


# Standardised differences beyond this are worth mentioning, before and after weighting.
DIFFERENT = 0.1
# Share of the rows that carry half of the weight, below which few rows decide.
FEW_ROWS = 0.02
# AUC after weighting, its interval included, from which on the ratio has missed something.
LEFT_OVER = 0.55
# How far the mean of an estimated ratio may be from 1, in standard errors and as such.
OFF_BY = (3.0, 0.1)


def find_all(report: ShiftReport, *, estimated: bool, automatic: bool) -> Iterator[Finding]:
    """Yield the findings of a diagnosis."""
    if report.shift == "none":
        yield _no_shift(report)
    yield from _of_labels(report)
    yield from _of_missing(report)
    yield from _of_overlap(report)
    yield from _of_support(report)
    yield from _of_weights(report)
    if report.shift != "none" and report.overlap != "broken":
        yield from _of_balance(report)
        yield from _of_what_is_left(report, automatic)
        if estimated:
            yield from _of_mean_ratio(report)


def _no_shift(report: ShiftReport) -> Finding:
    auc = report.auc
    numbers = f"(AUC {auc.value:.2f} [{auc.low:.2f}, {auc.high:.2f}])"
    if report.too_few:
        return Finding(
            "WB201",
            "note",
            f"No shift found, but the rows are too few to tell {numbers}.",
            "Collect more rows of the smaller sample; deployment rows need no labels.",
        )
    coin = "hardly better than chance" if auc.value > 0.5 else "no better than chance"
    return Finding(
        "WB201",
        "note",
        f"No shift found: a classifier tells the samples apart {coin} {numbers}.",
        "Weights are not needed; expect about the training error.",
    )


def _of_labels(report: ShiftReport) -> Iterator[Finding]:
    found = report.label_shift
    if found is not None and found.kind == LABEL:
        yield Finding(
            "WB202",
            "note",
            f"{found} Class frequencies tell the samples apart as well as any other difference.",
            "Weights are one number per class; if you know that the features changed for another "
            "reason, ask for the shift covariate.",
        )
    elif found is not None and found.kind == UNCLEAR and (report.shift != "none" or found.gain > 2):
        yield Finding(
            "WB204",
            "note",
            f"{found} If the mix did: {found.frequencies.change}.",
            "Think about how the data came about, or label deployment rows; ask for the shift "
            "label or covariate if you know which it is.",
        )


def _of_missing(report: ShiftReport) -> Iterator[Finding]:
    moved = [
        row for row in report.balance.rows if row.kind == "missing" and abs(row.before) > DIFFERENT
    ]
    if moved and report.shift != "none":
        row = max(moved, key=lambda row: abs(row.before))
        yield Finding(
            "WB203",
            "note",
            f"{in_a_sentence(row.feature)} is missing in {percent(row.mean_source)} of the "
            f"training rows and {percent(row.mean_target)} of the deployment rows.",
            "Ask why: a change in how data are recorded is not a change in the cases.",
        )


def _of_overlap(report: ShiftReport) -> Iterator[Finding]:
    judgement = report.overlap_judgement
    telling = [each.name for each in report.attribution if each.alone > TELLS_APART]
    if judgement.word == "broken":
        help = (
            f"{in_a_sentence(telling[0])} alone tells the samples apart. If it does not describe "
            "the cases, leave it out of both; otherwise label some deployment rows."
            if telling
            else "Label some deployment rows, or look for training rows like them."
        )
        reason = judgement.reason
        yield Finding(judgement.code, "warning", f"{reason[0].upper()}{reason[1:]}.", help)
    elif judgement.word == "thin":
        yield Finding(
            judgement.code,
            "warning",
            f"Overlap is thin: {judgement.reason}.",
            "If you weight, prefer a smaller lam, or alpha > 1, which caps every weight; read all "
            "figures for the deployment as rough."
            if judgement.can_weight
            else "Keep the unweighted model, and read all figures for the deployment as rough.",
        )


def _of_support(report: ShiftReport) -> Iterator[Finding]:
    unseen = report.support.unseen_levels
    if unseen:
        shown = ", ".join(unseen[:3]) + (", ..." if len(unseen) > 3 else "")
        yield Finding(
            "WB113",
            "note",
            f"Never seen in training: {shown}.",
            "Check its spelling in both tables; rows that have it are outside the training data.",
        )
    if report.support.share > SOME_OUTSIDE and report.overlap != "broken":
        yield Finding(
            "WB304",
            "warning",
            f"{percent(report.support.share)} of the deployment rows lie outside the training "
            "data.",
            "No weighting can represent them; label some of them, or leave them out of the claim.",
        )


def _of_weights(report: ShiftReport) -> Iterator[Finding]:
    weights = report.weights
    if report.overlap != "broken" and weights.rows_for_half < FEW_ROWS * weights.n_rows:
        yield Finding(
            "WB306",
            "warning",
            f"Half of the weight sits on {weights.rows_for_half:,} of {weights.n_rows:,} rows.",
            "A smaller lam, or alpha > 1, spreads it.",
        )


def _of_balance(report: ShiftReport) -> Iterator[Finding]:
    left = [
        row
        for row in report.balance.rows
        if row.after is not None and math.isfinite(row.after) and abs(row.after) > DIFFERENT
    ]
    if left:
        row = max(left, key=lambda row: abs(row.after or 0.0))
        others = ""
        if len(left) > 1:
            others = f" (and {len(left) - 1} other feature{'s' * (len(left) > 2)})"
        yield Finding(
            "WB305",
            "note",
            f"After weighting {in_a_sentence(row.name)} still differs by "
            f"{abs(row.after or 0.0):.2f} standard deviations{others}.",
            _closer(report.weighting),
        )


def _closer(weighting: str) -> str:
    """Say how to leave less of a difference."""
    if weighting == "full":
        return "These are the weights of the full ratio; another ratio may do better."
    closer = "A larger lam" if weighting.startswith(("lam", "none")) else "More of the full ratio"
    return f"{closer} reduces it, but leaves fewer effective rows."


def _of_what_is_left(report: ShiftReport, automatic: bool) -> Iterator[Finding]:
    full = report.weighting == "full"
    if full and report.auc_after.low > LEFT_OVER:
        yield Finding(
            "WB401",
            "warning",
            f"After weighting by the full ratio a classifier still tells the samples apart (AUC "
            f"{report.auc_after.value:.2f}).",
            'The ratio misses part of the shift; try another one, such as "classifier"'
            + ("." if automatic else ", or let AutoRatio choose."),
        )


def _of_mean_ratio(report: ShiftReport) -> Iterator[Finding]:
    mean = report.mean_ratio
    # where rows lie outside, a ratio that is right averages what is left of 1
    outside = max(report.support.share, report.support.unseen_share)
    off = max(mean.value - 1, 1 - outside - mean.value)
    if off > max(OFF_BY[0] * mean.standard_error, OFF_BY[1]):
        yield Finding(
            "WB402",
            "warning",
            f"The estimated ratio averages {mean.value:.2f} over the training rows, where a "
            "density ratio averages 1.",
            "Weights are scaled to mean 1 afterwards; check the ratio, or try another one.",
        )
