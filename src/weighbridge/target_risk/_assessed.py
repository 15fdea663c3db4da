"""Several procedures judged on the same rows and folds: estimates, states, findings."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier

from weighbridge._estimators import is_estimated
from weighbridge._findings import Estimate, Finding, number, percent
from weighbridge._folds import one_thread
from weighbridge.model_selection import RowLoss, respond
from weighbridge.ratios import SOME_OUTSIDE, OverlapJudgement, pareto_threshold
from weighbridge.target_risk._held_out import HeldOut, Procedure, held_out
from weighbridge.target_risk._influence import Influence, calibrated, doubly_robust, weighted_mean
from weighbridge.target_risk._question import CALIBRATED, DOUBLY_ROBUST, WEIGHTED, Measure
from weighbridge.target_risk._risk_estimate import FLAGGED, GOOD, WITHHELD, RiskEstimate
from weighbridge.target_risk._whole import CHANCES, raw_responses, whole_estimates

if TYPE_CHECKING:
    from weighbridge.target_risk._held_out import Response, Step
    from weighbridge.target_risk._problem import RiskProblem


# Losses beyond this have squares of squares beyond a double.
_LARGEST = 1e70
# Fewer rows of a sample, or effective ones, make every interval rough.
_FEW_ROWS, _FEW_EFFECTIVE = 50, 30
# A smaller share of the target rows is not assessed by itself.
_LEAST_COVERED = 0.1
# Share of the variance that must come from the weighted rows for their tail to matter.
_CARRIED = 0.5
# Share of the rows that the ratio may cost before the model of the labels has to bend.
_SLIGHT = 0.7


class Assessed(NamedTuple):
    """The risk of one procedure, the influences behind it and its training loss, and its model."""

    risk: RiskEstimate
    influence: Influence | None = None
    training: Influence | None = None
    model: Any = None
    responses: HeldOut | None = None
    said: dict[str, HeldOut] | None = None


def paired_change(other: Assessed, baseline: Assessed) -> Estimate | None:
    """Return the paired change from one procedure to another; None where it is withheld."""
    withheld = WITHHELD in (other.risk.state, baseline.risk.state)
    if withheld or other.influence is None or baseline.influence is None:
        return None
    return other.influence.minus(baseline.influence).estimate(baseline.risk.confidence)


def assess_procedures(
    estimators: list[Any],
    problem: RiskProblem,
    measure: Measure,
    *,
    overlap: OverlapJudgement | None = None,
    finals: list[Any] | None = None,
    step: Step | None = None,
) -> list[Assessed]:
    """Assess several procedures on the same rows and folds."""
    if overlap is None:
        overlap = problem.overlap
    further = problem.question.metrics_of(estimators[0]).values()
    responses = [_responses(each, (measure, *further), problem) for each in estimators]
    with one_thread():
        finals = finals or problem.fit_finals(estimators, step)
        ready = [problem.ready(each) for each in estimators]
        found = held_out(ready, finals, problem, responses, step)
        assessed = _measured(found, problem, measure, overlap)
        if overlap.word == "broken" and measure.row_loss is not None:
            assessed = [
                one._replace(risk=_covered(one.risk, each, problem, measure))
                for one, each in zip(assessed, found, strict=True)
            ]
        return [each._replace(said=said) for each, (said, _) in zip(assessed, found, strict=True)]


def assess_again(
    none: Assessed, weighted: Any, problem: RiskProblem, measure: Measure
) -> tuple[RiskEstimate, RiskEstimate]:
    """Return risks under another ratio: of a model that was assessed, and of one with weights."""
    (full,) = assess_procedures([weighted], problem, measure)
    procedure = Procedure(none.said or {}, none.model)
    return _measured([procedure], problem, measure, problem.overlap)[0].risk, full.risk


def _covered(
    risk: RiskEstimate, procedure: Procedure, problem: RiskProblem, measure: Measure
) -> RiskEstimate:
    """Add the risk on the covered target rows, by what models have said; none is fitted again."""
    looked_at, is_covered = problem.covered
    rows, risk = looked_at[is_covered], replace(risk, covered_share=float(is_covered.mean()))
    if rows.size < _FEW_ROWS or is_covered.mean() < _LEAST_COVERED:
        return risk
    try:
        part = problem.covered_part
    except ValueError:  # some rows have no ratio, such as copies of one
        return risk
    if not part.overlap.can_weight:
        return risk
    there = {
        name: HeldOut(each.at_source, [at[rows] for at in each.at_target], each.of_final[rows])
        for name, each in procedure.said.items()
    }
    (found,) = _measured([Procedure(there, procedure.final)], part, measure, part.overlap)
    return replace(risk, covered=found.risk)


def assess_metrics(
    assessed: dict[str, Assessed], problem: RiskProblem, overlap: OverlapJudgement, names: set[str]
) -> dict[str, dict[str, RiskEstimate]]:
    """Return the metrics asked for of candidates of these names; nothing is fitted again."""
    some = {name: each for name, each in assessed.items() if name in names}
    procedures = [Procedure(each.said or {}, each.model) for each in some.values()]
    found = {}
    for name, measure in problem.question.metrics_of(assessed["none"].model).items():
        others = list(some.values())
        if measure.name != others[0].risk.measure:
            with one_thread():
                others = _measured(procedures, problem, measure, overlap)
        found[name] = dict(zip(some, (each.risk for each in others), strict=True))
    return found


def _responses(
    estimator: Any, measures: Iterable[Measure], problem: RiskProblem
) -> dict[str, Response]:
    """Return what to ask a model for: what its losses are taken of, and its probabilities."""
    found = {} if all(each.row_loss for each in measures) else raw_responses(estimator)
    asked = {each.row_loss.response for each in measures if each.row_loss}
    if is_classifier(estimator) and hasattr(estimator, CHANCES):
        asked.add(CHANCES)
    for each in asked:
        found[each] = partial(respond, response=each, classes=problem.rows.classes)
    return found


def _measured(
    procedures: list[Procedure], problem: RiskProblem, measure: Measure, overlap: OverlapJudgement
) -> list[Assessed]:
    """Assess procedures by one measure, out of all that was said."""
    if measure.row_loss is None:
        return [_of_whole(each, problem, measure, overlap) for each in procedures]
    return [_of_rows(each, problem, measure, measure.row_loss, overlap) for each in procedures]


def _of_rows(
    procedure: Procedure,
    problem: RiskProblem,
    measure: Measure,
    loss: RowLoss,
    overlap: OverlapJudgement,
) -> Assessed:
    main, chances = procedure.said[loss.response], procedure.said.get(CHANCES)
    part, ratio = problem.losses(loss, main, chances), problem.ratio_influence
    for losses in (part.held_out, part.expected, part.expected_target):
        _check_losses(losses, measure)
    named = {
        CALIBRATED: calibrated(part, *problem.log_ratios, ratio, problem.bridge),
        DOUBLY_ROBUST: doubly_robust(part, problem.shares, ratio),
        WEIGHTED: weighted_mean(part.held_out, problem.shares, plain=True),
    }
    training = weighted_mean(part.held_out, problem.plain_shares, plain=False)
    if measure.root:
        named = {name: influence.root() for name, influence in named.items()}
        training = training.root()
    assembled = _assembled(named, training, problem, measure, overlap)
    return assembled._replace(model=procedure.final, responses=chances or main)


def _check_losses(losses: np.ndarray, measure: Measure) -> None:
    if np.abs(losses).max() > _LARGEST:
        raise ValueError(
            f"Got a {measure.name} beyond {_LARGEST:g}, whose variance no double can hold; divide "
            "the labels by a constant."
        )
    if not np.isfinite(losses).all():
        raise ValueError(
            f"Got a {measure.name} that is infinite or NaN at {int((~np.isfinite(losses)).sum())} "
            "of the held-out rows; look at the model's predictions there."
        )


def _assembled(
    named: dict[str, Influence],
    training: Influence,
    problem: RiskProblem,
    measure: Measure,
    overlap: OverlapJudgement,
) -> Assessed:
    confidence, bounds = problem.question.confidence, measure.bounds
    estimates = {name: each.estimate(confidence, bounds) for name, each in named.items()}
    reasons = {
        name: _why_few(problem, overlap) or _why_rough(each, problem, bounds[0])
        for name, each in named.items()
    }
    method = problem.question.method
    of_training = training.estimate(confidence, bounds)
    risk = _risk(problem, measure, method, estimates, reasons, of_training, overlap)
    return Assessed(risk, named[method], training)


def _risk(
    problem: RiskProblem,
    measure: Measure,
    method: str,
    estimates: dict[str, Estimate],
    reasons: dict[str, str],
    training: Estimate,
    overlap: OverlapJudgement,
) -> RiskEstimate:
    """Put an estimate together; `reasons` say why each method is rough, or nothing."""
    disagreement = _disagreement(estimates, method)
    states = {name: FLAGGED if reason else GOOD for name, reason in reasons.items()}
    if disagreement:
        states[method] = FLAGGED
    withheld = overlap.word == "broken"
    return RiskEstimate(
        measure=measure.name,
        method=method,
        state=WITHHELD if withheld else states[method],
        estimate=None if withheld else estimates[method],
        training=training,
        by_method={} if withheld else estimates,
        state_by_method={} if withheld else states,
        confidence=problem.question.confidence,
        worth=problem.ess,
        n_rows=problem.rows.y.size,
        findings=_findings(overlap, reasons[method], disagreement),
    )


def _findings(
    overlap: OverlapJudgement, reason: str, disagreement: list[Finding]
) -> tuple[Finding, ...]:
    if overlap.word == "broken":
        return (
            Finding(
                "WB601",
                "warning",
                f"No estimate for deployment: {overlap.reason}.",
                "Look for a feature that tells the samples apart and does not describe the cases, "
                "and leave it out; or label some deployment rows.",
            ),
        )
    rough = Finding(
        "WB602",
        "warning",
        f"The interval is a rough figure: {reason}.",
        "Collect training rows like those in deployment, or label some deployment rows.",
    )
    return (*([rough] if reason else []), *disagreement)


def _disagreement(estimates: dict[str, Estimate], method: str) -> list[Finding]:
    """Say which methods differ from the main one by more than their intervals explain."""
    main = estimates[method]
    apart = [
        f"{name} {number(each.value)}"
        for name, each in estimates.items()
        if name != method and _apart(main, each)
    ]
    if not apart:
        return []
    message = f"The methods disagree: {method} {main}, but {', '.join(apart)}."
    help = "Take the spread between them as the uncertainty."
    return [Finding("WB605", "warning", message, help)]


def _apart(one: Estimate, other: Estimate) -> bool:
    """True where two estimates differ by more than both intervals together explain."""
    half, half_other = ((each.high - each.low) / 2 for each in (one, other))
    return abs(one.value - other.value) > math.hypot(half, half_other)


def _of_whole(
    procedure: Procedure, problem: RiskProblem, measure: Measure, overlap: OverlapJudgement
) -> Assessed:
    estimates, training = whole_estimates(measure, procedure.said, problem)
    heavy = problem.tail_index > pareto_threshold(problem.rows.y.size)
    reasons = dict.fromkeys(estimates, _why_few(problem, overlap))
    if heavy:
        reasons[WEIGHTED] = reasons[WEIGHTED] or "the weights have a heavy tail"
    names = (problem.question.method, CALIBRATED, WEIGHTED)
    method = next(name for name in names if name in estimates)
    risk = _risk(problem, measure, method, estimates, reasons, training, overlap)
    return Assessed(risk, model=procedure.final)


def _why_few(problem: RiskProblem, overlap: OverlapJudgement) -> str:
    """Return why there are too few rows for any method; nothing where there are enough."""
    if overlap.word != "enough":
        return overlap.reason
    fewest = min(problem.rows.y.size, problem.n_target)
    if fewest < _FEW_ROWS:
        return f"one of the samples has only {fewest} rows"
    if problem.ess < _FEW_EFFECTIVE:
        return f"the full ratio has only {problem.ess:.0f} effective rows"
    if overlap.goes_beyond:
        return f"more than {percent(SOME_OUTSIDE)} of the deployment rows lie outside training"
    return ""


def _why_rough(influence: Influence, problem: RiskProblem, lowest: float) -> str:
    """Return why the interval of one method is rough; nothing where it is not."""
    slight = problem.ess >= _SLIGHT * problem.rows.y.size
    if influence.plain and is_estimated(problem.ratio):
        return "it treats the ratio as known"
    if not (influence.plain or slight) and problem.features.quadratic is None:
        return "there are too few rows for a curved model of the labels"
    if influence.value <= lowest:
        return "the estimate cannot be told apart from the smallest possible value"
    if influence.of_source < _CARRIED * influence.variance or influence.variance == 0:
        return ""
    limit, tail = pareto_threshold(problem.rows.y.size), influence.tail_index
    if math.isnan(tail) or tail <= limit:
        return ""
    effective = f"{problem.ess:.0f} effective rows of {problem.rows.y.size:,}"
    return f"a few rows decide it (tail index {tail:.2f}, {effective})"
