"""How freely a weighting may be chosen, given the overlap of the samples."""

from __future__ import annotations

import warnings
from enum import Enum

import numpy as np

from weighbridge._findings import users_line
from weighbridge.exceptions import OverlapWarning
from weighbridge.ratios import (
    NEARLY_ALL,
    OUTSIDE,
    OverlapJudgement,
    has_few_effective_rows,
)

# If more target rows have an extreme ratio, a larger gain and this effective sample size for each
# parameter are needed. Chosen on the development half of the natural suite and the selection
# benchmark; both stay the same if nearly any task is left out.
GUARDED_BEYOND = OUTSIDE
MIN_ROWS_PER_PARAMETER = 2


class Choice(Enum):
    """How freely a weighting is chosen: by its loss, only for a large gain, or not at all."""

    FREE = "free"
    GUARDED = "guarded"
    UNWEIGHTED = "unweighted"

    @classmethod
    def of(
        cls,
        outside: float | None,
        beyond: float | None,
        weights: np.ndarray,
        sample_weight: np.ndarray,
    ) -> Choice:
        """Return the choice by target rows outside or with an extreme ratio, else by the ESS."""
        if outside is not None and outside > OUTSIDE:
            return cls.UNWEIGHTED
        if outside is None and beyond is not None and beyond > NEARLY_ALL:
            return cls.UNWEIGHTED
        if beyond is not None:
            return cls.GUARDED if beyond > GUARDED_BEYOND else cls.FREE
        return cls.GUARDED if has_few_effective_rows(weights, sample_weight) else cls.FREE


def warn_of_choice(
    overlap: OverlapJudgement, choice: Choice, answer: str, *, weighted: bool
) -> None:
    """Warn that overlap is broken, or that it changed the choice of a weighting, and how."""
    if choice is Choice.FREE and overlap.word != "broken":
        return
    fault = "much of the target lies where there are hardly any source rows"
    if choice is Choice.FREE:
        fault = f"overlap is broken: {overlap.reason}"
    message = (
        f"{overlap.code} {fault}. {_consequence(choice, answer, weighted=weighted)} Look "
        "for a feature that tells the samples apart (an id, a date), or label rows of the target."
    )
    warnings.warn(message, OverlapWarning, stacklevel=users_line())


def _consequence(choice: Choice, answer: str, *, weighted: bool) -> str:
    if answer == "argmin":
        return "The weighting with the smallest loss rests on very few of them."
    if choice is Choice.FREE:
        return "The weighting was chosen by held-out losses, which rest on few rows there."
    if weighted:
        return (
            "A weighting was chosen nevertheless, because it gains more than two standard errors "
            "on the source rows that are nearest to the target; it rests on very few of them."
        )
    return (
        "The model is fitted without weights: where samples hardly overlap, weights do more "
        "harm than good, and no held-out loss can tell (answer='argmin' overrides this)."
    )
