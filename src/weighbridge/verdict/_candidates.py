"""The weightings that a verdict compares, by the names they are shown as."""

from __future__ import annotations

import re
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from weighbridge._estimators import (
    MOST_COLUMNS,
    ImportanceWeighted,
    ImportanceWeightedCV,
    WeightedEstimator,
)
from weighbridge.criteria import is_solved_together
from weighbridge.target_risk import Assessed, base_of

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
    base = base_of(estimator)
    options: dict[str, Any] = {"n_jobs": n_jobs, "random_state": seed, "verbose": 0}
    made = {
        "none": base,
        "full": ImportanceWeighted(base),
        "power": ImportanceWeightedCV(base, alpha_bounds=(1.0, 1.0), answer="argmin", **options),
        "relative": ImportanceWeightedCV(base, alpha_bounds=(3.0, 3.0), answer="argmin", **options),
        "tuned": ImportanceWeightedCV(base, **options) if base is estimator else estimator,
        "given": estimator,
    }
    return [made[name] for name in names]


def candidate_names(names: Any, estimator: Any, y: Any) -> tuple[str, ...]:
    """Check the names; by default all five where candidates are cheap, else three."""
    own = weighted_name(estimator)
    if names is None:
        found = CHEAP if is_solved_together(base_of(estimator), y) else COSTLY
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
        file = re.sub(r"[^A-Za-z0-9_.-]", "-", name)
        options: dict[str, Any] = {"journal": self.folder / f"{file}.jsonl"}
        if not isinstance(candidate.random_state, Integral):
            options["random_state"] = self.seed
        return type(candidate)(**(candidate.get_params(deep=False) | options))

    def taken_off(self, assessed: Assessed) -> Assessed:
        """Take the journal from a fitted model: it belongs to this job, not to the model."""
        if self.folder is not None and isinstance(assessed.model, ImportanceWeightedCV):
            assessed.model.set_params(journal=None)
        return assessed


def _is_quick(candidate: ImportanceWeightedCV, n_parameters: int, y: np.ndarray) -> bool:
    """True where all weightings are solved together, and over before anyone interrupts them."""
    base = candidate.estimator
    usual = candidate.criterion is None and candidate.search is None
    return usual and is_solved_together(base, y) and n_parameters <= MOST_COLUMNS
