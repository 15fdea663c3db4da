"""Several procedures judged on the same rows and folds: estimates, states, findings."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped, unused-ignore]

from weighbridge._findings import (
    BROKEN,
    Estimate,
    Finding,
    OverlapJudgement,
    judge_weights,
    number,
    pareto_threshold,
)
from weighbridge.criteria import respond
from weighbridge.diagnostics import check_confidence
from weighbridge.ratios import outside_support
from weighbridge.target_risk._doubly_robust import (
    calibrated_confidence,
    doubly_robust,
    weighted_mean,
)
from weighbridge.target_risk._held_out import HeldOut, Procedure, Response, Step
from weighbridge.target_risk._influence import Influence
from weighbridge.target_risk._measure import Measure
from weighbridge.target_risk._problem import RiskProblem
from weighbridge.target_risk._risk_estimate import (
    FLAGGED,
    GOOD,
    WITHHELD,
    RiskEstimate,
    why_few,
    why_rough,
)
from weighbridge.target_risk._whole_metric import has_chances, raw_responses, weighted_metric

DOUBLY_ROBUST, WEIGHTED, CONFIDENCE = "doubly robust", "weighted", "confidence"
METHODS = (DOUBLY_ROBUST, WEIGHTED, CONFIDENCE)
# Losses beyond this have squares of squares beyond a double.
_LARGEST = 1e70


class Assessed(NamedTuple):
    """The risk of one procedure, the influences behind it and its training loss, and its model."""

    risk: RiskEstimate
    influence: Influence | None = None
    training: Influence | None = None
    model: Any = None
    responses: HeldOut | None = None


def paired_change(other: Assessed, baseline: Assessed, confidence: float) -> Estimate | None:
    """Return the paired change from one procedure to another; None where it is withheld."""
    withheld = WITHHELD in (other.risk.state, baseline.risk.state)
    if withheld or other.influence is None or baseline.influence is None:
        return None
    return other.influence.minus(baseline.influence).estimate(confidence)


def assess_procedures(
    estimators: list[Any],
    problem: RiskProblem,
    measure: Measure,
    *,
    method: str = DOUBLY_ROBUST,
    confidence: float = 0.95,
    overlap: OverlapJudgement | None = None,
    finals: list[Any] | None = None,
    step: Step | None = None,
) -> list[Assessed]:
    """Assess several procedures on the same rows and folds."""
    if overlap is None:
        outside = outside_support(problem.rows.X, problem.X_target).share
        overlap = judge_weights(problem.shares, outside)
    if measure.row_loss is None:
        responses = [raw_responses(each) for each in estimators]
    else:
        responses = [_responses(each, measure, problem) for each in estimators]
    # small fits: on a busy machine threads would wait for each other
    with ThreadpoolController().limit(limits=1):
        found = problem.held_out(estimators, responses, finals=finals, step=step)
        if measure.row_loss is None:
            return [_of_whole(each, problem, measure, confidence, overlap) for each in found]
        return _of_rows(found, problem, measure, method, confidence, overlap)


def check_options(method: str, confidence: float, measure: Measure, estimators: list[Any]) -> None:
    """Refuse options that make no sense, before any work."""
    if method not in METHODS:
        raise ValueError(f"Got method={method!r}, but expected one of {', '.join(METHODS)}.")
    check_confidence(confidence)
    if method == CONFIDENCE and not (measure.row_loss and all(map(has_chances, estimators))):
        raise ValueError(
            "Got method='confidence', which needs a classifier with predict_proba and a loss that "
            f"is a mean over rows; use {DOUBLY_ROBUST!r}."
        )


def _responses(estimator: Any, measure: Measure, problem: RiskProblem) -> dict[str, Response]:
    """Return what to ask a model for: what its loss is taken of, and its probabilities."""
    assert measure.row_loss is not None
    classes = problem.rows.classes
    named = {"main": measure.row_loss.response}
    if has_chances(estimator):
        named["chances"] = "predict_proba"
    return {name: partial(respond, response=each, classes=classes) for name, each in named.items()}


def _of_rows(
    procedures: list[Procedure],
    problem: RiskProblem,
    measure: Measure,
    method: str,
    confidence: float,
    overlap: OverlapJudgement,
) -> list[Assessed]:
    loss = measure.row_loss
    assert loss is not None
    parts, by_method = [], []
    for said, _ in procedures:
        part = problem.losses(loss, said["main"])
        for losses in (part.held_out, part.expected, part.expected_target):
            _check_losses(losses, measure)
        parts.append(part)
        found = {}
        if "chances" in said:
            found[CONFIDENCE] = calibrated_confidence(
                loss, part, said["main"], said["chances"], problem.shares, problem.ratio_influence
            )
        by_method.append(found)
    robust = doubly_robust(parts, problem.shares, problem.ratio_influence)
    plain = weighted_mean(parts, problem.shares)
    assessed = []
    for place, found in enumerate(by_method):
        named = {DOUBLY_ROBUST: robust[place], WEIGHTED: plain[place], **found}
        if measure.root:
            named = {name: influence.root() for name, influence in named.items()}
        training = _training(parts[place].held_out, problem, measure)
        assembled = _assembled(named, training, problem, measure, method, confidence, overlap)
        said, final = procedures[place]
        responses = said.get("chances", said["main"])
        assessed.append(assembled._replace(model=final, responses=responses))
    return assessed


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
    method: str,
    confidence: float,
    overlap: OverlapJudgement,
) -> Assessed:
    estimates = {
        name: influence.estimate(confidence, measure.bounds) for name, influence in named.items()
    }
    lowest = measure.bounds[0]
    reasons = {
        name: why_rough(influence, problem, overlap, lowest) for name, influence in named.items()
    }
    disagreement = _disagreement(estimates, method)
    states = {name: FLAGGED if reason else GOOD for name, reason in reasons.items()}
    if disagreement:
        states[method] = FLAGGED
    withheld = overlap.word == BROKEN
    risk = RiskEstimate(
        measure=measure.name,
        method=method,
        state=WITHHELD if withheld else states[method],
        estimate=None if withheld else estimates[method],
        training=training.estimate(confidence, measure.bounds),
        by_method={} if withheld else estimates,
        state_by_method={} if withheld else states,
        confidence=confidence,
        worth=problem.ess,
        n_rows=problem.rows.y.size,
        findings=_findings(overlap, reasons[method], disagreement),
    )
    return Assessed(risk, named[method], training)


def _findings(
    overlap: OverlapJudgement, reason: str, disagreement: list[Finding]
) -> tuple[Finding, ...]:
    if overlap.word == BROKEN:
        return (
            Finding(
                "WB601",
                "warning",
                f"No estimate for the target: {overlap.reason}.",
                "Look for a feature that tells the samples apart and is no property of the cases, "
                "and leave it out; else label some target rows.",
            ),
        )
    rough = Finding(
        "WB602",
        "warning",
        f"The interval is a rough figure: {reason}.",
        "Collect source rows where the target lies, or label some target rows.",
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


def _training(losses: np.ndarray, problem: RiskProblem, measure: Measure) -> Influence:
    """Return the measure on held-out source rows, as they are."""
    shares = problem.plain_shares
    value = float(shares @ losses)
    off = losses - value
    nothing = np.zeros(problem.n_target)
    influence = Influence(
        value, shares * off, nothing, np.zeros_like(off), shares, np.zeros(problem.n_folds)
    )
    return influence.root() if measure.root else influence


def _of_whole(
    procedure: Procedure,
    problem: RiskProblem,
    measure: Measure,
    confidence: float,
    overlap: OverlapJudgement,
) -> Assessed:
    said, final = procedure
    seed = 0  # of the bootstrap: the same draws for every model
    estimate, training = (
        weighted_metric(
            measure.scorer,
            problem,
            said,
            confidence,
            seed,
            bounds=measure.bounds,
            toward_target=toward_target,
        )
        for toward_target in (True, False)
    )
    withheld = overlap.word == BROKEN
    heavy = problem.tail_index > pareto_threshold(problem.rows.y.size)
    reason = why_few(problem, overlap) or ("the weights have a heavy tail" if heavy else "")
    state = FLAGGED if reason else GOOD
    risk = RiskEstimate(
        measure=measure.name,
        method=WEIGHTED,
        state=WITHHELD if withheld else state,
        estimate=None if withheld else estimate,
        training=training,
        by_method={} if withheld else {WEIGHTED: estimate},
        state_by_method={} if withheld else {WEIGHTED: state},
        confidence=confidence,
        worth=problem.ess,
        n_rows=problem.rows.y.size,
        findings=_findings(overlap, reason, []),
    )
    return Assessed(risk, model=final)
