"""Is there enough overlap to choose a weighting by? Known before any model is fitted."""

from __future__ import annotations

import warnings
from enum import Enum
from typing import Any

import numpy as np

from weighbridge._overlap import FEW_ROWS, effective_sample_size, users_line
from weighbridge._weighted_estimator import innermost
from weighbridge.exceptions import OverlapWarning

# Share of the target rows outside the source from which on overlap is thin, and there is none.
# Both by the selection benchmark: tasks with broken overlap are thin in nearly every draw. So are
# others whose shift is strong, among them the toy problem with 100 rows, where weighting wins nine
# tenths of the loss: hence two limits, and a chance for large gains between them.
THIN = 0.5
NONE = 0.98


class Overlap(Enum):
    """How far the source sample covers the target."""

    ENOUGH = "enough"
    THIN = "thin"
    NONE = "none"


def overlap_state(ratio: Any, log_ratio: np.ndarray, own: np.ndarray | None) -> Overlap:
    """Judge by the share of target rows outside the source; by effective rows if it is not known.

    Parameters
    ----------
    ratio : fitted density ratio
        An estimated one remembers how many target rows lay outside, also when it is frozen.
    log_ratio : ndarray of shape (n_samples,)
        Log ratio at the source rows.
    own : ndarray of shape (n_samples,) or None
        Own weights of the rows.

    Returns
    -------
    Overlap
        The judgement.
    """
    outside = getattr(innermost(ratio), "_outside", None)
    if outside is not None:
        if outside.of_all > NONE:
            return Overlap.NONE
        return Overlap.THIN if outside.of_most > THIN else Overlap.ENOUGH
    used = np.ones(log_ratio.size, dtype=bool) if own is None else own > 0
    counts = np.ones(log_ratio.size) if own is None else own[used]
    weights = counts * np.exp(log_ratio[used] - log_ratio[used].max())
    ess, total = effective_sample_size(weights), effective_sample_size(counts)
    return Overlap.THIN if ess < min(FEW_ROWS, total / 2) else Overlap.ENOUGH


def warn_of_overlap(overlap: Overlap, answer: str, *, weighted: bool) -> None:
    """Say that no weights are used although there is shift, or that they rest on few rows."""
    if overlap is Overlap.ENOUGH:
        return
    where = "nearly all target rows lie" if overlap is Overlap.NONE else "much of the target lies"
    if answer == "argmin":
        consequence = "The weighting with the smallest loss rests on very few of them."
    elif weighted:
        consequence = (
            "A weighting was chosen nevertheless, because it at least halves the loss on the "
            "source rows that are nearest to the target, which the unweighted model misses even "
            "in the fit; it rests on very few of them."
        )
    else:
        consequence = (
            "The model is fitted without weights: where samples hardly overlap, weights do more "
            "harm than good, and no held-out loss can tell (answer='argmin' overrides this)."
        )
    warnings.warn(
        f"WB304 {where} where there are hardly any source rows. {consequence} Look for a feature "
        "that tells the samples apart (an id, a date), or label rows of the target.",
        OverlapWarning,
        stacklevel=users_line(),
    )
