"""Forest plot: what each weighting is expected to lose, and its change against none."""

from __future__ import annotations

from typing import Any

import numpy as np

from weighbridge.pictures import Forest, check_made, forest_numbers, read_forest
from weighbridge.plotting._display import GREY, WEIGHTED, Display
from weighbridge.verdict import Verdict

# How a weighting that is not used is marked; the used one is a filled square.
_OTHER = {"marker": "o", "color": GREY, "markersize": 5.5}
_WITHHELD = "withheld"


def compute_forest(verdict: Verdict) -> Forest:
    """List what a verdict expects each weighting to lose.

    Parameters
    ----------
    verdict : Verdict
        From `weighbridge.verdict.assess`.

    Returns
    -------
    Forest
        In the order of the verdict's candidates; NaN stands for what is withheld.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.datasets import make_quadratic
    >>> from weighbridge.plotting import compute_forest
    >>> from weighbridge.verdict import assess
    >>> data = make_quadratic(random_state=0)
    >>> verdict = assess(LinearRegression(), data.X, data.y, data.X_target, random_state=0)
    >>> forest = compute_forest(verdict)
    >>> bool(forest.change_high[forest.use] < 0)  # weighting helps: 0 is not in the interval
    True
    """
    check_made(verdict, Verdict, "verdict", "weighbridge.assess")
    return read_forest(verdict.to_dict()["expect"], verdict.use)


class RiskDisplay(Display):
    """What each weighting is expected to lose in deployment, and its change against none.

    Parameters
    ----------
    forest : Forest
        From `compute_forest`.

    Attributes
    ----------
    axes_ : tuple of two matplotlib Axes
        Expected loss, and paired change.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.datasets import make_quadratic
    >>> from weighbridge.plotting import RiskDisplay
    >>> from weighbridge.verdict import assess
    >>> data = make_quadratic(random_state=0)
    >>> verdict = assess(LinearRegression(), data.X, data.y, data.X_target, random_state=0)
    >>> RiskDisplay.from_verdict(verdict).table()["name"].tolist()
    ['none', 'power', 'relative', 'tuned']
    """

    def __init__(self, forest: Forest) -> None:
        self.forest = check_made(forest, Forest, "forest", "compute_forest")

    @classmethod
    def from_verdict(cls, verdict: Verdict) -> RiskDisplay:
        """Take the comparison out of a verdict.

        Parameters
        ----------
        verdict : Verdict
            From `weighbridge.verdict.assess`.

        Returns
        -------
        RiskDisplay
            Not drawn yet; see `plot`.
        """
        return cls(compute_forest(verdict))

    def plot(self, *, ax: Any = None) -> RiskDisplay:
        """Draw the two panels.

        Parameters
        ----------
        ax : sequence of two matplotlib Axes, optional
            Where to draw the expected loss and the change.

        Returns
        -------
        RiskDisplay
            The object itself.
        """
        import matplotlib.pyplot as plt

        forest = self.forest
        if ax is None:
            height = 1.5 + 0.35 * max(3, len(forest.names))
            _, ax = plt.subplots(1, 2, figsize=(8, height), layout="constrained", sharey=True)
        axes = tuple(np.ravel(ax))
        if len(axes) != 2:
            raise ValueError(
                f"Got {len(axes)} axes, but there are two panels: expected loss and change."
            )
        _draw_panel(axes[0], forest, forest.value, forest.low, forest.high)
        _draw_panel(axes[1], forest, forest.change, forest.change_low, forest.change_high)
        _label_losses(axes[0], forest)
        _label_changes(axes[1], forest)
        self.axes_, self.figure_ = axes, axes[0].figure
        return self

    def table(self) -> dict[str, np.ndarray]:
        """Return the numbers behind the picture.

        Returns
        -------
        dict of ndarray
            For each weighting ``name``, ``literature``, expected loss (``value``, ``low``,
            ``high``), paired change (``change``, ``change_low``, ``change_high``), whether the
            interval is ``rough``, and whether it is the one to ``use``.
        """
        forest = self.forest
        columns = ("value", "low", "high", "change", "change_low", "change_high", "rough")
        return {
            "name": np.array(forest.names, dtype=object),
            "literature": np.array(forest.literature, dtype=object),
            **{name: getattr(forest, name) for name in columns},
            "use": np.arange(len(forest.names)) == forest.use,
        }


def _draw_panel(
    ax: Any, forest: Forest, value: np.ndarray, low: np.ndarray, high: np.ndarray
) -> None:
    for place in np.flatnonzero(np.isfinite(value)):
        used = place == forest.use
        look = {"color": WEIGHTED.color if used else GREY, "linewidth": 2.6 if used else 1.4}
        look |= {"linestyle": ":" if forest.rough[place] else "-", "solid_capstyle": "butt"}
        ax.plot([low[place], high[place]], [place, place], **look)
        mark = {**WEIGHTED.mark(), "markersize": 7} if used else _OTHER
        ax.plot(value[place], place, **mark)
    n = len(forest.names)
    ax.set_ylim(n - 0.4, -0.6)
    ax.margins(x=0.08)
    ax.locator_params(axis="x", nbins=5)
    ax.tick_params(labelsize=9)


def _label_losses(ax: Any, forest: Forest) -> None:
    names = [
        f"{name} ({formal})" for name, formal in zip(forest.names, forest.literature, strict=True)
    ]
    ax.set_yticks(range(len(names)), names)
    used = ax.get_yticklabels()[forest.use]
    used.set(fontweight="bold", color=WEIGHTED.color)
    numbers = forest_numbers(forest)
    ax.xaxis.set_major_formatter(lambda value, _: numbers.labels([value])[0])
    ax.set_title(f"Expected {forest.measure}, {100 * forest.confidence:g} %", fontsize=10)
    missing = np.isnan(forest.value)
    if missing.all():
        _say(ax, _WITHHELD)
        return
    for place in np.flatnonzero(missing):
        _say(ax, _WITHHELD, int(place))
    notes = ["square: the one to use"] * (len(names) > 1)
    notes += ["dotted: rough, thin overlap"] * bool(forest.rough.any())
    ax.set_xlabel("\n".join(notes), fontsize=8, color=GREY)


def _label_changes(ax: Any, forest: Forest) -> None:
    unit = ", points" if forest.measure == "error" else ""
    ax.set_title(f"Change against none{unit}", fontsize=10)
    ax.tick_params(labelleft=False)
    if not ax.get_shared_y_axes().get_siblings(ax)[1:]:
        ax.set_yticks(range(len(forest.names)))
    if np.isnan(forest.change).all():
        words = _WITHHELD if np.isnan(forest.value).all() else "no other weighting to compare"
        _say(ax, words)
        return
    ax.axvline(0, color=GREY, linestyle="--", linewidth=1.2, zorder=0)
    for place, name in enumerate(forest.names):
        if name != "none" and np.isnan(forest.change[place]):
            _say(ax, _WITHHELD, place)
    numbers = forest_numbers(forest)
    ax.xaxis.set_major_formatter(lambda value, _: numbers.change_labels([value])[0])
    ax.set_xlabel("← left is better", fontsize=9)


def _say(ax: Any, words: str, place: int | None = None) -> None:
    """Write what there is instead of numbers: over all of a panel, or in one row."""
    if place is None:
        ax.set_xticks([])
        ax.text(0.5, 0.5, words, ha="center", va="center", transform=ax.transAxes, color=GREY)
    else:
        middle = {"xycoords": ("axes fraction", "data"), "ha": "center", "va": "center"}
        ax.annotate(words, (0.5, place), **middle, color=GREY, fontsize=8)
