"""Where weightings lie: root weights as unit vectors, curves of constant alpha, their plane."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, logsumexp

from weighbridge.geodesic import log_weight
from weighbridge.search._coordinates import ROUNDING, groups

# Steps along a curve before it is divided evenly.
_FINE = 161
# lam is nowhere nearer to 1 than a double can be.
_NEAREST_ONE = 36.0
_NEAREST_ZERO = 300.0


class RootWeights:
    """Weightings of one set of rows as unit vectors ``sqrt(w / sum(w))``.

    Distances between these are Hellinger distances of the weights.

    Parameters
    ----------
    log_ratio : ndarray of shape (n_rows,)
        Log ratios of the rows, below infinity.
    """

    def __init__(self, log_ratio: np.ndarray) -> None:
        self.centre, count = groups(log_ratio)
        self.log_count = np.log(count)
        finite = self.centre[np.isfinite(self.centre)]
        self.span = float(np.ptp(finite)) if finite.size else 0.0

    def __call__(self, lam: np.ndarray, alpha: np.ndarray | float) -> np.ndarray:
        """Return one unit vector for each weighting, of shape (n_weightings, n_groups)."""
        lam, alpha = np.broadcast_arrays(lam, alpha)
        log_mass = log_weight(self.centre, lam[:, None], alpha[:, None]) + self.log_count
        total = logsumexp(log_mass, axis=1, keepdims=True)
        return np.asarray(np.exp((log_mass - total) / 2))

    def arch(self, alpha: float, ends: tuple[float, float] = (0.0, 1.0)) -> Arch:
        """Return the curve of one alpha with its lengths."""
        # relative weights change fastest where lam is of the size of the smallest ratio
        reach = max(12.0, 1.5 * self.span * max(1.0, abs(alpha - 1) / 2))
        inner = expit(np.linspace(-min(reach, _NEAREST_ZERO), min(reach, _NEAREST_ONE), _FINE))
        low, high = ends
        lam = np.concatenate([[low], inner[(inner > low) & (inner < high)], [high]])
        lengths = np.linalg.norm(np.diff(self(lam, alpha), axis=0), axis=1)
        return Arch(lam, np.concatenate([[0.0], np.cumsum(lengths)]))


class Arch(NamedTuple):
    """A curve of constant alpha: lam, and the length of the curve up to there."""

    lam: np.ndarray
    length: np.ndarray

    def even(self, n_points: int) -> np.ndarray:
        """Return values of lam about equally far apart along the curve, both ends included."""
        if self.length[-1] == 0:  # no shift: any lam will do
            return np.linspace(self.lam[0], self.lam[-1], n_points)
        places = np.linspace(0, self.length[-1], n_points)[1:-1]
        # a weighting may stay where it is for many steps
        keep = np.concatenate([[True], np.diff(self.length) > 0])
        inner = expit(np.interp(places, self.length[keep], _bounded_logit(self.lam[keep])))
        inner = np.clip(inner, self.lam[0], self.lam[-1])
        return np.concatenate([self.lam[:1], inner, self.lam[-1:]])

    def share(self, lam: np.ndarray) -> np.ndarray:
        """Return which share of the length lies before some lam."""
        places = np.interp(_bounded_logit(lam), _bounded_logit(self.lam), self.length)
        return np.asarray(places / self.length[-1] if self.length[-1] > 0 else lam)


class Plane:
    """The plane that keeps most of the differences of some weightings.

    Parameters
    ----------
    roots : ndarray of shape (n_weightings, n_groups)
        Unit vectors; the last two are no weights and the full ratio, which lie on a level, the
        first of them at the origin.
    rising : slice
        Weightings whose mean lies above the two.
    """

    def __init__(self, roots: np.ndarray, rising: slice) -> None:
        self._mean = roots.mean(axis=0)
        centred = roots - self._mean
        # the weightings are fewer than the rows: their Gram matrix is the smaller problem
        value, vector = np.linalg.eigh(centred @ centred.T)
        value = np.maximum(value[::-1], 0.0)
        axes = centred.T @ vector[:, ::-1][:, :2] / np.sqrt(np.maximum(value[:2], ROUNDING**2))
        self._origin = (roots[-2] - self._mean) @ axes
        across = (roots[-1] - self._mean) @ axes - self._origin
        length = math.hypot(*across)
        # without shift all is one point, and what is left is rounding
        self.is_point = length < ROUNDING
        self.kept = 1.0 if self.is_point else float(value[:2].sum() / value.sum())
        cosine, sine = across / length if length > 0 else (1.0, 0.0)
        turn = np.array([[cosine, -sine], [sine, cosine]])
        self._origin, self._axes = self._origin @ turn, axes @ turn
        if self(roots[rising])[:, 1].sum() < 0:
            self._axes[:, 1] *= -1
            self._origin[1] *= -1

    def __call__(self, roots: np.ndarray) -> np.ndarray:
        """Return places of unit vectors, of shape (n_weightings, 2)."""
        if self.is_point:
            return np.zeros((len(roots), 2))
        return np.asarray((roots - self._mean) @ self._axes - self._origin)


def _bounded_logit(lam: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip(logit(lam), -2 * _NEAREST_ZERO, _NEAREST_ONE + 2))
