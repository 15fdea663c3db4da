"""What can be said of two tables and their labels before any ratio: keys, copies, empty columns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from weighbridge._findings import Finding
from weighbridge._fitted_rows import FittedRows
from weighbridge.diagnostics._attribution import FeatureAttribution
from weighbridge.diagnostics._classes import RARE_CLASS
from weighbridge.diagnostics._features import Feature, features_of
from weighbridge.diagnostics._samples import Samples
from weighbridge.diagnostics._words import in_a_sentence, listed
from weighbridge.ratios._columns import take_rows

# A feature tells the samples apart by itself from this AUC on.
TELLS_APART = 0.95
# Share of the rows of a sample that the other has as well, from which on it is worth a word.
MOSTLY_SHARED = 0.5


def table_findings(
    samples: Samples, attribution: tuple[FeatureAttribution, ...]
) -> Iterator[Finding]:
    """Yield the findings about rows and columns."""
    yield from _of_shared_rows(samples)
    telling = {each.name for each in attribution if each.alone > TELLS_APART}
    empty: dict[str, list[str]] = {"either sample": [], "the training": [], "the deployment": []}
    constant, keys = [], []
    for feature in features_of(samples.table, samples.codes):
        source, target = (bool(gaps.all()) for gaps in feature.missing())
        if source or target:
            where = "either sample" if source and target else "the training"
            empty[where if source else "the deployment"].append(feature.name)
        elif _is_constant(feature):
            constant.append(feature.name)
        elif feature.name in telling and _is_key(feature):
            keys.append(feature.name)
    for name in keys:
        yield Finding(
            "WB111",
            "note",
            f"{in_a_sentence(name)} is different in every row and tells the samples apart.",
            "A running number or a key is no property of the cases: leave it out of both samples.",
        )
    yield from _of_empty(empty)
    if constant:
        yield Finding(
            "WB115",
            "note",
            f"The same value in every row of both samples: {listed(constant)}.",
            "Such a feature says nothing about a shift, and can be left out.",
        )


def label_findings(labels: np.ndarray, codes: np.ndarray) -> Iterator[Finding]:
    """Yield a finding about classes with few rows."""
    counts = np.bincount(codes)
    rare = np.flatnonzero(counts < RARE_CLASS)
    if rare.size:
        rarest = int(np.argmin(counts))
        others = f" ({rare.size - 1} more like it)" if rare.size > 1 else ""
        yield Finding(
            "WB117",
            "note",
            f"Class {labels.tolist()[rarest]!r} has {counts[rarest]} rows only{others}.",
            "What is said about its frequency is a guess; merge rare classes, or collect more "
            "rows.",
        )


def labels_not_checked(error: Exception) -> Finding:
    """Return the finding that labels could not be compared, and why."""
    reason = str(error)
    return Finding(
        "WB117",
        "note",
        f"Label shift was not checked: {reason[0].lower()}{reason[1:]}",
        "All else is said without labels.",
    )


def _of_shared_rows(samples: Samples) -> Iterator[Finding]:
    source, target = (
        take_rows(samples.table, np.flatnonzero(samples.codes == code)) for code in (0, 1)
    )
    shared = FittedRows(target).known_beyond_chance(source)
    if not shared:
        return
    n_source = source.shape[0]
    if max(shared / n_source, FittedRows(source).share(target)) > MOSTLY_SHARED:
        yield Finding(
            "WB112",
            "note",
            f"The deployment contains {shared:,} of the {n_source:,} training rows.",
            "Training rows cannot also stand for the deployment: remove the shared rows from one "
            "of the samples.",
        )


def _of_empty(empty: dict[str, list[str]]) -> Iterator[Finding]:
    for where, names in empty.items():
        if names and where == "either sample":
            yield Finding(
                "WB114",
                "note",
                f"No value in either sample: {listed(names)}.",
                "There is nothing to compare; it is left out.",
            )
        elif names:
            yield Finding(
                "WB114",
                "note",
                f"No value in any row of {where}: {listed(names)}.",
                "Whether a value is there tells the samples apart; leave the feature out of both.",
            )


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
