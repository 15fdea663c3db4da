"""Gaussian samples that differ in mean or scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from weighbridge.ratios import KnownRatio


class GaussianLogRatio:
    """Log ratio of N(mean, scale**2 I) to N(0, I)."""

    def __init__(self, mean: np.ndarray, scale: float):
        self.mean = mean
        self.scale = scale

    def __call__(self, X: Any) -> np.ndarray:
        """Return the log ratio at the rows of `X`."""
        X = np.asarray(X, dtype=float)
        gap = ((X - self.mean) / self.scale) ** 2
        return (X**2 - gap).sum(axis=1) / 2 - self.mean.size * np.log(self.scale)


def make_gaussian_shift(
    n_source: int = 1000,
    n_target: int = 1000,
    *,
    n_features: int = 1,
    shift: float = 1.0,
    scale: float = 1.0,
    noise: float = 0.5,
    random_state: Any = None,
) -> Bunch:
    """Source N(0, I), target N(mean, scale**2 I), and a response that bends along the shift.

    Parameters
    ----------
    n_source, n_target : int, default=1000
        Numbers of rows.
    n_features : int, default=1
        Number of columns.
    shift : float, default=1.0
        Length of the mean, which has equal entries.
    scale : float, default=1.0
        Standard deviation of every target column. Above sqrt(2) the ratio's variance is infinite.
    noise : float, default=0.5
        Standard deviation of ``y - E[y | x]``; ``E[y | x] = z + z**2 / 2``, z being the
        coordinate along the shift.
    random_state : int, RandomState instance or None
        Seed.

    Returns
    -------
    Bunch
        ``X``, ``y``, ``X_target``, ``y_target``, the true ``ratio`` (a `KnownRatio`) and
        ``log_ratio`` at the source rows.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.datasets import make_gaussian_shift
    >>> data = make_gaussian_shift(shift=1.0, random_state=0)
    >>> np.allclose(data.log_ratio, data.X[:, 0] - 0.5)
    True
    """
    for name, value in (("n_features", n_features), ("scale", scale)):
        if not value > 0:
            raise ValueError(f"Got {name}={value}, but it must be positive.")
    rng = check_random_state(random_state)
    direction = np.full(n_features, n_features**-0.5)
    ratio = KnownRatio(GaussianLogRatio(shift * direction, scale))
    X = rng.standard_normal((n_source, n_features))
    X_target = shift * direction + scale * rng.standard_normal((n_target, n_features))
    y, y_target = (
        z + z**2 / 2 + noise * rng.standard_normal(z.size)
        for z in (X @ direction, X_target @ direction)
    )
    samples = {"X": X, "y": y, "X_target": X_target, "y_target": y_target}
    return Bunch(**samples, ratio=ratio, log_ratio=ratio.score_samples(X))
