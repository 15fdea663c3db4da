"""Coordinates of candidates for the Gaussian process of the Bayesian search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import expit, logsumexp

from weighbridge.geodesic import log_weight
from weighbridge.model_selection._points import Bounds, Point, canonical, named_points

# Candidates of the pool: curves of constant alpha, and points on each.
N_ALPHAS, N_LAMS = 17, 41
# Steps in lam and alpha by which lengths are measured, and decimals of the candidates.
N_STEPS, DECIMALS = 33, 6
# More rows than this are grouped, because weights depend on the log ratio only.
MAX_GROUPS = 1024
# Rows further below the largest log ratio have a relative weight below exp(-60).
MAX_DEPTH = 60.0
# Distances of unit vectors below this are rounding errors (the square root of that of a double).
MIN_DISTANCE = 1e-7


class Chart:
    """Coordinates of weightings, and a pool of candidates at equal distances in them.

    In the Hellinger chart a weighting has the coordinates ``sqrt(w / sum(w))``, so that distances
    are Hellinger distances between the weighted samples, up to a common scale. Without log ratios
    the coordinates are (lam, alpha), scaled to the unit square, as in the paper.
    """

    def __init__(self, bounds: Bounds, log_ratio: np.ndarray | None) -> None:
        self.bounds, self._scale = bounds, 1.0
        self._groups = None if log_ratio is None else group_rows(log_ratio)
        # Weights change fast near the ends of curves of large alpha.
        share = expit(np.linspace(-10, 10, N_STEPS))
        lams = np.interp(share, (share[0], share[-1]), bounds.lam)
        alphas = np.linspace(*bounds.alpha, N_STEPS)
        curves = np.array([self.coordinates([(lam, alpha) for lam in lams]) for alpha in alphas])
        self._scale = float(np.linalg.norm(curves - curves[0, 0], axis=2).max()) or 1.0
        points = named_points(bounds)
        between = np.linalg.norm(np.diff(curves, axis=0), axis=2).max(axis=1)
        for alpha in _equidistant(alphas, between, N_ALPHAS):
            curve = self.coordinates([(lam, alpha) for lam in lams])
            along = np.linalg.norm(np.diff(curve, axis=0), axis=1)
            spaced = _equidistant(lams, along, N_LAMS)
            points += [canonical((lam, alpha), bounds) for lam in spaced]
        self.pool: list[Point] = list(dict.fromkeys(points))

    def coordinates(self, points: Sequence[tuple[float, float]]) -> np.ndarray:
        """Return one row of coordinates for each point; the farthest from ERM is at about 1."""
        if self._groups is None:
            low, high = np.array([self.bounds.lam, self.bounds.alpha]).T
            return np.asarray((np.array(points) - low) / np.where(high > low, high - low, 1.0))
        (lam, alpha), (centre, count) = np.array(points).T, self._groups
        log_mass = log_weight(centre, lam[:, None], alpha[:, None]) + np.log(count)
        log_mass -= logsumexp(log_mass, axis=1, keepdims=True)
        return np.asarray(np.exp(log_mass / 2) / self._scale)


def _equidistant(values: np.ndarray, steps: np.ndarray, number: int) -> list[float]:
    """Return values at equal distances along a path whose steps have the given lengths."""
    length = np.insert(np.cumsum(steps + 1e-9), 0, 0.0)
    spaced = np.interp(np.linspace(0, length[-1], number), length, values)
    return np.clip(np.round(spaced, DECIMALS), values[0], values[-1]).tolist()


def group_rows(log_ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean log ratio and size of at most `MAX_GROUPS` groups of similar rows."""
    s = np.sort(log_ratio)
    if s.size <= MAX_GROUPS:
        return s, np.ones(s.size)
    finite = s[np.isfinite(s)]  # rows of ratio 0 (-inf) are one group
    half = MAX_GROUPS // 2 - 1
    top = np.linspace(max(finite[0], finite[-1] - MAX_DEPTH), finite[-1], half)
    edges = np.concatenate([np.quantile(finite, np.linspace(0, 1, half)), top])
    _, label = np.unique(np.searchsorted(np.unique(edges), finite), return_inverse=True)
    count = np.bincount(label).astype(float)
    centre = np.bincount(label, weights=finite) / count
    n_zero = s.size - finite.size
    if n_zero:
        centre, count = np.append(-np.inf, centre), np.append(float(n_zero), count)
    return centre, count
