"""Predictions for rows by models that did not see them: a procedure, repeated on outer folds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

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
    """One kind of response of one procedure: each source row's by the model that did not see it.

    `at_target` holds the responses at the target rows, one array for each fold's model, and
    `of_final` those of the model that was fitted to all rows.
    """

    at_source: np.ndarray
    at_target: list[np.ndarray]
    of_final: np.ndarray


class Procedure(NamedTuple):
    """A procedure after its folds: what its models said, and the model fitted to all rows."""

    said: dict[str, HeldOut]
    final: Any


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
) -> Procedure:
    """Fit a copy of the estimator without each fold, and one to all rows; let them respond.

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
    Procedure
        What they said, and the model of all rows.
    """
    if isinstance(estimator, FrozenEstimator):
        found = {}
        for name, ask in responses.items():
            at_target = ask(estimator, X_target)
            found[name] = HeldOut(ask(estimator, X), [at_target], at_target)
        return Procedure(found, estimator)
    # no row is in fold -1: the last model is that of all rows
    held = [fold == k for k in (*range(int(fold.max()) + 1), -1)]
    fitted = Parallel(n_jobs=n_jobs)(
        delayed(_one_fold)(estimator, X, y, X_target, own, rows, responses) for rows in held
    )
    parts, final = [said for said, _ in fitted[:-1]], fitted[-1]
    found = {}
    for name in responses:
        first = parts[0][name][0]
        at_source = np.empty((y.size, *first.shape[1:]), dtype=first.dtype)
        for rows, part in zip(held, parts, strict=False):
            at_source[rows] = part[name][0]
        found[name] = HeldOut(at_source, [part[name][1] for part in parts], final[0][name][1])
    return Procedure(found, final[1])


def _one_fold(
    estimator: Any,
    X: Any,
    y: np.ndarray,
    X_target: Any,
    own: FloatArray | None,
    held: npt.NDArray[np.bool_],
    responses: dict[str, Response],
) -> tuple[dict[str, tuple[np.ndarray, np.ndarray]], Any]:
    """Return what the model said about the rows held and the target; the model if none is held."""
    kept = np.flatnonzero(~held)
    model = clone(estimator)
    X_kept, y_kept = table_rows(X, kept), y[kept]
    if own is None:
        model.fit(X_kept, y_kept)
    elif isinstance(model, WeightedEstimator):
        model.fit(X_kept, y_kept, sample_weight=own[kept])
    else:
        fit_with_weights(model, X_kept, y_kept, own[kept])
    said = {name: (np.empty(0), ask(model, X_target)) for name, ask in responses.items()}
    if held.any():
        X_held = table_rows(X, np.flatnonzero(held))
        said = {name: (ask(model, X_held), said[name][1]) for name, ask in responses.items()}
    return said, None if held.any() else model
