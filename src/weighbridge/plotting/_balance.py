"""Love plot: how far each feature is from the target, before and after weighting."""

from __future__ import annotations

from typing import Any

import numpy as np

from weighbridge.diagnosis import ShiftReport, balance_table
from weighbridge.pictures import BALANCED, MOST_ROWS, LovePlot, check_made, compute_love
from weighbridge.plotting._display import (
    BAND,
    GREY,
    TRAINING,
    WEIGHTED,
    Display,
    Role,
    shown_name,
    size,
)


class BalanceDisplay(Display):
    """A love plot: sizes of standardised differences, before and after weighting.

    Parameters
    ----------
    love : LovePlot
        From `compute_love`.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    before_, after_ : matplotlib Line2D
        The marks; ``after_`` is None without weights.
    stems_ : matplotlib LineCollection
        From before to after; None without weights.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.plotting import BalanceDisplay
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(size=(1000, 2)), rng.normal([0, 1], size=(500, 2))
    >>> display = BalanceDisplay.from_samples(X, X_target, np.exp(X[:, 1]))
    >>> table = display.table()
    >>> bool(table["after"][0] < 0.2 < table["before"][0])
    True
    """

    def __init__(self, love: LovePlot) -> None:
        self.love = check_made(love, LovePlot, "love", "compute_love")

    @classmethod
    def from_samples(
        cls, X: Any, X_target: Any, weights: Any = None, *, max_rows: int = MOST_ROWS
    ) -> BalanceDisplay:
        """Compare two samples.

        Parameters
        ----------
        X, X_target, weights
            As in `weighbridge.diagnosis.balance_table`; without weights there is no "after".
        max_rows : int, default=15
            How many rows are drawn.

        Returns
        -------
        BalanceDisplay
            Not drawn yet; see `plot`.
        """
        return cls(compute_love(balance_table(X, X_target, weights), max_rows=max_rows))

    @classmethod
    def from_report(cls, report: ShiftReport, *, max_rows: int = MOST_ROWS) -> BalanceDisplay:
        """Take the balance table out of a diagnosis.

        Parameters
        ----------
        report : ShiftReport
            From `weighbridge.diagnose`.
        max_rows : int, default=15
            How many rows are drawn.

        Returns
        -------
        BalanceDisplay
            Not drawn yet; see `plot`.
        """
        check_made(report, ShiftReport, "report", "weighbridge.diagnose")
        return cls(compute_love(report.balance, max_rows=max_rows))

    def _draw(self, ax: Any) -> None:
        love, n = self.love, len(self.love.names)
        ax = self._on(ax, 6, max(2.2, 1.3 + 0.27 * n))
        right = _right_end(love)
        heights = np.arange(n, dtype=float)
        ax.axvspan(0, BALANCED, color=BAND, zorder=0, label=f"below {BALANCED}")
        # the mark of before is the larger one: it stays visible where weighting changes nothing
        self.before_ = _marks(ax, love.before, right, TRAINING, "before", 8.0)
        self.after_ = self.stems_ = None
        if love.after is not None:
            known = ~np.isnan(love.before) & ~np.isnan(love.after)
            ends = np.minimum([love.before[known], love.after[known]], right)
            self.stems_ = ax.hlines(heights[known], *ends, color=GREY, linewidth=1, zorder=2)
            self.after_ = _marks(ax, love.after, right, WEIGHTED, "after", 5.5)
        self._label(ax, heights, right)

    def table(self) -> dict[str, np.ndarray]:
        """Return the numbers behind the picture.

        Returns
        -------
        dict of ndarray
            ``name``, ``before``, and ``after`` where there are weights.
        """
        columns = {"name": np.array(self.love.names, dtype=object), "before": self.love.before}
        return columns if self.love.after is None else {**columns, "after": self.love.after}

    def _label(self, ax: Any, heights: np.ndarray, right: float) -> None:
        love = self.love
        beside = {"xytext": (10, 0), "textcoords": "offset points", "annotation_clip": False}
        beside |= {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": 8}
        for place, height in enumerate(heights):
            text = size(love.before[place])
            if love.after is not None:
                text += f" → {size(love.after[place])}"
            ax.annotate(text, (1, height), color=GREY, **beside)
        ax.set_yticks(heights, [shown_name(name, 24) for name in love.names], fontsize=9)
        ax.set(xlim=(0, right), ylim=(heights[-1] + 0.7, -0.7))
        xlabel = "size of the difference in standard deviations"
        if love.n_left_out:
            one = love.n_left_out == 1
            rest = "1 row that differs" if one else f"{love.n_left_out:,} rows that differ"
            xlabel += f"\nnot shown: {rest} less"
        ax.set_xlabel(xlabel, fontsize=9)
        when = "of training and deployment" if love.after is None else "before and after weighting"
        ax.set_title(f"Balance {when}", fontsize=10, pad=22)
        above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "borderaxespad": 0.1}
        ax.legend(**above, ncol=3, frameon=False, fontsize=8)


def _right_end(love: LovePlot) -> float:
    """Return the end of the axis: beyond all finite differences, and well beyond the band."""
    sizes = love.before if love.after is None else np.append(love.before, love.after)
    return float(1.08 * max(sizes[np.isfinite(sizes)].max(initial=0.0), 2.5 * BALANCED))


def _marks(
    ax: Any, sizes: np.ndarray, right: float, role: Role, label: str, markersize: float
) -> Any:
    """Draw one role; arrows at the end of the axis stand for infinite differences."""
    style = {**role.mark(ax.get_facecolor()), "markersize": markersize}
    style |= {"clip_on": False, "zorder": 3}
    infinite, heights = np.isinf(sizes), np.arange(sizes.size, dtype=float)
    (marks,) = ax.plot(np.where(infinite, np.nan, sizes), heights, **style, label=label)
    if infinite.any():
        style["marker"] = ">"
        ax.plot(np.full(int(infinite.sum()), right), heights[infinite], **style)
    return marks
