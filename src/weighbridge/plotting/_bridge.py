"""The bridge: a map of all weightings from none to the full ratio."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weighbridge._svg._chart import Chart
from weighbridge._svg.bridge import bridge as bridge_chart
from weighbridge._svg.curves import rectangle as rectangle_chart
from weighbridge._svg.curves import search_path as path_chart
from weighbridge.plotting._arguments import check_made
from weighbridge.plotting._bridge_picture import draw_surface
from weighbridge.plotting._result import picture_of
from weighbridge.plotting._surface import BridgeSurface, compute_surface, surface_dict, surface_of


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

    @classmethod
    def from_result(cls, result: Any) -> BridgeDisplay:
        """Take the map out of a result.

        Parameters
        ----------
        result : Adaptation or dict
            What `weighbridge.adapt` returned, its ``to_dict()``, or a ``result.json`` as read.

        Returns
        -------
        BridgeDisplay
            Not drawn yet; see `plot`.
        """
        return cls(surface_of(picture_of(result, "bridge")))

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
        _check_chart(chart)
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
        draw_surface(ax, self.surface, is_map=chart == "bridge", path=path)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def svg(self, *, chart: str = "bridge", path: bool = False) -> str:
        """Return the drawing of the reports, without matplotlib.

        Parameters
        ----------
        chart : {"bridge", "rectangle"}, default="bridge"
            As in `plot`.
        path : bool, default=False
            The path of the search on the map, with the best loss so far below it.

        Returns
        -------
        str
            One ``<svg>`` with its style.
        """
        _check_chart(chart)
        numbers = surface_dict(self.surface)
        if path:
            drawn: Chart = path_chart(numbers, id="path")
        else:
            drawn = (bridge_chart if chart == "bridge" else rectangle_chart)(numbers, id=chart)
        return drawn.standalone()

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


def _check_chart(chart: str) -> None:
    if chart not in ("bridge", "rectangle"):
        raise ValueError(f"Got chart={chart!r}, but expected 'bridge' or 'rectangle'.")
