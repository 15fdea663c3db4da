"""The door: an estimator and two samples in, a verdict out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from weighbridge._estimate import Estimate
from weighbridge._finding import Finding
from weighbridge._importance_weighted_cv import ImportanceWeightedCV
from weighbridge._overlap import effective_sample_size
from weighbridge._pass_weights import weight_parameter
from weighbridge._weighted_estimator import WeightedEstimator
from weighbridge.diagnostics._diagnose import count_parameters
from weighbridge.diagnostics._diagnosis import Diagnosis
from weighbridge.diagnostics._overlap_word import BROKEN, ENOUGH
from weighbridge.diagnostics._shift_report import ShiftReport, shift_word
from weighbridge.exceptions import OverlapWarning
from weighbridge.target_risk._assessed import (
    DOUBLY_ROBUST,
    Assessed,
    assess_procedures,
    check_options,
    paired_change,
)
from weighbridge.target_risk._measure import find_measure
from weighbridge.target_risk._problem import RiskProblem, check_arguments
from weighbridge.verdict._candidates import (
    LITERATURE,
    candidate_names,
    make_candidates,
    weighted_name,
)
from weighbridge.verdict._judgement import Judgement
from weighbridge.verdict._numbers import Numbers
from weighbridge.verdict._sentences import (
    choice_findings,
    contains_zero,
    five_answers,
    top_sentence,
)
from weighbridge.verdict._verdict import Candidate, Verdict
from weighbridge.weighting import Geodesic

# Where the AUC sees no shift: level of the test, and confidence that the model will be worse.
_FOUND = 0.05
_BEYOND_DOUBT = 0.99


def assess(
    estimator: Any,
    X: Any,
    y: Any,
    X_target: Any,
    *,
    ratio: Any = None,
    scoring: Any = None,
    loss: Any = None,
    candidates: Any = None,
    confidence: float = 0.95,
    sample_weight: Any = None,
    cv: int = 5,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Verdict:
    """Say whether weighting is worth it: is there shift, does it matter, does weighting help.

    Parameters
    ----------
    estimator : estimator
        The model you would train anyway; its ``fit`` takes ``sample_weight``. An
        `ImportanceWeightedCV` of your own is compared with its inner estimator.
    X, y : array-like or data frame of shape (n_samples, n_features), and labels
        Labelled source rows.
    X_target : same type, of shape (n_target, n_features)
        Target rows, without labels.
    ratio : density ratio, optional
        Fitted or not; default `AutoRatio()`.
    scoring : str, optional
        The loss shown, by its scorer: "accuracy" (the share of errors, the default for
        classifiers), "neg_root_mean_squared_error" (the default for regressors), "neg_log_loss",
        "neg_brier_score", "neg_mean_absolute_error", ... A mean over rows, or the root of one.
    loss : function ``loss(y, prediction)``, optional
        A loss of your own, in place of `scoring`.
    candidates : list of str, optional
        Which of none, full, power, relative and tuned to compare. Default: all five where they are
        cheap (linear models; logistic ones up to 20,000 rows), else none, full and tuned.
    confidence : float, default=0.95
        Of all intervals.
    sample_weight : array-like of shape (n_samples,), optional
        Own weights of the source rows, for fitting; 0 leaves a row out. Losses are averaged over
        rows as they are: the ratio and the target know nothing of these weights.
    cv : int, default=5
        Number of outer folds; each repeats the choice of the weighting.
    n_jobs : int, optional
        Folds fitted in parallel.
    random_state : int, RandomState instance or None
        Deals the folds, seeds the searches.

    Returns
    -------
    Verdict
        The sentence, five answers, the comparison, the diagnosis, and the model to use.

    See Also
    --------
    weighbridge.diagnose : The two samples alone, without labels.
    weighbridge.target_risk.compare_risks : Any two models.

    Notes
    -----
    Weighting helps where the paired change of the expected loss is better than zero by more than
    one standard error; it "probably" helps where its interval still holds zero. Every expected loss
    is of outer folds: no weighting is praised on the rows that chose it. Where the samples hardly
    overlap nothing is estimated, and where no shift is found nothing is tuned.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.datasets import make_quadratic
    >>> from weighbridge.verdict import assess
    >>> data = make_quadratic(random_state=0)
    >>> verdict = assess(LinearRegression(), data.X, data.y, data.X_target, random_state=0)
    >>> verdict.shift, verdict.matters, verdict.weighting
    ('almost complete', 'yes', 'helps')
    >>> verdict.model.predict(data.X_target).shape
    (300,)
    """
    check_arguments(estimator, y)
    measure = find_measure(scoring, loss, estimator)
    if measure.row_loss is None:
        raise ValueError(
            f"Got scoring={scoring!r}, a metric of the rows as a whole; a verdict compares models "
            "row by row. Choose a loss that is a mean over rows, and estimate_risk for this metric."
        )
    check_options(DOUBLY_ROBUST, confidence, measure, [estimator])
    names = candidate_names(candidates, estimator, np.asarray(y))
    base = estimator.estimator if isinstance(estimator, WeightedEstimator) else estimator
    weight_parameter(clone(base))  # fail before the work, not after it
    with warnings.catch_warnings():
        # what they say about overlap is among the findings
        warnings.simplefilter("ignore", OverlapWarning)
        problem = RiskProblem(
            estimator,
            X,
            y,
            X_target,
            ratio=ratio,
            sample_weight=sample_weight,
            cv=cv,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        diagnosis = _diagnosed(problem, base, confidence)
        compare = partial(
            assess_procedures,
            problem=problem,
            measure=measure,
            confidence=confidence,
            overlap=diagnosis.overlap,
        )
        none, *others = make_candidates(estimator, names, n_jobs, problem.seed)
        assessed = {"none": compare([none])[0]}
        shift = _shift(diagnosis, assessed["none"])
        if diagnosis.overlap.word != BROKEN and shift != "none":
            assessed |= zip(names[1:], compare(others), strict=True)
        return _verdict(problem, diagnosis, shift, assessed, weighted_name(estimator))


def _shift(diagnosis: Diagnosis, none: Assessed) -> str:
    """Return the word for the shift; a small group that costs much is a shift, if a slight one.

    The AUC hardly sees it. It counts if the two-sample test finds a difference and the unweighted
    model will be worse beyond doubt.
    """
    word = shift_word(diagnosis.auc)
    worse = _worse(none, _BEYOND_DOUBT)
    matters = worse is not None and worse.low > 0
    if word == "none" and diagnosis.test.p_value <= _FOUND and matters:
        return "slight"
    return word


def _diagnosed(problem: RiskProblem, base: Any, confidence: float) -> Diagnosis:
    """Diagnose the rows that count; the unweighted model tells how many parameters there are."""
    rows = problem.rows
    unweighted = clone(base).fit(rows.X, rows.y)
    return Diagnosis(
        problem.ratio,
        rows.X,
        problem.X_target,
        y=rows.y if is_classifier(base) else None,
        sample_weight=rows.own,
        n_parameters=count_parameters(unweighted, rows.X.shape[1]),
        confidence=confidence,
        random_state=problem.random_state,
    )


def _verdict(
    problem: RiskProblem,
    diagnosis: Diagnosis,
    shift: str,
    assessed: dict[str, Assessed],
    weighted: str,
) -> Verdict:
    none, confidence = assessed["none"], diagnosis.confidence
    changes = {
        name: None if name == "none" else paired_change(each, none, confidence)
        for name, each in assessed.items()
    }
    judgement = Judgement(
        shift,
        diagnosis.overlap.word,
        _worse(none, confidence),
        changes.get(weighted),
        weighted,
    )
    used = assessed[judgement.use]
    shown = _weighting(used.model)
    report = diagnosis.report(None if shown.lam == 0 else shown)
    numbers = Numbers(none.risk.measure, (none.risk.estimate or none.risk.training).value)
    return Verdict(
        sentence=top_sentence(judgement, numbers, none.risk, used.risk),
        use=judgement.use,
        answers=five_answers(judgement, numbers, report, none.risk, used.risk),
        candidates=tuple(
            _candidate(name, each, changes[name], problem) for name, each in assessed.items()
        ),
        measure=none.risk.measure,
        confidence=confidence,
        report=report,
        findings=(
            *report.findings,
            *_new(used.risk.findings, report),
            *_of_choice(judgement, assessed, confidence),
        ),
        model=used.model,
    )


def _of_choice(
    judgement: Judgement, assessed: dict[str, Assessed], confidence: float
) -> Iterator[Finding]:
    """Yield findings about the choice: which candidates are as good, and by what it was made."""
    used = assessed[judgement.use]
    close = [
        name
        for name, each in assessed.items()
        if name != judgement.use
        and (change := paired_change(each, used, confidence)) is not None
        and contains_zero(change)
    ]
    by_other_loss = _chosen_by_other_loss(used.model, used.risk.measure)
    yield from choice_findings(judgement, judgement.use, close, by_other_loss=by_other_loss)


def _new(findings: tuple[Finding, ...], report: ShiftReport) -> list[Finding]:
    """Leave out what the report has said already: that overlap is thin or broken."""
    said = () if report.overlap == ENOUGH else ("WB601", "WB602")
    return [finding for finding in findings if finding.code not in said]


def _worse(none: Assessed, confidence: float) -> Estimate | None:
    """Return by how much the unweighted model loses more in deployment than in training."""
    if none.risk.estimate is None or none.influence is None or none.training is None:
        return None
    return none.influence.minus(none.training).estimate(confidence)


def _weighting(model: Any) -> Geodesic:
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
    alpha = None if weighting.lam in (0, 1) else float(weighting.alpha)
    mixture = getattr(model, "mixture_", [(weighting, 1.0)])
    return Candidate(
        name=name,
        literature=LITERATURE[name],
        lam=float(weighting.lam),
        alpha=alpha,
        risk=assessed.risk,
        change=change,
        worth=float(worth),
        mixture=tuple((float(each.lam), float(each.alpha), share) for each, share in mixture),
    )


def _chosen_by_other_loss(model: Any, measure: str) -> bool:
    """True where a classifier is shown by its errors and tuned by squared errors."""
    tuned = isinstance(model, ImportanceWeightedCV) and model.criterion is None
    return tuned and is_classifier(model) and measure != "Brier score"
