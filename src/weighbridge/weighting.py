"""Weightings: from log density ratios to log weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from weighbridge.geodesic import log_weight
from weighbridge.tables import check_sample_weight, to_numpy

__all__ = ["AIWERM", "ERM", "IWERM", "RIWERM", "Geodesic", "log_mean", "mean_one"]


class Geodesic(BaseEstimator):
    """The weight ``w^(lam, alpha)``: a point on a curve from no weights to the full ratio.

    A weighting is called with log density ratios and returns log weights. Its two parameters are
    those of the paper and can be searched like any scikit-learn parameter
    (``weighting__lam``, ``weighting__alpha``).

    Parameters
    ----------
    lam : float, default=1.0
        Position on the curve: 0 ignores the ratio (ERM), 1 uses it in full (IWERM).
    alpha : float, default=1.0
        Which curve: 1 is a power of the ratio (AIWERM), 3 the relative ratio (RIWERM).
        ``alpha > 1`` caps the weights, ``alpha < 1`` raises their floor.

    See Also
    --------
    ERM, IWERM, AIWERM, RIWERM : The named points.
    weighbridge.geodesic.log_weight : The function behind it.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge import Geodesic
    >>> log_ratio = np.log([0.25, 1.0, 4.0])
    >>> np.exp(Geodesic(lam=0.5, alpha=3)(log_ratio)).round(3)
    array([0.4, 1. , 1.6])
    >>> Geodesic(lam=0.5, alpha=3).weights(log_ratio)  # the same, with mean 1
    array([0.4, 1. , 1.6])
    """

    def __init__(self, lam: float = 1.0, alpha: float = 1.0) -> None:
        self.lam = lam
        self.alpha = alpha

    def __call__(self, log_ratio: Any) -> Any:
        """Return the log weights at `log_ratio`."""
        return log_weight(log_ratio, self.lam, self.alpha)

    def weights(self, log_ratio: Any, sample_weight: Any = None, *, normalize: bool = True) -> Any:
        """Return the weights themselves, scaled to mean 1 unless told otherwise.

        Parameters
        ----------
        log_ratio : array of shape (n_samples,)
            Log density ratios at the source rows.
        sample_weight : array of shape (n_samples,), optional
            Your weights for the rows; the mean is taken under them.
        normalize : bool, default=True
            False gives the weights of the paper as they are.

        Returns
        -------
        array of shape (n_samples,)
            One weight per row.
        """
        values = self(log_ratio)
        return mean_one(values, sample_weight) if normalize else np.exp(to_numpy(values))


def ERM() -> Geodesic:  # noqa: N802
    """No weights: empirical risk minimisation, lam = 0.

    Returns
    -------
    Geodesic
        ``Geodesic(lam=0.0)``.

    Examples
    --------
    >>> from weighbridge.weighting import ERM
    >>> ERM().weights([-3.0, 5.0])
    array([1., 1.])
    """
    return Geodesic(lam=0.0)


def IWERM() -> Geodesic:  # noqa: N802
    """The full density ratio (Shimodaira 2000), lam = 1: consistent, and the most variable.

    Returns
    -------
    Geodesic
        ``Geodesic(lam=1.0)``.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.weighting import IWERM
    >>> IWERM().weights(np.log([0.5, 1.5]))
    array([0.5, 1.5])
    """
    return Geodesic(lam=1.0)


def AIWERM(lam: float) -> Geodesic:  # noqa: N802
    """A power of the ratio, ``r ** lam`` (adaptive importance weighting, Shimodaira 2000).

    Parameters
    ----------
    lam : float
        Exponent in [0, 1].

    Returns
    -------
    Geodesic
        ``Geodesic(lam, alpha=1.0)``.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.weighting import AIWERM
    >>> np.exp(AIWERM(0.5)(np.log([4.0, 9.0]))).round(12)
    array([2., 3.])
    """
    return Geodesic(lam=lam, alpha=1.0)


def RIWERM(lam: float) -> Geodesic:  # noqa: N802
    """The relative ratio, ``r / (lam + (1 - lam) r)`` (Yamada et al. 2011), at most 1/(1 - lam).

    Parameters
    ----------
    lam : float
        In [0, 1]; it is one minus the alpha of Yamada et al.

    Returns
    -------
    Geodesic
        ``Geodesic(lam, alpha=3.0)``.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.weighting import RIWERM
    >>> np.exp(RIWERM(0.8)(np.log([1.0, 4.0, 1e9]))).round(4)  # never above 5
    array([1. , 2.5, 5. ])
    """
    return Geodesic(lam=lam, alpha=3.0)


def log_mean(values: Any, sample_weight: Any = None) -> Any:
    """Log of the (weighted) mean of ``exp(values)``, without leaving log space.

    Parameters
    ----------
    values : array of shape (n_samples,)
        Logarithms; ``-inf`` stands for 0.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    float or array without axes
        ``log(sum(u * exp(values)) / sum(u))``.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.weighting import log_mean
    >>> float(log_mean(np.array([2000.0, 2000.0])))
    2000.0
    """
    values, weight = _rows(values, sample_weight)
    used = values if weight is None else values[weight > 0]
    top = np.max(used)
    if not np.isfinite(top):  # nothing but zeros, or an infinite one
        return top
    part = np.exp(used - top)
    if weight is None:
        return top + np.log(np.mean(part))
    weight = weight[weight > 0]
    return top + np.log(np.sum(weight * part) / np.sum(weight))


def mean_one(log_weight: Any, sample_weight: Any = None) -> Any:
    """Turn log weights into weights with mean 1, under `sample_weight` if it is given.

    Without this scaling lam and alpha would also change the strength of any regularisation.

    Parameters
    ----------
    log_weight : array of shape (n_samples,)
        Logarithms of the weights.
    sample_weight : array of shape (n_samples,), optional
        Your weights for the rows.

    Returns
    -------
    array of shape (n_samples,)
        Weights ``w`` with ``sum(u * w) = sum(u)``; 0 where `sample_weight` is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.weighting import mean_one
    >>> mean_one(np.array([1000.0, 1000.0 + np.log(3)])).round(12)
    array([0.5, 1.5])
    """
    values, weight = _rows(log_weight, sample_weight)
    scale = log_mean(values, sample_weight)
    if scale == np.inf:
        raise ValueError(
            "Got a weight of +inf (in logarithms), which no scale brings to mean 1; correct the "
            "ratio of that row, or leave the row out."
        )
    if not scale > -np.inf:
        raise ValueError(
            "Got weights that are 0 in every row: no source row lies where the target is. Check "
            "the ratio; if it is right, these samples cannot be adapted to each other."
        )
    if weight is None:
        return np.exp(values - scale)
    # a row that counts nothing has no weight, whatever its ratio
    out = np.zeros_like(values)
    out[weight > 0] = np.exp(values[weight > 0] - scale)
    return out


def _rows(values: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Check logarithms and sample weights, one of each per row."""
    values = np.asarray(to_numpy(values), dtype=float)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(
            f"Got values of shape {values.shape}, but expected one number for each of one or more "
            "rows."
        )
    weight = None
    if sample_weight is not None:
        weight = check_sample_weight(to_numpy(sample_weight), values.size)
    if np.isnan(values if weight is None else values[weight > 0]).any():
        raise ValueError("Got NaN among the logarithms; every row that counts needs a number.")
    return values, weight


def mean_one_log_ratio(log_ratio: np.ndarray, sample_weight: np.ndarray | None) -> np.ndarray:
    """Scale the ratio to mean 1 on the source sample, which is what lam and alpha are about."""
    used = log_ratio if sample_weight is None else log_ratio[sample_weight > 0]
    infinite = np.isposinf(used).sum()
    if infinite:
        raise ValueError(
            f"Got a ratio that is infinite at {infinite} source rows: they lie where the source "
            "density is 0, and no scale gives such a ratio a mean of 1. Correct the densities, "
            "leave the rows out (sample_weight 0), or use normalize=False with alpha > 1, which "
            "bounds every weight."
        )
    log_scale = log_mean(log_ratio, sample_weight)
    if log_scale == -np.inf:
        raise ValueError(
            "Got a ratio that is 0 at every source row: no source row lies where the target is. "
            "These samples cannot be adapted to each other."
        )
    return log_ratio - log_scale


def source_log_weight(
    weighting: Any, log_ratio: np.ndarray, sample_weight: np.ndarray | None
) -> np.ndarray:
    """Return the log weights of the rows that count; rows whose sample_weight is 0 get weight 0."""
    used = log_ratio if sample_weight is None else log_ratio[sample_weight > 0]
    found = np.asarray(weighting(used), dtype=float)
    if found.shape != used.shape:
        raise ValueError(
            f"Got log weights of shape {found.shape} for {used.size} log ratios from the weighting "
            f"{type(weighting).__name__}; it must return one number for each row."
        )
    if sample_weight is None:
        return found
    log_weight = np.full(log_ratio.size, -np.inf)
    log_weight[sample_weight > 0] = found
    return log_weight


def source_weights(
    weighting: Any, log_ratio: np.ndarray, sample_weight: np.ndarray | None
) -> np.ndarray:
    """Return the weights of the source rows under a weighting, with mean 1."""
    log_weight = source_log_weight(weighting, log_ratio, sample_weight)
    return np.asarray(mean_one(log_weight, sample_weight))


def weighting_or_default(weighting: Any) -> Any:
    """Return a copy of a weighting, the full ratio for None; refuse anything else."""
    if weighting is None:
        return Geodesic()
    usable = callable(weighting) and hasattr(weighting, "get_params")
    if isinstance(weighting, type) or not usable:
        raise TypeError(
            f"Got weighting={weighting!r}, but expected a Geodesic or one of its names, e.g. "
            "weighbridge.weighting.RIWERM(0.8), or your own object with get_params (a "
            "sklearn.base.BaseEstimator) that turns log ratios into log weights when called."
        )
    if isinstance(weighting, Geodesic) and np.ndim(weighting.lam) + np.ndim(weighting.alpha):
        raise TypeError(
            f"Got weighting={weighting!r}, but expected one number each for lam and alpha."
        )
    weighting = clone(weighting)
    if not isinstance(weighting, Geodesic):
        source_log_weight(weighting, np.linspace(-1.0, 1.0, 5), None)  # fail before the work
    return weighting


def weighting_name(weighting: Any) -> str:
    """Return the name of a weighting in a report; None is the full ratio."""
    if weighting is None:
        return "full"
    if not isinstance(weighting, Geodesic):
        parameters = (f"{key}={value!r}" for key, value in weighting.get_params().items())
        return f"{type(weighting).__name__}({', '.join(parameters)})"
    if weighting.lam in (0, 1):
        return "none" if weighting.lam == 0 else "full"
    return f"lam {weighting.lam:.2f}, alpha {weighting.alpha:.2f}"
