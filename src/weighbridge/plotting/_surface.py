"""The numbers behind the bridge: weightings that were tried, their losses, and where they lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from weighbridge.plotting._arguments import check_log_ratio, check_made
from weighbridge.search import Point, SearchResult
from weighbridge.search._coordinates import hellinger_coordinates

# Curves of constant alpha that have names, and those that give the map its shape.
CURVES = {"power (alpha 1)": 1.0, "relative (alpha 3)": 3.0}
# lam along a curve, dense at both ends, where relative weights change fastest.
STEPS = np.concatenate([[0.0], expit(np.linspace(-9, 9, 79)), [1.0]])


@dataclass(frozen=True)
class BridgeSurface:
    """The weightings that a search tried and their losses, as `compute_surface` places them.

    Parameters
    ----------
    lam, alpha : ndarray of shape (n_candidates,)
        The weightings, in order of evaluation.
    loss : ndarray of shape (n_candidates,)
        Their validation losses; NaN where the evaluation failed.
    x, y : ndarray of shape (n_candidates,)
        Their places on the bridge: equal distance is equally different weights, no weights are at
        the origin, and the full ratio is to the right of it.
    curves : dict of str to ndarray of shape (n_steps, 2)
        Places of the named curves, from no weights to the full ratio.
    chosen : Point
        lam and alpha of the chosen weighting.
    chosen_place : ndarray of shape (2,)
        Where it lies on the bridge.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.plotting import compute_surface
    >>> from weighbridge.search import Evaluation, Point, SearchResult
    >>> tried = [Evaluation(Point(lam, 1.0), np.ones(1)) for lam in (0.0, 0.5, 1.0)]
    >>> surface = compute_surface(SearchResult(tuple(tried), np.ones(1)), [-1, 0, 1], (0.5, 1.0))
    >>> surface.lam, sorted(surface.curves)
    (array([0. , 0.5, 1. ]), ['power (alpha 1)', 'relative (alpha 3)'])
    """

    lam: np.ndarray
    alpha: np.ndarray
    loss: np.ndarray
    x: np.ndarray
    y: np.ndarray
    curves: dict[str, np.ndarray]
    chosen: Point
    chosen_place: np.ndarray


def compute_surface(result: SearchResult, log_ratio: Any, chosen: Any) -> BridgeSurface:
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
    log_ratio = log_ratio[log_ratio < np.inf]
    point = _point(chosen)
    tried = [Point(*each) for each in result.points]
    curves = [Point(lam, alpha) for alpha in CURVES.values() for lam in STEPS]
    ends = [Point(0.0, 1.0), Point(1.0, 1.0)]
    places = hellinger_coordinates([*tried, *curves, point, *ends], log_ratio)
    flat = _laid_flat(places[:, :2])
    along = flat[len(tried) : len(tried) + len(curves)].reshape(len(CURVES), STEPS.size, 2)
    named = dict(zip(CURVES, along, strict=True))
    lam, alpha = result.points.T
    x, y = flat[: len(tried)].T
    return BridgeSurface(lam, alpha, result.values, x, y, named, point, flat[-3])


def _point(chosen: Any) -> Point:
    if np.shape(chosen) != (2,):
        raise ValueError(f"Got chosen={chosen!r}, but expected a pair: lam and alpha.")
    return Point(*chosen)


def _laid_flat(places: np.ndarray) -> np.ndarray:
    """Turn the map so that its last two points lie on a level, the first of them at 0."""
    none, full = places[-2], places[-1]
    length = np.hypot(*(full - none))
    if length == 0:  # no shift: all is one point
        return places - none
    cosine, sine = (full - none) / length
    turned = (places - none) @ np.array([[cosine, -sine], [sine, cosine]])
    if turned[:, 1].sum() < 0:  # the arches rise
        turned[:, 1] *= -1
    return turned
