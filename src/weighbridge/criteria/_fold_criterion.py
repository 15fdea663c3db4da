"""What criteria that hold folds out have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from weighbridge.criteria._binned_objective import BinnedObjective, binnable_model
from weighbridge.criteria._criterion import Criterion
from weighbridge.criteria._fold_objective import FoldObjective, Split
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
        rows = source_rows(estimator, X, y, log_ratio, sample_weight, self.validation)
        scoring = default_scoring(estimator) if self.scoring is None else self.scoring
        seed = random_state if self.random_state is None else self.random_state
        splits = self._splits(estimator, rows, seed)
        model = binnable_model(estimator, rows, splits, scoring)
        if model is not None:
            return BinnedObjective(model, rows, splits, identity=[estimator, self])
        return FoldObjective(estimator, rows, splits, scoring, n_jobs=n_jobs, identity=[self])
