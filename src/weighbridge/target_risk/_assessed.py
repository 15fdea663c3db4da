"""Several procedures judged on the same rows and folds: estimates, states, findings."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils.metaestimators import available_if

from weighbridge._data import FloatArray
from weighbridge._estimators import is_estimated
from weighbridge._findings import (
    BROKEN,
    ENOUGH,
    Estimate,
    Finding,
    OverlapJudgement,
    judge_weights,
    number,
    pareto_threshold,
)
from weighbridge.blocks import one_thread
from weighbridge.criteria import answer_of, respond
from weighbridge.ratios import outside_support
from weighbridge.target_risk._held_out import HeldOut, Procedure
from weighbridge.target_risk._influence import (
    Influence,
    calibrated,
    doubly_robust,
    weighted_mean,
)
from weighbridge.target_risk._question import (
    CALIBRATED,
    DOUBLY_ROBUST,
    WEIGHTED,
    Measure,
    has_chances,
)
from weighbridge.target_risk._risk_estimate import (
    FLAGGED,
    GOOD,
    WITHHELD,
    RiskEstimate,
)

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
_RESPONSES = ("predict", "predict_proba", "decision_function")
# Draws of the bootstrap, and how many share a pass over the rows.
_N_DRAWS = 200
_AT_ONCE = 20


class Assessed(NamedTuple):
    """The risk of one procedure, the influences behind it and its training loss, and its model."""

    risk: RiskEstimate
    influence: Influence | None = None
    training: Influence | None = None
    model: Any = None
    responses: HeldOut | None = None


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
        outside = outside_support(problem.rows.X, problem.X_target).share
        overlap = judge_weights(problem.shares, outside)
    if measure.row_loss is None:
        responses = [_raw_responses(each) for each in estimators]
    else:
        responses = [_responses(each, measure, problem) for each in estimators]
    with one_thread():
        found = problem.held_out(estimators, responses, finals=finals, step=step)
        if measure.row_loss is None:
            return [_of_whole(each, problem, measure, overlap) for each in found]
        assessed = _of_rows(found, problem, measure, overlap)
        if overlap.word != BROKEN:
            return assessed
        return [
            one._replace(risk=_covered(one.risk, *each, problem, measure))
            for one, each in zip(assessed, found, strict=True)
        ]


def _covered(
    risk: RiskEstimate, said: dict[str, HeldOut], final: Any, problem: RiskProblem, measure: Measure
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
    overlap = judge_weights(part.shares, outside_support(part.rows.X, part.X_target).share)
    if not overlap.can_weight:
        return risk
    there = {
        name: HeldOut(each.at_source, [at[rows] for at in each.at_target], each.of_final[rows])
        for name, each in said.items()
    }
    (found,) = _of_rows([Procedure(there, final)], part, measure, overlap)
    return replace(risk, covered=found.risk)


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
    overlap: OverlapJudgement,
) -> list[Assessed]:
    loss = measure.row_loss
    assert loss is not None
    parts = [problem.losses(loss, said["main"], said.get("chances")) for said, _ in procedures]
    ratio, assessed = problem.ratio_influence, []
    robust = doubly_robust(parts, problem.shares, ratio)
    for part, other, (said, final) in zip(parts, robust, procedures, strict=True):
        for losses in (part.held_out, part.expected, part.expected_target):
            _check_losses(losses, measure)
        named = {
            CALIBRATED: calibrated(part, *problem.log_ratios, ratio),
            DOUBLY_ROBUST: other,
            WEIGHTED: weighted_mean(part.held_out, problem.shares, plain=True),
        }
        if measure.root:
            named = {name: influence.root() for name, influence in named.items()}
        training = _training(part.held_out, problem, measure)
        assembled = _assembled(named, training, problem, measure, overlap)
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
    overlap: OverlapJudgement,
) -> Assessed:
    confidence, bounds = problem.question.confidence, measure.bounds
    estimates = {name: each.estimate(confidence, bounds) for name, each in named.items()}
    reasons = {
        name: _why_few(problem, overlap)
        or _of_method(each, problem)
        or _of_few_rows(each, problem, bounds[0])
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
    withheld = overlap.word == BROKEN
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
    if overlap.word == BROKEN:
        return (
            Finding(
                "WB601",
                "warning",
                f"No estimate for the target: {overlap.reason}.",
                "Look for a feature that tells the samples apart and does not describe the cases, "
                "and leave it out; or label some target rows.",
            ),
        )
    rough = Finding(
        "WB602",
        "warning",
        f"The interval is a rough figure: {reason}.",
        "Collect source rows like those in the target, or label some target rows.",
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
    sizes = problem.n_target, problem.n_folds
    influence = weighted_mean(losses, problem.plain_shares, *sizes, plain=False)
    return influence.root() if measure.root else influence


def _of_whole(
    procedure: Procedure, problem: RiskProblem, measure: Measure, overlap: OverlapJudgement
) -> Assessed:
    said, final = procedure
    estimate, training = (
        _weighted_metric(measure, problem, said, toward_target=toward_target)
        for toward_target in (True, False)
    )
    heavy = problem.tail_index > pareto_threshold(problem.rows.y.size)
    reason = _why_few(problem, overlap) or ("the weights have a heavy tail" if heavy else "")
    estimates, reasons = {WEIGHTED: estimate}, {WEIGHTED: reason}
    risk = _risk(problem, measure, WEIGHTED, estimates, reasons, training, overlap)
    return Assessed(risk, model=final)


def _has_said(method: str) -> Any:
    return lambda self: method in self.said


class _Replay(BaseEstimator):
    """Answers with predictions that were made before; its X are row numbers."""

    def __init__(self, said: dict[str, np.ndarray], classes: np.ndarray | None):
        self.said = said
        self.classes = classes

    @property
    def classes_(self) -> np.ndarray | None:
        return self.classes

    @available_if(_has_said("predict"))
    def predict(self, rows: np.ndarray) -> np.ndarray:
        return self.said["predict"][rows]

    @available_if(_has_said("predict_proba"))
    def predict_proba(self, rows: np.ndarray) -> np.ndarray:
        return self.said["predict_proba"][rows]

    @available_if(_has_said("decision_function"))
    def decision_function(self, rows: np.ndarray) -> np.ndarray:
        return self.said["decision_function"][rows]


class _ReplayClassifier(ClassifierMixin, _Replay):
    pass


class _ReplayRegressor(RegressorMixin, _Replay):
    pass


def _raw_responses(estimator: Any) -> dict[str, Response]:
    """Return everything an estimator can say, to be asked of its copies."""
    return {name: partial(_ask, method=name) for name in _RESPONSES if hasattr(estimator, name)}


def _ask(model: Any, X: Any, method: str) -> np.ndarray:
    if method == "decision_function":  # one number a row, a class or a pair of classes
        return np.asarray(model.decision_function(X))
    return answer_of(model, method, X, numbers=not (method == "predict" and is_classifier(model)))


def _weighted_metric(
    measure: Measure, problem: RiskProblem, said: dict[str, HeldOut], *, toward_target: bool
) -> Estimate:
    """Estimate a metric on the target by weights, with the interval of a Bayesian bootstrap."""
    kind = _ReplayRegressor if problem.rows.classes is None else _ReplayClassifier
    replay = kind({name: part.at_source for name, part in said.items()}, problem.rows.classes)
    rows = np.arange(problem.rows.y.size)

    def metric(weights: FloatArray) -> float:
        try:
            return float(measure.scorer(replay, rows, problem.rows.y, sample_weight=weights))
        except TypeError as error:
            if "sample_weight" not in str(error):
                raise
            raise TypeError(
                "Got a scoring whose metric takes no sample_weight; choose one that does "
                "(roc_auc, f1, r2, ...), or a loss=... of rows."
            ) from error

    shares = problem.shares if toward_target else problem.plain_shares
    value = metric(shares * rows.size)
    draws = [metric(weights) for weights in _drawn_weights(problem, shares, toward_target)]
    inflation = 1 + problem.ess / problem.n_target if toward_target else 1.0
    error = float(np.sqrt(np.var(draws, ddof=1) * inflation))
    return Estimate.normal(value, error, problem.question.confidence, measure.bounds)


def _drawn_weights(
    problem: RiskProblem, shares: FloatArray, toward_target: bool
) -> Iterator[FloatArray]:
    rng = np.random.default_rng(0)  # the same draws for every model
    n = problem.rows.y.size
    for _ in range(_N_DRAWS // _AT_ONCE):
        source = rng.exponential(size=(n, _AT_ONCE))
        weights = shares[:, None] * source
        if toward_target and problem.ratio_influence is not None:
            target = rng.exponential(size=(problem.n_target, _AT_ONCE))
            moved = problem.ratio_influence.moved(source - 1, target - 1)
            weights *= np.exp(moved - moved.max(axis=0))
        yield from (weights / weights.mean(axis=0)).T


def _why_few(problem: RiskProblem, overlap: OverlapJudgement) -> str:
    """Return why there are too few rows for any method; nothing where there are enough."""
    if overlap.word != ENOUGH:
        return overlap.reason
    fewest = min(problem.rows.y.size, problem.n_target)
    if fewest < _FEW_ROWS:
        return f"one of the samples has only {fewest} rows"
    if problem.ess < _FEW_EFFECTIVE:
        return f"the full ratio has only {problem.ess:.0f} effective rows"
    return ""


def _of_method(influence: Influence, problem: RiskProblem) -> str:
    if influence.plain:
        return "it treats the ratio as known" if is_estimated(problem.ratio) else ""
    if problem.features.quadratic is None and problem.ess < _SLIGHT * problem.rows.y.size:
        return "there are too few rows for a model of the labels that bends"
    return ""


def _of_few_rows(influence: Influence, problem: RiskProblem, lowest: float) -> str:
    if influence.value <= lowest:
        return "the estimate cannot be told apart from the smallest possible value"
    if influence.of_source < _CARRIED * influence.variance or influence.variance == 0:
        return ""
    limit, tail = pareto_threshold(problem.rows.y.size), influence.tail_index
    if math.isnan(tail) or tail <= limit:
        return ""
    effective = f"{problem.ess:.0f} effective rows of {problem.rows.y.size:,}"
    return f"a few rows decide it (tail index {tail:.2f}, {effective})"
