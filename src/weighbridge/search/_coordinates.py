"""Where the candidates lie for the Gaussian process."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from weighbridge.geodesic import log_weight
from weighbridge.search._evaluation import FloatArray
from weighbridge.search._point import Bounds, Point

# More rows than this are grouped: weights depend on the log ratio only.
MOST_GROUPS = 1024
# Full weights of rows further below the largest are nothing beside it, exp(-60).
HEAVY = 60.0
COMPONENTS = 3
# Spreads of unit vectors below this are rounding (the root of that of a double).
ROUNDING = 1e-7


def plain_coordinates(points: Sequence[Point], bounds: Bounds) -> FloatArray:
    """(lam, alpha) scaled to the unit square."""
    low, high = np.array([bounds.lam, bounds.alpha]).T
    scale = np.where(high > low, high - low, 1.0)
    return np.asarray((np.array(points) - low) / scale)


def hellinger_coordinates(points: Sequence[Point], log_ratio: FloatArray) -> FloatArray:
    """Principal components of the root weights: near points are near models.

    Each candidate is the unit vector ``sqrt(w / sum(w))`` of its weights; distances between these
    are Hellinger distances. The first three principal components are kept, in units of the largest
    spread.
    """
    centre, count = groups(log_ratio)
    lam, alpha = np.array(points).T
    log_mass = log_weight(centre, lam[:, None], alpha[:, None]) + np.log(count)
    root = np.exp((log_mass - logsumexp(log_mass, axis=1, keepdims=True)) / 2)
    root -= root.mean(axis=0)
    # the candidates are fewer than the groups: their Gram matrix is the smaller problem
    value, vector = np.linalg.eigh(root @ root.T)
    order = slice(-1, -1 - COMPONENTS, -1)
    scores = vector[:, order] * np.sqrt(np.maximum(value[order], 0.0))
    spread = float(np.ptp(scores, axis=0).max())
    # without shift all candidates are one, and what is left is rounding
    return np.asarray(scores / spread if spread > ROUNDING else np.zeros_like(scores))


def groups(log_ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean log ratio and number of rows of at most `MOST_GROUPS` groups of similar rows.

    A group holds few rows, and is narrow where weights can be large: the edges are quantiles, and
    equally spaced values below the largest log ratio.
    """
    s = np.sort(log_ratio)
    if s.size <= MOST_GROUPS:
        return s, np.ones(s.size)
    finite = s[np.isfinite(s)]  # rows of ratio 0 (-inf) are one group
    half = MOST_GROUPS // 2 - 1
    top = np.linspace(max(finite[0], finite[-1] - HEAVY), finite[-1], half)
    edges = np.concatenate([np.quantile(finite, np.linspace(0, 1, half)), top])
    _, label = np.unique(np.searchsorted(np.unique(edges), finite), return_inverse=True)
    count = np.bincount(label).astype(float)
    centre = np.bincount(label, weights=finite) / count
    zero = s.size - finite.size
    if zero:
        centre, count = np.append(-np.inf, centre), np.append(float(zero), count)
    return centre, count
