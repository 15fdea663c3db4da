"""The risk of one model on the target, and the change from one model to another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator, is_classifier

from weighbridge._estimators import WeightedEstimator
from weighbridge._findings import Estimate, Record
from weighbridge._folds import one_thread
from weighbridge.ratios import OverlapJudgement, effective_sample_size
from weighbridge.target_risk._forecast import Influence, forecast_losses
from weighbridge.target_risk._interval import (
    WITHHELD,
    RiskEstimate,
    judge_interval,
    judge_overlap,
    mean_interval,
    score_intervals,
    why_unreliable,
)
from weighbridge.target_risk._problem import Measure, Question, RiskProblem
from weighbridge.target_risk._procedures import HeldOut, Step, check_arguments, fit_finals, hold_out

# The covered target rows are assessed if they are at least this many, and this share of all.
_MIN_COVERED_ROWS, _MIN_COVERED_SHARE = 50, 0.1


@dataclass(frozen=True, repr=False)
class RiskComparison(Record):
    """Two models on the same rows, and the change from one to the other.

    Parameters
    ----------
    baseline, other : RiskEstimate
        The two models.
    change : Estimate or None
        ``other - baseline``, paired: negative losses are gains. None if it is withheld.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge import ImportanceWeightedCV
    >>> from weighbridge.datasets import make_quadratic
    >>> from weighbridge.target_risk import compare_risks
    >>> data = make_quadratic(random_state=0)
    >>> models = LinearRegression(), ImportanceWeightedCV(LinearRegression(), random_state=0)
    >>> both = compare_risks(*models, data.X, data.y, data.X_target, random_state=0)
    >>> both.change.high < 0  # weighting helps: 0 is not in the interval
    True
    """

    baseline: RiskEstimate
    other: RiskEstimate
    change: Estimate | None

    def __str__(self) -> str:
        change = "withheld" if self.change is None else str(self.change)
        return f"{self.baseline}\n{self.other}\nchange: {change}"


class Assessed(NamedTuple):
    """Risk of one procedure, the influences behind it and behind its training loss."""

    risk: RiskEstimate
    held_out: HeldOut
    influence: Influence | None = None  # None for scores
    training: Influence | None = None

    @property
    def model(self) -> BaseEstimator:
        """The model that is fitted to all rows."""
        return self.held_out.model


def paired_change(other: Assessed, baseline: Assessed) -> Estimate | None:
    """Return the paired change from one procedure to another; None if it is withheld."""
    is_withheld = WITHHELD in (other.risk.state, baseline.risk.state)
    if is_withheld or other.influence is None or baseline.influence is None:
        return None
    return mean_interval(other.influence.minus(baseline.influence), baseline.risk.confidence)


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
    overlap = overlap or judge_overlap(problem)
    with one_thread():
        finals = finals or fit_finals(estimators, problem, step)
        procedures = hold_out(estimators, finals, problem, step)
        assessed = [assess_held_out(held_out, problem, measure, overlap) for held_out in procedures]
        if overlap.word == "broken" and measure.row_loss is not None:
            risks = [_with_covered(procedure, problem, measure) for procedure in assessed]
            assessed = [a._replace(risk=risk) for a, risk in zip(assessed, risks, strict=True)]
    return assessed


def assess_metrics(
    assessed: dict[str, Assessed], problem: RiskProblem, overlap: OverlapJudgement, names: set[str]
) -> dict[str, dict[str, RiskEstimate]]:
    """Return the further measures of some procedures, for which nothing is fitted again."""
    risks: dict[str, dict[str, RiskEstimate]] = {}
    for metric, measure in problem.question.metrics_of(assessed["none"].model).items():
        for name in [name for name in assessed if name in names]:
            procedure = assessed[name]
            if measure.name != procedure.risk.measure:
                with one_thread():
                    procedure = assess_held_out(procedure.held_out, problem, measure, overlap)
            risks.setdefault(metric, {})[name] = procedure.risk
    return risks


def assess_held_out(
    held_out: HeldOut, problem: RiskProblem, measure: Measure, overlap: OverlapJudgement
) -> Assessed:
    """Assess a procedure by one measure, given its held-out predictions."""
    confidence, bounds = problem.question.confidence, measure.bounds
    influences: tuple[Influence, ...] = ()
    if measure.row_loss is None:
        estimate, training, reason = score_intervals(measure, held_out, problem)
    else:
        influences = forecast_losses(problem, measure.row_loss, held_out)
        if measure.root:
            influences = tuple(mean.root() for mean in influences)
        estimate, training = (mean_interval(mean, confidence, bounds) for mean in influences)
        reason = why_unreliable(influences[0], problem, bounds[0])
    state, findings = judge_interval(problem, overlap, reason)
    risk = RiskEstimate(
        measure=measure.name,
        state=state,
        estimate=None if state == WITHHELD else estimate,
        training=training,
        confidence=confidence,
        worth=effective_sample_size(problem.shares),
        n_rows=problem.rows.y.size,
        findings=findings,
    )
    return Assessed(risk, held_out, *influences)


def _with_covered(procedure: Assessed, problem: RiskProblem, measure: Measure) -> RiskEstimate:
    """Add the risk on the covered target rows, for which nothing is fitted again."""
    rows, is_covered = problem.covered
    rows, share = rows[is_covered], float(is_covered.mean())
    risk = replace(procedure.risk, covered_share=share)
    if rows.size < _MIN_COVERED_ROWS or share < _MIN_COVERED_SHARE:
        return risk
    try:
        part = problem.covered_part
    except ValueError:  # The rows have no ratio, e.g. because they are copies of one.
        return risk
    overlap = judge_overlap(part)
    if not overlap.can_weight:
        return risk
    held_out = procedure.held_out.at_target_rows(rows)
    return replace(risk, covered=assess_held_out(held_out, part, measure, overlap).risk)


def estimate_risk(
    estimator: Any,
    X: Any,
    y: Any,
    X_target: Any,
    *,
    ratio: Any = None,
    shift: str = "auto",
    scoring: Any = None,
    loss: Any = None,
    confidence: float = 0.95,
    sample_weight: Any = None,
    cv: int = 5,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> RiskEstimate:
    """Estimate the loss of a model on the target, from labelled source rows.

    The whole procedure that `estimator` stands for, with the choice of a weighting, is repeated
    without each of `cv` outer folds. Its held-out losses are then transferred to the target.

    Parameters
    ----------
    estimator : estimator
        Regressor or classifier. A copy is fitted for each fold, even if it is fitted already.
        ``sklearn.frozen.FrozenEstimator(model)`` is used as it is: all rows of `X` must then be
        new to it. `ImportanceWeighted` and `ImportanceWeightedCV` use `ratio`.
    X, y : array-like or data frame of shape (n_samples, n_features), and labels
        Labelled source rows.
    X_target : same type, of shape (n_target, n_features)
        Target rows.
    ratio : str or density ratio, optional
        Fitted or not. Default: that of the estimator, else the one for the kind of shift.
    shift : {"auto", "covariate", "label"}, default="auto"
        What changed: the features, the class prevalences alone, or what held-out rows indicate; see
        `weighbridge.label_shift.kind_of_shift`. It has no effect if `ratio` is given.
    scoring : str or scorer, optional
        As in scikit-learn. Losses are shown as losses ("accuracy" as the share of errors,
        "neg_mean_squared_error" as that error), and scores of whole samples as they are. Default:
        the share of errors, or the root mean squared error.
    loss : function ``loss(y, prediction)``, optional
        Another loss, one number for each row, instead of `scoring`. For a classifier, y holds
        positions in ``classes_`` and predictions are probabilities.
    confidence : float, default=0.95
        Confidence level of the intervals.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the source rows, for fitting; 0 leaves a row out. They are not used to average
        the losses, because they do not apply to the target.
    cv : int, default=5
        Number of outer folds.
    n_jobs : int, optional
        Fits in parallel, each in one thread.
    random_state : int, RandomState instance or None
        Seed of the folds.

    Returns
    -------
    RiskEstimate
        The expected loss, its interval, and whether it is reliable.

    See Also
    --------
    compare_risks : Two models on the same rows.

    Notes
    -----
    The docstring of `weighbridge.target_risk` derives the estimate and its interval, which does not
    include a change of P(y | x): only target labels can show that.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.datasets import make_gaussian_shift
    >>> from weighbridge.target_risk import estimate_risk
    >>> data, model = make_gaussian_shift(2000, 1000, random_state=0), LinearRegression()
    >>> risk = estimate_risk(model, data.X, data.y, data.X_target, random_state=0)
    >>> errors = data.y_target - model.fit(data.X, data.y).predict(data.X_target)
    >>> bool(risk.interval[0] < (errors**2).mean() ** 0.5 < risk.interval[1])
    True
    """
    question = Question(ratio, shift, scoring, loss, confidence, cv, n_jobs, random_state)
    check_arguments(estimator, y)
    measure = question.measure_of(estimator)
    problem = RiskProblem(estimator, X, y, X_target, sample_weight, question)
    return assess_procedures([estimator], problem, measure)[0].risk


def compare_risks(
    baseline: Any,
    other: Any,
    X: Any,
    y: Any,
    X_target: Any,
    *,
    ratio: Any = None,
    shift: str = "auto",
    scoring: Any = None,
    loss: Any = None,
    confidence: float = 0.95,
    sample_weight: Any = None,
    cv: int = 5,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> RiskComparison:
    """Compare the losses of two models on the target, row by row on the same folds.

    The change is paired, and much more precise than either loss. It equals the difference of the
    two losses shown.

    Parameters
    ----------
    baseline, other : estimators
        Two models, e.g. one without and one with weights.
    ratio : str or density ratio, optional
        Fitted or not. Default: that of one of the two, else the one for the kind of shift.
    scoring : str or scorer, optional
        As in `estimate_risk`: a loss that is a mean over rows, or the root of one.
    X, y, X_target, shift, loss, confidence, sample_weight, cv, n_jobs, random_state
        As in `estimate_risk`.

    Returns
    -------
    RiskComparison
        Both risks, and the change with its interval.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge import ImportanceWeightedCV
    >>> from weighbridge.datasets import make_quadratic
    >>> from weighbridge.target_risk import compare_risks
    >>> data = make_quadratic(random_state=0)
    >>> plain = LinearRegression()
    >>> tuned = ImportanceWeightedCV(plain, random_state=0)
    >>> both = compare_risks(plain, tuned, data.X, data.y, data.X_target, random_state=0)
    >>> abs(both.other.value - both.baseline.value - both.change.value) < 1e-9
    True
    """
    question = Question(ratio, shift, scoring, loss, confidence, cv, n_jobs, random_state)
    for estimator in (baseline, other):
        check_arguments(estimator, y)
    if is_classifier(baseline) != is_classifier(other):
        raise ValueError(
            f"Got {type(baseline).__name__} and {type(other).__name__}, a classifier and a "
            "regressor; only models of one kind can be compared."
        )
    measure, _ = (question.measure_of(estimator) for estimator in (baseline, other))
    if measure.row_loss is None:
        raise ValueError(
            f"Got scoring={scoring!r}, a metric of the rows as a whole, which cannot be compared "
            "row by row; choose a loss that is a mean over rows, or estimate_risk for each model."
        )
    weighted = [model for model in (other, baseline) if isinstance(model, WeightedEstimator)]
    first = weighted[0] if weighted else baseline  # Its ratio is used by default.
    problem = RiskProblem(first, X, y, X_target, sample_weight, question)
    pair = assess_procedures([baseline, other], problem, measure)
    return RiskComparison(pair[0].risk, pair[1].risk, paired_change(pair[1], pair[0]))
