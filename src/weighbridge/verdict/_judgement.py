"""From numbers to a verdict: judged, with its findings and the table of candidates."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from sklearn.base import is_classifier

from weighbridge._estimators import ImportanceWeightedCV
from weighbridge._findings import Estimate, Finding
from weighbridge.diagnosis import ShiftReport
from weighbridge.target_risk import (
    Assessed,
    Relation,
    RiskProblem,
    assess_metrics,
    mean_interval,
    paired_change,
)
from weighbridge.verdict._candidates import LITERATURE, weighted_name, weighting_of
from weighbridge.verdict._verdict import Candidate, Verdict
from weighbridge.verdict._words import CODES, WORTHWHILE, Actual, Judgement, Risks, difference
from weighbridge.weighting import Geodesic, weighting_name


def verdict_of(problem: RiskProblem, model: Any, constant: Assessed | None) -> Verdict:
    """Judge the numbers of a model, and of a constant guess, and put the verdict together."""
    assessed, diagnosis, shift = model.assessed, model.diagnosis, model.shift
    weighted = weighted_name(model.estimator)  # the candidate in question
    none, worthwhile = assessed["none"], problem.question.worthwhile
    made = {
        name: _candidate(name, each, None if each is none else paired_change(each, none), problem)
        for name, each in assessed.items()
    }
    typical = (none.risk.estimate or none.risk.training).value
    judgement = Judgement(
        shift,
        diagnosis.overlap.word,
        worse_in_deployment(none, diagnosis.confidence),
        made[weighted].change if weighted in made and _key(made[weighted]) else None,
        weighted if weighted in made else "none",
        WORTHWHILE * abs(typical) if worthwhile is None else worthwhile,
        mix=_mix(problem),
    )
    used, candidates = assessed[judgement.use], _told_apart(made, weighted)
    report = diagnosis.report(weighting_of(used.model) if _key(made[judgement.use]) else None)
    bare = Verdict(
        sentence="",
        use=judgement.use,
        answers=(),
        candidates=candidates,
        measure=none.risk.measure,
        confidence=diagnosis.confidence,
        report=report,
        findings=(*report.findings, *_new(used.risk.findings, report)),
        model=used.model,
        _metrics=partial(assess_metrics, assessed, problem, diagnosis.overlap),
        _held_out={
            name: each.held_out
            for name, each in {**assessed, "constant": constant}.items()
            if each is not None
        },
        constant=constant and _constant(constant, none, problem),
        worthwhile=judgement.worthwhile,
        otherwise=model.otherwise,
        _problem=problem,
        _diagnosis=diagnosis,
    )
    judgement = replace(
        judgement,
        over_constant=constant and paired_change(used, constant),
        close=tuple(
            each.name
            for each in candidates
            # that none may be as good is what "probably" says
            if each.name not in (judgement.use, "none")
            and each.same_as is None
            and (change := paired_change(assessed[each.name], used)) is not None
            and change.low <= 0 <= change.high
        ),
        by_other_loss=_chosen_by_other_loss(used.model, used.risk.measure),
    )
    return _worded(bare, judgement)


def _mix(problem: RiskProblem) -> str:
    """Return how the mix of classes changed, where weights are for that; of numbers nothing."""
    if not problem.by_label or problem.rows.classes is None:
        return ""
    return problem.ratio.frequencies_.change


def knowing(
    verdict: Verdict, actual: dict[str, Actual] | None, relation: Relation | None = None
) -> Verdict:
    """Return the verdict with the words that it has once labels of the deployment are known."""
    if actual is None:
        return verdict
    judgement = verdict._judgement
    worse = difference(actual["none"], verdict.candidate("none").risk.training)
    relation = relation and relation._replace(rows=judgement.worse)
    return _worded(verdict, replace(judgement, actual=actual, worse=worse, relation=relation))


def _worded(verdict: Verdict, judgement: Judgement) -> Verdict:
    """Return the verdict in the words of a judgement."""
    none, used = (verdict.candidate(name).risk for name in ("none", verdict.use))
    constant = None if verdict.constant is None else verdict.constant.risk
    risks = Risks(none, used, constant)
    kept = [each for each in verdict.findings if each.code not in CODES]
    return replace(
        verdict,
        sentence=judgement.sentence(verdict.numbers, risks),
        answers=judgement.answers(verdict.numbers, verdict.report, risks),
        findings=(*kept, *judgement.findings(verdict.numbers, risks)),
        _judgement=judgement,
    )


def _key(candidate: Candidate) -> Any:
    """Return what tells weights apart, to the digits shown; nothing for no weights."""
    if candidate.lam is None:
        return candidate.name
    if candidate.lam == 0:
        return ()
    return round(candidate.lam, 2), candidate.alpha and round(candidate.alpha, 2)


def _told_apart(candidates: dict[str, Candidate], weighted: str) -> tuple[Candidate, ...]:
    """Say of candidates with the same final weights which one stands for them."""
    # none stands for all without weights, the one in question for those like it, else the first
    order = dict.fromkeys(["none", *{weighted} & {*candidates}, *candidates])
    first = {_key(candidates[name]): name for name in reversed(order)}
    return tuple(
        replace(each, same_as=first[_key(each)] if first[_key(each)] != each.name else None)
        for each in candidates.values()
    )


def _new(findings: tuple[Finding, ...], report: ShiftReport) -> list[Finding]:
    """Leave out what the report has said already: that overlap is not all it could be."""
    is_said = report.overlap != "enough" or report.overlap_judgement.goes_beyond
    said = ("WB601", "WB602") if is_said else ()
    return [finding for finding in findings if finding.code not in said]


def worse_in_deployment(none: Assessed, confidence: float) -> Estimate | None:
    """Return by how much the unweighted model loses more in deployment than in training."""
    if none.risk.estimate is None or none.influence is None or none.training is None:
        return None
    return mean_interval(none.influence.minus(none.training), confidence)


def _candidate(
    name: str, assessed: Assessed, change: Estimate | None, problem: RiskProblem
) -> Candidate:
    model = assessed.model
    weighting = weighting_of(model)
    worth = getattr(model, "ess_", None)
    if worth is None:
        worth = problem.rows.y.size
    lam: float | None = None
    alpha: float | None = None
    literature = LITERATURE.get(name, name)
    if isinstance(weighting, Geodesic):
        lam = float(weighting.lam)
        alpha = None if lam in (0, 1) else float(weighting.alpha)
    else:  # a weighting of the user's own has a name in place of numbers
        literature = weighting_name(weighting)
    return Candidate(
        name=name,
        literature=literature,
        lam=lam,
        alpha=alpha,
        risk=assessed.risk,
        change=change,
        worth=float(worth),
        model=model,
    )


def _constant(assessed: Assessed, none: Assessed, problem: RiskProblem) -> Candidate:
    """Return the guess that looks at no feature, as a row of the comparison."""
    row = _candidate("constant", assessed, paired_change(assessed, none), problem)
    guess = "most frequent class" if row.risk.measure == "error" else "class frequencies"
    guess = guess if is_classifier(assessed.model) else assessed.model.strategy
    return replace(row, literature=guess, lam=None)


def _chosen_by_other_loss(model: Any, measure: str) -> bool:
    """True where a classifier is shown by its errors and tuned by squared errors."""
    tuned = isinstance(model, ImportanceWeightedCV) and model.criterion is None
    return tuned and is_classifier(model) and measure != "Brier score"
