"""The door: an estimator and two samples in, a verdict out."""

from __future__ import annotations

import math
import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from timeit import repeat
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.utils.validation import _num_samples

from weighbridge._estimators import ImportanceWeighted, ImportanceWeightedCV, check_answer
from weighbridge._findings import Stage, Stages, told_progress
from weighbridge._folds import one_thread
from weighbridge._pass_weights import count_parameters, fit_with_weights, weight_parameter
from weighbridge.diagnosis import Diagnosis, read_samples
from weighbridge.domain import outside_support
from weighbridge.exceptions import OverlapWarning
from weighbridge.label_shift import COVARIATE, LABEL
from weighbridge.model_selection import (
    Bounds,
    CrossValidation,
    few_points,
    fixed_steps,
    has_closed_form,
)
from weighbridge.ratios import OUTSIDE
from weighbridge.target_risk import (
    Assessed,
    Measure,
    Question,
    RiskProblem,
    assess_held_out,
    assess_procedures,
    base_of,
    check_arguments,
    fit_finals,
    judge_overlap,
)
from weighbridge.verdict._candidates import candidate_names, make_candidates
from weighbridge.verdict._judgement import verdict_of, worse_in_deployment
from weighbridge.verdict._verdict import Verdict
from weighbridge.weighting import weighting_or_default

# Steps of the first stage, about as long as one fit of a quick model each: until the support is
# known, the ratio, the kind of shift, and all else that is no fit.
_LOOKED, _RATIO, _KIND, _DIAGNOSED = 1, 5, 9, 16
# Confidence that the model is worse in deployment, from which on a tiny shift matters.
_BEYOND_DOUBT = 0.99


@dataclass
class _Model:
    """One model on its way to a verdict: its candidates, and what is known of them so far."""

    estimator: Any
    measure: Measure
    names: tuple[str, ...]
    candidates: list[Any] = field(default_factory=list)
    finals: list[Any] = field(default_factory=list)
    n_parameters: int = 0
    seconds: float | None = None  # of one fit, where anybody wants to know
    diagnosis: Any = None
    shift: str = ""
    assessed: dict[str, Assessed] = field(default_factory=dict)
    otherwise: dict[str, Any] | None = None

    @property
    def base(self) -> Any:
        return base_of(self.estimator)

    @property
    def others(self) -> list[Any]:
        return self.candidates[1:]

    def is_settled(self, *, by_label: bool) -> bool:
        """True if nothing is weighted: no shift, or too little overlap to choose weights."""
        if self.shift == "none" or self.diagnosis.overlap.word == "broken":
            return True
        # Weights that were given are assessed all the same.
        return not (self.diagnosis.overlap.can_weight or by_label or "given" in self.names)


@np.errstate(under="ignore")  # kernels and weights far away are 0
def assess_models(
    estimators: dict[str, Any],
    X: Any,
    y: Any,
    X_target: Any,
    sample_weight: Any = None,
    question: Question | None = None,
) -> dict[str, Verdict]:
    """Assess several models of one kind, by name, with one ratio, one diagnosis, the same folds."""
    question = question or Question()
    stages = told_progress(question.progress)
    models = {name: _model(each, y, question) for name, each in estimators.items()}
    _check_kinds(list(estimators.values()))
    question.check_folds(_num_samples(X))
    with warnings.catch_warnings(), one_thread():
        # what they say about overlap is among the findings
        warnings.simplefilter("ignore", OverlapWarning)
        stage = Stage(stages, "shift", _DIAGNOSED + len(models) * (1 + int(question.cv)))
        support = None
        with suppress(TypeError, ValueError):  # what is wrong with a table is said by the work
            support = outside_support(X, X_target)
            stages.heard("outside", support.share)
            if support.share > OUTSIDE:  # nothing will be weighted
                stages.expect(bridge=0.0, verify=0.0)
        stage.reach(_LOOKED)
        first = next(iter(estimators.values()))
        told = partial(stage.reach, _RATIO)
        problem = RiskProblem(first, X, y, X_target, sample_weight, question, support, told)
        stage.reach(_KIND)
        _unweighted(models, problem, stage)
        _weighted(models, problem, stages)
        constant = _constant(next(iter(models.values())), problem)
        return {name: verdict_of(problem, each, constant) for name, each in models.items()}


def _constant(model: _Model, problem: RiskProblem) -> Assessed | None:
    """Assess a guess that looks at no feature; None where the loss or the overlap allows none."""
    strategy = "median" if model.measure.name == "MAE" else "mean"
    is_class = is_classifier(model.base)
    guess = DummyClassifier(strategy="prior") if is_class else DummyRegressor(strategy=strategy)
    loss = model.measure.row_loss
    if (
        loss is None
        or not hasattr(guess, loss.response)
        or model.diagnosis.overlap.word == "broken"
    ):
        return None
    return assess_procedures([guess], problem, model.measure, overlap=model.diagnosis.overlap)[0]


def _model(estimator: Any, y: Any, question: Question) -> _Model:
    """Check what is asked of one model, before any work."""
    check_arguments(estimator, y)
    measure = question.measure_of(estimator)
    if measure.row_loss is None:
        raise ValueError(
            f"Got scoring={question.scoring!r}, a metric of the rows as a whole; a verdict "
            "compares models row by row. Choose a loss that is a mean over rows, and "
            "estimate_risk for this metric."
        )
    if isinstance(estimator, ImportanceWeighted):
        weighting_or_default(estimator.weighting)
    if isinstance(estimator, ImportanceWeightedCV):
        bounds = Bounds(estimator.lam_bounds, estimator.alpha_bounds)
        check_answer(estimator.answer, bounds.lam)
    names = candidate_names(question.candidates, estimator, np.asarray(y))
    weight_parameter(clone(base_of(estimator)))  # fail before the work, not after it
    return _Model(estimator, measure, names)


def _check_kinds(estimators: list[Any]) -> None:
    if len({is_classifier(each) for each in estimators}) != 1:
        named = ", ".join(type(base_of(each)).__name__ for each in estimators)
        raise ValueError(
            f"Got {len(estimators)} models ({named}), but expected at least one, and classifiers "
            "only or regressors only; assess the others separately."
        )


def _unweighted(models: dict[str, _Model], problem: RiskProblem, stage: Stage) -> None:
    """Diagnose the rows that count, and assess every model without weights."""
    rows, question = problem.rows, problem.question
    for each in models.values():
        if problem.by_label and question.candidates is None:
            # weights of classes are right or wrong as a whole
            each.names = tuple(name for name in each.names if name not in ("power", "relative"))
        each.candidates = make_candidates(each.estimator, each.names, question.n_jobs, problem.seed)
        each.finals = fit_finals(each.candidates[:1], problem, stage.step)
        if told_progress(question.progress).wants_news and not has_closed_form(
            each.base, problem.rows.y
        ):
            each.seconds = _seconds_of_a_fit(each.base, problem)
    work = _workload(models, problem)
    if work is not None:
        told_progress(question.progress).expect(**work.by_stage(question.n_jobs or 1))
    diagnosis: Diagnosis | None = None
    for each in models.values():
        each.n_parameters = count_parameters(each.finals[0], rows.X.shape[1])
        if diagnosis is None:
            y = rows.y if is_classifier(each.base) or problem.by_label else None
            diagnosis = Diagnosis(
                problem.ratio,
                read_samples(rows.X, problem.X_target, y, rows.sample_weight),
                n_parameters=each.n_parameters,
                confidence=question.confidence,
                random_state=problem.random_state,
                kind=problem.kind,
                support=problem.support,
                domain=problem.domain,
            )
            stage.reach(stage.done + _DIAGNOSED - _KIND)
        each.diagnosis = diagnosis.for_parameters(each.n_parameters)
        (none,) = _assessed(each, each.candidates[:1], each.finals, problem, stage)
        each.assessed["none"] = none
        each.shift = _shift(each.diagnosis, none, problem)


def _weighted(models: dict[str, _Model], problem: RiskProblem, stages: Stages) -> None:
    """Fit and assess all other candidates, where there is anything to weight for."""
    by_label = problem.by_label
    pending = {
        name: model for name, model in models.items() if not model.is_settled(by_label=by_label)
    }
    n_fits = sum(len(each.others) for each in pending.values())
    if not n_fits:
        return
    stage = Stage(stages, "bridge", n_fits)
    work = _workload(pending, problem)
    if work is not None:
        stages.heard("work", work)
    for each in pending.values():
        each.finals = fit_finals(each.others, problem, stage.step)
    stage = Stage(stages, "verify", n_fits * problem.n_folds)
    for each in pending.values():
        assessed = _assessed(each, each.others, each.finals, problem, stage)
        each.assessed |= zip(each.names[1:], assessed, strict=True)
        each.otherwise = _otherwise(each, problem)


def _otherwise(model: _Model, problem: RiskProblem) -> dict[str, Any] | None:
    """Return what is expected under the other kind of shift, where it may be that one."""
    other = problem.otherwise
    if other is None:
        return None
    weighted = ImportanceWeighted(model.base)
    none = model.assessed["none"].held_out
    assessed = (
        assess_held_out(none, other, model.measure, judge_overlap(other)),
        *assess_procedures([weighted], other, model.measure),
    )
    estimates = [each.risk.estimate and each.risk.estimate.to_dict() for each in assessed]
    kind, mix = (LABEL, other.ratio.frequencies_.change) if other.by_label else (COVARIATE, "")
    return {"kind": kind, "mix": mix, "none": estimates[0], "full": estimates[1]}


def _assessed(
    model: _Model, candidates: list[Any], finals: list[Any], problem: RiskProblem, stage: Stage
) -> list[Assessed]:
    return assess_procedures(
        candidates,
        problem,
        model.measure,
        overlap=model.diagnosis.overlap,
        finals=finals,
        step=stage.step,
    )


def _shift(diagnosis: Diagnosis, none: Assessed, problem: RiskProblem) -> str:
    """Return the word for the shift; a small group that costs much is a shift, if a slight one."""
    word = diagnosis.shift
    if word == "none" and problem.by_label:  # class frequencies see what a classifier may not
        return "slight"
    worse = worse_in_deployment(none, _BEYOND_DOUBT)
    matters = worse is not None and worse.low > 0
    return "slight" if word == "none" and matters else word


@dataclass(frozen=True)
class Workload:
    """About how many fits searches of some models make, and their seconds one after the other."""

    names: tuple[str, ...]
    n_fits: int
    seconds: float
    n_folds: int

    def duration(self, jobs: int) -> float:
        """Return about how long the work takes with that many jobs, in seconds."""
        return sum(self.by_stage(jobs).values())

    def by_stage(self, jobs: int) -> dict[str, float]:
        """Return the same for the fits to all rows, and for those of the folds."""
        once = self.seconds / (1 + self.n_folds)
        rounds = math.ceil(self.n_folds / min(effective_n_jobs(jobs), self.n_folds))
        return {"bridge": once, "verify": once * rounds}


def _workload(models: dict[str, _Model], problem: RiskProblem) -> Workload | None:
    """Return what models that are not solved together, with their candidates, have before them."""
    names, n_fits, seconds = [], 0, 0.0
    for name, each in models.items():
        fits = [_n_fits(other) for other in each.others]
        if max(fits, default=1) == 1 or each.seconds is None:
            continue
        count = (1 + problem.n_folds) * sum(fits)
        names.append(name)
        n_fits += count
        seconds += count * each.seconds
    return Workload(tuple(names), n_fits, seconds, problem.n_folds) if names else None


def _seconds_of_a_fit(base: Any, problem: RiskProblem) -> float:
    """Return how long one more fit takes; the first of two may also wait for its libraries."""
    X, y = problem.rows.X, problem.rows.y
    *transformers, last = fixed_steps(base) or [base]  # what is fitted once a fold is not counted
    for step in transformers:
        X = clone(step).fit_transform(X)
    ones = np.ones(y.size)
    return min(repeat(lambda: fit_with_weights(clone(last), X, y, ones), number=1, repeat=2))


def _n_fits(candidate: Any) -> int:
    """Return the fits of one search with the usual parts, whose number is known; else 1."""
    is_search = isinstance(candidate, ImportanceWeightedCV)
    if is_search and candidate.criterion is None and candidate.search is None:
        return len(few_points()) * int(CrossValidation().cv)
    return 1


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
    worthwhile: float | None = None,
    confidence: float = 0.95,
    sample_weight: Any = None,
    shift: str = "auto",
    cv: int = 5,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: Any = None,
) -> Verdict:
    """Say whether weighting is worth it: is there shift, does it matter, does weighting help.

    Parameters
    ----------
    estimator : estimator
        The model you would train anyway; its ``fit`` takes ``sample_weight``. An
        `ImportanceWeightedCV` you pass is compared with its inner estimator.
    X, y : array-like or data frame of shape (n_samples, n_features), and labels
        Labelled source rows.
    X_target : same type, of shape (n_target, n_features)
        Target rows, without labels.
    ratio : str or density ratio, optional
        Fitted or not; default `AutoRatio()`.
    scoring : str, optional
        The loss shown, by its scorer: "accuracy" (the share of errors, the default for
        classifiers), "neg_root_mean_squared_error" (the default for regressors), "neg_log_loss",
        "neg_brier_score", "neg_mean_absolute_error", ... A mean over rows, or the root of one.
    loss : function ``loss(y, prediction)``, optional
        Your own loss, in place of `scoring`.
    candidates : list of str, optional
        Which of none, full, power, relative and tuned to compare. Default: all five where they are
        cheap (linear models; logistic ones up to 20,000 rows), else none, full and tuned.
    worthwhile : float, optional
        The smallest gain worth having, in units of the loss (0.005 is half a point of a share of
        errors). Default: 2 % of the expected loss without weights, one error in fifty.
    confidence : float, default=0.95
        Of all intervals.
    sample_weight : array-like of shape (n_samples,), optional
        Your weights of the source rows, for fitting; 0 leaves a row out. Losses are averaged over
        rows as they are: the ratio and the target know nothing of these weights.
    shift : {"auto", "covariate", "label"}, default="auto"
        What changed, if you know: the features, or the mix of classes alone. "auto" lets held-out
        rows decide for classifiers (`weighbridge.label_shift.kind_of_shift`), unless a `ratio` is
        given; where they cannot tell, weights are those for features, and the verdict says so.
    cv : int, default=5
        Number of outer folds; each repeats the choice of the weighting.
    n_jobs : int, optional
        Fits in parallel, each in one thread.
    random_state : int, RandomState instance or None
        Deals the folds, seeds the searches.
    progress : function ``progress(stage, done, total)``, optional
        Called when a stage begins, with ``done=0``, and after each of its steps. The stages are
        "shift" (ratio, diagnosis, unweighted model), "bridge" (every other candidate on all rows)
        and "verify" (the outer folds of these); the last two only where there is shift.

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
    Weighting helps where the whole interval of the paired change is better than zero, and "probably
    helps" where the change is better than zero by more than one standard error; less than
    `worthwhile` is no gain. The shift matters if the unweighted model surely loses more than that
    in addition, and does not if it surely loses less; else one cannot tell. Every expected loss
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
    question = Question(
        ratio=ratio,
        scoring=scoring,
        loss=loss,
        candidates=candidates,
        worthwhile=worthwhile,
        confidence=confidence,
        shift=shift,
        cv=cv,
        n_jobs=n_jobs,
        random_state=random_state,
        progress=progress,
    )
    if worthwhile is not None and not 0 <= worthwhile < math.inf:
        raise ValueError(
            f"Got worthwhile={worthwhile!r}, but expected a finite number, 0 or more, in units of "
            "the loss; leave it out for 2 % of the loss."
        )
    (verdict,) = assess_models({"": estimator}, X, y, X_target, sample_weight, question).values()
    return verdict
