"""Predictions for rows by models that did not see them: a procedure, repeated on outer folds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, StratifiedKFold

from weighbridge._pass_weights import fit_with_weights
from weighbridge._weighted_estimator import WeightedEstimator
from weighbridge.criteria._rows import table_rows
from weighbridge.target_risk._features import FloatArray

Response = Callable[[Any, Any], np.ndarray]


@dataclass(frozen=True)
class HeldOut:
    """Responses of one procedure: each source row's by the model that did not see it.

    `at_target` holds the responses at the target rows, one array for each fold's model.
    """

    at_source: np.ndarray
    at_target: list[np.ndarray]


def fold_of_rows(
    y: np.ndarray, n_folds: int, seed: int, *, stratified: bool
) -> npt.NDArray[np.intp]:
    """Deal the rows into folds; the number of each row's fold."""
    fold = np.zeros(y.size, dtype=np.intp)
    kind = StratifiedKFold if stratified else KFold
    for k, (_, test) in enumerate(kind(n_folds, shuffle=True, random_state=seed).split(y, y)):
        fold[test] = k
    return fold


def held_out(
    estimator: Any,
    X: Any,
    y: np.ndarray,
    X_target: Any,
    *,
    own: FloatArray | None,
    fold: npt.NDArray[np.intp],
    responses: dict[str, Response],
    n_jobs: int | None = None,
) -> dict[str, HeldOut]:
    """Fit a copy of the estimator without each fold; let it respond to the fold and the target.

    Parameters
    ----------
    estimator : estimator
        What to fit, or a frozen one, which is taken as it is.
    X, y, X_target : tables and labels
        Labelled source rows, target rows.
    own : ndarray of shape (n_source,) or None
        Own weights of the source rows.
    fold : ndarray of shape (n_source,)
        Number of the fold that each row is held out in.
    responses : dict of name to function(model, X)
        What to ask the fitted models for.
    n_jobs : int or None
        Folds fitted in parallel.

    Returns
    -------
    dict of name to HeldOut
        What they said.
    """
    if isinstance(estimator, FrozenEstimator):
        return {
            name: HeldOut(ask(estimator, X), [ask(estimator, X_target)])
            for name, ask in responses.items()
        }
    n_folds = int(fold.max()) + 1
    parts = Parallel(n_jobs=n_jobs)(
        delayed(_one_fold)(estimator, X, y, X_target, own, fold == k, responses)
        for k in range(n_folds)
    )
    found = {}
    for name in responses:
        first = parts[0][name][0]
        at_source = np.empty((y.size, *first.shape[1:]), dtype=first.dtype)
        for k, part in enumerate(parts):
            at_source[fold == k] = part[name][0]
        found[name] = HeldOut(at_source, [part[name][1] for part in parts])
    return found


def _one_fold(
    estimator: Any,
    X: Any,
    y: np.ndarray,
    X_target: Any,
    own: FloatArray | None,
    held: npt.NDArray[np.bool_],
    responses: dict[str, Response],
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    kept = np.flatnonzero(~held)
    model = clone(estimator)
    X_kept, y_kept = table_rows(X, kept), y[kept]
    if own is None:
        model.fit(X_kept, y_kept)
    elif isinstance(model, WeightedEstimator):
        model.fit(X_kept, y_kept, sample_weight=own[kept])
    else:
        fit_with_weights(model, X_kept, y_kept, own[kept])
    X_held = table_rows(X, np.flatnonzero(held))
    return {name: (ask(model, X_held), ask(model, X_target)) for name, ask in responses.items()}
