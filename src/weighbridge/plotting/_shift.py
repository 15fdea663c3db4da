"""Features one by one: training, deployment, and training after weighting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from weighbridge._findings import percent
from weighbridge.diagnosis import balance_table
from weighbridge.pictures import FeatureHistogram, check_made, histogram_of
from weighbridge.plotting._display import DEPLOYMENT, GREY, TRAINING, WEIGHTED, Display, shown_name
from weighbridge.tables import check_weights, read_features

_MOST_FEATURES = 6
# So many values can be labelled in a small picture.
_MOST_LABELS = 8


class ShiftDisplay(Display):
    """Features one by one, before and after weighting.

    Parameters
    ----------
    histograms : sequence of FeatureHistogram
        From `compute_feature_histogram`, one for each picture.

    Attributes
    ----------
    axes_ : tuple of matplotlib Axes
        Where the features were drawn, in their order.
    figure_ : matplotlib Figure
        Their figure.
    legend_ : matplotlib Legend
        One for all.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.plotting import ShiftDisplay
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(size=(1000, 3)), rng.normal([0, 1, 0.2], size=(500, 3))
    >>> display = ShiftDisplay.from_samples(X, X_target, np.exp(X[:, 1]), features=["1"])
    >>> sorted(display.table())
    ['deployment', 'feature', 'high', 'low', 'training', 'value', 'weighted']
    """

    def __init__(self, histograms: Sequence[FeatureHistogram]) -> None:
        made = [histograms] if isinstance(histograms, FeatureHistogram) else list(histograms)
        if not made:
            raise ValueError("Got no histograms, but expected at least one feature to draw.")
        for each in made:
            check_made(each, FeatureHistogram, "a histogram", "compute_feature_histogram")
        self.histograms = tuple(made)

    @classmethod
    def from_samples(
        cls, X: Any, X_target: Any, weights: Any = None, *, features: Any = None
    ) -> ShiftDisplay:
        """Count the values of the features in two samples.

        Parameters
        ----------
        X, X_target
            As in `weighbridge.diagnosis.balance_table`.
        weights : array-like of shape (n_source,), optional
            Weights of the source rows, on any scale.
        features : list of str or int, optional
            Names of the features to show; positions for arrays. Default: the six that moved most,
            by the standardised difference before weighting.

        Returns
        -------
        ShiftDisplay
            Not drawn yet; see `plot`.
        """
        if features is None:
            names = _moved_most(X, X_target)
        else:
            names = _named(features, [each.name for each in read_features(X, X_target)])
        found = {}
        # one column at a time: a table may have thousands
        for each in read_features(X, X_target):
            if each.name in names:
                own = None if weights is None else check_weights(weights, each.source.size)
                found[each.name] = histogram_of(each, own)
        return cls([found[name] for name in names])

    def plot(self, *, ax: Any = None) -> ShiftDisplay:
        """Draw one small picture for each feature.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, optional
            Where to draw, one for each feature. Default: a new figure, three in a row.

        Returns
        -------
        ShiftDisplay
            The object itself.
        """
        axes = _grid(len(self.histograms)) if ax is None else list(np.ravel(ax))
        if len(axes) != len(self.histograms):
            raise ValueError(
                f"Got {len(axes)} axes for {len(self.histograms)} features; pass one for each."
            )
        for each, histogram in zip(axes, self.histograms, strict=True):
            _draw_feature(each, histogram)
        self.axes_, self.figure_ = tuple(axes), axes[0].figure
        self.legend_ = self._legend(axes[0])
        return self

    def table(self) -> dict[str, np.ndarray]:
        """Return the numbers behind the picture, one row for each bar or bin.

        Returns
        -------
        dict of ndarray
            ``feature``; ``value`` of a bar or None; ``low`` and ``high`` of a bin or NaN; what is
            drawn for ``training``, ``deployment`` and ``weighted`` (where there are weights).
        """
        columns: dict[str, list[Any]] = {
            name: [] for name in ("feature", "value", "low", "high", "training", "deployment")
        }
        if self._is_weighted():
            columns["weighted"] = []
        for each in self.histograms:
            n = each.training.size
            columns["feature"] += [each.name] * n
            columns["value"] += [None] * n if each.values is None else list(each.values)
            edges = np.full(n + 1, np.nan) if each.edges is None else each.edges
            columns["low"] += list(edges[:-1])
            columns["high"] += list(edges[1:])
            for side in ("training", "deployment", "weighted"):
                if side in columns:
                    columns[side] += list(getattr(each, side))
        text = ("feature", "value")
        return {
            name: np.array(column, dtype=object if name in text else np.float64)
            for name, column in columns.items()
        }

    def _is_weighted(self) -> bool:
        return all(each.weighted is not None for each in self.histograms)

    def _legend(self, ax: Any) -> Any:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        lines = [TRAINING, WEIGHTED] if self._is_weighted() else [TRAINING]
        handles: list[Any] = [Patch(**DEPLOYMENT.area(), label=DEPLOYMENT.name)]
        # marks stand for bars of single values
        marked = any(each.edges is None for each in self.histograms)
        for role in lines:
            mark = role.mark(ax.get_facecolor()) if marked else {}
            handles.append(Line2D([], [], **{**mark, **role.line()}, label=role.name))
        if self._fits_outside():
            return ax.figure.legend(
                handles=handles, loc="outside lower center", ncol=3, frameon=False, fontsize=9
            )
        bottom, top = ax.get_ylim()
        ax.set_ylim(bottom, bottom + 1.4 * (top - bottom))
        return ax.legend(handles=handles, loc="upper left", fontsize=7, edgecolor="none")

    def _fits_outside(self) -> bool:
        """True where a layout makes room for a legend below all axes."""
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        return isinstance(self.axes_[0].figure.get_layout_engine(), ConstrainedLayoutEngine)


def _moved_most(X: Any, X_target: Any) -> list[str]:
    """Return the features of the largest differences; at least one, even if nothing differs."""
    table = balance_table(X, X_target)
    names = dict.fromkeys(row.feature for row in table.largest(len(table)))
    return list(names)[:_MOST_FEATURES]


def _named(features: Any, known: list[str]) -> list[str]:
    """Check names or positions of features."""
    wanted: list[Any] = list(features) if np.iterable(features) else [features]
    wanted = [features] if isinstance(features, str) else wanted
    names = [known[each] if _is_position(each, known) else str(each) for each in wanted]
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        shown = ", ".join(known[:10]) + (", ..." if len(known) > 10 else "")
        raise ValueError(
            f"Got features={features!r}, but expected a list of columns among {shown}."
        )
    return names


def _is_position(each: Any, known: list[str]) -> bool:
    is_number = isinstance(each, int | np.integer) and not isinstance(each, bool)
    return is_number and str(each) not in known and 0 <= each < len(known)


def _grid(n: int) -> list[Any]:
    import matplotlib.pyplot as plt

    n_columns = min(3, n)
    n_lines = math.ceil(n / n_columns)
    size = (max(4.0, 2.6 * n_columns), 0.5 + 2.2 * n_lines)
    figure, axes = plt.subplots(
        n_lines, n_columns, figsize=size, layout="constrained", squeeze=False
    )
    for spare in axes.flat[n:]:
        figure.delaxes(spare)
    return list(axes.flat[:n])


def _draw_feature(ax: Any, histogram: FeatureHistogram) -> None:
    """Draw one feature in both samples, with its name and its missing values above."""
    missing = histogram.missing
    has_gaps = any(share > 0 for share in missing.values())
    ax.set_title(shown_name(histogram.name, 26), fontsize=9, pad=15 if has_gaps else None)
    if has_gaps:
        gaps = f"missing {percent(missing['training'])} → {percent(missing['deployment'])}"
        if "weighted" in missing:
            gaps += f", weighted {percent(missing['weighted'])}"
        place = {"xytext": (0, 4), "textcoords": "offset points"}
        ax.annotate(gaps, (0.5, 1), xycoords="axes fraction", ha="center", fontsize=7, **place)
    ax.tick_params(labelsize=8)
    if histogram.training.size == 0:
        ax.set(xticks=[], yticks=[])
        ax.text(0.5, 0.5, "no values", ha="center", va="center", transform=ax.transAxes)
    elif histogram.edges is not None:
        _draw_densities(ax, histogram)
    else:
        _draw_bars(ax, histogram, np.asarray(histogram.values))


def _draw_densities(ax: Any, histogram: FeatureHistogram) -> None:
    edges = histogram.edges
    ax.stairs(histogram.deployment, edges, fill=True, **DEPLOYMENT.area(), linewidth=1, zorder=1)
    ax.stairs(histogram.training, edges, baseline=None, **TRAINING.line(), zorder=3)
    if histogram.weighted is not None:
        ax.stairs(histogram.weighted, edges, baseline=None, **WEIGHTED.line(), zorder=4)
    ax.set_ylim(bottom=0)
    ax.set(yticks=[])
    # heights of densities mean nothing by themselves
    ax.set_ylabel("density", fontsize=8, color=GREY)
    ax.locator_params(axis="x", nbins=5)
    _spell_large_numbers(ax)


def _draw_bars(ax: Any, histogram: FeatureHistogram, values: np.ndarray) -> None:
    places = np.arange(values.size)
    ax.bar(places, histogram.deployment, width=0.8, **DEPLOYMENT.area(), zorder=1)
    sides = [(TRAINING, histogram.training, 3)]
    if histogram.weighted is not None:
        sides.append((WEIGHTED, histogram.weighted, 4))
    for role, shares, layer in sides:
        look = {**role.line(), "linewidth": 1.4, "zorder": layer}
        ax.hlines(shares, places - 0.4, places + 0.4, **look)
        mark = role.mark(ax.get_facecolor())
        mark["markersize"] = 4.5 if values.size <= 12 else 3
        ax.plot(places, shares, **mark, zorder=layer)
    ax.set_ylim(0, None)
    ax.set_xlim(-0.7, values.size - 0.3)
    ax.locator_params(axis="y", nbins=4)
    ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    _label_values(ax, values)


def _label_values(ax: Any, values: np.ndarray) -> None:
    """Label the bars; some of them where there are many."""
    is_text = values.dtype == object
    labels = [shown_name(value, 12) if is_text else f"{value:.6g}" for value in values]
    shown = np.arange(0, len(labels), math.ceil(len(labels) / _MOST_LABELS))
    if is_text:  # the last one may be the pool
        shown += len(labels) - 1 - shown[-1]
    turned = len(labels) > 2 and max(map(len, labels)) * min(len(labels), _MOST_LABELS) > 24
    angle = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if turned else {}
    ax.set_xticks(shown, [labels[place] for place in shown], fontsize=8, **angle)


def _spell_large_numbers(ax: Any) -> None:
    """Write 600k for 600,000: labels of a small picture must be short."""
    ax.xaxis.get_offset_text().set_fontsize(8)
    low, high = ax.get_xlim()
    largest = max(abs(low), abs(high))
    if 1e5 <= largest < 1e7:
        unit, letter = (1e6, "M") if largest >= 2e6 else (1e3, "k")
        ax.xaxis.set_major_formatter(
            lambda value, _: "0" if value == 0 else f"{value / unit:g}{letter}"
        )
