"""The models that a ratio is cross-fitted from: those of the package, and those of the user."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier

from weighbridge.ratios._cross_fit import Candidate, FitMembers, fit_single
from weighbridge.ratios._kernel import bandwidth_grid
from weighbridge.ratios._logistic import fit_logistic_path
from weighbridge.ratios._ulsif import ULSIF
from weighbridge.tables import (
    MAX_PRODUCTS,
    QuadraticFeatures,
    TableEncoder,
    can_be_squared,
    finite_sparse,
    is_frame,
    take_rows,
)

# Trees look at every column at every split; with fewer rows of a sample there is nothing to split.
MAX_TREE_COLUMNS, MIN_TREE_ROWS = 1000, 50
# With more columns than these, fewer values of each are distinguished: their number is the cost.
MANY_COLUMNS, FEW_BINS = 100, 64
# With fewer rows of a sample, kernels have no rows to hold out.
MIN_KERNEL_ROWS = 10
# With so many rows per coefficient, a linear model does not overfit its own rows.
ROWS_PER_COEFFICIENT = 20


def can_fit_trees(X: Any, codes: np.ndarray, min_rows: int = MIN_TREE_ROWS) -> bool:
    """Return True for a dense table of few enough columns with `min_rows` rows of each class."""
    is_narrow = not sp.issparse(X) and X.shape[1] <= MAX_TREE_COLUMNS
    return is_narrow and bool(np.bincount(codes).min() >= min_rows)


def small_trees(
    categorical: np.ndarray, seed: int, *, learning_rate: float, max_iter: int, patience: int
) -> HistGradientBoostingClassifier:
    """Return boosted trees of 8 leaves that stop early, since shifts are often simple."""
    return HistGradientBoostingClassifier(
        learning_rate=learning_rate,
        max_iter=max_iter,
        max_leaf_nodes=8,
        l2_regularization=1.0,
        max_bins=255 if categorical.size <= MANY_COLUMNS else FEW_BINS,
        early_stopping=True,
        n_iter_no_change=patience,
        categorical_features=categorical if categorical.any() else None,
        random_state=seed,
    )


def dense_if_narrow(X: Any) -> Any:
    """Return a sparse table as a dense one if its columns are few enough for products."""
    return finite_sparse(X).toarray() if sp.issparse(X) and X.shape[1] <= MAX_PRODUCTS else X


def ratio_candidates(X: Any, codes: np.ndarray, seed: int) -> dict[str, Callable[[], Candidate]]:
    """Return functions that make the candidates, from the simplest to the most flexible."""
    encoder = TableEncoder().fit(X, codes)
    makers: dict[str, Callable[[], Candidate]] = {
        "constant": partial(Candidate, "constant", None, _same_table, refit=True),
        "linear": partial(_linear, encoder, X, codes),
    }
    if can_be_squared(encoder.numbers(take_rows(X, slice(0, 1)))):
        makers["quadratic"] = partial(quadratic, encoder, X)
    if np.bincount(codes).min() >= MIN_KERNEL_ROWS:
        makers["ulsif"] = partial(_ulsif, encoder, X, codes, seed)
    if can_fit_trees(X, codes):
        makers["boosting"] = partial(_boosting, encoder, seed)
    return makers


def _same_table(X: Any) -> Any:
    return X


def given_model(model: Any, X: Any, codes: np.ndarray) -> Candidate:
    """Return the user's model as a candidate. Trees get our categories, if they name none."""
    view = _same_table
    named = getattr(model, "categorical_features", None)
    is_unnamed = named is None or (isinstance(named, str) and named == "from_dtype")
    if is_frame(X) and isinstance(model, HistGradientBoostingClassifier) and is_unnamed:
        encoder = TableEncoder().fit(X, codes)
        model = clone(model).set_params(categorical_features=encoder.categorical)
        view = encoder.for_trees
    return Candidate("given", partial(fit_single, model), view)


def _linear(encoder: TableEncoder, X: Any, codes: np.ndarray) -> Candidate:
    path = partial(fit_logistic_path, centre=encoder.sparse_centre)
    coefficients = encoder.numbers(take_rows(X, slice(0, 1))).shape[1] + 1
    has_many_rows = np.bincount(codes).min() >= ROWS_PER_COEFFICIENT * coefficients
    return Candidate("linear", path, encoder.numbers, refit=bool(has_many_rows))


def quadratic(encoder: TableEncoder, X: Any) -> Candidate:
    """Return logistic regression on squares and products, if the columns are few enough."""
    path = partial(fit_logistic_path, centre=encoder.sparse_centre)
    view = QuadraticFeatures(encoder, factored=True).fit(X)
    return Candidate("quadratic", path, view, extends="linear")


def _ulsif(encoder: TableEncoder, X: Any, codes: np.ndarray, seed: int) -> Candidate:
    leading = (np.flatnonzero(codes == code)[:500] for code in (0, 1))
    source, target = (encoder.numbers(take_rows(X, rows)) for rows in leading)
    centres = target[:100].toarray() if sp.issparse(target) else target[:100]
    grid = bandwidth_grid(None, source, target, centres)[::2]
    members = partial(fit_single, ULSIF(bandwidths=grid, random_state=seed))
    return Candidate("ulsif", members, _same_table, refit=True, settle=_settled)


def _boosting(encoder: TableEncoder, seed: int) -> Candidate:
    trees = small_trees(encoder.categorical, seed, learning_rate=0.2, max_iter=500, patience=5)
    return Candidate(
        "boosting",
        partial(fit_single, trees.set_params(max_bins=FEW_BINS)),
        encoder.for_trees,
        calibration="flatten",
        extends="linear",
        settle=_settled,
    )


def _settled(fitted: Any) -> FitMembers:
    """Return what fits the other folds with what the first one chose."""
    settled = clone(fitted)
    if isinstance(fitted, ULSIF):
        settled.set_params(bandwidths=[fitted.bandwidth_], ridges=[fitted.ridge_])
    else:
        settled.set_params(max_iter=fitted.n_iter_, early_stopping=False)
    return partial(fit_single, settled)
