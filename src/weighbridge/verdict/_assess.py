"""The entry points: an estimator and two samples in, a verdict out."""

from __future__ import annotations

import math
import warnings
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import is_classifier
from sklearn.utils.validation import _num_samples

from weighbridge._findings import Stage, Stages, told_progress
from weighbridge._folds import one_thread
from weighbridge.diagnosis import Diagnosis, read_samples
from weighbridge.domain import outside_support
from weighbridge.exceptions import OverlapWarning
from weighbridge.ratios import OUTSIDE
from weighbridge.target_risk import Question, RiskProblem, base_of, fit_finals
from weighbridge.verdict._compared import Compared
from weighbridge.verdict._judgement import verdict_of
from weighbridge.verdict._verdict import Verdict

# Steps of the first stage, each about as long as one fit of a quick model: until the support is
# known, the ratio, the kind of shift, and everything else that is not a fit.
_SUPPORT, _RATIO, _KIND, _DIAGNOSED = 1, 5, 9, 16


@np.errstate(under="ignore")  # Kernels and weights far away are 0.
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
    models = {name: Compared(estimator, y, question) for name, estimator in estimators.items()}
    _check_kinds(list(estimators.values()))
    question.check_folds(_num_samples(X))
    with warnings.catch_warnings(), one_thread():
        # Overlap is among the findings.
        warnings.simplefilter("ignore", OverlapWarning)
        stage = Stage(stages, "shift", _DIAGNOSED + len(models) * (1 + int(question.cv)))
        support = None
        with suppress(TypeError, ValueError):  # The steps below name what is wrong with a table.
            support = outside_support(X, X_target)
            stages.heard("outside", support.share)
            if support.share > OUTSIDE:  # Nothing will be weighted.
                stages.expect(bridge=0.0, verify=0.0)
        stage.reach(_SUPPORT)
        first = next(iter(estimators.values()))
        after_ratio = partial(stage.reach, _RATIO)
        problem = RiskProblem(first, X, y, X_target, sample_weight, question, support, after_ratio)
        stage.reach(_KIND)
        _assess_unweighted(models, problem, stage)
        _assess_weighted(models, problem, stages)
        constant = next(iter(models.values())).assess_constant(problem)
        return {name: verdict_of(problem, model, constant) for name, model in models.items()}


def _check_kinds(estimators: list[Any]) -> None:
    if len({is_classifier(estimator) for estimator in estimators}) != 1:
        named = ", ".join(type(base_of(estimator)).__name__ for estimator in estimators)
        raise ValueError(
            f"Got {len(estimators)} models ({named}), but expected at least one, and classifiers "
            "only or regressors only; assess the others separately."
        )


def _assess_unweighted(models: dict[str, Compared], problem: RiskProblem, stage: Stage) -> None:
    """Diagnose the rows that count, and assess every model without weights."""
    stages = told_progress(problem.question.progress)
    for model in models.values():
        model.fit_unweighted(problem, stage)
    seconds = sum(model.seconds * model.n_weighted_fits for model in models.values())
    jobs = min(effective_n_jobs(problem.question.n_jobs or 1), problem.n_folds)
    stages.expect(bridge=seconds, verify=seconds * math.ceil(problem.n_folds / jobs))
    diagnosis = _diagnose(next(iter(models.values())), problem)
    stage.reach(stage.done + _DIAGNOSED - _KIND)
    for model in models.values():
        model.assess_unweighted(diagnosis, problem, stage)


def _diagnose(model: Compared, problem: RiskProblem) -> Diagnosis:
    rows = problem.rows
    y = rows.y if is_classifier(model.base) or problem.by_label else None
    return Diagnosis(
        problem.ratio,
        read_samples(rows.X, problem.X_target, y, rows.sample_weight),
        n_parameters=model.n_parameters,
        confidence=problem.question.confidence,
        random_state=problem.random_state,
        kind=problem.kind,
        support=problem.support,
        domain=problem.domain,
    )


def _assess_weighted(models: dict[str, Compared], problem: RiskProblem, stages: Stages) -> None:
    """Fit and assess all other candidates, if there is anything to weight for."""
    pending = [
        model for model in models.values() if not model.is_settled(by_label=problem.by_label)
    ]
    n_fits = sum(len(model.weighted) for model in pending)
    if not n_fits:
        return
    stage = Stage(stages, "bridge", n_fits)
    for model in pending:
        model.finals = fit_finals(model.weighted, problem, stage.step)
    stage = Stage(stages, "verify", n_fits * problem.n_folds)
    for model in pending:
        model.assess_weighted(problem, stage)


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
        cheap (linear models; logistic ones up to 20,000 rows), else none, full and tuned, as
        under label shift.
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
