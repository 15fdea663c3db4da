"""The weights of many candidates at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from sklearn.base import BaseEstimator

from weighbridge._findings import effective_sample_size
from weighbridge.geodesic import log_weight

FloatArray = npt.NDArray[np.float64]

# exp(t) is finite and 1 + lam * expm1(t) keeps its digits
_SAFE = 600.0


def candidate_weights(
    log_ratio: FloatArray,
    points: Sequence[tuple[float, float]],
    sample_weight: FloatArray | None = None,
) -> FloatArray:
    """Return one row of weights for each (lam, alpha), scaled to mean 1 under `sample_weight`."""
    weights = np.empty((len(points), log_ratio.size))
    by_alpha: dict[float, list[int]] = {}
    for index, (_, alpha) in enumerate(points):
        by_alpha.setdefault(alpha, []).append(index)
    low, high = log_ratio.min(), log_ratio.max()
    for alpha, indices in by_alpha.items():
        k = (1 - alpha) / 2
        lam = np.array([points[index][0] for index in indices])
        simple = max(abs(low), abs(high)) < (_SAFE / abs(k) if k else np.inf)
        if not (simple and ((lam >= 0) & (lam <= 1)).all()):
            rows = log_weight(log_ratio, lam[:, None], alpha)
        elif k == 0:
            rows = lam[:, None] * log_ratio
        else:
            rows = np.where(lam[:, None] == 1, log_ratio, 0.0)
            lower, upper = (lam > 0) & (lam <= 0.5), (lam > 0.5) & (lam < 1)
            rows[lower] = np.log1p(lam[lower, None] * np.expm1(k * log_ratio)) / k
            rest = 1 - lam[upper, None]
            rows[upper] = log_ratio + np.log1p(rest * np.expm1(-k * log_ratio)) / k
        weights[indices] = _mean_one_rows(rows, sample_weight)  # while they are in the cache
    return weights


def _mean_one_rows(log_weights: FloatArray, sample_weight: FloatArray | None) -> FloatArray:
    """Turn rows of log weights, in place, into weights of mean 1 under `sample_weight`."""
    top = log_weights.max(axis=1, keepdims=True)
    if not (np.abs(top) < _SAFE).all():  # else nothing overflows, and not all is lost
        log_weights -= top
    weights = np.exp(log_weights, out=log_weights)
    if sample_weight is None:
        weights /= weights.mean(axis=1, keepdims=True)
    else:
        weights /= (weights @ sample_weight / sample_weight.sum())[:, None]
    return weights


class Tempered(BaseEstimator):  # type: ignore[misc, unused-ignore]
    """The power of the ratio that is worth at least so many rows.

    ``r ** q`` with the largest ``q <= 1`` for which the effective sample size of the source rows
    reaches `ess`: the ratio itself where it is tame, no weights at all where even a small power
    would be worth too little.

    Parameters
    ----------
    ess : float, default=20.0
        Effective number of rows; half of all rows where there are fewer than twice as many.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.criteria import Tempered
    >>> log_ratio = np.linspace(-20, 20, 200)
    >>> weights = np.exp(Tempered(ess=20)(log_ratio))
    >>> float((weights.sum() ** 2 / (weights**2).sum()).round(6))
    20.0
    """

    def __init__(self, ess: float = 20.0) -> None:
        self.ess = ess

    def __call__(self, log_ratio: Any) -> np.ndarray:
        """Return the log weights at the log ratios of the whole source sample."""
        if not self.ess >= 1:
            raise ValueError(f"Got ess={self.ess!r}, but a number of rows is 1 or more.")
        log_ratio = np.asarray(log_ratio, dtype=float)
        wanted = min(float(self.ess), log_ratio.size / 2)
        top = log_ratio.max()
        low = np.maximum(log_ratio - top, -1e6)  # a ratio of 0 stays next to nothing

        def excess(power: float) -> float:
            return float(effective_sample_size(np.exp(power * low)) - wanted)

        if excess(1.0) >= 0:
            return np.asarray(log_ratio)
        power = 0.0 if excess(0.0) <= 0 else float(brentq(excess, 0.0, 1.0, xtol=1e-14))
        return np.asarray(power * low)
