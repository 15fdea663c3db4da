"""Density ratio of two normal distributions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from weighbridge._findings import users_line
from weighbridge.exceptions import WeightWarning
from weighbridge.ratios._base import TwoSampleRatio

# Smallest variance of a standardised column, because a sample may be constant.
MIN_VARIANCE = 1e-8
# Outliers lie further from the median than this many quartile ranges (10 standard deviations).
OUTLIER_RANGES = 7.4
# They are at most this share of the rows (or one row), and most of a column's variance.
MAX_OUTLIER_SHARE = 0.01


class GaussianRatio(TwoSampleRatio):
    """Density ratio of two normal distributions, fitted to the two samples.

    Each covariance is shrunk towards a multiple of the identity by the amount of Ledoit and Wolf.
    Outliers are left out, with a warning. They are a few rows (1% at most, or one) that lie more
    than ten standard deviations out, by quartiles, and make up more than half of a column's
    variance.

    Parameters
    ----------
    shared : bool, default=False
        Use one covariance, the mean of the two, for both samples. The log ratio is then linear.

    Attributes
    ----------
    means_ : ndarray of shape (2, n_encoded)
        Means of source and target, in standardised columns.
    shrinkage_ : ndarray of shape (2,)
        How far each covariance was moved towards the identity, from 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.ratios import GaussianRatio, fit_ratio
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

    def _fit_samples(self, source: np.ndarray, target: np.ndarray) -> None:
        samples = source, target
        limits = [_outlier_limits(rows) for rows in samples]
        self.low_, self.high_ = np.max(limits, axis=0)[0], np.min(limits, axis=0)[1]
        inside = [rows[_is_inside(rows, *ends)] for rows, ends in zip(samples, limits, strict=True)]
        self.n_outliers_ = sum(map(len, samples)) - sum(map(len, inside))
        self.means_ = np.array([rows.mean(axis=0) for rows in inside])
        self.scale_: Any = 1.0
        if self.n_outliers_:  # They made the columns too narrow.
            variance = (inside[0].var(axis=0) + inside[1].var(axis=0)) / 2
            variance += np.square(self.means_[0] - self.means_[1]) / 4
            self.scale_ = 1 / np.sqrt(np.where(variance > 0, variance, 1.0))
        pairs = zip(inside, self.means_, strict=True)
        centred = [(rows - mean) * self.scale_ for rows, mean in pairs]
        if self.shared:
            # Both samples have the same weight, whatever their sizes.
            n = sum(map(len, centred))
            stacked = np.vstack([rows * np.sqrt(n / (2 * len(rows))) for rows in centred])
            self.normals_ = [_Normal(stacked)] * 2
        else:
            self.normals_ = [_Normal(rows) for rows in centred]
        self.shrinkage_ = np.array([normal.shrinkage for normal in self.normals_])

    def _log_ratio(self, numbers: np.ndarray) -> np.ndarray:
        source, target = (
            normal.log_density((numbers - mean) * self.scale_)
            for normal, mean in zip(self.normals_, self.means_, strict=True)
        )
        log_ratio = target - source
        if self.n_outliers_:  # No row of fit shows that outliers are likely in the target.
            is_outlier = ~_is_inside(numbers, self.low_, self.high_)
            log_ratio[is_outlier] = np.minimum(log_ratio[is_outlier], 0.0)
        return log_ratio

    def _warn_if_apart(self, at_source: np.ndarray, at_target: np.ndarray) -> None:
        if self.n_outliers_:
            warnings.warn(
                "Got rows so far from all others that they alone would set the variance of a "
                f"column ({self.n_outliers_:,}): the normal distributions are fitted without them, "
                "and their ratio is at most 1. Check them, or use another ratio, such as "
                "ClassifierRatio().",
                WeightWarning,
                stacklevel=users_line(),
            )
        super()._warn_if_apart(at_source, at_target)


def _outlier_limits(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits beyond which rows are outliers, infinite for columns without any."""
    low, middle, high = np.percentile(rows, [25, 50, 75], axis=0)
    reach, squares = OUTLIER_RANGES * (high - low), np.square(rows - middle)
    is_far = squares > reach**2
    few = (reach > 0) & (is_far.sum(axis=0) <= max(1, MAX_OUTLIER_SHARE * len(rows)))
    has_outliers = few & ((squares * is_far).sum(axis=0) > squares.sum(axis=0) / 2)
    reach = np.where(has_outliers, reach, np.inf)
    return middle - reach, middle + reach


def _is_inside(rows: np.ndarray, low: Any, high: Any) -> np.ndarray:
    return ((rows >= low) & (rows <= high)).all(axis=1)


class _Normal:
    """A normal distribution of mean 0 with the shrunk covariance of centred rows."""

    def __init__(self, centred: np.ndarray):
        n, d = centred.shape
        is_wide = d > n
        # The principal axes come from the Gram matrix of the columns or, if fewer, of the rows.
        gram = (centred @ centred.T if is_wide else centred.T @ centred) / n
        variances, self.axes = np.linalg.eigh(gram)
        # The covariance S has the shrinkage error(S) / |S - m I|^2 (Ledoit and Wolf, 2004).
        fourth = float(np.mean(np.einsum("ij,ij->i", centred, centred) ** 2))
        square = float(variances @ variances)
        distance = square - float(variances.sum()) ** 2 / d
        error = max(fourth - square, 0.0) / n
        self.shrinkage = min(error / distance, 1.0) if distance > 0 else 0.0
        if is_wide:
            is_positive = variances > 1e-12 * max(variances[-1], 1e-300)
            variances, left = variances[is_positive], self.axes[:, is_positive]
            self.axes = centred.T @ (left / np.sqrt(variances * n))
        self.rest = max(self.shrinkage * float(variances.sum()) / d, MIN_VARIANCE)
        self.variances = np.maximum((1 - self.shrinkage) * variances, 0.0) + self.rest
        n_other = d - self.variances.size
        self.log_norm = float(np.log(self.variances).sum() + n_other * np.log(self.rest))

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        """Return the log density up to the constant that all normal distributions share."""
        along = rows @ self.axes
        distance = (along**2 / self.variances).sum(axis=1)
        if self.variances.size < rows.shape[1]:  # Other directions have the variance `rest`.
            outside = (rows**2).sum(axis=1) - (along**2).sum(axis=1)
            distance += np.maximum(outside, 0.0) / self.rest
        return -0.5 * (distance + self.log_norm)
