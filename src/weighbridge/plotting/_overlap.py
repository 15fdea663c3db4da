"""Do the samples overlap? The log ratio in both of them, one up and one down."""

from __future__ import annotations

from typing import Any

import numpy as np

from weighbridge._findings import percent
from weighbridge.pictures import OverlapHistogram, check_made, compute_overlap
from weighbridge.plotting._display import DEPLOYMENT, GREY, TRAINING, Display
from weighbridge.ratios import check_ratio, fit_ratio, is_fitted, target_like_source


class OverlapDisplay(Display):
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
        ax = self._on(ax, 6, 4)
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
