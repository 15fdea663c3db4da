"""Warnings about overlap; their code follows from the word."""

from __future__ import annotations

import math
import sys
import warnings

import numpy as np

from weighbridge._findings.overlap import (
    BROKEN,
    ENOUGH,
    FEW_ROWS,
    LARGEST_TAIL_INDEX,
    OUTSIDE,
    THIN,
    Choice,
    OverlapJudgement,
    effective_sample_size,
    has_heavy_tail,
    pareto_k,
)
from weighbridge.exceptions import OverlapWarning

# Where overlap is enough, rows outside may still change the choice of a weighting.
CODES = {ENOUGH: "WB304", THIN: "WB301", BROKEN: "WB302"}
# The mean of an estimated ratio over the source sample; 1 if all is well.
APART = 0.1


def users_line() -> int:
    """Return the stacklevel, seen from a function that warns, of the line outside this package."""
    level, frame = 1, sys._getframe(1)
    # scikit-learn puts a frame of its own around a fit that callbacks may listen to
    ours = ("weighbridge.", "sklearn.callback.")
    while frame.f_back is not None and frame.f_globals["__name__"].startswith(ours):
        level, frame = level + 1, frame.f_back
    return level


def _warn(code: str, message: str) -> None:
    warnings.warn(f"{code} {message}", OverlapWarning, stacklevel=users_line())


def warn_if_apart(log_mean_ratio: float) -> None:
    """Warn when an estimated ratio is almost 0 on the whole source sample."""
    # scaling it to mean 1 afterwards would hide that the samples have nothing in common
    if log_mean_ratio < math.log(APART):
        _warn(
            CODES[BROKEN],
            f"the estimated ratio averages {math.exp(log_mean_ratio):.1e} on the source "
            "rows, where a density ratio averages 1: almost no source row lies where the target "
            "is. Check that X and X_target have the same columns in the same units (an "
            "ImportanceWeighted model goes outside a pipeline), and whether one feature (an id, a "
            "date) tells them apart.",
        )


def warn_if_outside(share: float) -> None:
    """Warn when many target rows have a far larger ratio than next to all source rows."""
    if share > OUTSIDE:
        _warn(
            CODES[BROKEN],
            f"{share:.0%} of the target rows have a far larger ratio than all but a few "
            "source rows: hardly any source row lies where they are, and no weights can stand for "
            "them. Check that X and X_target have the same columns in the same units, and whether "
            "one feature (an id, a date) tells them apart.",
        )


def warn_if_untrustworthy(
    weights: np.ndarray, sample_weight: np.ndarray | None, log_cap: float
) -> None:
    """Warn when few rows carry the weights, or a weight without a useful cap has a heavy tail."""
    # own weights are among them, and may be uneven without any lack of overlap
    ess = effective_sample_size(weights)
    before = weights.size if sample_weight is None else effective_sample_size(sample_weight)
    if ess < min(FEW_ROWS, before / 2):
        _warn(
            "WB303",
            f"the weights are worth {ess:.1f} of {weights.size} rows, and the largest "
            f"carries {weights.max() / weights.sum():.0%} of the total: a few rows decide the fit. "
            "Move toward the unweighted model (a smaller lam, or alpha > 1, which caps every "
            "weight: RIWERM(0.8) caps them at 5, before they are scaled to mean 1), or check "
            "whether one feature alone tells the samples apart, and that the ratio is on the log "
            "scale.",
        )
        return
    # A cap below n/20 guarantees 20 effective rows; where the weights are nearly even their tail is
    # beside the point.
    capped = log_cap <= math.log(weights.size / FEW_ROWS)
    if capped or ess > 0.7 * before:
        return
    k = pareto_k(weights)
    if has_heavy_tail(weights.size, k):
        _warn(
            CODES[THIN],
            f"the weights have a heavy tail (Pareto k-hat {k:.2f}, reliable below "
            f"{LARGEST_TAIL_INDEX:.2f}; worth {ess:.1f} of {weights.size} rows): another sample "
            "would give quite another fit. Use alpha > 1, which caps every weight, a smaller lam, "
            "or more source rows where the target lies.",
        )


def warn_of_choice(
    overlap: OverlapJudgement, choice: Choice, answer: str, *, weighted: bool
) -> None:
    """Say that overlap is broken, or that it has changed the choice of a weighting, and how."""
    if choice is Choice.FREE and overlap.word != BROKEN:
        return
    _warn(
        CODES[overlap.word],
        f"{_what_is_wrong(overlap, choice)}. "
        f"{_consequence(choice, answer, weighted=weighted)} Look for a feature "
        "that tells the samples apart (an id, a date), or label rows of the target.",
    )


def _what_is_wrong(overlap: OverlapJudgement, choice: Choice) -> str:
    if choice is Choice.FREE:
        return f"overlap is broken: {overlap.reason}"
    where = "nearly all target rows lie" if choice is Choice.SETTLED else "much of the target lies"
    return f"{where} where there are hardly any source rows"


def _consequence(choice: Choice, answer: str, *, weighted: bool) -> str:
    if answer == "argmin":
        return "The weighting with the smallest loss rests on very few of them."
    if choice is Choice.FREE:
        return "The weighting was chosen by held-out losses, which rest on few rows there."
    if weighted:
        return (
            "A weighting was chosen nevertheless, because it at least halves the loss on the "
            "source rows that are nearest to the target, which the unweighted model misses even "
            "in the fit; it rests on very few of them."
        )
    return (
        "The model is fitted without weights: where samples hardly overlap, weights do more "
        "harm than good, and no held-out loss can tell (answer='argmin' overrides this)."
    )
