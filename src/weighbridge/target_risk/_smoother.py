"""Ridge regression on features, cross-fitted, in passes over blocks of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from weighbridge.target_risk._features import Features, FloatArray

# Penalties, in rows; the one with the smallest held-out squared error is used.
PENALTIES = (1e-3, 1e-1, 1.0, 10.0, 100.0, 1000.0)


class Smoothed(NamedTuple):
    """Cross-fitted values at the source rows; at the target rows the mean over the folds."""

    at_source: FloatArray
    at_target: FloatArray


def smooth(
    features: Features,
    X: Any,
    X_target: Any,
    values: FloatArray,
    weights: FloatArray,
    fold: npt.NDArray[np.intp],
) -> Smoothed:
    """Regress `values` on the features of the source rows, leaving each row's fold out.

    Parameters
    ----------
    features : Features
        What to regress on.
    X, X_target : tables
        The two samples.
    values : ndarray of shape (n_source, n_values)
        What to smooth.
    weights : ndarray of shape (n_source,)
        Weights of the source rows.
    fold : ndarray of shape (n_source,)
        Number of the fold that each row is held out in.

    Returns
    -------
    Smoothed
        Values for all rows, each from models that did not see the row.
    """
    n_folds = int(fold.max()) + 1
    grams = np.zeros((n_folds, features.width, features.width))
    moments = np.zeros((n_folds, features.width, values.shape[1]))
    for block, phi in features.blocks(X):
        for k in range(n_folds):
            rows = fold[block] == k
            weighted = phi[rows] * weights[block][rows, None]
            grams[k] += weighted.T @ phi[rows]
            moments[k] += weighted.T @ values[block][rows]
    gram, moment = grams.sum(axis=0), moments.sum(axis=0)
    scale = weights.mean()
    # all folds and penalties side by side: one pass predicts with each
    solved = np.array(
        [
            [_ridge(gram - grams[k], moment - moments[k], scale * penalty) for k in range(n_folds)]
            for penalty in PENALTIES
        ]
    )
    held_out = np.empty((len(PENALTIES), *values.shape))
    for block, phi in features.blocks(X):
        for k in range(n_folds):
            rows = np.flatnonzero(fold[block] == k)
            held_out[:, block.start + rows] = phi[rows] @ solved[:, k]
    errors = np.einsum("pij,i->p", (held_out - values) ** 2, weights)
    best = int(np.argmin(errors))
    return Smoothed(held_out[best], features.times(X_target, solved[best].mean(axis=0)))


def _ridge(gram: FloatArray, moment: FloatArray, penalty: float) -> FloatArray:
    """Solve the normal equations; the constant is not penalised."""
    shrunk = gram + penalty * np.eye(len(gram))
    shrunk[0, 0] = gram[0, 0] + 1e-12 * penalty
    return np.asarray(np.linalg.solve(shrunk, moment))
