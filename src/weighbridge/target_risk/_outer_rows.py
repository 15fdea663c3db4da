"""The rows of outer folds, as models are fitted to them and asked about them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from weighbridge._importance_weighted_cv import ImportanceWeightedCV
from weighbridge._weighted_estimator import WeightedEstimator
from weighbridge.criteria._linear_design import closed_form_family, fixed_steps
from weighbridge.criteria._rows import table_rows
from weighbridge.target_risk._features import FloatArray


class FoldRows(NamedTuple):
    """Rows to fit to, with what is known of them, and the tables to respond to.

    `asked` are the rows held out and the target rows. `log_ratio` is that of the rows to fit to, by
    the ratio of the whole problem; None where that is to be asked each time.
    """

    X: Any
    y: np.ndarray
    sample_weight: FloatArray | None
    log_ratio: FloatArray | None
    asked: tuple[Any, Any]


@dataclass(frozen=True)
class OuterRows:
    """Labelled rows, target rows and the fold that each labelled row is held out in."""

    X: Any
    y: np.ndarray
    X_target: Any
    sample_weight: FloatArray | None
    fold: npt.NDArray[np.intp]
    ratio: Any
    log_ratio: FloatArray

    @property
    def n_folds(self) -> int:
        """Number of outer folds."""
        return int(self.fold.max()) + 1

    def without(self, k: int, transformers: list[Any]) -> FoldRows:
        """Return the rows without fold k, after transformers that are fitted to them."""
        kept, held = np.flatnonzero(self.fold != k), np.flatnonzero(self.fold == k)
        X, X_held, X_target = table_rows(self.X, kept), table_rows(self.X, held), self.X_target
        for transformer in transformers:
            fitted = clone(transformer)
            X = fitted.fit_transform(X)
            X_held, X_target = fitted.transform(X_held), fitted.transform(X_target)
        return FoldRows(
            X,
            self.y[kept],
            None if self.sample_weight is None else self.sample_weight[kept],
            self.log_ratio[kept] if isinstance(self.ratio, FrozenEstimator) else None,
            (X_held, X_target),
        )


class ScoredRatio(FrozenEstimator):  # type: ignore[misc, unused-ignore]
    """A fitted ratio that knows its values at one table, and is asked for those of any other."""

    def __init__(self, estimator: Any, table: Any, log_ratio: FloatArray):
        super().__init__(estimator)
        self.table = table
        self.log_ratio = log_ratio

    def score_samples(self, X: Any) -> Any:
        """Return the log ratio at the rows of `X`."""
        return self.log_ratio if X is self.table else self.estimator.score_samples(X)


def share_transformers(estimators: list[Any], ratio: Any) -> tuple[list[Any], list[Any]]:
    """Take off the transformers that the estimators have in common; they are fitted once a fold.

    Only those of linear models whose transformers look at neither labels nor weights, and only
    where the choice of a weighting fits them to all rows anyway. A ratio takes the rows as they
    are: each must be the one whose values are known for all of them.
    """
    weighted = [each for each in estimators if isinstance(each, WeightedEstimator)]
    known = isinstance(ratio, FrozenEstimator) and all(each.ratio is ratio for each in weighted)
    if weighted and not known:
        return [], estimators
    bases = [base_of(each) for each in estimators]
    fixed = all(getattr(each, "criterion", None) is None for each in estimators)
    same = all(base is bases[0] for base in bases)
    if not (fixed and same and closed_form_family(bases[0]) is not None):
        return [], estimators
    steps = fixed_steps(bases[0])
    if steps is None or len(steps) == 1:
        return [], estimators
    last = steps[-1]
    alone = [
        clone(each).set_params(estimator=clone(last))
        if isinstance(each, WeightedEstimator)
        else last
        for each in estimators
    ]
    return steps[:-1], alone


def base_of(estimator: Any) -> Any:
    """Return the model that is weighted, or the estimator itself."""
    return estimator.estimator if isinstance(estimator, WeightedEstimator) else estimator


def with_own_journal(estimator: Any, k: int) -> Any:
    """Return a tuned estimator with a journal of its own for fold k, beside that of all rows."""
    if not isinstance(estimator, ImportanceWeightedCV) or estimator.journal is None:
        return estimator
    whole = Path(estimator.journal)
    path = whole.with_name(f"{whole.stem}-fold{k + 1}{whole.suffix}")
    return clone(estimator).set_params(journal=path)
