"""Do the samples overlap? The log ratio in both of them, one up and one down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from weighbridge.diagnostics._words import percent
from weighbridge.plotting._arguments import check_log_ratio, check_made
from weighbridge.plotting._roles import DEPLOYMENT, GREY, TRAINING
from weighbridge.ratios import fit_ratio
from weighbridge.ratios._fit_ratio import check_ratio, is_fitted, target_like_source

_BINS = 40
# Axes end at these quantiles, or at the largest log ratio of the training rows.
_ENDS = (0.005, 0.995)


@dataclass(frozen=True)
class OverlapHistogram:
    """The log ratio in both samples, as `compute_overlap` counts it.

    Parameters
    ----------
    edges : ndarray of shape (n_bins + 1,)
        Ends of the bins; `limit` is one of them. A bin contains its upper end, and rows beyond the
        first or last bin are counted in it.
    training, deployment : ndarray of shape (n_bins,)
        Shares of the rows of each sample.
    limit : float
        Largest log ratio of a training row.
    beyond : float
        Share of the deployment rows whose log ratio is larger.
    n_beyond : int
        Their number.

    Examples
    --------
    >>> from weighbridge.plotting import compute_overlap
    >>> compute_overlap([-1.0, 0.0, 0.5], [0.0, 0.4, 0.6, 2.0]).beyond
    0.5
    """

    edges: np.ndarray
    training: np.ndarray
    deployment: np.ndarray
    limit: float
    beyond: float
    n_beyond: int


def compute_overlap(log_ratio: Any, log_ratio_target: Any) -> OverlapHistogram:
    """Count the log ratio in both samples, and the target rows beyond all source rows.

    Parameters
    ----------
    log_ratio : array-like of shape (n_source,)
        Log ratios at the source rows; ``-inf`` is a ratio of 0.
    log_ratio_target : array-like of shape (n_target,)
        Log ratios at the target rows; ``inf`` is a row where no source row can be.

    Returns
    -------
    OverlapHistogram
        With shares that sum to 1 in each sample.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.plotting import compute_overlap
    >>> rng = np.random.default_rng(0)
    >>> log_ratio, log_ratio_target = rng.normal(-2, 2, 1000), rng.normal(2, 2, 1000)
    >>> overlap = compute_overlap(log_ratio, log_ratio_target)
    >>> print(f"{overlap.beyond:.0%} of the target rows lie beyond all source rows")
    15% of the target rows lie beyond all source rows
    """
    source = check_log_ratio(log_ratio, "log_ratio")
    target = check_log_ratio(log_ratio_target, "log_ratio_target")
    if not (source < np.inf).all():
        raise ValueError(
            "Got log_ratio with an infinite ratio at a source row, where the source density cannot "
            "be 0; correct the ratio, or leave that row out."
        )
    limit = float(source.max())
    edges = _edges(source, target, limit)
    n_beyond = int(np.sum(target > limit))
    return OverlapHistogram(
        edges,
        _shares(source, edges),
        _shares(target, edges),
        limit,
        n_beyond / target.size,
        n_beyond,
    )


class OverlapDisplay:
    """Mirrored histogram of the log ratio: training up, deployment down.

    Where only deployment has rows, no weights can stand for them.

    `from_ratio` only counts; `plot` draws.

    Parameters
    ----------
    overlap : OverlapHistogram
        From `compute_overlap`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of it.
    training_, deployment_ : matplotlib StepPatch
        The two histograms.
    beyond_ : matplotlib Polygon or Rectangle
        The hatched region; None where no deployment row lies in it.

    Examples
    --------
    >>> from weighbridge.datasets import make_gaussian_shift
    >>> from weighbridge.plotting import OverlapDisplay
    >>> data = make_gaussian_shift(1000, 1000, shift=1.0, random_state=0)
    >>> display = OverlapDisplay.from_ratio(data.ratio, data.X, data.X_target)
    >>> display.overlap.beyond
    0.039
    """

    def __init__(self, overlap: OverlapHistogram) -> None:
        self.overlap = check_made(overlap, OverlapHistogram, "overlap", "compute_overlap")

    @classmethod
    def from_ratio(cls, ratio: Any, X: Any, X_target: Any) -> OverlapDisplay:
        """Evaluate a ratio at both samples.

        Parameters
        ----------
        ratio : density ratio
            Fitted or known, e.g. ``model.ratio_``; one that is not fitted yet is fitted here.
        X : array-like or data frame of shape (n_source, n_features)
            Source rows.
        X_target : same type, of shape (n_target, n_features)
            Target rows. Columns of data frames are matched by name, whatever their order.

        Returns
        -------
        OverlapDisplay
            Not drawn yet; see `plot`.
        """
        if hasattr(ratio, "predict") and not hasattr(ratio, "score_samples"):
            raise TypeError(
                f"Got the model {type(ratio).__name__}, but expected a density ratio: that of a "
                "fitted ImportanceWeighted or ImportanceWeightedCV is model.ratio_."
            )
        X_target = target_like_source(X, X_target)
        if not is_fitted(check_ratio(ratio)):
            ratio = fit_ratio(X, X_target, ratio)
        return cls(compute_overlap(ratio.score_samples(X), ratio.score_samples(X_target)))

    def plot(self, *, ax: Any = None) -> OverlapDisplay:
        """Draw both histograms.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        OverlapDisplay
            The object itself.
        """
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
        overlap = self.overlap
        edges = overlap.edges
        self.training_ = ax.stairs(
            overlap.training, edges, **TRAINING.line(), label=f"{TRAINING.name} (up)"
        )
        self.deployment_ = ax.stairs(
            -overlap.deployment,
            edges,
            fill=True,
            facecolor=DEPLOYMENT.fill,
            edgecolor=DEPLOYMENT.color,
            linewidth=1,
            label=f"{DEPLOYMENT.name} (down)",
        )
        self.beyond_ = None
        if overlap.n_beyond:
            self.beyond_ = ax.axvspan(
                overlap.limit,
                edges[-1],
                facecolor="none",
                edgecolor=GREY,
                hatch="///",
                linewidth=0,
                alpha=0.6,
                zorder=0,
                label=f"no training rows: {percent(overlap.beyond)} of deployment",
            )
        _finish(ax, overlap)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def table(self) -> dict[str, np.ndarray]:
        """Return the numbers behind the picture.

        Returns
        -------
        dict of ndarray
            ``low`` and ``high`` of each bin, shares of ``training`` and ``deployment`` rows in it.
        """
        return {
            "low": self.overlap.edges[:-1],
            "high": self.overlap.edges[1:],
            "training": self.overlap.training,
            "deployment": self.overlap.deployment,
        }


def _edges(source: np.ndarray, target: np.ndarray, limit: float) -> np.ndarray:
    """Return equally spaced ends, the largest log ratio of the source among them."""
    finite = [part[np.isfinite(part)] for part in (source, target)]
    ends = np.array([np.quantile(part, _ENDS) for part in finite if part.size])
    if not np.isfinite(limit):
        raise ValueError(
            "Got a ratio of 0 at every source row: no source row lies where the target is, and "
            "there is nothing to draw. Check the ratio, and that both samples have the same units."
        )
    low, high = float(ends[:, 0].min()), max(limit, float(ends[:, 1].max()))
    beyond = bool((target > limit).any())
    if low == high and not beyond:  # the same ratio everywhere
        return np.array([limit - 0.5, limit + 0.5])
    width = (high - low) / _BINS or 0.5
    n_left = max(1, int(np.ceil((limit - low) / width - 1e-9)))
    n_right = int(np.ceil((high - limit) / width - 1e-9))
    if beyond:  # the quantiles may leave them out
        n_right = max(n_right, 1)
    return limit + width * np.arange(-n_left, n_right + 1)


def _shares(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the share of the rows in each bin, which contains its upper end."""
    places = np.searchsorted(edges[1:-1], values, side="left")
    return np.bincount(places, minlength=edges.size - 1) / values.size


def _finish(ax: Any, overlap: OverlapHistogram) -> None:
    ax.axhline(0, color=GREY, linewidth=0.8)
    tallest = 1.1 * max(overlap.training.max(), overlap.deployment.max())
    # room for the legend above
    ax.set_ylim(-tallest, 1.45 * tallest)
    ax.set_xlim(overlap.edges[0], overlap.edges[-1])
    ax.yaxis.set_major_formatter(lambda value, _: f"{abs(100 * value):.3g} %")
    ax.set(xlabel="log ratio, deployment over training", ylabel="share of rows")
    words = (
        "No deployment row lies beyond the training rows"
        if overlap.n_beyond == 0
        else f"{percent(overlap.beyond)} of deployment rows lie beyond all training rows"
    )
    ax.set_title(words, fontsize=10)
    ax.legend(loc="upper left", fontsize=8, edgecolor="none")
