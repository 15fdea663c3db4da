"""The numbers behind the bridge: weightings that were tried, their losses, and where they lie."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from weighbridge.pictures._arches import GridMesh, Plane, RootWeights, is_in_order, tried_grid
from weighbridge.pictures._picture import Picture, check_log_ratio, check_made
from weighbridge.search import Point, SearchResult

# Curves of constant alpha that have names, from the lowest to the highest.
CURVES = {"mixture": -1.0, "straight": 0.0, "power": 1.0, "relative": 3.0}
# Points of a curve that is drawn.
_STEPS = 61
# Lines of equal lam, as hangers of the bridge: from the straight deck to the highest named arch.
_HANGERS = np.arange(1, 10) / 10
_ACROSS = np.linspace(0, 3, 13)
# Fields that are written with four decimals.
_PLACES = ("lam", "alpha", "x", "y", "ends", "curves", "hangers", "chosen_place")
# The two ends, whatever alpha.
_ENDS = {"none": Point(0.0, 1.0), "full": Point(1.0, 1.0)}


class Mesh(NamedTuple):
    """A surface to fill in: places and losses between the candidates of a grid.

    Parameters
    ----------
    x, y, loss : ndarray of shape (n_curves, n_steps)
        Along each curve of constant alpha equally many steps of equal length. Losses between
        candidates are interpolated along the curves, then across them; NaN beside failed ones.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.plotting import compute_surface
    >>> from weighbridge.search import Evaluation, Point, SearchResult
    >>> grid = [Point(lam, alpha) for lam in (0.25, 0.5, 0.75) for alpha in (1.0, 3.0)]
    >>> tried = SearchResult(tuple(Evaluation(each, np.ones(1)) for each in grid), np.ones(1))
    >>> compute_surface(tried, [-1, 0, 1], (0.5, 1.0)).mesh.loss.min()
    np.float64(1.0)
    """

    x: np.ndarray
    y: np.ndarray
    loss: np.ndarray


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
        Share of the variance of the candidates and the named curves that the two coordinates
        keep.
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

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.plotting import compute_surface
    >>> from weighbridge.search import Evaluation, Point, SearchResult
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

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON can hold them, with the digits that a picture can show.

        Returns
        -------
        dict
            By the names of the fields, the place of the choice within ``chosen``.
        """
        mesh = self.mesh
        shown = replace(
            self,
            **{name: _decimals(getattr(self, name)) for name in _PLACES},
            kept=round(self.kept, 4),
            loss=_digits(self.loss),
            standard_error=_digits(self.standard_error),
            mesh=mesh and Mesh(_decimals(mesh.x), _decimals(mesh.y), _digits(mesh.loss)),
        )
        found = Picture.to_dict(shown)
        place = found.pop("chosen_place")
        return {**found, "chosen": {**found["chosen"], "x": place[0], "y": place[1]}}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Parameters
        ----------
        content : dict
            The numbers, as JSON holds them.

        Returns
        -------
        BridgeSurface
            With arrays for lists, and NaN for None.
        """
        chosen = content["chosen"]
        return super().from_dict({**content, "chosen_place": [chosen["x"], chosen["y"]]})


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
    grid = tried_grid(result.points)
    mesh = None if grid is None else GridMesh(grid, result.values, roots)
    named = {name: roots(roots.arch(alpha).even(_STEPS), alpha) for name, alpha in CURVES.items()}
    tried, ends = roots(*result.points.T), roots(*np.array(list(_ENDS.values())).T)
    plane = Plane(np.vstack([tried, *named.values(), ends]), _place_of_power(len(tried)))
    x, y = plane(tried).T
    hangers = {float(lam): plane(roots(np.full(_ACROSS.size, lam), _ACROSS)) for lam in _HANGERS}
    lam, alpha = result.points.T
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
        searched=grid is None and not is_in_order(result.points),
        mesh=None if mesh is None else Mesh(*mesh.laid_out(plane), mesh.loss),
        loss_name=loss_name,
    )


def _place_of_power(n_tried: int) -> slice:
    """Return where the power curve is among the weightings: the arches rise with it."""
    start = n_tried + _STEPS * list(CURVES).index("power")
    return slice(start, start + _STEPS)


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
