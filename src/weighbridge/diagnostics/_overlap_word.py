"""Enough, thin or broken: one word for how far the source rows cover the target."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from weighbridge._numbers import percent
from weighbridge._overlap import OUTSIDE

# Fewer effective rows than this carry nothing at all; the toy problem of the paper, whose lines
# weighting mends every time, has 15 to 45.
BROKEN_ROWS = 10
# Rows that the full ratio should be worth for each parameter of the model.
ROWS_PER_PARAMETER = 10
# Largest tail index at which a weighted mean still means something.
LARGEST_TAIL_INDEX = 0.7
# Share of the target rows outside from which on a figure for all of them is rough: nothing at all
# is known about the losses of those outside.
MANY_OUTSIDE = 0.1
# With fewer rows the tail index is drawn to one half, whatever it is.
FEW_FOR_TAIL = 100

ENOUGH, THIN, BROKEN = "enough", "thin", "broken"


@dataclass(frozen=True, repr=False)
class OverlapJudgement:
    """The word and what it rests on.

    Parameters
    ----------
    word : {"enough", "thin", "broken"}
        The judgement.
    reason : str
        In a few words why; empty where overlap is enough.

    Examples
    --------
    >>> from weighbridge.diagnostics import judge_overlap
    >>> judge_overlap(n_rows=4000, worth=712, tail_index=0.41, outside=0.02, n_parameters=12).word
    'enough'
    """

    word: str
    reason: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return the fields, ready for JSON.

        Returns
        -------
        dict
            ``word`` and ``reason``.
        """
        return asdict(self)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"{self.word}: {self.reason}" if self.reason else self.word


def judge_overlap(
    *, n_rows: int, worth: float, tail_index: float, outside: float, n_parameters: int = 1
) -> OverlapJudgement:
    """Judge the overlap of two samples.

    Parameters
    ----------
    n_rows : int
        Number of source rows.
    worth : float
        Effective number of rows under the full ratio.
    tail_index : float
        Pareto k-hat of the full ratio; NaN counts as none.
    outside : float
        Share of the target rows that lie outside the source sample.
    n_parameters : int, default=1
        Number of parameters of the model that is to be fitted.

    Returns
    -------
    OverlapJudgement
        Broken: more than a third of the target rows lie outside, or the full ratio is worth fewer
        than 10 rows (of fewer than 20 rows: than half of them). Thin: worth fewer than 10 rows for
        each parameter (no more than half the rows are asked for), more than a tenth of the target
        rows outside, or a tail index above 0.7 with 100 rows or more; with fewer the index says
        nothing. Else enough.

    Examples
    --------
    >>> from weighbridge.diagnostics import judge_overlap
    >>> judge_overlap(n_rows=4000, worth=6, tail_index=1.1, outside=0.71).reason
    '71 % of the deployment rows lie outside the training data'
    """
    if not worth >= 0:
        raise ValueError(f"Got worth={worth!r}, but expected a number of rows, 0 or more.")
    if not 0 <= outside <= 1:
        raise ValueError(f"Got outside={outside!r}, but expected a share between 0 and 1.")
    if outside > OUTSIDE:
        return OverlapJudgement(
            BROKEN, f"{percent(outside)} of the deployment rows lie outside the training data"
        )
    if worth < min(BROKEN_ROWS, n_rows / 2):
        return OverlapJudgement(BROKEN, f"the full ratio is worth {worth:.0f} of {n_rows:,} rows")
    wanted = min(ROWS_PER_PARAMETER * n_parameters, n_rows / 2)
    if worth < wanted:
        return OverlapJudgement(
            THIN, f"the full ratio is worth {worth:.0f} rows for {n_parameters} parameters"
        )
    if outside > MANY_OUTSIDE:
        return OverlapJudgement(
            THIN, f"{percent(outside)} of the deployment rows lie outside the training data"
        )
    heavy = n_rows >= FEW_FOR_TAIL and not math.isnan(tail_index)
    if heavy and tail_index > LARGEST_TAIL_INDEX:
        return OverlapJudgement(THIN, f"the weights have a heavy tail, index {tail_index:.2f}")
    return OverlapJudgement(ENOUGH)
