"""Density ratio of two normal distributions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from weighbridge._findings import users_line
from weighbridge.exceptions import WeightWarning
from weighbridge.ratios._base import TwoSampleRatio
from weighbridge.ratios._sample import Sample

# Smallest variance, in units of standardised columns: a sample may not vary at all.
SMALLEST_VARIANCE = 1e-8
# Outliers lie farther from the median than FAR quartile ranges (10 standard deviations), are no
# more than FEW of the rows (or one), and make up more than half of a column's variance.
FAR, FEW = 7.4, 0.01


class GaussianRatio(TwoSampleRatio):
    """Density ratio of two normal distributions, fitted to the two samples.

    Means and covariances of the standardised columns, each covariance shrunk toward a multiple of
    the identity by the amount of Ledoit and Wolf, and so invertible with more columns than rows.

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
    All work is done in log space on the principal axes of the samples, of which there are no more
    than rows: wide tables need no matrix of n_features x n_features. Means and covariances are sums
    over rows: rows in blocks (`weighbridge.blocks`) give the same as in memory.

    A few rows (1 % at most, or one) that lie more than ten standard deviations out, by quartiles,
    and make up more than half of a column's variance are left out, with a warning. A sample with
    such rows is represented by 100,000 rows at most.

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
    _scale: Any = 1.0
    _low: Any = -np.inf
    _high: Any = np.inf

    def __init__(self, *, shared: bool = False):
        self.shared = shared

    def _check_parameters(self) -> None:
        if not isinstance(self.shared, bool | np.bool_):
            raise ValueError(f"Got shared={self.shared!r}, but expected True or False.")

    def _fit_streams(self, source: Sample, target: Sample) -> None:
        samples = source, target = self._without_outliers(source, target)
        self.means_ = np.array([sample.sum(_total) / sample.n for sample in samples])
        if self.shared:
            # both samples count alike, however many rows they have
            shares = [(source.n + target.n) / (2 * sample.n) for sample in samples]
            self.normals_ = [_normal(samples, list(self.means_), shares)] * 2
        else:
            self.normals_ = [
                _normal([sample], [mean], [1.0])
                for sample, mean in zip(samples, self.means_, strict=True)
            ]
        self.shrinkage_ = np.array([normal.shrinkage for normal in self.normals_])

    def _without_outliers(self, source: Sample, target: Sample) -> tuple[Sample, Sample]:
        limits = [_limits(sample.first) for sample in (source, target)]
        inside = [
            _inside(sample.first, *far)
            for sample, far in zip((source, target), limits, strict=True)
        ]
        self._low, self._high = np.max(limits, axis=0)[0], np.min(limits, axis=0)[1]
        self._left_out, self._scale = sum(int((~each).sum()) for each in inside), 1.0
        if not self._left_out:
            return source, target
        kept = source.part(inside[0]), target.part(inside[1])
        # the columns were standardised with the outliers
        variance = sum(part.first.var(axis=0) for part in kept) / 2
        variance += np.square(kept[0].first.mean(axis=0) - kept[1].first.mean(axis=0)) / 4
        self._scale = 1 / np.sqrt(np.where(variance > 0, variance, 1.0))
        for part in kept:
            part.first = part.first * self._scale
        return kept

    def _log_ratio(self, rows: np.ndarray) -> np.ndarray:
        source, target = (
            normal.log_density(rows * self._scale - mean)
            for normal, mean in zip(self.normals_, self.means_, strict=True)
        )
        log_ratio = target - source
        # nothing says that a row is likely in the target where no row of a fit is near
        far = ~_inside(rows, self._low, self._high)
        return np.where(far, np.minimum(log_ratio, 0.0), log_ratio)

    def _warn_if_apart(self, at_source: np.ndarray, at_target: np.ndarray) -> None:
        if self._left_out:
            warnings.warn(
                "Got rows so far from all others that they alone would set the variance of a "
                f"column ({self._left_out:,}): the normal distributions are fitted without them, "
                "and their ratio is at most 1. Check them, or use another ratio, such as "
                "ClassifierRatio().",
                WeightWarning,
                stacklevel=users_line(),
            )
        super()._warn_if_apart(at_source, at_target)


def _limits(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits beyond which rows are outliers, infinite for columns without any."""
    low, middle, high = np.percentile(rows, [25, 50, 75], axis=0)
    reach, squares = FAR * (high - low), np.square(rows - middle)
    far = squares > reach**2
    few = (reach > 0) & (far.sum(axis=0) <= max(1, FEW * len(rows)))
    outliers = few & ((squares * far).sum(axis=0) > squares.sum(axis=0) / 2)
    reach = np.where(outliers, reach, np.inf)
    return middle - reach, middle + reach


def _inside(rows: np.ndarray, low: Any, high: Any) -> np.ndarray:
    return ((rows >= low) & (rows <= high)).all(axis=1)


def _total(numbers: np.ndarray, keys: np.ndarray) -> np.ndarray:
    return numbers.sum(axis=0)


def _scatter(mean: np.ndarray, numbers: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, float]:
    """Sum up products of centred columns, and norms of rows to the fourth power."""
    centred = numbers - mean
    norms = np.einsum("ij,ij->i", centred, centred)
    return centred.T @ centred, float(norms @ norms)


def _normal(samples: Sequence[Sample], means: Sequence[np.ndarray], shares: list[float]) -> _Normal:
    """Return the normal distribution of some samples, whose rows count so much each."""
    n, d = sum(sample.n for sample in samples), len(means[0])
    parts = list(zip(samples, means, shares, strict=True))
    if d > n:  # so few rows are all in memory
        rows = [(sample.first - mean) * np.sqrt(share) for sample, mean, share in parts]
        return _Normal.of_rows(np.concatenate(rows))
    gram, fourth = np.zeros((d, d)), 0.0
    for sample, mean, share in parts:
        products, norms = sample.sum(partial(_scatter, mean))
        gram += share * products
        fourth += share**2 * norms
    variances, axes = np.linalg.eigh(gram / n)
    return _Normal(variances, axes, _shrinkage(gram / n, fourth / n, n, d))


def _shrinkage(gram: np.ndarray, fourth: float, n: int, d: int) -> float:
    """Return the amount of Ledoit and Wolf, from means over n centred rows of d columns."""
    square = float(np.einsum("ij,ij->", gram, gram))
    distance = square - float(np.trace(gram)) ** 2 / d
    error = max(fourth - square, 0.0) / n
    return min(error / distance, 1.0) if distance > 0 else 0.0


class _Normal:
    """A centred normal distribution with a shrunk covariance, by its principal axes."""

    def __init__(self, variances: np.ndarray, axes: np.ndarray, shrinkage: float):
        self.axes, self.shrinkage, d = axes, shrinkage, axes.shape[0]
        toward = float(variances.sum()) / d
        self.rest = max(self.shrinkage * toward, SMALLEST_VARIANCE)
        self.variances = np.maximum((1 - self.shrinkage) * variances, 0.0) + self.rest
        self.log_norm = float(np.log(self.variances).sum())
        self.log_norm += (d - self.variances.size) * np.log(self.rest)

    @classmethod
    def of_rows(cls, centred: np.ndarray) -> _Normal:
        """Return the distribution of centred rows, fewer than columns."""
        n, d = centred.shape
        gram = centred @ centred.T / n
        fourth = n**2 * float(np.mean(np.diag(gram) ** 2))
        shrinkage = _shrinkage(gram, fourth, n, d)
        variances, left = np.linalg.eigh(gram)
        seen = variances > 1e-12 * max(variances[-1], 1e-300)
        variances, left = variances[seen], left[:, seen]
        return cls(variances, centred.T @ (left / np.sqrt(variances * n)), shrinkage)

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        """Return the log density up to the constant that all normal distributions share."""
        along = rows @ self.axes
        outside = np.maximum((rows**2).sum(axis=1) - (along**2).sum(axis=1), 0.0)
        if self.variances.size == rows.shape[1]:  # no direction is left
            outside = 0.0
        distance = (along**2 / self.variances).sum(axis=1) + outside / self.rest
        return -0.5 * (distance + self.log_norm)
