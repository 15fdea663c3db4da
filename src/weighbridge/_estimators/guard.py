"""The choice between the best weighting and none."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import numpy as np

from weighbridge._estimators.base import share_beyond
from weighbridge._findings import users_line
from weighbridge.domain import share_outside
from weighbridge.exceptions import OverlapWarning
from weighbridge.model_selection import SearchResult
from weighbridge.ratios import OverlapJudgement, judge_weights
from weighbridge.weighting import Geodesic, source_weights

ANSWERS = ("guard", "argmin")
# The gain over no weights that is enough, in standard errors of the paired difference, and the
# share of the rows from which the effective sample size makes all weightings alike. On the
# development tasks of the natural suite, 0.5 and 1 standard errors and shares of 0.95 and 0.98 give
# the same losses. Smaller shares and 2 standard errors gain a little less, within noise.
MIN_GAIN, NEARLY_EVEN = 0.5, 0.95


def check_answer(answer: str, lam_bounds: tuple[float, float]) -> None:
    """Raise ValueError unless the answer exists and can be formed within the bounds."""
    if answer not in ANSWERS:
        raise ValueError(f"Got answer={answer!r}, but expected one of {', '.join(ANSWERS)}.")
    if answer != "argmin" and lam_bounds[0] > 0:
        raise ValueError(
            f"Got lam_bounds={lam_bounds}, which exclude lam = 0, with answer={answer!r}, which "
            "compares with no weights; start the bounds at 0, or use answer='argmin'."
        )


def judge_samples(
    ratio: Any,
    X: Any,
    X_target: Any,
    log_ratio: np.ndarray,
    sample_weight: np.ndarray | None,
    n_parameters: int,
) -> tuple[OverlapJudgement, str]:
    """Return the overlap, and why no weighting should be tried, or an empty text."""
    outside = getattr(ratio, "outside_share", None)
    if X_target is not None:
        with suppress(TypeError, ValueError):  # A pipeline of the ratio may read any table.
            outside = share_outside(X, X_target, sample_weight)
    weights = source_weights(Geodesic(), log_ratio, sample_weight)
    counts = np.ones(weights.size) if sample_weight is None else sample_weight
    # The effective share of rows that count as often as their sample weight says.
    share = (counts @ weights) ** 2 / (counts.sum() * (counts @ weights**2))
    if sample_weight is not None:
        used = sample_weight > 0
        sample_weight, weights = sample_weight[used], (sample_weight * weights)[used]
    overlap = judge_weights(
        weights, outside, n_parameters, sample_weight, beyond=share_beyond(ratio)
    )
    # The weights of label shift depend on the class alone, and every class has source rows.
    if not overlap.can_weight and not hasattr(ratio, "score_labels"):
        return overlap, f"Overlap is {overlap.word} ({overlap.reason}), so no weighting was tried."
    if share > NEARLY_EVEN:
        return overlap, (
            f"The samples hardly differ (the full ratio has {100 * share:.0f} % of the rows as "
            "effective sample size), so no weighting was tried."
        )
    return overlap, ""


def check_units(unit_weights: np.ndarray) -> None:
    """Raise ValueError unless a gain over no weights has a standard error."""
    if np.count_nonzero(unit_weights) < 2:
        raise ValueError(
            "Got a criterion with a single number for each candidate (a metric on one held-out "
            "part as a whole), whose gain over no weights has no standard error. Use "
            "CrossValidation(...) or a metric that is a mean over rows, or answer='argmin'."
        )


def choose(result: SearchResult, answer: str) -> tuple[Geodesic, str]:
    """Return the weighting that is used, and why."""
    index = result.best_index
    reason = "The candidate with the smallest held-out loss is used, whatever it gains."
    if answer == "guard":
        index, reason = guarded_choice(result)
    return Geodesic(*result.evaluations[index].point), reason


def guarded_choice(result: SearchResult) -> tuple[int, str]:
    """Return the index of the best candidate if its gain is more than noise, else of no weights."""
    if not (result.points[:, 0] == 0).any():
        raise ValueError(
            f"Got a search that did not try lam = 0 among {len(result.points)} candidates, but "
            "answer='guard' compares with no weights. Add it, or use answer='argmin'."
        )
    none, best = result.index_of((0.0, 1.0)), result.best_index
    if result.evaluations[none].failed:
        return none, "The held-out loss without weights failed, so nothing was compared with it."
    if len(result.evaluations) == 1:
        return none, "No weights are used, because no other candidate was tried."
    if best == none:
        return none, "The unweighted model has the smallest held-out loss of all candidates."
    gain = result.difference(none, best)
    change = (
        f"The best of {len(result.evaluations)} candidates lowers the held-out loss of "
        f"{result.values[none]:.3g} by {gain.value:.3g} (standard error {gain.standard_error:.2g})"
    )
    if gain.value > MIN_GAIN * gain.standard_error:
        return best, f"{change}, so it is used."
    return none, f"{change}, less than half a standard error, so no weights are used."


def warn_of_overlap(overlap: OverlapJudgement, *, is_searched: bool) -> None:
    """Warn that overlap is thin or broken, and what this meant for the choice."""
    if overlap.word == "enough":
        return
    if is_searched:
        consequence = "The weighting was chosen by held-out losses, which rest on few rows there."
    else:
        consequence = (
            "The model is fitted without weights, because held-out losses cannot tell there which "
            "weights do harm (answer='argmin' overrides this)."
        )
    warnings.warn(
        f"{overlap.code} overlap is {overlap}. {consequence} Look for a feature that tells the "
        "samples apart (an id, a date), or label rows of the target.",
        OverlapWarning,
        stacklevel=users_line(),
    )
