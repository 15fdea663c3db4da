"""The numbers behind the bridge: weightings that were tried, their losses, and where they lie."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit, logsumexp

from weighbridge.geodesic import log_weight
from weighbridge.model_selection import (
    MIN_DISTANCE,
    Point,
    SearchResult,
    group_rows,
    named_points,
)
from weighbridge.pictures._picture import Picture, check_log_ratio, check_made

# Curves of constant alpha that have names, from the lowest to the highest.
CURVES = {"mixture": -1.0, "straight": 0.0, "power": 1.0, "relative": 3.0}
# Points of a curve that is drawn.
_STEPS = 61
# Lines of equal lam, as hangers of the bridge: from the straight deck to the highest named arch.
_HANGERS = np.arange(1, 10) / 10
_ACROSS = np.linspace(0, 3, 13)
# Fields that are written with four decimals.
_PLACES = ("lam", "alpha", "x", "y", "kept", "ends", "curves", "hangers", "chosen_place")
# The two ends, whatever alpha.
_ENDS = {"none": Point(0.0, 1.0), "full": Point(1.0, 1.0)}
# Steps along a curve before it is divided evenly.
_FINE = 161
# lam is nowhere nearer to 1 than a double can be.
_NEAREST_ONE = 36.0
_NEAREST_ZERO = 300.0
# Least numbers of curves, and of steps along each, of a surface between candidates.
_MESH_CURVES = 9
_MESH_STEPS = 29
# Standard errors of the paired difference up to which a weighting does as well as the best.
AS_GOOD = 2.0
# Differences without noise are so many standard errors; those without errors go up to the second.
_FURTHEST, _FAR = 1e6, 16.0
# Relative to the loss, less than this is rounding.
_ROUNDED = 1e-9
# Candidates beside the grid: the points that every search tries first.
_BESIDE = len(named_points())


class Mesh(NamedTuple):
    """The surface between the candidates of a grid.

    Parameters
    ----------
    x, y, apart : ndarray of shape (n_curves, n_steps)
        Places on the bridge, and by how many standard errors the loss exceeds the best one. Along
        each curve of constant alpha there are equally many steps of equal length. `apart` is
        interpolated between candidates along the curves, then across them. It is NaN next to a
        failed candidate.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.plotting import compute_surface
    >>> from weighbridge.model_selection import Evaluation, Point, SearchResult
    >>> grid = [Point(lam, alpha) for lam in (0.25, 0.5, 0.75) for alpha in (1.0, 3.0)]
    >>> tried = SearchResult(tuple(Evaluation(each, np.ones(1)) for each in grid), np.ones(1))
    >>> compute_surface(tried, [-1, 0, 1], (0.5, 1.0)).mesh.apart.max()
    np.float64(0.0)
    """

    x: np.ndarray
    y: np.ndarray
    apart: np.ndarray


@dataclass(frozen=True)
class BridgeSurface(Picture):
    """The weightings that a search tried and their losses, as `compute_surface` places them.

    Parameters
    ----------
    lam, alpha : ndarray of shape (n_candidates,)
        The weightings, in order of evaluation.
    loss, standard_error : ndarray of shape (n_candidates,)
        Their validation losses and the standard errors of these; NaN where the evaluation failed.
    x, y : ndarray of shape (n_candidates,)
        Their places on the bridge: equal distance is equally different weights, no weights are at
        the origin, and the full ratio is to the right of it. The unit is the Hellinger distance,
        at most the root of 2.
    kept : float
        Share of the variance of candidates and named curves that the coordinates keep.
    ends : dict of str to ndarray of shape (2,)
        Places of ``none`` and ``full``.
    curves : dict of str to ndarray of shape (n_steps, 2)
        Places of the named curves, from no weights to the full ratio: ``mixture`` (alpha -1),
        ``straight`` (0), ``power`` (1) and ``relative`` (3).
    hangers : dict of float to ndarray of shape (n_steps, 2)
        Places of equal lam, for alpha from 0 to 3.
    chosen : Point
        lam and alpha of the chosen weighting.
    chosen_place : ndarray of shape (2,)
        Where it lies on the bridge.
    searched : bool
        Whether the candidates are those of a search in their order, not of a grid.
    mesh : Mesh or None
        The surface between the candidates, where they are a grid.
    loss_name : str
        What the loss is called.
    apart : ndarray of shape (n_candidates,)
        By how many standard errors of the paired difference each loss exceeds the best one, at most
        a million.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.plotting import compute_surface
    >>> from weighbridge.model_selection import Evaluation, Point, SearchResult
    >>> tried = [Evaluation(Point(lam, 1.0), np.ones(1)) for lam in (0.0, 0.5, 1.0)]
    >>> surface = compute_surface(SearchResult(tuple(tried), np.ones(1)), [-1, 0, 1], (0.5, 1.0))
    >>> surface.lam, sorted(surface.curves)
    (array([0. , 0.5, 1. ]), ['mixture', 'power', 'relative', 'straight'])
    """

    lam: np.ndarray
    alpha: np.ndarray
    loss: np.ndarray
    standard_error: np.ndarray
    x: np.ndarray
    y: np.ndarray
    kept: float
    ends: dict[str, np.ndarray]
    curves: dict[str, np.ndarray]
    hangers: dict[float, np.ndarray]
    chosen: Point
    chosen_place: np.ndarray
    searched: bool
    mesh: Mesh | None
    loss_name: str
    apart: np.ndarray

    @property
    def as_good(self) -> np.ndarray:
        """Which candidates do as well as the best: at most two standard errors apart."""
        return np.asarray(self.apart <= AS_GOOD)

    def _written(self) -> dict[str, Any]:
        """Round places to four decimals, and put that of the choice within ``chosen``."""
        found = super()._written() | {name: _decimals(getattr(self, name)) for name in _PLACES}
        found |= {name: _digits(found[name]) for name in ("loss", "standard_error")}
        x, y = found.pop("chosen_place")
        if self.mesh is not None:
            places = _decimals({"x": self.mesh.x, "y": self.mesh.y})
            found["mesh"] = self.mesh._replace(**places)
        return found | {"chosen": {**self.chosen._asdict(), "x": x, "y": y}}

    @classmethod
    def _unfolded(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Take the place of the choice out of ``chosen``."""
        chosen = content["chosen"]
        return {**content, "chosen_place": [chosen["x"], chosen["y"]]}


def compute_surface(
    result: SearchResult, log_ratio: Any, chosen: Any, *, loss_name: str = "validation loss"
) -> BridgeSurface:
    """Place the weightings that a search tried by how different their weights are.

    Parameters
    ----------
    result : SearchResult
        What the search found; ``search_result_`` of an `ImportanceWeightedCV`.
    log_ratio : array-like of shape (n_samples,)
        Log ratios at the source rows; ``log_ratio_`` of the same. Rows of an infinite ratio,
        which no weighting can count, are left out.
    chosen : (float, float)
        lam and alpha of the chosen weighting.
    loss_name : str, default="validation loss"
        What the loss is called.

    Returns
    -------
    BridgeSurface
        Losses and places, in order of evaluation.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge import ImportanceWeightedCV
    >>> from weighbridge.datasets import make_quadratic
    >>> from weighbridge.plotting import compute_surface
    >>> data = make_quadratic(random_state=0)
    >>> model = ImportanceWeightedCV(LinearRegression(), data.ratio).fit(data.X, data.y)
    >>> surface = compute_surface(model.search_result_, model.log_ratio_, (0.0, 1.0))
    >>> bool(surface.loss[surface.lam == 0].min() > surface.loss.min())  # no weights are not best
    True
    """
    check_made(result, SearchResult, "result", "search_result_ of a fitted ImportanceWeightedCV")
    log_ratio = check_log_ratio(log_ratio, "log_ratio")
    point = _point(chosen)
    roots = RootWeights(log_ratio[log_ratio < np.inf])
    grid = _tried_grid(result.points)
    named = {name: roots(roots.arch(alpha).even(_STEPS), alpha) for name, alpha in CURVES.items()}
    tried, ends = roots(*result.points.T), roots(*np.array(list(_ENDS.values())).T)
    start = len(tried) + _STEPS * list(CURVES).index("power")  # the arches rise with this curve
    plane = _Plane(np.vstack([tried, *named.values(), ends]), slice(start, start + _STEPS))
    x, y = plane(tried).T
    hangers = {float(lam): plane(roots(np.full(_ACROSS.size, lam), _ACROSS)) for lam in _HANGERS}
    lam, alpha = result.points.T
    apart = _in_errors(result.values, _paired_errors(result))
    return BridgeSurface(
        lam=lam,
        alpha=alpha,
        loss=result.values,
        standard_error=result.standard_errors,
        x=x,
        y=y,
        kept=plane.kept,
        ends=dict(zip(_ENDS, plane(ends), strict=True)),
        curves={name: plane(curve) for name, curve in named.items()},
        hangers=hangers,
        chosen=point,
        chosen_place=plane(roots(np.array([point.lam]), point.alpha))[0],
        searched=grid is None and not _is_in_order(result.points),
        mesh=None if grid is None else _mesh(grid, apart, roots, plane),
        loss_name=loss_name,
        apart=apart,
    )


def _point(chosen: Any) -> Point:
    if np.shape(chosen) != (2,):
        raise ValueError(f"Got chosen={chosen!r}, but expected a pair: lam and alpha.")
    return Point(*chosen)


def _decimals(content: Any) -> Any:
    """Round places to four decimals, without minus zero."""
    if isinstance(content, dict):
        return {name: _decimals(each) for name, each in content.items()}
    return np.round(content, 4) + 0.0


def _digits(values: np.ndarray) -> np.ndarray:
    """Round losses to six significant digits."""
    return np.array([float(f"{value:.6g}") for value in values.ravel()]).reshape(values.shape)


def _paired_errors(result: SearchResult) -> np.ndarray:
    """Return the standard error of each candidate's difference to the best one."""
    known = ~np.isnan(result.values)
    errors = np.full(known.size, np.nan)
    for index in np.flatnonzero(known).tolist():
        errors[index] = result.difference(index, result.best_index).standard_error
    return errors


def _in_errors(loss: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return by how many standard errors each loss exceeds the best; NaN where there is none."""
    best = np.fmin.reduce(loss, initial=np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        above = loss - best
        if np.isnan(error).all():  # a single number each: parts of their range
            error = np.full(loss.size, np.fmax.reduce(above, initial=0.0) / _FAR)
        units = above / np.maximum(error, _ROUNDED * abs(best))
    return np.where(above > 0, np.fmin(units, _FURTHEST), above)


class RootWeights:
    """Weightings as unit vectors ``sqrt(w / sum(w))``, whose distances are those of Hellinger."""

    def __init__(self, log_ratio: np.ndarray) -> None:
        self.centre, count = group_rows(log_ratio)
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


class _Plane:
    """The plane that keeps most of the differences of some weightings."""

    def __init__(self, roots: np.ndarray, rising: slice) -> None:
        self._mean = roots.mean(axis=0)
        centred = roots - self._mean
        # the weightings are fewer than the rows: their Gram matrix is the smaller problem
        value, vector = np.linalg.eigh(centred @ centred.T)
        value = np.maximum(value[::-1], 0.0)
        axes = centred.T @ vector[:, ::-1][:, :2] / np.sqrt(np.maximum(value[:2], MIN_DISTANCE**2))
        self._origin = (roots[-2] - self._mean) @ axes
        across = (roots[-1] - self._mean) @ axes - self._origin
        length = math.hypot(*across)
        # without shift all is one point, and what is left is rounding
        self.is_point = length < MIN_DISTANCE
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


class _Grid(NamedTuple):
    """Values of a grid, and which candidate is where."""

    lam: np.ndarray
    alpha: np.ndarray
    candidate: np.ndarray


def _tried_grid(points: np.ndarray) -> _Grid | None:
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
    return _Grid(np.array(lams), np.array(alphas), np.array(rows))


def _is_in_order(points: np.ndarray) -> bool:
    """Whether candidates, after those with names, are few or in order of lam: nobody searched."""
    named = set(named_points())
    inner = [(lam, alpha) for lam, alpha in points.tolist() if 0 < lam < 1]
    rest = [point for point in inner if point not in named]
    return len(rest) < 2 or (len(rest) > 2 and rest == sorted(rest))


def _shared(points: list[tuple[float, float]], axis: int) -> list[float]:
    """Return the values that at least two points have, in order."""
    values, counts = np.unique([point[axis] for point in points], return_counts=True)
    return [float(value) for value in values[counts > 1]]


def _mesh(grid: _Grid, apart: np.ndarray, roots: RootWeights, plane: _Plane) -> Mesh:
    """Fill in between the candidates of a grid, evenly along curves of constant alpha."""
    between = math.ceil((_MESH_CURVES - 1) / (grid.alpha.size - 1))
    # whole numbers are the curves of the grid themselves
    positions = np.arange(between * (grid.alpha.size - 1) + 1) / between
    alphas = np.interp(positions, np.arange(grid.alpha.size), grid.alpha)
    ends = (float(grid.lam[0]), float(grid.lam[-1]))
    steps = max(_MESH_STEPS, grid.lam.size)
    share = np.linspace(0, 1, steps)
    curves, tried = [], []
    for position, alpha in zip(positions, alphas, strict=True):
        arch = roots.arch(alpha, ends)
        curves.append(roots(arch.even(steps), alpha))
        if position == int(position):
            candidates = grid.candidate[int(position)]
            tried.append(np.interp(share, arch.share(grid.lam), apart[candidates]))
    x, y = plane(np.vstack(curves)).T.reshape(2, len(curves), steps)
    return Mesh(x, y, _across(np.array(tried), positions))


def _across(tried: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Interpolate between the curves of the grid."""
    below, above = (np.asarray(end(positions), dtype=int) for end in (np.floor, np.ceil))
    share = (positions - below)[:, None]
    return np.asarray((1 - share) * tried[below] + share * tried[above])
