"""A folder with one search journal for each candidate and fold, so that a killed job goes on."""

from __future__ import annotations

import re
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from weighbridge._importance_weighted_cv import MOST_COLUMNS, ImportanceWeightedCV
from weighbridge.criteria._binned_objective import MANY_ROWS
from weighbridge.criteria._families import Normal
from weighbridge.criteria._linear_design import closed_form_family, has_closed_form
from weighbridge.target_risk._assessed import Assessed


class Journals:
    """Gives a journal to candidates that search, and takes it from their fitted models again.

    Parameters
    ----------
    folder : path or None
        Where the journals are kept; made if it is missing.
    seed : int
        Of searches that have none: the next run must deal the same folds.
    """

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
    """Refuse a folder that is none, and a job that the next run could not repeat."""
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
            "fold keeps a journal of its own there."
        )


def _is_quick(candidate: ImportanceWeightedCV, n_parameters: int, y: np.ndarray) -> bool:
    """True where all weightings are solved together, and over before anyone interrupts them."""
    base = candidate.estimator
    usual = candidate.criterion is None and candidate.search is None
    together = y.size < MANY_ROWS or isinstance(closed_form_family(base), Normal)
    return usual and has_closed_form(base, y) and together and n_parameters <= MOST_COLUMNS


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "-", name)
