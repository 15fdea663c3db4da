"""The bridge: a map of all weightings from none to the full ratio."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weighbridge._findings import percent
from weighbridge._svg import FEW, LEVELS, NO_MAP, are_alike, colour_bar, frame, map_title
from weighbridge.pictures import CURVES, BridgeSurface, check_made, compute_surface
from weighbridge.plotting._display import GREY, LOSS_STEPS, WEIGHTED, Display

# The line of each named curve.
_LINES = {"mixture": ":", "straight": "-", "power": "-", "relative": "--"}


class BridgeDisplay(Display):
    """A map of the weightings that a search tried, with their losses and the choice.

    In (lam, alpha), the whole edge lam = 0 is one model and the whole edge lam = 1 another. The
    bridge places each weighting by its weights: equal distances mean equally different weights, the
    left end is no weights, the right end the full ratio; curves of constant alpha are arches.

    `from_estimator` draws at once, as scikit-learn's displays do. The constructors of the other
    displays do not draw: their tables are useful without a picture.

    Parameters
    ----------
    surface : BridgeSurface
        From `compute_surface`.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge import ImportanceWeightedCV
    >>> from weighbridge.datasets import make_quadratic
    >>> from weighbridge.plotting import BridgeDisplay
    >>> data = make_quadratic(random_state=0)
    >>> model = ImportanceWeightedCV(LinearRegression(), data.ratio).fit(data.X, data.y)
    >>> display = BridgeDisplay.from_estimator(model, chart="rectangle")
    >>> sorted(display.table())
    ['alpha', 'apart', 'lam', 'loss', 'order', 'x', 'y']
    """

    def __init__(self, surface: BridgeSurface) -> None:
        self.surface = check_made(surface, BridgeSurface, "surface", "compute_surface")

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, chart: str = "bridge", path: bool = False
    ) -> BridgeDisplay:
        """Draw what a fitted `ImportanceWeightedCV` chose from.

        Parameters
        ----------
        estimator : ImportanceWeightedCV
            Fitted.
        ax, chart, path
            See `plot`.

        Returns
        -------
        BridgeDisplay
            With the picture drawn.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "search_result_"):
            raise TypeError(
                f"Got {type(estimator).__name__}, which did not search for a weighting; pass "
                "a fitted ImportanceWeightedCV."
            )
        if estimator.search_result_ is None:
            raise ValueError(f"Got a model without a search to draw. {estimator.reason_}")
        weighting = estimator.best_weighting_
        chosen = weighting.lam, weighting.alpha
        log_ratio = estimator.log_ratio_
        # rows that do not count, with a sample weight of 0, may have any ratio
        log_ratio = log_ratio[~np.isnan(log_ratio)]
        display = cls(compute_surface(estimator.search_result_, log_ratio, chosen))
        return display.plot(ax=ax, chart=chart, path=path)

    def plot(self, *, ax: Any = None, chart: str = "bridge", path: bool = False) -> BridgeDisplay:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.
        chart : {"bridge", "rectangle"}, default="bridge"
            The map by weights, or the plain square of lam and alpha.
        path : bool, default=False
            Number the evaluations in the order they were made.

        Returns
        -------
        BridgeDisplay
            The object itself.
        """
        if chart not in ("bridge", "rectangle"):
            raise ValueError(f"Got chart={chart!r}, but expected 'bridge' or 'rectangle'.")
        ax = self._on(ax, 7, 4.2)
        _draw_surface(ax, self.surface, is_map=chart == "bridge", path=path)
        return self

    def table(self) -> dict[str, np.ndarray]:
        """Return the numbers behind the picture.

        Returns
        -------
        dict of ndarray
            For each candidate in order of evaluation: lam, alpha, its loss, by how many standard
            errors that is above the best (``apart``), and its place on the bridge.
        """
        surface = self.surface
        columns = {name: getattr(surface, name) for name in ("lam", "alpha", "loss", "apart")}
        order = np.arange(1, surface.lam.size + 1)
        return {**columns, "order": order, "x": surface.x, "y": surface.y}


def _draw_surface(ax: Any, surface: BridgeSurface, *, is_map: bool, path: bool) -> None:
    """Draw the map, or the plain square of lam and alpha."""
    ax.set_title(fill(map_title(surface), 62), fontsize=10)
    if is_map and are_alike(surface):
        ax.text(0.5, 0.5, fill(NO_MAP, 50), ha="center", va="center", transform=ax.transAxes)
        ax.set_axis_off()
        return
    points, star = _map(ax, surface) if is_map else _square(ax, surface)
    _draw_losses(ax, surface, points, is_map=is_map)
    if path:
        _draw_path(ax, points)
    # the edge sets it off from losses of the same colour
    look = {"color": WEIGHTED.color, "markeredgecolor": "white", "markersize": 17}
    chosen = f"chosen: lam {surface.chosen.lam:.2g}, alpha {surface.chosen.alpha:.2g}"
    ax.plot(*star, "*", **look, label=chosen, clip_on=False, zorder=6)
    look = {"loc": "upper center", "ncol": 3, "frameon": False, "fontsize": 9}
    if is_map:
        _finish_map(ax, surface)
        kept = f"distance: how different the weights are ({percent(surface.kept)} kept)"
        ax.legend(**look, bbox_to_anchor=(0.5, 0.03), title=kept, title_fontsize=9)
    else:
        ax.set(xlabel="alpha", ylabel="lam (0: none, 1: full, whatever alpha)")
        ax.legend(**look, bbox_to_anchor=(0.5, -0.14))


def _map(ax: Any, surface: BridgeSurface) -> tuple[np.ndarray, np.ndarray]:
    """Draw the named curves and the lines of equal lam; return places of candidates and choice."""
    for line in surface.hangers.values():
        ax.plot(*line.T, color=GREY, linewidth=0.4, alpha=0.6, zorder=2)
    for name, line in surface.curves.items():
        _draw_curve(ax, name, line)
    for end in surface.ends.values():
        ax.plot(*end, "o", color="0.35", markersize=5, zorder=3)
    return np.column_stack([surface.x, surface.y]), surface.chosen_place


def _square(ax: Any, surface: BridgeSurface) -> tuple[np.ndarray, np.ndarray]:
    """Draw the same on the plain square of lam and alpha, as far as it reaches."""
    for name, alpha in CURVES.items():
        if surface.alpha.min() <= alpha <= surface.alpha.max():
            _draw_curve(ax, name, np.array([[alpha, 0.0], [alpha, 1.0]]))
    points = np.column_stack([surface.alpha, surface.lam])
    return points, np.array([surface.chosen.alpha, surface.chosen.lam])


def _draw_curve(ax: Any, name: str, line: np.ndarray) -> None:
    label = f"{name} (alpha {CURVES[name]:g})"
    style = {"color": "0.35", "linewidth": 1.3, "linestyle": _LINES[name]}
    ax.plot(*line.T, **style, label=label, zorder=3)


def _draw_losses(ax: Any, surface: BridgeSurface, points: np.ndarray, *, is_map: bool) -> None:
    """Colour by standard errors above the best; fill in a grid, mark the points of a search."""
    from matplotlib.colors import BoundaryNorm, ListedColormap

    good, words = ~np.isnan(surface.apart), colour_bar(surface)
    levels = [0.0, *LEVELS, 2 * LEVELS[-1]][: max(2, words.n + 1)]
    apart = np.minimum(surface.apart, levels[-1])
    colors = ListedColormap(LOSS_STEPS[: len(levels) - 1])
    style: dict[str, Any] = {"norm": BoundaryNorm(levels, colors.N), "cmap": colors}
    shown = _fill(ax, surface, points[good], {**style, "levels": levels, "zorder": 1}, is_map)
    if shown is None:
        style |= {"c": apart[good], "s": 260 if apart.size <= FEW else 40, "zorder": 4}
        shown = ax.scatter(*points[good].T, edgecolors=GREY, linewidths=0.6, **style)
        shown.set_clip_on(False)
    if not good.all():
        ax.plot(*points[~good].T, "x", color="0.4", label="failed")
    if good.any():
        look = {"ticks": words.errors, "format": "%g", "shrink": 0.7, "pad": 0.07}
        bar = ax.figure.colorbar(shown, ax=ax, **look)
        unit = "standard errors above the best" if words.errors else surface.loss_name
        bar.set_label(unit if words.bad else words.good, fontsize=9)
        bar.ax.set_title(words.bad, fontsize=9)
        bar.ax.set_xlabel(fill(words.good, 12) if words.bad else "", fontsize=9)


def _fill(
    ax: Any, surface: BridgeSurface, places: np.ndarray, style: dict[str, Any], is_map: bool
) -> Any:
    """Fill in the surface of a grid; None where there is none, or too much of it failed."""
    mesh, last = surface.mesh, style["levels"][-1]
    has_corners = len(places) > 2 and min(len(np.unique(axis)) for axis in places.T) > 1
    if mesh is None or not has_corners:
        return None
    if is_map:
        within = np.ma.masked_invalid(np.minimum(mesh.apart, last))
        return ax.contourf(mesh.x, mesh.y, within, **style)
    places, values = _with_edges(places, surface.apart[~np.isnan(surface.apart)])
    return ax.tricontourf(*places.T, np.minimum(values, last), **style)


def _with_edges(places: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Repeat the two ends, each one model whatever alpha, along their edges of the square."""
    alphas = np.unique(places[:, 0])
    for lam in (0.0, 1.0):
        ends = np.flatnonzero(places[:, 1] == lam)
        if ends.size:
            edge = np.column_stack([alphas, np.full(alphas.size, lam)])
            places = np.vstack([places, edge])
            values = np.append(values, np.full(alphas.size, values[ends[0]]))
    _, first = np.unique(places, axis=0, return_index=True)
    return places[first], values[first]


def _draw_path(ax: Any, points: np.ndarray) -> None:
    ax.plot(*points.T, color="0.6", linewidth=0.6, zorder=2)
    for number, place in enumerate(points, 1):
        ax.annotate(str(number), place, xytext=(3, 3), textcoords="offset points", fontsize=7)


def _finish_map(ax: Any, surface: BridgeSurface) -> None:
    style: dict[str, Any] = {"textcoords": "offset points", "va": "center"}
    for name, side in (("none", "right"), ("full", "left")):
        style |= {"xytext": (-14 if side == "right" else 14, 0), "ha": side}
        ax.annotate(name, surface.ends[name], fontweight="bold", **style)
    style |= {"xytext": (0, -20), "ha": "center"}
    for lam, alpha, *place in zip(surface.lam, surface.alpha, surface.x, surface.y, strict=True):
        if surface.lam.size <= FEW and 0 < lam < 1:
            ax.annotate(f"lam {lam:.2g}, alpha {alpha:.2g}", place, fontsize=9, **style)
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    ax.margins(0.12, 0.12)
    # equal distance is equally different weights, unless the bridge is too flat to see
    ax.set_aspect(frame(surface).stretch)
    ax.spines[:].set_visible(False)
