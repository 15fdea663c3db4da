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
from weighbridge.label_shift import LABEL, UNCLEAR, ShiftKind
from weighbridge.ratios import SOME_OUTSIDE
from weighbridge.tables import stacked_features, stacked_table, take_rows

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


def table_findings(
    X: ArrayLike, X_target: ArrayLike, attribution: tuple[FeatureAttribution, ...]
) -> Iterator[Finding]:
    """Yield the findings about shared rows, keys, and columns that are empty or constant."""
    stacked, codes = stacked_table(X, X_target)
    source, target = (take_rows(stacked, np.flatnonzero(codes == code)) for code in (0, 1))
    if shared := mostly_shared(source, target):
        message = f"The deployment contains {shared:,} of the {source.shape[0]:,} training rows."
        remedy = "They cannot represent both samples. Remove them from one of the two."
        yield Finding("WB112", "note", message, remedy)
    separating = {feature.name for feature in attribution if feature.alone > SEPARATING_AUC}
    empty: dict[str, list[str]] = {}
    constant: list[str] = []
    for feature in stacked_features(stacked, codes):
        name, values = feature.name, np.concatenate([feature.source, feature.target])
        no_source, no_target = (bool(missing.all()) for missing in feature.missing())
        if no_source or no_target:
            sample = "any training row" if no_source else "any deployment row"
            empty.setdefault("either sample" if no_source and no_target else sample, []).append(
                name
            )
        elif values.min() == values.max() and not np.concatenate(feature.missing()).any():
            constant.append(name)
        elif name in separating and _is_key(values):
            message = f"{in_a_sentence(name)} differs in every row and distinguishes the samples."
            remedy = "A running number or a key does not describe the cases. Leave it out of both."
            yield Finding("WB111", "note", message, remedy)
    for place, names in empty.items():
        remedy = "There is nothing to compare. Leave the feature out of both samples."
        yield Finding("WB114", "note", f"No value in {place}: {listed(names)}.", remedy)
    if constant:
        message = f"The same value in every row of both samples: {listed(constant)}."
        remedy = "Such a feature says nothing about a shift, and can be left out."
        yield Finding("WB115", "note", message, remedy)


def mostly_shared(source: ArrayLike, target: ArrayLike) -> int:
    """Return how many source rows are also target rows, or 0 if these need not be copies."""
    rows = FittedRows(source)
    shared, share = FittedRows(target).known_beyond_chance(source), rows.share(target)
    # Repeated source rows match a few target rows by chance.
    are_copies = shared / np.shape(source)[0] > MAX_SHARED and rows.known_beyond_chance(target)
    return shared if share > MAX_SHARED or are_copies else 0


def _is_key(values: np.ndarray) -> bool:
    """Return True for text or integers that are different in every row."""
    return bool((values == np.rint(values)).all()) and np.unique(values).size == values.size


def report_findings(report: ShiftReport, ratio: BaseEstimator) -> Iterator[Finding]:
    """Yield the findings that follow from the numbers of a report."""
    has_shift = report.shift != "none"
    if not has_shift:
        yield _no_shift(report)
    if report.label_shift is not None:
        yield from _kind_of_shift(report.label_shift, has_shift)
    if has_shift:
        yield from _missing_values(report)
    yield from _overlap(report)
    if report.overlap != "broken":
        yield from _concentration(report)
        if has_shift:
            yield from _remaining_differences(report)
            if is_estimated(ratio):
                yield from _mean_ratio(report)


def _no_shift(report: ShiftReport) -> Finding:
    message = "No shift found: a classifier hardly distinguishes the samples"
    remedy = "Weights are not needed; expect about the training error."
    if report.too_few:
        message = "No shift found, but the rows are too few to tell"
        remedy = "Collect more rows of the smaller sample; deployment rows need no labels."
    return Finding("WB201", "note", f"{message} (AUC {interval_text(report.auc)}).", remedy)


def _kind_of_shift(kind: ShiftKind, has_shift: bool) -> Iterator[Finding]:
    if kind.kind == LABEL:
        message = f"{kind} Class prevalence distinguishes the samples as well as anything else."
        remedy = (
            "If you know that the features changed for another reason, set the shift to covariate."
        )
        yield Finding("WB202", "note", message, remedy)
    elif kind.kind == UNCLEAR and (has_shift or kind.gain > 2):
        message = f"{kind} If the mix did: {kind.frequencies.change}."
        remedy = "Label deployment rows, or set the shift (label or covariate) if you know it."
        yield Finding("WB204", "note", message, remedy)


def _missing_values(report: ShiftReport) -> Iterator[Finding]:
    rows = [row for row in report.balance.rows if row.kind == "missing"]
    row = max(rows, key=lambda row: abs(row.before), default=None)
    if row is not None and abs(row.before) > DIFFERENT:
        training, deployment = percent(row.mean_source), percent(row.mean_target)
        name = in_a_sentence(row.feature)
        message = f"{name} is missing in {training} of the training rows and {deployment} of the "
        remedy = "Ask why: a change in how data are recorded is not a change in the cases."
        yield Finding("WB203", "note", f"{message}deployment rows.", remedy)


def _overlap(report: ShiftReport) -> Iterator[Finding]:
    judgement, unseen = report.overlap_judgement, report.support.unseen_levels
    if judgement.word == "broken":
        message = f"{judgement.reason[0].upper()}{judgement.reason[1:]}."
        remedy = "Label some deployment rows, or look for training rows like them."
        if separating := [f.name for f in report.attribution if f.alone > SEPARATING_AUC]:
            alone = f"{in_a_sentence(separating[0])} alone distinguishes the samples."
            remedy = f"{alone} Leave it out unless it describes the cases; then label some rows."
        yield Finding(judgement.code, "warning", message, remedy)
    elif judgement.word == "thin":
        remedy = "Do not weight by the features. All estimates for the deployment are unreliable."
        yield Finding(judgement.code, "warning", f"Overlap is thin: {judgement.reason}.", remedy)
    if unseen:
        remedy = "Check the spelling in both tables. These rows are outside the training data."
        yield Finding("WB113", "note", f"Never seen in training: {listed(unseen)}.", remedy)


def _concentration(report: ShiftReport) -> Iterator[Finding]:
    """Yield the findings about target rows outside the support, and about heavy weights."""
    share, weights = report.support.share, report.weights
    if share > SOME_OUTSIDE:
        message = f"{percent(share)} of the deployment rows lie outside the training data."
        remedy = "No weighting can represent them. Label some of them, or exclude them."
        yield Finding("WB304", "warning", message, remedy)
    if weights.rows_for_half < MIN_SHARE_FOR_HALF * weights.n_rows:
        half = f"{weights.rows_for_half:,} of {weights.n_rows:,} rows"
        remedy = "A smaller lam, or alpha > 1, spreads it."
        yield Finding("WB306", "warning", f"Half of the weight sits on {half}.", remedy)


def _remaining_differences(report: ShiftReport) -> Iterator[Finding]:
    """Yield the findings about what weighting leaves of the shift."""
    left = {row.name: abs(row.after) for row in report.balance.rows if row.after is not None}
    left = {name: size for name, size in left.items() if DIFFERENT < size < math.inf}
    if left:
        name, n_others = max(left, key=lambda name: left[name]), len(left) - 1
        others = f" (and {n_others} other feature{'s' * (n_others > 1)})" if n_others else ""
        size = f"{left[name]:.2f} standard deviations{others}"
        remedy = "Weights nearer to the full ratio reduce it, but leave fewer effective rows."
        if report.weighting == "full":
            remedy = "These are the weights of the full ratio; another ratio may do better."
        message = f"After weighting {in_a_sentence(name)} still differs by {size}."
        yield Finding("WB305", "note", message, remedy)
    if report.weighting == "full" and report.auc_after.low > MAX_AUC_AFTER:
        auc = f"an AUC of {report.auc_after.value:.2f}"
        message = f"After weighting by the full ratio, a classifier still has {auc}."
        remedy = "Try another ratio: ClassifierRatio, ULSIF, or AutoRatio, which chooses one."
        yield Finding("WB401", "warning", message, remedy)


def _mean_ratio(report: ShiftReport) -> Iterator[Finding]:
    mean = report.mean_ratio
    # If target rows lie outside the source, the right ratio averages less than 1 by their share.
    outside = max(report.support.share, report.support.unseen_share)
    off = max(mean.value - 1, 1 - outside - mean.value)
    if off > max(MEAN_RATIO_ERRORS * mean.standard_error, MEAN_RATIO_MARGIN):
        message = f"The ratio averages {mean.value:.2f}, not 1, over the training rows."
        remedy = "Weights are scaled to mean 1 afterwards; check the ratio, or try another one."
        yield Finding("WB402", "warning", message, remedy)


def in_a_sentence(name: str) -> str:
    """Return the name of a feature in a sentence: "column 0" for a column of an array."""
    return f"column {name}" if name.isdigit() else name


def listed(names: Sequence[str], most: int = 3) -> str:
    """Return the first names, and how many more there are."""
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return ", ".join([*map(in_a_sentence, names[:most]), *more])
