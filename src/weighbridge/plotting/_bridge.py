"""The bridge: a map of all weightings from none to the full ratio."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weighbridge.plotting._arguments import check_made
from weighbridge.plotting._roles import WEIGHTED
from weighbridge.plotting._surface import CURVES, STEPS, BridgeSurface, compute_surface

_LEVELS = 8
# With fewer evaluations there is no surface to fill in.
_SURFACE = 30


class BridgeDisplay:
    """A map of the weightings that a search tried, with their losses and the choice.

    In (lam, alpha) the whole edge lam = 0 is one model and the whole edge lam = 1 another. The
    bridge draws each weighting where its weights are: equal distance is equally different weights,
    the left end is no weights, the right end the full ratio, and the curves of constant alpha are
    arches between them.

    `from_estimator` draws at once, as displays of scikit-learn do. Those of the other displays here
    do not: they have tables for those who do not want to draw.

    Parameters
    ----------
    surface : BridgeSurface
        From `compute_surface`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of it.

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
    ['alpha', 'lam', 'loss', 'order', 'x', 'y']
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
                f"Got {type(estimator).__name__}, which has searched for nothing; pass a fitted "
                "ImportanceWeightedCV."
            )
        weighting = estimator.best_weighting_
        chosen = weighting.lam, weighting.alpha
        log_ratio = estimator.log_ratio_
        # rows that do not count, by an own weight of 0, may have any ratio
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
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
        place = self._bridge if chart == "bridge" else self._rectangle
        points, curves, star = place()
        self._draw_losses(ax, points, filled=chart == "rectangle")
        for name, line in curves.items():
            style = "-" if name.startswith("power") else "--"
            ax.plot(*line.T, color="0.35", linewidth=1.2, linestyle=style, label=name)
        if path:
            self._draw_path(ax, points)
        # the edge sets it off from losses of its own colour
        look = {"color": WEIGHTED.color, "markeredgecolor": "white", "markersize": 17}
        ax.plot(*star, "*", **look, label=self._chosen_label(), clip_on=False, zorder=5)
        _finish_bridge(ax, self.surface) if chart == "bridge" else _finish_rectangle(ax)
        ax.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.14), ncol=2, frameon=False, fontsize=9
        )
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def table(self) -> dict[str, np.ndarray]:
        """Return the numbers behind the picture.

        Returns
        -------
        dict of ndarray
            For each candidate in order of evaluation: lam, alpha, its loss, and its place on the
            bridge.
        """
        surface = self.surface
        return {
            "lam": surface.lam,
            "alpha": surface.alpha,
            "loss": surface.loss,
            "order": np.arange(1, surface.lam.size + 1),
            "x": surface.x,
            "y": surface.y,
        }

    def _bridge(self) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
        """Return places of candidates, named curves and the choice, by their weights."""
        surface = self.surface
        return np.column_stack([surface.x, surface.y]), surface.curves, surface.chosen_place

    def _rectangle(self) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
        """Return the same on the plain square of lam and alpha."""
        surface, chosen = self.surface, self.surface.chosen
        named = {
            name: np.column_stack([np.full(STEPS.size, alpha), STEPS])
            for name, alpha in CURVES.items()
        }
        points = np.column_stack([surface.alpha, surface.lam])
        return points, named, np.array([chosen.alpha, chosen.lam])

    def _draw_losses(self, ax: Any, points: np.ndarray, *, filled: bool) -> None:
        """Colour by loss, in steps; the square is filled where there are enough candidates."""
        from matplotlib.colors import BoundaryNorm

        good = np.isfinite(self.surface.loss)
        values, places = self.surface.loss[good], points[good]
        # steps of equally many candidates: a loss that is huge near one end must not hide the rest
        levels = np.unique(np.quantile(values, np.linspace(0, 1, _LEVELS + 1)))
        if levels.size < 2:
            levels = np.array([values[0] - 0.5, values[0] + 0.5])
        norm = BoundaryNorm(levels, 256)
        style = {"norm": norm, "cmap": "viridis_r"}
        if filled and good.sum() >= _SURFACE and levels.size > 2 and _is_spread(places):
            ax.tricontourf(*_with_edges(places, values), levels=levels, alpha=0.6, **style)
        shown = ax.scatter(
            *places.T, c=values, s=22, zorder=3, edgecolors="white", linewidths=0.4, **style
        )
        shown.set_clip_on(False)
        ax.figure.colorbar(shown, ax=ax, label="validation loss", format="%.4g")
        if not good.all():
            ax.plot(*points[~good].T, "x", color="0.4", label="failed")

    def _draw_path(self, ax: Any, points: np.ndarray) -> None:
        ax.plot(*points.T, color="0.6", linewidth=0.6, zorder=2)
        for number, place in enumerate(points, 1):
            ax.annotate(str(number), place, xytext=(3, 3), textcoords="offset points", fontsize=7)

    def _chosen_label(self) -> str:
        return f"chosen: lam {self.surface.chosen.lam:.2g}, alpha {self.surface.chosen.alpha:.2g}"


def _with_edges(places: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, ...]:
    """Repeat the two ends, each one model whatever alpha, along their edges of the square."""
    alphas = np.unique(places[:, 0])
    for lam in (0.0, 1.0):
        ends = np.flatnonzero(places[:, 1] == lam)
        if ends.size:
            edge = np.column_stack([alphas, np.full(alphas.size, lam)])
            places = np.vstack([places, edge])
            values = np.append(values, np.full(alphas.size, values[ends[0]]))
    _, first = np.unique(places, axis=0, return_index=True)
    return (*places[first].T, values[first])


def _is_spread(places: np.ndarray) -> bool:
    """True where the points do not lie on one line, so that triangles can be drawn."""
    singular = np.linalg.svd(places - places.mean(axis=0), compute_uv=False)
    return bool(singular[-1] > 1e-6 * max(singular[0], 1e-300))


def _finish_bridge(ax: Any, surface: BridgeSurface) -> None:
    for lam, name in ((0, "none"), (1, "full")):
        ends = np.flatnonzero(surface.lam == lam)
        if ends.size:
            place = surface.x[ends[0]], surface.y[ends[0]]
            ax.annotate(name, place, xytext=(0, -14), textcoords="offset points", ha="center")
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    ax.margins(0.08, 0.2)
    ax.set_title("Weightings by how different their weights are", fontsize=10)


def _finish_rectangle(ax: Any) -> None:
    ax.set(xlabel="alpha", ylabel="lam (0: none, 1: full, whatever alpha)")
    ax.set_title("Validation loss over lam and alpha", fontsize=10)
