"""Expected improvement for minimisation, accurate where there is next to none to expect."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

import numpy as np
from scipy.special import erfcx, ndtr

from weighbridge.search._evaluation import FloatArray

# Below -FAR the tail is a series in 1/z^2, which four terms give to rounding.
FAR = 200.0


def expected_improvement(mean: Any, sd: Any, best: Any) -> Any:
    """How much smaller than `best` a normal variable is expected to be, counting only if it is.

    ``E[max(best - Y, 0)] = (best - mean) Phi(z) + sd phi(z)`` with ``z = (best - mean) / sd``, for
    ``Y ~ N(mean, sd**2)``. The larger, the more a candidate is worth trying.

    Parameters
    ----------
    mean, sd : float or array
        Mean and standard deviation of the candidates; they broadcast. ``sd = 0`` is a known value.
    best : float or array
        Smallest value seen.

    Returns
    -------
    float or array
        The expected improvement, at least 0.

    Notes
    -----
    For z far below 0 the two terms of the formula cancel: it is then computed as
    ``sd phi(z) (1 + z Phi(z) / phi(z))``, to about ``eps z**2`` of itself.

    Examples
    --------
    >>> from weighbridge.search import expected_improvement
    >>> expected_improvement(mean=[1.0, 2.0, 1.5], sd=[0.0, 1.0, 0.1], best=1.5).round(3)
    array([0.5  , 0.198, 0.04 ])
    """
    gap, sd, z = _standardised(mean, sd, best)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        density = np.exp(-(z**2) / 2) / sqrt(2 * pi)
        above = gap * ndtr(z) + sd * density
        value = np.where(z < 0, sd * density * _tail(z), above)
    return np.where(sd == 0, np.maximum(gap, 0.0), value)[()]


def log_expected_improvement(mean: Any, sd: Any, best: Any) -> FloatArray:
    """Its logarithm, which orders candidates even where every improvement underflows."""
    _, sd, z = _standardised(mean, sd, best)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        below = np.log(sd) - z**2 / 2 - np.log(2 * pi) / 2 + np.log(_tail(z))
        value = np.log(expected_improvement(mean, sd, best))
    # near 0 the plain formula is as good, and it also covers a standard deviation of 0
    return np.asarray(np.where((z < -1) & (sd > 0), below, value))


def _standardised(mean: Any, sd: Any, best: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    mean, sd, best = (np.asarray(value, dtype=float) for value in (mean, sd, best))
    if np.any(sd < 0):
        raise ValueError(
            f"Got sd={np.min(sd)}, but a standard deviation is at least 0; did you pass a variance "
            "or a logarithm?"
        )
    gap = best - mean
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = gap / sd
    return gap, sd, z


def _tail(z: FloatArray) -> FloatArray:
    """``1 + z Phi(z) / phi(z)`` for z < 0."""
    size = np.abs(z)
    inverse = np.where(size > FAR, size, FAR) ** -2.0
    series = inverse * (1 - inverse * (3 - inverse * (15 - 105 * inverse)))
    return np.where(size > FAR, series, 1 - size * sqrt(pi / 2) * erfcx(size / sqrt(2)))
