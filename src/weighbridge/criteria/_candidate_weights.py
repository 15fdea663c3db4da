"""The weights of many candidates at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from weighbridge.geodesic import log_weight

FloatArray = npt.NDArray[np.float64]

# exp(t) is finite and 1 + lam * expm1(t) keeps its digits
_SAFE = 600.0


def candidate_weights(
    log_ratio: FloatArray,
    points: Sequence[tuple[float, float]],
    sample_weight: FloatArray | None = None,
) -> FloatArray:
    """Return one row of weights for each (lam, alpha), scaled to mean 1 under `sample_weight`.

    Candidates of one alpha share ``expm1(k s)``, so that a candidate costs two elementary
    functions a row; the kernel, exact to the last digit everywhere, costs ten times as much.
    Beyond lam = 1/2 the swap ``w^(lam)(r) = r w^(1 - lam)(1/r)`` keeps the digits of small weights.
    """
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
