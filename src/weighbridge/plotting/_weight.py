"""Weights: how large they are, and how few rows carry them."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weighbridge._findings import percent
from weighbridge.diagnosis import WeightSummary, summarize_weights
from weighbridge.geodesic import log_weight_bounds
from weighbridge.pictures import (
    LorenzCurve,
    WeightCurves,
    WeightHistogram,
    check_made,
    compute_lorenz,
    compute_weight_histogram,
)
from weighbridge.plotting._display import CAUTION, GREY, WEIGHTED, Display
from weighbridge.tables import check_weights, one_number
from weighbridge.weighting import Geodesic

# A cap is drawn where it lies within this factor of the largest weight.
_NEAR = 8


class WeightDisplay(Display):
    """A histogram of weights, or the curve that shows how few rows carry them.

    Parameters
    ----------
    histogram : WeightHistogram
        From `compute_weight_histogram`.
    lorenz : LorenzCurve
        From `compute_lorenz`.
    summary : WeightSummary
        Effective sample size and tail, as in `ShiftReport.weights`.
    cap : float, optional
        Largest weight that any ratio can get, on the scale where weights have mean 1.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    bars_ : matplotlib StepPatch
        The histogram, where it was drawn.
    line_ : matplotlib Line2D
        The curve, where it was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.plotting import WeightDisplay
    >>> x = np.random.default_rng(0).normal(size=2000)
    >>> display = WeightDisplay.from_weights(np.exp(x - 0.5))
    >>> sorted(display.table("lorenz"))
    ['rows', 'weight']
    >>> print(f"half of the weight sits on {display.lorenz.half:.0%} of the rows")
    half of the weight sits on 16% of the rows
    """

    def __init__(
        self,
        histogram: WeightHistogram,
        lorenz: LorenzCurve,
        summary: WeightSummary,
        cap: float | None = None,
    ) -> None:
        maker = "weighbridge.diagnosis.summarize_weights"
        self.histogram = check_made(
            histogram, WeightHistogram, "histogram", "compute_weight_histogram"
        )
        self.lorenz = check_made(lorenz, LorenzCurve, "lorenz", "compute_lorenz")
        self.summary = check_made(summary, WeightSummary, "summary", maker)
        self.cap = cap

    @classmethod
    def from_weights(cls, weights: Any, *, cap: float | None = None) -> WeightDisplay:
        """Take weights as they are given.

        Parameters
        ----------
        weights : array-like of shape (n_rows,)
            Weights >= 0, on any scale.
        cap : float, optional
            Largest weight that any ratio can get, on the scale of `weights`.

        Returns
        -------
        WeightDisplay
            Not drawn yet; see `plot`.
        """
        checked = check_weights(weights)
        if cap is not None:
            cap, largest = one_number(cap, "cap"), float(np.max(weights))
            if not cap >= largest:
                raise ValueError(
                    f"Got cap={cap:g}, but the largest weight is {largest:g}; the cap is on the "
                    "scale of the weights, and no weight exceeds it."
                )
            cap = float(cap / largest / np.mean(checked / checked.max()))
        curves = compute_weight_histogram(checked), compute_lorenz(checked)
        return cls(*curves, summarize_weights(checked), cap)

    @classmethod
    def from_estimator(cls, estimator: Any) -> WeightDisplay:
        """Take the importance weights of a fitted model, without the row weights you gave it.

        Parameters
        ----------
        estimator : ImportanceWeighted or ImportanceWeightedCV
            Fitted.

        Returns
        -------
        WeightDisplay
            Not drawn yet; see `plot`. With a cap where the weighting has one (``alpha > 1``).
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "weights_"):
            raise TypeError(
                f"Got {type(estimator).__name__}, which has no weights; pass a fitted "
                "ImportanceWeighted or ImportanceWeightedCV, or weights to from_weights."
            )
        return cls.from_weights(estimator.weights_, cap=_weight_cap(estimator))

    @classmethod
    def from_numbers(cls, numbers: WeightCurves) -> Self:
        """Take the weights of one weighting, one of ``Adaptation.pictures.weights``.

        Parameters
        ----------
        numbers : object
            Histogram and curve.

        Returns
        -------
        WeightDisplay
            Not drawn yet; see `plot`. What the numbers do not say about the summary is NaN.
        """
        check_made(numbers, WeightCurves, "numbers", "Adaptation.pictures.weights")
        return cls(numbers, numbers, _summary(numbers), numbers.bound)

    def plot(self, kind: str = "histogram", *, ax: Any = None) -> WeightDisplay:
        """Draw the weights.

        Parameters
        ----------
        kind : {"histogram", "lorenz"}, default="histogram"
            Rows by size of their weight, or the share of the weight on the rows with the most.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        WeightDisplay
            The object itself.
        """
        _check_kind(kind)
        ax = self._on(ax, 6, 4)
        self._draw_histogram(ax) if kind == "histogram" else self._draw_lorenz(ax)
        return self

    def table(self, kind: str = "histogram") -> dict[str, np.ndarray]:
        """Return the numbers behind the picture.

        Parameters
        ----------
        kind : {"histogram", "lorenz"}, default="histogram"
            As in `plot`.

        Returns
        -------
        dict of ndarray
            ``low``, ``high`` and ``count`` of each bin, or ``rows`` and ``weight`` of the curve.
        """
        _check_kind(kind)
        if kind == "lorenz":
            return {"rows": self.lorenz.rows, "weight": self.lorenz.weight}
        edges = self.histogram.edges
        return {"low": edges[:-1], "high": edges[1:], "count": self.histogram.counts}

    def _draw_histogram(self, ax: Any) -> None:
        edges, counts = self.histogram.edges, self.histogram.counts
        look = {"facecolor": f"{WEIGHTED.color}59", "edgecolor": WEIGHTED.color, "linewidth": 1.2}
        self.bars_ = ax.stairs(counts, edges, fill=True, **look)
        ax.axvline(1, color=GREY, linestyle="--", linewidth=1.4, label="mean 1")
        ends = [min(edges[0], 1 / 2), max(edges[-1], 2.0)]
        if self.cap is not None and self.cap <= _NEAR * edges[-1]:
            ends[1] = max(ends[1], 1.15 * self.cap)
            label = f"cap {self.cap:.3g}: no weight is larger"
            ax.axvline(self.cap, color=CAUTION, linestyle="-.", linewidth=1.4, label=label)
        elif self.cap is not None:
            ax.plot([], [], " ", label=f"cap {self.cap:.3g}, beyond the axis")
        if self.histogram.n_below:
            rows = f"{self.histogram.n_below:,} row" + "s" * (self.histogram.n_below > 1)
            ax.plot([], [], " ", label=f"first bar: also {rows} below {edges[0]:.2g}")
        ax.set_xscale("log", base=2)
        ax.set_xlim(*ends)
        _octave_ticks(ax, *ends)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        ax.yaxis.get_major_locator().set_params(integer=True)
        # room for the legend above the bars
        ax.set_ylim(0, 1.35 * counts.max())
        ax.set(xlabel="weight (mean 1)", ylabel="training rows")
        ax.set_title(
            f"{self.summary.ess:,.0f} effective rows of {self.summary.n_rows:,}", fontsize=10
        )
        ax.legend(loc="upper left", fontsize=8, edgecolor="none")

    def _draw_lorenz(self, ax: Any) -> None:
        curve = self.lorenz
        (self.line_,) = ax.plot(curve.rows, curve.weight, **WEIGHTED.line(), label="weights")
        ax.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1.2, label="all rows alike")
        height = float(np.interp(curve.half, curve.rows, curve.weight))
        ax.plot([curve.half] * 2, [0, height], color=GREY, linestyle=":", linewidth=1)
        ax.plot([0, curve.half], [height] * 2, color=GREY, linestyle=":", linewidth=1)
        ax.plot(curve.half, height, **WEIGHTED.mark(), clip_on=False, zorder=4)
        beside = {"xytext": (9, -12), "textcoords": "offset points", "fontsize": 9}
        label = f"half: {percent(curve.half)} of rows"
        ax.annotate(label, (curve.half, height), **beside, color=WEIGHTED.color)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        ax.set(xlim=(0, 1), ylim=(0, 1.02))
        ax.set(xlabel="share of rows, largest weights first", ylabel="share of the weight")
        ax.set_title(f"Half of the weight sits on {percent(curve.half)} of the rows", fontsize=10)
        ax.legend(loc="lower right", frameon=False, fontsize=9)


def _summary(numbers: WeightCurves) -> WeightSummary:
    """Return what curves tell of their weights."""
    n = int(numbers.counts.sum())
    return WeightSummary(
        n_rows=n,
        ess=numbers.worth,
        largest_share=numbers.largest / n,
        rows_for_half=round(numbers.half * n),
        pareto_k=math.nan,
    )


def _weight_cap(estimator: Any) -> float | None:
    """Return the largest weight that the weighting of a fitted model can give, if there is one."""
    weighting = getattr(estimator, "best_weighting_", None)
    if weighting is None:
        weighting = getattr(estimator, "weighting", None) or Geodesic()
    if not isinstance(weighting, Geodesic) or weighting.lam == 0:
        return None
    log_cap = float(np.max(log_weight_bounds(weighting.lam, weighting.alpha)[1]))
    # by the largest weight, whose scale is that of all: row weights of the user move it
    top = int(np.argmax(estimator.weights_))
    below = log_cap - float(weighting(estimator.log_ratio_)[top])
    if not 0 <= below < 700:
        return None
    return float(estimator.weights_[top] * math.exp(below))


def _check_kind(kind: str) -> None:
    if kind not in ("histogram", "lorenz"):
        raise ValueError(f"Got kind={kind!r}, but expected 'histogram' or 'lorenz'.")


def _octave_ticks(ax: Any, low: float, high: float) -> None:
    """Label powers of 2, at most nine of them, 1 always."""
    first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
    step = math.ceil((last - first + 1) / 9)
    octaves = [octave for octave in range(first, last + 1) if octave % step == 0]
    labels = [f"{2**octave:,}" if octave >= 0 else f"1/{2**-octave:,}" for octave in octaves]
    ax.set_xticks([2.0**octave for octave in octaves], labels)
    ax.minorticks_off()
