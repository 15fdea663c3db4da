"""How many fits the searches of slow models make, and how long these take."""

from __future__ import annotations

import math
from dataclasses import dataclass
from timeit import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone

from weighbridge._estimators import ImportanceWeightedCV
from weighbridge._pass_weights import fit_with_weights
from weighbridge.model_selection import DefaultCriterion, few_points, fixed_steps
from weighbridge.target_risk import RiskProblem

if TYPE_CHECKING:
    from weighbridge.verdict._compared import Compared


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


def plan_work(models: dict[str, Compared], problem: RiskProblem) -> Workload | None:
    """Return what models that are not solved together, with their candidates, have before them."""
    names, n_fits, seconds = [], 0, 0.0
    for name, model in models.items():
        fits = [_n_fits(candidate) for candidate in model.weighted]
        if max(fits, default=1) == 1 or model.seconds is None:
            continue
        count = (1 + problem.n_folds) * sum(fits)
        names.append(name)
        n_fits += count
        seconds += count * model.seconds
    return Workload(tuple(names), n_fits, seconds, problem.n_folds) if names else None


def seconds_of_a_fit(base: Any, problem: RiskProblem) -> float:
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
        return len(few_points()) * DefaultCriterion.n_folds
    return 1
