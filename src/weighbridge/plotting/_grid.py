"""Candidates that form a grid, and the surface between them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weighbridge.plotting._arches import Plane, RootWeights
from weighbridge.search import named_points

# A surface has at least so many curves, and so many steps along each.
_CURVES = 9
_STEPS = 29
# Candidates beside the grid: the points that every search tries first.
_BESIDE = len(named_points())


@dataclass(frozen=True)
class Grid:
    """Values of a grid, and which candidate is where."""

    lam: np.ndarray
    alpha: np.ndarray
    index: np.ndarray


def tried_grid(points: np.ndarray) -> Grid | None:
    """Find the grid that some candidates form; None where they do not.

    Candidates at lam = 0 and lam = 1 stand for any alpha. Named points need not lie on the grid.
    """
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
    """Weightings between the candidates of a grid, evenly spaced along curves of constant alpha.

    Parameters
    ----------
    grid : Grid
        The candidates.
    loss : ndarray of shape (n_candidates,)
        Their losses.
    root_weights : RootWeights
        The rows.
    """

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
