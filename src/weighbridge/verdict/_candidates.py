"""The weightings that a verdict compares, by the names they are shown as."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from numbers import Integral
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from weighbridge._estimators import (
    MOST_COLUMNS,
    ImportanceWeighted,
    ImportanceWeightedCV,
    WeightedEstimator,
)
from weighbridge._findings import Stages
from weighbridge.criteria import (
    MANY_ROWS,
    CrossValidation,
    Normal,
    closed_form_family,
    has_closed_form,
)
from weighbridge.search import BayesianSearch
from weighbridge.target_risk import Assessed, RiskProblem

# shown as: literature name
LITERATURE = {
    "none": "ERM",
    "full": "IWERM",
    "power": "AIWERM",
    "relative": "RIWERM",
    "tuned": "IGIWERM",
    "given": "yours",
}
CHEAP = ("none", "full", "power", "relative", "tuned")
COSTLY = ("none", "full", "tuned")


def make_candidates(
    estimator: Any, names: tuple[str, ...], n_jobs: int | None, seed: int
) -> list[Any]:
    """Return the procedures behind the names."""
    weighted = isinstance(estimator, WeightedEstimator)
    base = estimator.estimator if weighted else estimator
    options: dict[str, Any] = {"n_jobs": n_jobs, "random_state": seed, "verbose": 0}
    made: dict[str, Callable[[], Any]] = {
        "none": lambda: base,
        "full": lambda: ImportanceWeighted(base),
        "power": lambda: ImportanceWeightedCV(
            base, alpha_bounds=(1.0, 1.0), answer="argmin", **options
        ),
        "relative": lambda: ImportanceWeightedCV(
            base, alpha_bounds=(3.0, 3.0), answer="argmin", **options
        ),
        "tuned": lambda: estimator if weighted else ImportanceWeightedCV(base, **options),
        "given": lambda: estimator,
    }
    return [made[name]() for name in names]


def candidate_names(names: Any, estimator: Any, y: Any) -> tuple[str, ...]:
    """Check the names; by default all five where candidates are cheap, else three."""
    own = weighted_name(estimator)
    if names is None:
        base = estimator.estimator if isinstance(estimator, WeightedEstimator) else estimator
        # many rows of a logistic model are searched fit by fit, those of a line in one pass
        cheap = has_closed_form(base, y) and (y.size < MANY_ROWS or not is_classifier(base))
        found = CHEAP if cheap else COSTLY
        return tuple(own if name == "tuned" else name for name in found)
    found = () if isinstance(names, str) else tuple(names)
    known = [*CHEAP[:-1], own]
    if not {"none", own} <= set(found) <= set(known):
        raise ValueError(
            f"Got candidates={names!r}, but expected a list of {', '.join(known)} with at least "
            f"none and {own} among them."
        )
    return tuple(name for name in known if name in found)


def weighted_name(estimator: Any) -> str:
    """Return what the weighted candidate is called: one whose weighting is fixed was not tuned."""
    if isinstance(estimator, ImportanceWeightedCV):
        (low, high), (low_alpha, high_alpha) = estimator.lam_bounds, estimator.alpha_bounds
        # no weights and the full ratio are the same for every alpha
        fixed = low == high and (low_alpha == high_alpha or low in (0, 1))
        return "given" if fixed else "tuned"
    return "given" if isinstance(estimator, WeightedEstimator) else "tuned"


@dataclass(frozen=True)
class Workload:
    """About how many fits searches of some models make, and their seconds one after the other."""

    names: tuple[str, ...]
    n_fits: int
    seconds: float
    n_folds: int

    def duration(self, jobs: int) -> float:
        """Return about how long the work takes with that many jobs, in seconds."""
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


class Journals:
    """Gives a journal to candidates that search, and takes it from their fitted models again."""

    def __init__(self, folder: Any, seed: int):
        self.folder = None if folder is None else Path(folder)
        self.seed = seed

    def given_to(
        self,
        model: str,
        names: tuple[str, ...],
        candidates: list[Any],
        n_parameters: int,
        y: np.ndarray,
    ) -> list[Any]:
        """Return the candidates, those that search long with a journal named after them."""
        if self.folder is None:
            return candidates
        return [
            self._with_journal(each, f"{model}-{name}" if model else name)
            if isinstance(each, ImportanceWeightedCV) and not _is_quick(each, n_parameters, y)
            else each
            for name, each in zip(names, candidates, strict=True)
        ]

    def _with_journal(self, candidate: ImportanceWeightedCV, name: str) -> Any:
        assert self.folder is not None
        self.folder.mkdir(parents=True, exist_ok=True)
        options: dict[str, Any] = {"journal": self.folder / f"{_file_name(name)}.jsonl"}
        if not isinstance(candidate.random_state, Integral):
            options["random_state"] = self.seed
        return type(candidate)(**(candidate.get_params(deep=False) | options))

    def taken_off(self, assessed: Assessed) -> Assessed:
        """Take the journal from a fitted model: it belongs to this job, not to the model."""
        if self.folder is not None and isinstance(assessed.model, ImportanceWeightedCV):
            assessed.model.set_params(journal=None)
        return assessed


def check_journal(folder: Any, random_state: Any) -> None:
    """Refuse a file in place of a folder, and a job that the next run could not repeat."""
    if folder is None:
        return
    if not isinstance(random_state, Integral):
        raise ValueError(
            f"Got journal={str(folder)!r} with random_state={random_state!r}; give an integer "
            "random_state: the next run must deal the same folds to go on from the journal."
        )
    if Path(folder).exists() and not Path(folder).is_dir():
        raise ValueError(
            f"Got journal={str(folder)!r}, which is a file; name a folder: every candidate and "
            "fold keeps its own journal there."
        )


def _is_quick(candidate: ImportanceWeightedCV, n_parameters: int, y: np.ndarray) -> bool:
    """True where all weightings are solved together, and over before anyone interrupts them."""
    base = candidate.estimator
    usual = candidate.criterion is None and candidate.search is None
    together = y.size < MANY_ROWS or isinstance(closed_form_family(base), Normal)
    return usual and has_closed_form(base, y) and together and n_parameters <= MOST_COLUMNS


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "-", name)
