"""What criteria that hold folds out have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from weighbridge._namespace import is_foreign
from weighbridge.blocks import ON_BLOCKS, block_steps, is_blocks
from weighbridge.criteria._binned_objective import (
    BinnedObjective,
    binnable_model,
    binned_model,
    fold_numbers,
)
from weighbridge.criteria._criterion import Criterion
from weighbridge.criteria._families import Normal
from weighbridge.criteria._fold_objective import FoldObjective, Split
from weighbridge.criteria._linear_design import closed_form_family
from weighbridge.criteria._objective import CandidateObjective
from weighbridge.criteria._row_loss import default_scoring
from weighbridge.criteria._rows import SourceRows, source_rows


class FoldCriterion(Criterion):
    """Abstract: fits on some rows, losses of others. Members say which."""

    scoring: Any
    validation: Any
    random_state: Any

    @abstractmethod
    def _splits(self, estimator: Any, rows: SourceRows, seed: Any) -> list[Split]:
        """Split the rows; the same for all candidates."""

    def objective(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        log_ratio: Any,
        sample_weight: Any = None,
        *,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> CandidateObjective:
        """Deal the folds; see `Criterion.objective`."""
        scoring = default_scoring(estimator) if self.scoring is None else self.scoring
        seed = random_state if self.random_state is None else self.random_state
        if is_blocks(X) or (is_foreign(X) and _works_on_blocks(estimator)):
            self._check_blocks(estimator, scoring)
            rows = source_rows(
                estimator, X, y, log_ratio, sample_weight, self.validation, on_blocks=True
            )
            return self._on_blocks(estimator, rows, seed)
        rows = source_rows(estimator, X, y, log_ratio, sample_weight, self.validation)
        splits = self._splits(estimator, rows, seed)
        fold = fold_numbers(splits, rows.y.size)
        model = binnable_model(estimator, rows, fold, scoring)
        if model is not None and fold is not None:
            return BinnedObjective(model, rows, fold, identity=[splits, estimator, self])
        return FoldObjective(estimator, rows, splits, scoring, n_jobs=n_jobs, identity=[self])

    def _on_blocks(self, estimator: Any, rows: SourceRows, seed: Any) -> CandidateObjective:
        fold = self._fold_numbers(estimator, rows, seed)
        if fold is None:
            raise TypeError(
                f"Got {self!r} and rows in blocks, where each row is held out once; use "
                "criteria.CrossValidation() with a number of folds."
            )
        model = binned_model(estimator, rows, int(fold.max()) + 1)
        return BinnedObjective(model, rows, fold, identity=[fold, estimator, self])

    def _fold_numbers(
        self, estimator: Any, rows: SourceRows, seed: Any
    ) -> npt.NDArray[np.int32] | None:
        """Deal rows by their numbers alone; as `KFold` does, without a list of rows a fold."""
        n, cv = rows.y.size, getattr(self, "cv", None)
        if not isinstance(cv, Integral) or not 2 <= int(cv) <= n:
            return fold_numbers(self._splits(estimator, replace(rows, X=rows.y), seed), n)
        order = np.arange(n)
        check_random_state(seed).shuffle(order)
        sizes = np.full(int(cv), n // int(cv))
        sizes[: n % int(cv)] += 1
        fold = np.empty(n, dtype=np.int32)
        fold[order] = np.repeat(np.arange(int(cv), dtype=np.int32), sizes)
        return fold

    def _check_blocks(self, estimator: Any, scoring: Any) -> None:
        """Refuse what does not work on blocks, before the rows are read."""
        if not isinstance(closed_form_family(block_steps(estimator)[-1]), Normal):
            raise TypeError(
                f"Got {estimator!r} and rows in blocks, where candidates are scored of {ON_BLOCKS} "
                "without positive=True."
            )
        if scoring != "neg_mean_squared_error":
            raise TypeError(
                f"Got scoring={scoring!r} and rows in blocks, where the loss is the squared error; "
                "leave scoring out, or use rows in memory (rows.sample(n))."
            )


def _works_on_blocks(estimator: Any) -> bool:
    try:
        block_steps(estimator)
    except TypeError:
        return False
    return True
