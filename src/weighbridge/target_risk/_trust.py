"""Whether an interval can be trusted, and if not, why."""

from __future__ import annotations

import math

from weighbridge._findings import ENOUGH, OverlapJudgement, pareto_threshold
from weighbridge._weighted_estimator import is_estimated
from weighbridge.target_risk._influence import Influence
from weighbridge.target_risk._problem import RiskProblem

# Fewer rows of a sample, or effective ones, make every interval rough.
_FEW_ROWS, _FEW_EFFECTIVE = 50, 30
# Share of the variance that must come from the weighted rows for their tail to matter.
_CARRIED = 0.5
# Share of the rows that the ratio may cost before the model of the labels has to bend.
_SLIGHT = 0.7


def why_rough(
    influence: Influence, problem: RiskProblem, overlap: OverlapJudgement, lowest: float
) -> str:
    """Return in a few words why an interval is a rough figure; nothing where it is good.

    Parameters
    ----------
    influence : Influence
        The estimate and its sources of error.
    problem : RiskProblem
        The samples.
    overlap : OverlapJudgement
        How far they overlap.
    lowest : float
        Smallest possible value of the estimate.

    Returns
    -------
    str
        The first reason that applies.
    """
    return (
        why_few(problem, overlap)
        or _of_method(influence, problem)
        or _of_rows(influence, problem, lowest)
    )


def why_few(problem: RiskProblem, overlap: OverlapJudgement) -> str:
    """Return why there are too few rows for any method; nothing where there are enough."""
    if overlap.word != ENOUGH:
        return overlap.reason
    fewest = min(problem.rows.y.size, problem.n_target)
    if fewest < _FEW_ROWS:
        return f"one of the samples has {fewest} rows only"
    if problem.ess < _FEW_EFFECTIVE:
        return f"the full ratio is worth {problem.ess:.0f} rows only"
    return ""


def _of_method(influence: Influence, problem: RiskProblem) -> str:
    if influence.plain:
        return "it takes the ratio for known" if is_estimated(problem.ratio) else ""
    if problem.features.quadratic is None and problem.ess < _SLIGHT * problem.rows.y.size:
        return "there are too few rows for a model of the labels that bends"
    return ""


def _of_rows(influence: Influence, problem: RiskProblem, lowest: float) -> str:
    if influence.value <= lowest:
        return "the estimate cannot be told from the smallest value there is"
    if influence.of_source < _CARRIED * influence.variance or influence.variance == 0:
        return ""
    limit, tail = pareto_threshold(problem.rows.y.size), influence.tail_index
    if math.isnan(tail) or tail <= limit:
        return ""
    worth = f"worth {problem.ess:.0f} of {problem.rows.y.size:,} rows"
    return f"a few rows decide it (tail index {tail:.2f}, {worth})"
