"""The candidates that a ratio is chosen from, made when they are needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import HistGradientBoostingClassifier

from weighbridge.ratios._candidates import Candidate
from weighbridge.ratios._classifier import family_and_view
from weighbridge.ratios._columns import take_rows
from weighbridge.ratios._cross_fit import Single
from weighbridge.ratios._logistic import LogisticPath
from weighbridge.ratios._quadratic import can_be_squared
from weighbridge.ratios._table import TableEncoder
from weighbridge.ratios._ulsif import ULSIF
from weighbridge.ratios._views import FactoredView, NumbersView, TreesView, View

# Trees look at every column at every split.
MAX_TREE_COLUMNS = 1000
# With fewer rows of a sample trees have nothing to split, and kernels no rows to hold out.
MIN_TREE_ROWS = 50
MIN_KERNEL_ROWS = 10
# A linear model of so few coefficients cannot know its own rows, and is fitted to all of them.
ROWS_PER_COEFFICIENT = 20

# By name, from the smoothest to the most flexible.
Makers = dict[str, Callable[[], Candidate]]


def own_makers(candidates: Any, X: Any, codes: np.ndarray) -> Makers:
    """Return what makes each candidate of the user's."""
    return {name: partial(_own, name, model, X, codes) for name, model in candidates}


def _own(name: str, model: Any, X: Any, codes: np.ndarray) -> Candidate:
    """Return a candidate of the user's."""
    family, view = family_and_view(model, X, codes)
    return Candidate(name, family, view, refit=hasattr(model, "score_samples"))


def default_makers(X: Any, codes: np.ndarray, seed: int) -> Makers:
    """Return what makes each of the default candidates that suit the table."""
    encoder = TableEncoder().fit(X, codes)
    numbers = NumbersView(encoder)
    first = numbers(take_rows(X, slice(0, 1)))
    fewest, dense = int(np.bincount(codes).min()), not sp.issparse(X)
    plain = fewest >= ROWS_PER_COEFFICIENT * (first.shape[1] + 1)

    def quadratic() -> Candidate:
        view = FactoredView(encoder).fit(X)
        return Candidate("quadratic", LogisticPath(), view, extends="linear")

    def boosting() -> Candidate:
        trees = Single(_boosting(encoder.categorical, seed))
        return Candidate("boosting", trees, TreesView(encoder), temper=True)

    makers: Makers = {"linear": lambda: Candidate("linear", LogisticPath(), numbers, refit=plain)}
    if dense and can_be_squared(first):
        makers["quadratic"] = quadratic
    if fewest >= MIN_KERNEL_ROWS:
        kernels = Single(ULSIF(random_state=seed))
        makers["ulsif"] = lambda: Candidate("ulsif", kernels, View(), refit=True)
    if dense and X.shape[1] <= MAX_TREE_COLUMNS and fewest >= MIN_TREE_ROWS:
        makers["boosting"] = boosting
    return makers


def _boosting(categorical: np.ndarray, seed: int) -> HistGradientBoostingClassifier:
    """Return small trees that stop early: a ratio is smoother than most things trees learn."""
    return HistGradientBoostingClassifier(
        learning_rate=0.05,
        max_iter=500,
        max_leaf_nodes=8,
        l2_regularization=1.0,
        early_stopping=True,
        categorical_features=categorical if categorical.any() else None,
        random_state=seed,
    )
