"""Covariate shift induced in any data set, with a known ratio."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils import Bunch, check_array, check_consistent_length, check_random_state
from sklearn.utils.multiclass import type_of_target

from weighbridge.ratios import KnownRatio, effective_sample_size
from weighbridge.tables import unmasked


class ProjectionLogRatio:
    """Log ratio of the rows that a split by projection sends to the target."""

    def __init__(self, slope: np.ndarray, offset: float):
        self.slope = slope
        self.offset = offset

    def __call__(self, X: Any) -> np.ndarray:
        """Return the log ratio at the rows of `X`, in the units of the original columns."""
        return self.offset - np.asarray(X, dtype=float) @ self.slope


def split_by_projection(
    X: Any,
    y: Any = None,
    *,
    slope: float = 4.0,
    direction: Any = "normal",
    random_state: Any = None,
) -> Bunch:
    """Split a data set into a source and a target sample by a random projection.

    Columns are standardised and projected, ``v = slope * (w'x) / sd(w'x)``; a row goes to the
    source with probability ``sigmoid(v)`` (Cortes et al. 2008, used in every experiment of the
    paper, with slope 16). The true ratio is then known, constant included:
    ``log r = -v + log(P(source) / P(target))``.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Numeric features.
    y : array-like of shape (n_samples,), optional
        Labels.
    slope : float, default=4.0
        Strength of the shift. At 16 the source has 3 to 11 effective rows on the paper's sets;
        1 to 8 is the useful range.
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
    direction = _direction(direction, X.shape[1], rng)
    gradient, constant = _projection(X, slope, direction)
    v = X @ gradient + constant
    to_source = expit(v)
    chosen = rng.uniform(size=v.size) < to_source
    _check_split(chosen, y, slope)
    log_odds = np.log(to_source.sum()) - np.log(expit(-v).sum())
    ratio = KnownRatio(ProjectionLogRatio(gradient, log_odds - constant))
    log_ratio = ratio.score_samples(X)
    return Bunch(
        X=X[chosen],
        y=None if y is None else y[chosen],
        X_target=X[~chosen],
        y_target=None if y is None else y[~chosen],
        log_ratio=log_ratio[chosen],
        log_ratio_target=log_ratio[~chosen],
        ratio=ratio,
        ess=effective_sample_size(np.exp(log_ratio[chosen] - log_ratio[chosen].max())),
        direction=direction,
        source=np.flatnonzero(chosen),
        target=np.flatnonzero(~chosen),
        classes_lost=np.setdiff1d(y[~chosen], y[chosen]) if _has_classes(y) else None,
    )


def _direction(direction: Any, n_features: int, rng: np.random.RandomState) -> np.ndarray:
    if isinstance(direction, str):
        if direction == "normal":
            return rng.standard_normal(n_features)
        if direction == "uniform":
            return rng.uniform(size=n_features)
        raise ValueError(
            f"Got direction={direction!r}, but expected 'normal', 'uniform' or an array."
        )
    direction = np.asarray(direction, dtype=float)
    if direction.shape != (n_features,) or not np.isfinite(direction).all():
        raise ValueError(
            f"Got direction of shape {direction.shape}, but expected {n_features} finite numbers, "
            "one for each column of X."
        )
    return direction


def _projection(X: np.ndarray, slope: float, direction: np.ndarray) -> tuple[np.ndarray, float]:
    """Gradient and constant of v in the original units; constant columns count for nothing."""
    mean, sd = X.mean(axis=0), X.std(axis=0)
    constant = sd <= 1e-12 * np.maximum(1, np.abs(mean))
    gradient = np.where(constant, 0.0, direction / np.where(constant, 1.0, sd))
    spread = (X @ gradient).std()
    if not spread > 0:
        raise ValueError(
            "Got a projection that is the same for every row: all columns of X are constant, or "
            "the direction is 0 on those that are not. Nothing can be split along it."
        )
    gradient *= slope / spread
    return gradient, float(-mean @ gradient)


def _has_classes(y: np.ndarray | None) -> bool:
    """True for text, booleans and whole numbers with at most 20 values."""
    if y is None or type_of_target(y) not in ("binary", "multiclass"):
        return False
    return y.dtype.kind not in "iuf" or np.unique(y).size <= 20


def _check_split(chosen: np.ndarray, y: np.ndarray | None, slope: float) -> None:
    remedy = f"Use another random_state, a smaller slope (here {slope:g}) or more rows."
    for name, rows in (("source", chosen), ("target", ~chosen)):
        if not rows.any():
            raise ValueError(f"The split left the {name} without rows. {remedy}")
        if _has_classes(y) and np.unique(y[rows]).size < 2:  # type: ignore[index]
            raise ValueError(
                f"The split left the {name} with one class only ({y[rows][0]!r} in all "  # type: ignore[index]
                f"{rows.sum()} rows). {remedy}"
            )
