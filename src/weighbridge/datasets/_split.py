"""Induce a covariate shift with a known ratio in any data set."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils import Bunch, check_array, check_consistent_length, check_random_state
from sklearn.utils.multiclass import type_of_target

from weighbridge.ratios import KnownRatio, effective_sample_size
from weighbridge.tables import unmasked


def split_by_projection(
    X: Any,
    y: Any = None,
    *,
    slope: float = 4.0,
    direction: Any = "normal",
    random_state: Any = None,
) -> Bunch:
    """Split a data set into a source and a target sample by a random projection.

    Columns are standardised and projected, ``v = slope * (w'x) / sd(w'x)``. A row is assigned to
    the source with probability ``sigmoid(v)`` (Cortes et al. 2008, used in every experiment of the
    paper with slope 16). The true ratio is then known, including its constant:
    ``log r = -v + log(P(source) / P(target))``.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Numeric features.
    y : array-like of shape (n_samples,), optional
        Labels.
    slope : float, default=4.0
        Strength of the shift. At 16 the source has an effective sample size of 3 to 11 on the
        paper's sets; 1 to 8 is the useful range.
    direction : {"normal", "uniform"} or array of shape (n_features,), default="normal"
        Distribution of entries of ``w`` (standard normal, or uniform on (0, 1)), or ``w`` itself.
    random_state : int, RandomState instance or None
        Seed for direction and split.

    Returns
    -------
    Bunch
        ``X``, ``X_target`` (rows as given, not standardised), ``y``, ``y_target`` (None without
        `y`), ``log_ratio``, ``log_ratio_target``, ``ratio`` (a `KnownRatio`), ``ess`` (effective
        sample size of the ratio), ``direction``, ``source`` and ``target`` (row numbers), and
        ``classes_lost`` (target classes that the source does not have; None for regression).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weighbridge.datasets import split_by_projection
    >>> data = split_by_projection(*load_iris(return_X_y=True), slope=2, random_state=0)
    >>> len(data.X) + len(data.X_target)
    150
    >>> bool(data.ess < len(data.X))
    True
    """
    X = check_array(unmasked(X), dtype=np.float64, input_name="X")
    if y is not None:
        check_consistent_length(X, y)
        y = np.asarray(unmasked(y, "y"))
    if not np.isfinite(slope):
        raise ValueError(f"Got slope={slope}, but it must be a finite number.")
    rng = check_random_state(random_state)
    direction = _check_direction(direction, X.shape[1], rng)
    gradient, constant = _projection(X, slope, direction)
    v = X @ gradient + constant
    probability = expit(v)
    is_source = rng.uniform(size=v.size) < probability
    _check_split(is_source, y, slope)
    log_odds = np.log(probability.sum()) - np.log(expit(-v).sum())
    ratio = KnownRatio(partial(_log_ratio, gradient=gradient, constant=log_odds - constant))
    log_ratio = ratio.score_samples(X)
    source, target = np.flatnonzero(is_source), np.flatnonzero(~is_source)
    return Bunch(
        X=X[source],
        y=None if y is None else y[source],
        X_target=X[target],
        y_target=None if y is None else y[target],
        log_ratio=log_ratio[source],
        log_ratio_target=log_ratio[target],
        ratio=ratio,
        ess=effective_sample_size(np.exp(log_ratio[source] - log_ratio[source].max())),
        direction=direction,
        source=source,
        target=target,
        classes_lost=np.setdiff1d(y[target], y[source]) if _has_classes(y) else None,
    )


def _log_ratio(X: Any, gradient: np.ndarray, constant: float) -> np.ndarray:
    """Return the log ratio of target to source, given X in its original units."""
    return constant - np.asarray(X, dtype=float) @ gradient


def _check_direction(direction: Any, n_features: int, rng: np.random.RandomState) -> np.ndarray:
    """Draw a direction, or return the user's as an array."""
    if isinstance(direction, str) and direction in ("normal", "uniform"):
        draw = rng.standard_normal if direction == "normal" else rng.uniform
        return draw(size=n_features)
    vector = np.asarray(direction)
    is_numeric = vector.dtype.kind in "iuf" and np.isfinite(vector).all()
    if not is_numeric or vector.shape != (n_features,):
        raise ValueError(
            f"Got direction={direction!r}, but expected 'normal', 'uniform' or one finite number "
            f"for each of the {n_features} columns of X."
        )
    return vector.astype(float)


def _projection(X: np.ndarray, slope: float, direction: np.ndarray) -> tuple[np.ndarray, float]:
    """Return gradient and constant of v in the original units. Constant columns have gradient 0."""
    mean, sd = X.mean(axis=0), X.std(axis=0)
    is_constant = sd <= 1e-12 * np.maximum(1, np.abs(mean))
    gradient = np.where(is_constant, 0.0, direction / np.where(is_constant, 1.0, sd))
    spread = (X @ gradient).std()
    if not spread > 0:
        raise ValueError(
            "Got a projection that is the same for every row: all columns of X are constant, or "
            "the direction is 0 on those that are not. Nothing can be split along it."
        )
    gradient *= slope / spread
    return gradient, float(-mean @ gradient)


def _has_classes(y: Any) -> bool:
    """Return True for text, booleans and integers with at most 20 values."""
    is_discrete = y is not None and type_of_target(y) in ("binary", "multiclass")
    return is_discrete and (y.dtype.kind not in "iuf" or np.unique(y).size <= 20)


def _check_split(is_source: np.ndarray, y: Any, slope: float) -> None:
    remedy = f"Use another random_state, a smaller slope (here {slope:g}) or more rows."
    for name, rows in (("source", is_source), ("target", ~is_source)):
        if not rows.any():
            raise ValueError(f"The split left the {name} without rows. {remedy}")
        if _has_classes(y) and np.unique(y[rows]).size < 2:
            raise ValueError(
                f"The split left the {name} with one class only ({y[rows][0]!r} in all "
                f"{rows.sum()} rows). {remedy}"
            )
