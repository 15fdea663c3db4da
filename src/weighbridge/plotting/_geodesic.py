"""The half-plane of normal distributions, and curves of weighted densities in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from weighbridge.manifolds import Normal, interpolate_densities, projected_curve
from weighbridge.pictures import Arch, Picture, check_made
from weighbridge.plotting._display import CAUTION, GREY, TRAINING, WEIGHTED, Display
from weighbridge.tables import check_count

ALPHAS = (-1.0, 0.0, 1.0, 3.0)
# Nodes of integrals over both densities, and how many standard deviations they reach.
_NODES = 2001
_REACH = 12.0
# Before a curve is divided evenly, lam goes in equal steps of its log odds, almost to 0 and to 1.
_FINE = np.concatenate([[0.0], expit(np.linspace(-35, 35, 101)), [1.0]])
_LOOKS = (
    (TRAINING.color, "--"),
    (GREY, "-"),
    (WEIGHTED.color, "-"),
    (CAUTION, "-."),
    (GREY, "--"),
    (CAUTION, ":"),
)
_NAMES = {-1.0: "mixture", 0.0: "straight", 1.0: "power", 3.0: "relative"}


@dataclass(frozen=True)
class HalfPlane(Picture):
    """Curves of weighted densities, projected onto the normal ones by `compute_half_plane`.

    Parameters
    ----------
    alpha : ndarray of shape (n_curves,)
        Which curves.
    lam : ndarray of shape (n_curves, n_points)
        Where on each curve.
    mean, sd : ndarray of shape (n_curves, n_points)
        Mean and standard deviation of the weighted densities, from training to deployment.
    distance : ndarray of shape (n_curves, n_points)
        Divergence (Kullback-Leibler) of a weighted density from the normal one with its mean and
        standard deviation: how far it has left the family.

    Examples
    --------
    >>> from weighbridge.plotting import compute_half_plane
    >>> compute_half_plane((0, 1), (2, 1), n_points=3).mean[:, 1].round(9)
    array([1., 1., 1., 1.])
    """

    alpha: np.ndarray
    lam: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    distance: np.ndarray


def compute_half_plane(
    start: Any, stop: Any, *, alphas: Sequence[float] = ALPHAS, n_points: int = 61
) -> HalfPlane:
    """Follow the weighted densities from one normal distribution to another.

    Parameters
    ----------
    start, stop : (float, float)
        Mean and standard deviation of training and of deployment.
    alphas : sequence of float, default=(-1, 0, 1, 3)
        Which curves: mixture, straight, power and relative.
    n_points : int, default=61
        Points on each curve, about equally far apart.

    Returns
    -------
    HalfPlane
        Mean, standard deviation and distance from the normal family along each curve.

    Examples
    --------
    >>> from weighbridge.plotting import compute_half_plane
    >>> plane = compute_half_plane((0, 1), (2, 0.5))
    >>> dict(zip(plane.alpha.tolist(), plane.distance.max(axis=1).round(2).tolist()))
    {-1.0: 0.22, 0.0: 0.16, 1.0: 0.0, 3.0: 0.07}
    """
    check_count("n_points", n_points, 3)
    if not len(alphas):
        raise ValueError("Got alphas=(), but expected at least one curve to follow.")
    family = Normal()
    first, last = (family.theta(*_pair(*end)) for end in ((start, "start"), (stop, "stop")))
    curves = [_curve(family, first, last, float(alpha), n_points) for alpha in alphas]
    columns = (np.array(column) for column in zip(*curves, strict=True))
    return HalfPlane(np.array(alphas, dtype=float), *columns)


def _pair(end: Any, name: str) -> tuple[float, float]:
    if np.shape(end) != (2,):
        raise ValueError(f"Got {name}={end!r}, but expected a pair: mean and standard deviation.")
    return end[0], end[1]


def _curve(
    family: Normal, start: np.ndarray, stop: np.ndarray, alpha: float, n_points: int
) -> tuple[np.ndarray, ...]:
    """Return lam, mean, standard deviation and distance along one curve."""
    places = np.column_stack(_moments(family, start, stop, alpha, _FINE)[1:])
    steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    lam = Arch(_FINE, np.concatenate([[0.0], np.cumsum(steps)])).even(n_points)
    theta, mean, sd = _moments(family, start, stop, alpha, lam)
    if alpha == 1:  # the curve stays in the family
        return lam, mean, sd, np.zeros(lam.size)
    x = np.linspace((mean - _REACH * sd).min(), (mean + _REACH * sd).max(), _NODES)
    step = np.full(_NODES, x[1] - x[0])
    source, target = (family.log_density(x, end) for end in (start, stop))
    density = interpolate_densities(source, target, lam, alpha, step).log_density
    normal = np.array([family.log_density(x, row) for row in theta])
    distance = (np.exp(density) * (density - normal)) @ step
    # the ends are normal themselves, and a divergence is never below 0
    return lam, mean, sd, np.maximum(distance, 0.0) * (lam > 0) * (lam < 1)


def _moments(
    family: Normal, start: np.ndarray, stop: np.ndarray, alpha: float, lam: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    theta = projected_curve(family, start, stop, lam, alpha).theta
    usual = [family.usual(row) for row in theta]
    mean, sd = (np.array([row[name] for row in usual]) for name in ("mean", "sd"))
    return theta, mean, sd


class GeodesicDisplay(Display):
    """Curves of weighted densities between two normal ones, by mean and standard deviation.

    The farther a weighted density is from the normal ones, the wider the line.

    Parameters
    ----------
    half_plane : HalfPlane
        From `compute_half_plane`.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
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
        along = {name: getattr(plane, name).ravel() for name in ("lam", "mean", "sd", "distance")}
        return {"alpha": np.repeat(plane.alpha, n_points), **along}

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
