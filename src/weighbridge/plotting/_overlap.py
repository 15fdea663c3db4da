"""Whether the samples overlap, and whether the classifier that tells them apart is right."""

from __future__ import annotations

from typing import Any

import numpy as np

from weighbridge._findings import percent
from weighbridge.domain import CrossFittedDomain, DomainRows
from weighbridge.pictures import (
    OverlapHistogram,
    ReliabilityCurve,
    check_made,
    compute_overlap,
    compute_reliability,
)
from weighbridge.plotting._display import BAND, DEPLOYMENT, GREY, TRAINING, WEIGHTED, Display
from weighbridge.ratios import check_ratio, fit_ratio, is_fitted
from weighbridge.tables import target_like_source


class OverlapDisplay(Display):
    """Mirrored histogram of the log ratio: training up, deployment down.

    Where only deployment has rows, no weighting can represent them.

    Parameters
    ----------
    overlap : OverlapHistogram
        From `compute_overlap`.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
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
        X, X_target
            As in `weighbridge.fit_ratio`.

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

    def _draw(self, ax: Any) -> None:
        ax = self._on(ax, 6, 4)
        overlap = self.overlap
        edges = overlap.edges
        self.training_ = ax.stairs(
            overlap.training, edges, **TRAINING.line(), label=f"{TRAINING.name} (up)"
        )
        look = {**DEPLOYMENT.area(), "linewidth": 1, "label": f"{DEPLOYMENT.name} (down)"}
        self.deployment_ = ax.stairs(-overlap.deployment, edges, fill=True, **look)
        self.beyond_ = None
        if overlap.n_beyond:
            look = {"facecolor": "none", "edgecolor": GREY, "linewidth": 0, "alpha": 0.6}
            look["label"] = f"no training rows: {percent(overlap.beyond)} of deployment"
            self.beyond_ = ax.axvspan(overlap.limit, edges[-1], **look, hatch="///", zorder=0)
        _finish_overlap(ax, overlap)

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


class ReliabilityDisplay(Display):
    """Predicted against observed share of deployment rows.

    Where the curve leaves the diagonal, the classifier that tells the samples apart, and with it a
    ratio made of its chances, claims too much or too little.

    Parameters
    ----------
    reliability : ReliabilityCurve
        From `compute_reliability`.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    line_ : matplotlib Line2D
        The observed shares.
    band_ : matplotlib collection
        Their intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.plotting import ReliabilityDisplay
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(size=(2000, 1)), rng.normal(1, 1, size=(1000, 1))
    >>> display = ReliabilityDisplay.from_samples(X, X_target)
    >>> sorted(display.table())
    ['high', 'low', 'observed', 'predicted']
    >>> display.reliability.largest_gap < 0.1
    True
    """

    def __init__(self, reliability: ReliabilityCurve) -> None:
        self.reliability = check_made(
            reliability, ReliabilityCurve, "reliability", "compute_reliability"
        )

    @classmethod
    def from_samples(cls, X: Any, X_target: Any, *, random_state: Any = 0) -> ReliabilityDisplay:
        """Fit the classifier of a diagnosis, each row judged by a model that did not see it.

        Parameters
        ----------
        X, X_target
            As in `weighbridge.diagnosis.balance_table`.
        random_state : int, RandomState instance or None, default=0
            Shuffles the folds and draws rows of large samples.

        Returns
        -------
        ReliabilityDisplay
            Not drawn yet; see `plot`.
        """
        rows = DomainRows(X, X_target, random_state=random_state)
        return cls(compute_reliability(CrossFittedDomain(rows)))

    def _draw(self, ax: Any) -> None:
        ax = self._on(ax, 4.8, 4.4)
        curve = self.reliability
        self.band_ = ax.fill_between(
            curve.predicted, curve.low, curve.high, step="mid", color=BAND, label="its uncertainty"
        )
        ax.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1.2, label="as predicted")
        (self.line_,) = ax.step(
            curve.predicted, curve.observed, where="mid", **WEIGHTED.line(), label="observed"
        )
        ax.plot(curve.predicted, curve.observed, **{**WEIGHTED.mark(), "markersize": 4})
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="predicted chance of deployment")
        ax.set(ylabel="observed share of deployment rows")
        ax.set_title(f"Within {curve.largest_gap:.2f} of the diagonal", fontsize=10)
        ax.legend(loc="upper left", frameon=False, fontsize=9)

    def table(self) -> dict[str, np.ndarray]:
        """Return the numbers behind the picture.

        Returns
        -------
        dict of ndarray
            For each step ``predicted``, ``observed``, ``low`` and ``high``.
        """
        columns = ("predicted", "observed", "low", "high")
        return {name: getattr(self.reliability, name) for name in columns}


def _finish_overlap(ax: Any, overlap: OverlapHistogram) -> None:
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
