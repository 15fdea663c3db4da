"""Density ratio of two normal distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.covariance import ledoit_wolf_shrinkage

from weighbridge.ratios._two_sample import TwoSampleRatio

# Smallest variance, in units of standardised columns: a sample may not vary at all.
SMALLEST_VARIANCE = 1e-8


class GaussianRatio(TwoSampleRatio):
    """Density ratio of two normal distributions, fitted to the two samples.

    Means and covariances of the standardised columns, each covariance shrunk toward a multiple of
    the identity by the amount of Ledoit and Wolf, which keeps it invertible with more columns than
    rows.

    Parameters
    ----------
    shared : bool, default=False
        Use one covariance, the mean of the two, for both samples: the log ratio is then linear.

    Attributes
    ----------
    means_ : ndarray of shape (2, n_encoded)
        Means of source and target, in standardised columns.
    shrinkage_ : ndarray of shape (2,)
        How far each covariance was moved toward the identity, from 0 to 1.

    Notes
    -----
    All is computed in log space from the principal axes of the samples, of which there are no more
    than rows: wide tables need no matrix of n_features x n_features.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge import fit_ratio
    >>> from weighbridge.ratios import GaussianRatio
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (2000, 1)), rng.normal(1, 1, (1000, 1))
    >>> ratio = fit_ratio(X, X_target, GaussianRatio(shared=True))
    >>> ratio.score_samples([[0.0], [0.5], [1.0]]).round(1)  # truth: -0.5, 0, 0.5
    array([-0.5,  0. ,  0.5])
    """

    _takes_sparse = False

    def __init__(self, *, shared: bool = False):
        self.shared = shared

    def _check_parameters(self) -> None:
        if not isinstance(self.shared, bool | np.bool_):
            raise ValueError(f"Got shared={self.shared!r}, but expected True or False.")

    def _fit_samples(self, source: Any, target: Any) -> None:
        samples = [source, target]
        self.means_ = np.array([sample.mean(axis=0) for sample in samples])
        centred = [sample - mean for sample, mean in zip(samples, self.means_, strict=True)]
        if self.shared:
            # both samples count alike, however many rows they have
            rows = len(source) + len(target)
            scaled = [part * np.sqrt(rows / (2 * len(part))) for part in centred]
            self.normals_ = [_Normal(np.concatenate(scaled))] * 2
        else:
            self.normals_ = [_Normal(part) for part in centred]
        self.shrinkage_ = np.array([normal.shrinkage for normal in self.normals_])

    def _log_ratio(self, rows: np.ndarray) -> np.ndarray:
        source, target = (
            normal.log_density(rows - mean)
            for normal, mean in zip(self.normals_, self.means_, strict=True)
        )
        return target - source


class _Normal:
    """A centred normal distribution with a shrunk covariance, by its principal axes."""

    def __init__(self, centred: np.ndarray):
        n, d = centred.shape
        self.shrinkage = float(ledoit_wolf_shrinkage(centred, assume_centered=True))
        if d <= n:
            variances, self.axes = np.linalg.eigh(centred.T @ centred / n)
        else:
            variances, left = np.linalg.eigh(centred @ centred.T / n)
            seen = variances > 1e-12 * max(variances[-1], 1e-300)
            variances, left = variances[seen], left[:, seen]
            self.axes = centred.T @ (left / np.sqrt(variances * n))
        toward = float((centred**2).sum()) / n / d
        self.rest = max(self.shrinkage * toward, SMALLEST_VARIANCE)
        self.variances = np.maximum((1 - self.shrinkage) * variances, 0.0) + self.rest
        self.log_norm = float(np.log(self.variances).sum())
        self.log_norm += (d - self.variances.size) * np.log(self.rest)

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        """Return the log density up to the constant that all normal distributions share."""
        along = rows @ self.axes
        outside = np.maximum((rows**2).sum(axis=1) - (along**2).sum(axis=1), 0.0)
        if self.variances.size == rows.shape[1]:  # no direction is left
            outside = 0.0
        distance = (along**2 / self.variances).sum(axis=1) + outside / self.rest
        return -0.5 * (distance + self.log_norm)
