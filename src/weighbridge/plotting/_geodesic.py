"""The half-plane of normal distributions, and curves of weighted densities in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weighbridge.pictures import ALPHAS, HalfPlane, check_made, compute_half_plane
from weighbridge.plotting._display import CAUTION, GREY, TRAINING, WEIGHTED, Display

_LOOKS = (
    (TRAINING.color, "--"),
    (GREY, "-"),
    (WEIGHTED.color, "-"),
    (CAUTION, "-."),
    (GREY, "--"),
    (CAUTION, ":"),
)
_NAMES = {-1.0: "mixture", 0.0: "straight", 1.0: "power", 3.0: "relative"}


class GeodesicDisplay(Display):
    """Curves of weighted densities between two normal ones, by mean and standard deviation.

    The farther a weighted density has left the normal ones, the wider the line.

    `from_normals` only computes; `plot` draws.

    Parameters
    ----------
    half_plane : HalfPlane
        From `compute_half_plane`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.
    lines_ : tuple of matplotlib LineCollection
        The curves, in order of their alphas.

    Examples
    --------
    >>> from weighbridge.plotting import GeodesicDisplay
    >>> display = GeodesicDisplay.from_normals((0, 1), (2, 0.5), n_points=11)
    >>> sorted(display.table())
    ['alpha', 'distance', 'lam', 'mean', 'sd']
    """

    def __init__(self, half_plane: HalfPlane) -> None:
        self.half_plane = check_made(half_plane, HalfPlane, "half_plane", "compute_half_plane")

    @classmethod
    def from_normals(
        cls, start: Any, stop: Any, *, alphas: Sequence[float] = ALPHAS, n_points: int = 61
    ) -> GeodesicDisplay:
        """Follow the curves between two normal distributions.

        Parameters
        ----------
        start, stop, alphas, n_points
            As in `compute_half_plane`.

        Returns
        -------
        GeodesicDisplay
            Not drawn yet; see `plot`.
        """
        return cls(compute_half_plane(start, stop, alphas=alphas, n_points=n_points))

    def _draw(self, ax: Any) -> None:
        from matplotlib.collections import LineCollection

        ax, plane = self._on(ax, 6, 4.2), self.half_plane
        largest = plane.distance.max() or 1.0
        lines = []
        for place, alpha in enumerate(plane.alpha):
            color, style = _LOOKS[place % len(_LOOKS)]
            points = np.column_stack([plane.mean[place], plane.sd[place]])
            pieces = np.stack([points[:-1], points[1:]], axis=1)
            own = plane.distance[place]
            widths = 1.4 + 4 * (own[:-1] + own[1:]) / 2 / largest
            name = f"alpha {alpha:g}" + (f", {_NAMES[alpha]}" if alpha in _NAMES else "")
            # dashes would be cut at every piece; the line beneath carries the style
            ax.plot(*points.T, color=color, linestyle=style, linewidth=1.4, label=name)
            if own.max() > 1e-9:
                look = {"color": color, "linewidths": widths, "alpha": 0.45}
                lines.append(ax.add_collection(LineCollection(list(pieces), **look)))
        self._finish(ax)
        self.lines_ = tuple(lines)

    def table(self) -> dict[str, np.ndarray]:
        """Return the numbers behind the picture, one row for each point.

        Returns
        -------
        dict of ndarray
            ``alpha``, ``lam``, ``mean``, ``sd`` and ``distance``.
        """
        plane = self.half_plane
        n_points = plane.mean.shape[1]
        return {
            "alpha": np.repeat(plane.alpha, n_points),
            "lam": plane.lam.ravel(),
            "mean": plane.mean.ravel(),
            "sd": plane.sd.ravel(),
            "distance": plane.distance.ravel(),
        }

    def _finish(self, ax: Any) -> None:
        plane = self.half_plane
        for end, name in ((0, "training"), (-1, "deployment")):
            place = plane.mean[0, end], plane.sd[0, end]
            ax.plot(*place, "o", color=GREY, markersize=6, zorder=4)
            style = {"textcoords": "offset points", "ha": "center", "fontweight": "bold"}
            ax.annotate(name, place, xytext=(0, -16), **style)
        ax.margins(0.14, 0.2)
        ax.set(xlabel="mean", ylabel="standard deviation")
        ax.set_title("Weighted densities between two normal ones", fontsize=10)
        ax.legend(frameon=False, fontsize=9)
