"""How much is left to do before a verdict, where models are fitted one by one."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from time import perf_counter
from typing import Any

from sklearn.base import clone

from weighbridge._findings import Stages
from weighbridge._importance_weighted_cv import ImportanceWeightedCV
from weighbridge.criteria import CrossValidation
from weighbridge.criteria._linear_design import has_closed_form
from weighbridge.search import BayesianSearch
from weighbridge.target_risk._problem import RiskProblem


@dataclass(frozen=True)
class Workload:
    """About how many fits searches of some models make, and their seconds one after the other."""

    names: tuple[str, ...]
    n_fits: int
    seconds: float
    n_folds: int

    def duration(self, jobs: int) -> float:
        """Return about how long so many jobs take, in seconds.

        A search is a chain, whose next step needs the one before: jobs share the searches without
        each fold, and that on all rows is one for itself.
        """
        rounds = 1 + ceil(self.n_folds / min(jobs, self.n_folds))
        return self.seconds * rounds / (1 + self.n_folds)


def announce_work(
    models: dict[str, tuple[Any, list[Any]]], problem: RiskProblem, stages: Stages
) -> None:
    """Tell what models without a closed form, each with its candidates, have before them."""
    names, n_fits, seconds = [], 0, 0.0
    for name, (base, candidates) in models.items():
        is_searched = any(map(_is_usual_search, candidates))
        if not is_searched or has_closed_form(base, problem.rows.y):
            continue
        count = (1 + problem.n_folds) * sum(map(_n_fits, candidates))
        names.append(name)
        n_fits += count
        seconds += count * _seconds_of_a_fit(base, problem)
    if names:
        stages.heard("work", Workload(tuple(names), n_fits, seconds, problem.n_folds))


def _seconds_of_a_fit(base: Any, problem: RiskProblem) -> float:
    """Return how long one more fit takes; the first of two may also wait for its libraries."""
    found = []
    for _ in range(2):
        started = perf_counter()
        clone(base).fit(problem.rows.X, problem.rows.y)
        found.append(perf_counter() - started)
    return min(found)


def _is_usual_search(candidate: Any) -> bool:
    """Return whether a candidate is searched for with parts whose number of fits is known."""
    is_search = isinstance(candidate, ImportanceWeightedCV)
    return is_search and candidate.criterion is None and candidate.search is None


def _n_fits(candidate: Any) -> int:
    if _is_usual_search(candidate):
        return BayesianSearch().n_evaluations * int(CrossValidation().cv)
    return 1
