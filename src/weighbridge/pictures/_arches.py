"""Where weightings lie: root weights, curves of constant alpha, their plane, grids of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, logsumexp

from weighbridge.geodesic import log_weight
from weighbridge.search import ROUNDING, groups, named_points

# Steps along a curve before it is divided evenly.
_FINE = 161
# lam is nowhere nearer to 1 than a double can be.
_NEAREST_ONE = 36.0
_NEAREST_ZERO = 300.0
# A surface between candidates has at least so many curves, and so many steps along each.
_CURVES = 9
_STEPS = 29
# Candidates beside the grid: the points that every search tries first.
_BESIDE = len(named_points())


class RootWeights:
    """Weightings as unit vectors ``sqrt(w / sum(w))``, whose distances are those of Hellinger."""

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
    """The plane that keeps most of the differences of some weightings."""

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


@dataclass(frozen=True)
class Grid:
    """Values of a grid, and which candidate is where."""

    lam: np.ndarray
    alpha: np.ndarray
    index: np.ndarray


def tried_grid(points: np.ndarray) -> Grid | None:
    """Find the grid that candidates form, those at lam 0 and 1 for any alpha; None without one."""
    places: dict[tuple[float, float], int] = {}
    for index, (lam, alpha) in enumerate(points.tolist()):
        places[lam, alpha] = index
    inner = [point for point in places if 0 < point[0] < 1]
    alphas = _shared(inner, 1)
    lams = [lam for lam in _shared(inner, 0) if all((lam, alpha) in places for alpha in alphas)]
    if min(len(lams), len(alphas)) < 2 or len(inner) - len(lams) * len(alphas) > _BESIDE:
        return None
    rows = [[places[lam, alpha] for lam in lams] for alpha in alphas]
    for end, first in ((0.0, True), (1.0, False)):
        at_end = [index for (lam, _), index in places.items() if lam == end]
        if at_end:
            lams.insert(0 if first else len(lams), end)
            for row in rows:
                row.insert(0 if first else len(row), at_end[0])
    return Grid(np.array(lams), np.array(alphas), np.array(rows))


def is_in_order(points: np.ndarray) -> bool:
    """Whether candidates, after those with names, come in order of lam: nobody searched."""
    named = set(named_points())
    inner = [(lam, alpha) for lam, alpha in points.tolist() if 0 < lam < 1]
    rest = [point for point in inner if point not in named]
    return len(rest) > 2 and rest == sorted(rest)


def _shared(points: list[tuple[float, float]], axis: int) -> list[float]:
    """Return the values that at least two points have, in order."""
    values, counts = np.unique([point[axis] for point in points], return_counts=True)
    return [float(value) for value in values[counts > 1]]


class GridMesh:
    """Weightings between the candidates of a grid, evenly spaced along curves of constant alpha."""

    def __init__(self, grid: Grid, loss: np.ndarray, root_weights: RootWeights) -> None:
        between = math.ceil((_CURVES - 1) / (grid.alpha.size - 1))
        # whole numbers are the curves of the grid themselves
        positions = np.arange(between * (grid.alpha.size - 1) + 1) / between
        alphas = np.interp(positions, np.arange(grid.alpha.size), grid.alpha)
        ends = (float(grid.lam[0]), float(grid.lam[-1]))
        steps = max(_STEPS, grid.lam.size)
        share = np.linspace(0, 1, steps)
        rows, losses = [], []
        for position, alpha in zip(positions, alphas, strict=True):
            arch = root_weights.arch(alpha, ends)
            rows.append(root_weights(arch.even(steps), alpha))
            if position == int(position):
                own = loss[grid.index[int(position)]]
                losses.append(np.interp(share, arch.share(grid.lam), own))
        self.shape = len(rows), steps
        self.roots = np.vstack(rows)
        self.loss = _across(np.array(losses), positions)

    def laid_out(self, plane: Plane) -> tuple[np.ndarray, np.ndarray]:
        """Return x and y of the weightings, one row for each curve."""
        x, y = plane(self.roots).T
        return x.reshape(self.shape), y.reshape(self.shape)


def _across(losses: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Interpolate between the curves of the grid."""
    below, above = (np.asarray(end(positions), dtype=int) for end in (np.floor, np.ceil))
    part = (positions - below)[:, None]
    return np.asarray((1 - part) * losses[below] + part * losses[above])
