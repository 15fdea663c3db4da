"""Reliability of the classifier that tells deployment from training rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from weighbridge.diagnostics import CrossFittedDomain, DomainRows
from weighbridge.pictures import ReliabilityCurve, check_made, compute_reliability
from weighbridge.plotting._display import BAND, GREY, WEIGHTED, Display

_COLUMNS = ("predicted", "observed", "low", "high")


class ReliabilityDisplay(Display):
    """Predicted against observed share of deployment rows.

    Where the curve leaves the diagonal, the classifier that tells the samples apart, and with it a
    ratio made of its chances, says too much or too little.

    `from_samples` only fits and counts; `plot` draws.

    Parameters
    ----------
    reliability : ReliabilityCurve
        From `compute_reliability`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of it.
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
        X : array-like, sparse matrix or data frame of shape (n_source, n_features)
            Source rows.
        X_target : same type, of shape (n_target, n_features)
            Target rows.
        random_state : int, RandomState instance or None, default=0
            Deals the folds, draws rows of large samples.

        Returns
        -------
        ReliabilityDisplay
            Not drawn yet; see `plot`.
        """
        rows = DomainRows(X, X_target, random_state=random_state)
        return cls(compute_reliability(CrossFittedDomain(rows)))

    def plot(self, *, ax: Any = None) -> ReliabilityDisplay:
        """Draw the steps with their band, and the diagonal.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        ReliabilityDisplay
            The object itself.
        """
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
        return self

    def table(self) -> dict[str, np.ndarray]:
        """Return the numbers behind the picture.

        Returns
        -------
        dict of ndarray
            For each step ``predicted``, ``observed``, ``low`` and ``high``.
        """
        return {name: getattr(self.reliability, name) for name in _COLUMNS}
