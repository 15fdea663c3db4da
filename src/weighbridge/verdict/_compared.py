"""One model among those that are compared: its candidates, fitted and assessed."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor

from weighbridge._estimators import ImportanceWeighted, ImportanceWeightedCV, check_answer
from weighbridge._findings import Stage
from weighbridge._pass_weights import count_parameters, weight_parameter
from weighbridge.diagnosis import Diagnosis
from weighbridge.label_shift import COVARIATE, LABEL
from weighbridge.model_selection import Bounds, DefaultCriterion, few_points
from weighbridge.target_risk import (
    Assessed,
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
from weighbridge.verdict._judgement import worse_in_deployment
from weighbridge.weighting import weighting_or_default

# A tiny shift matters if the model is worse in deployment with this confidence.
BEYOND_DOUBT = 0.99


class Compared:
    """A model with its candidates; what is known of them is added step by step."""

    diagnosis: Diagnosis
    finals: list[Any]
    n_parameters: int
    shift: str
    seconds: float  # of the fit without weights

    def __init__(self, estimator: Any, y: Any, question: Question):
        check_arguments(estimator, y)
        self.estimator, self.base = estimator, base_of(estimator)
        self.measure = question.measure_of(estimator)
        if self.measure.row_loss is None:
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
        self.names = candidate_names(question.candidates, estimator, np.asarray(y))
        weight_parameter(clone(self.base))  # Fails before the work if there is none.
        self.weighted: list[Any] = []
        self.assessed: dict[str, Assessed] = {}
        self.otherwise: dict[str, Any] | None = None

    def fit_unweighted(self, problem: RiskProblem, stage: Stage) -> None:
        """Choose the candidates for the kind of shift, and fit the first, without weights."""
        question = problem.question
        if problem.by_label and question.candidates is None:
            # Weights of classes are right or wrong as a whole.
            self.names = tuple(name for name in self.names if name not in ("power", "relative"))
        self.n_points = len(few_points(by_label=problem.by_label))
        n_jobs, seed = question.n_jobs, problem.seed
        self.none, *self.weighted = make_candidates(self.estimator, self.names, n_jobs, seed)
        started = time.perf_counter()
        self.finals = fit_finals([self.none], problem, stage.step)
        self.seconds = time.perf_counter() - started
        self.n_parameters = count_parameters(self.finals[0], problem.rows.X.shape[1])

    @property
    def n_weighted_fits(self) -> int:
        """About how many fits the candidates with weights need, each on all rows."""
        tuned = 1 + self.n_points * DefaultCriterion.n_folds
        return sum(
            tuned if isinstance(candidate, ImportanceWeightedCV) else 1
            for candidate in self.weighted
        )

    def assess_unweighted(self, diagnosis: Diagnosis, problem: RiskProblem, stage: Stage) -> None:
        """Assess the model without weights, and name the size of the shift."""
        self.diagnosis = diagnosis.for_parameters(self.n_parameters)
        (none,) = self._assess([self.none], problem, stage)
        self.assessed["none"], self.shift = none, self.diagnosis.shift
        if self.shift == "none":
            # A small group that costs much is a shift, and so are other class prevalences.
            worse = worse_in_deployment(none, BEYOND_DOUBT)
            matters = worse is not None and worse.low > 0
            self.shift = "slight" if matters or problem.by_label else "none"

    def is_settled(self, *, by_label: bool) -> bool:
        """Return True if nothing is weighted: no shift, or too little overlap."""
        if self.shift == "none" or self.diagnosis.overlap.word == "broken":
            return True
        # Weights that were given are assessed all the same.
        return not (self.diagnosis.overlap.can_weight or by_label or "given" in self.names)

    def assess_weighted(self, problem: RiskProblem, stage: Stage) -> None:
        """Assess the candidates with weights, which are fitted to all rows already."""
        assessed = self._assess(self.weighted, problem, stage)
        self.assessed |= zip(self.names[1:], assessed, strict=True)
        self.otherwise = self._assess_otherwise(problem)

    def assess_constant(self, problem: RiskProblem) -> Assessed | None:
        """Assess a constant baseline; None if the loss or the overlap allows none."""
        loss, overlap = self.measure.row_loss, self.diagnosis.overlap
        strategy = "median" if self.measure.name == "MAE" else "mean"
        is_class = is_classifier(self.base)
        guess = DummyClassifier(strategy="prior") if is_class else DummyRegressor(strategy=strategy)
        if loss is None or not hasattr(guess, loss.response) or overlap.word == "broken":
            return None
        return assess_procedures([guess], problem, self.measure, overlap=overlap)[0]

    def _assess(self, candidates: list[Any], problem: RiskProblem, stage: Stage) -> list[Assessed]:
        return assess_procedures(
            candidates,
            problem,
            self.measure,
            overlap=self.diagnosis.overlap,
            finals=self.finals,
            step=stage.step,
        )

    def _assess_otherwise(self, problem: RiskProblem) -> dict[str, Any] | None:
        """Return the losses under the other kind of shift if that is possible, else None."""
        other = problem.otherwise
        if other is None:
            return None
        held_out = self.assessed["none"].held_out
        assessed = (
            assess_held_out(held_out, other, self.measure, judge_overlap(other)),
            *assess_procedures([ImportanceWeighted(self.base)], other, self.measure),
        )
        none, full = (each.risk.estimate and each.risk.estimate.to_dict() for each in assessed)
        kind, mix = COVARIATE, ""
        if other.by_label:
            kind, mix = LABEL, other.ratio.frequencies_.change
        return {"kind": kind, "mix": mix, "none": none, "full": full}
