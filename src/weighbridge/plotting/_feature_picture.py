"""The picture of one feature: densities, or a bar for each value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weighbridge._findings import percent
from weighbridge.plotting._feature_histogram import FeatureHistogram
from weighbridge.plotting._labels import shown_name
from weighbridge.plotting._roles import DEPLOYMENT, GREY, TRAINING, WEIGHTED

# So many values can be labelled in a small picture.
_MOST_LABELS = 8


def draw_feature(ax: Any, histogram: FeatureHistogram) -> None:
    """Draw one feature in both samples, with its name and its missing values above."""
    missing = histogram.missing
    has_gaps = any(share > 0 for share in missing.values())
    ax.set_title(shown_name(histogram.name, 26), fontsize=9, pad=15 if has_gaps else None)
    if has_gaps:
        gaps = f"missing {percent(missing['training'])} → {percent(missing['deployment'])}"
        if "weighted" in missing:
            gaps += f", weighted {percent(missing['weighted'])}"
        _below_title(ax, gaps)
    ax.tick_params(labelsize=8)
    if histogram.training.size == 0:
        ax.set(xticks=[], yticks=[])
        ax.text(0.5, 0.5, "no values", ha="center", va="center", transform=ax.transAxes)
    elif histogram.edges is not None:
        _draw_densities(ax, histogram)
    else:
        _draw_bars(ax, histogram, np.asarray(histogram.values))


def _below_title(ax: Any, words: str) -> None:
    place = {"xytext": (0, 4), "textcoords": "offset points"}
    ax.annotate(words, (0.5, 1), xycoords="axes fraction", ha="center", fontsize=7, **place)


def _draw_densities(ax: Any, histogram: FeatureHistogram) -> None:
    edges = histogram.edges
    ax.stairs(
        histogram.deployment,
        edges,
        fill=True,
        facecolor=DEPLOYMENT.fill,
        edgecolor=DEPLOYMENT.color,
        linewidth=1,
        zorder=1,
    )
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
    ax.bar(
        places,
        histogram.deployment,
        width=0.8,
        facecolor=DEPLOYMENT.fill,
        edgecolor=DEPLOYMENT.color,
        zorder=1,
    )
    sides = [(TRAINING, histogram.training, 3)]
    if histogram.weighted is not None:
        sides.append((WEIGHTED, histogram.weighted, 4))
    for role, shares, layer in sides:
        ax.hlines(
            shares,
            places - 0.4,
            places + 0.4,
            color=role.color,
            linestyle=role.linestyle,
            linewidth=1.4,
            zorder=layer,
        )
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
