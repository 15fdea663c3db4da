"""From numbers to a verdict: judged, with its findings and the table of candidates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.base import is_classifier

from weighbridge._estimators import ImportanceWeightedCV, WeightedEstimator
from weighbridge._findings import (
    ENOUGH,
    Estimate,
    Finding,
    Numbers,
    effective_sample_size,
)
from weighbridge.diagnostics import Diagnosis, ShiftReport, weighting_name
from weighbridge.target_risk import Assessed, RiskProblem, paired_change
from weighbridge.verdict._candidates import LITERATURE
from weighbridge.verdict._verdict import Candidate, Verdict
from weighbridge.verdict._words import Judgement
from weighbridge.weighting import Geodesic


def verdict_of(
    problem: RiskProblem,
    diagnosis: Diagnosis,
    shift: str,
    assessed: dict[str, Assessed],
    weighted: str,
) -> Verdict:
    """Judge the numbers and put the verdict together; `weighted` is the candidate in question."""
    none, confidence = assessed["none"], diagnosis.confidence
    changes = {
        name: None if name == "none" else paired_change(each, none)
        for name, each in assessed.items()
    }
    judgement = Judgement(
        shift,
        diagnosis.overlap.word,
        worse_in_deployment(none, confidence),
        changes.get(weighted),
        weighted,
    )
    used = assessed[judgement.use]
    shown = _weighting(used.model)
    is_none = isinstance(shown, Geodesic) and shown.lam == 0
    report = diagnosis.report(None if is_none else shown)
    typical = none.risk.estimate or none.risk.training
    losses = [each.risk.estimate for each in assessed.values()]
    numbers = Numbers(none.risk.measure, typical.value, losses, changes.values())
    return Verdict(
        sentence=judgement.sentence(numbers, none.risk, used.risk),
        use=judgement.use,
        answers=judgement.answers(numbers, report, none.risk, used.risk),
        candidates=tuple(
            _candidate(name, each, changes[name], problem) for name, each in assessed.items()
        ),
        measure=none.risk.measure,
        confidence=confidence,
        report=report,
        findings=(
            *report.findings,
            *_new(used.risk.findings, report),
            *_of_choice(judgement, assessed),
        ),
        model=used.model,
        _problem=problem,
        _diagnosis=diagnosis,
    )


def _of_choice(judgement: Judgement, assessed: dict[str, Assessed]) -> Iterator[Finding]:
    """Yield findings about the choice: which candidates are as good, and by what it was made."""
    used = assessed[judgement.use]
    close = [
        name
        for name, each in assessed.items()
        # that none may be as good is what "probably" says
        if name not in (judgement.use, "none")
        and (change := paired_change(each, used)) is not None
        and change.low <= 0 <= change.high
    ]
    by_other_loss = _chosen_by_other_loss(used.model, used.risk.measure)
    yield from judgement.findings(close, by_other_loss=by_other_loss)


def _new(findings: tuple[Finding, ...], report: ShiftReport) -> list[Finding]:
    """Leave out what the report has said already: that overlap is thin or broken."""
    said = () if report.overlap == ENOUGH else ("WB601", "WB602")
    return [finding for finding in findings if finding.code not in said]


def worse_in_deployment(none: Assessed, confidence: float) -> Estimate | None:
    """Return by how much the unweighted model loses more in deployment than in training."""
    if none.risk.estimate is None or none.influence is None or none.training is None:
        return None
    return none.influence.minus(none.training).estimate(confidence)


def _weighting(model: Any) -> Any:
    """Return the weighting of a fitted candidate."""
    if not isinstance(model, WeightedEstimator):
        return Geodesic(lam=0.0)
    chosen = getattr(model, "best_weighting_", None)
    return chosen or model.weighting or Geodesic()


def _candidate(
    name: str, assessed: Assessed, change: Estimate | None, problem: RiskProblem
) -> Candidate:
    model = assessed.model
    weighting = _weighting(model)
    worth = getattr(model, "ess_", None)
    if worth is None:
        worth = effective_sample_size(problem.plain_shares)
    lam: float | None = None
    alpha: float | None = None
    literature, mixture = LITERATURE[name], getattr(model, "mixture_", [(weighting, 1.0)])
    if isinstance(weighting, Geodesic):
        lam = float(weighting.lam)
        alpha = None if lam in (0, 1) else float(weighting.alpha)
    else:  # a weighting of the user's own has a name in place of numbers
        literature, mixture = weighting_name(weighting), []
    return Candidate(
        name=name,
        literature=literature,
        lam=lam,
        alpha=alpha,
        risk=assessed.risk,
        change=change,
        worth=float(worth),
        mixture=tuple((float(each.lam), float(each.alpha), share) for each, share in mixture),
        model=model,
        _held_out=None if assessed.responses is None else assessed.responses.at_source,
    )


def _chosen_by_other_loss(model: Any, measure: str) -> bool:
    """True where a classifier is shown by its errors and tuned by squared errors."""
    tuned = isinstance(model, ImportanceWeightedCV) and model.criterion is None
    return tuned and is_classifier(model) and measure != "Brier score"
