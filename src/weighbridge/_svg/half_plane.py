"""Normal distributions as points of a half-plane, and curves between two of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weighbridge._findings import number
from weighbridge._svg import _legend as marks
from weighbridge._svg._chart import Chart, Table
from weighbridge._svg._draw import (
    WIDTH,
    Point,
    Svg,
    bottom_axis,
    circle,
    element,
    left_axis,
    line,
    scale,
    text,
    trace,
)
from weighbridge._svg._map import Words

# The class of each curve in turn; what lies farther out of the family is drawn wider.
_LINES = ("wb-training", "wb-other", "wb-weighted", "wb-caution", "wb-reference", "wb-stop")
_LEFT, _TOP, _BOTTOM = 46.0, 12.0, 220.0
_WIDEST = 7.0
_BENEATH = "stroke-dasharray:none;stroke-opacity:.35"


def half_plane(half_plane: Mapping[str, Any], *, id: str) -> Chart:
    """Draw curves between two normal distributions, by mean and standard deviation.

    Parameters
    ----------
    half_plane : dict
        ``alpha``, and for each alpha a list of ``mean``, ``sd`` and ``distance`` along its curve.
    id : str
        Starts the ids in the drawing; unique in a page.

    Returns
    -------
    Chart
        The curves; the farther weighted densities are from a normal one, the wider the line.
    """
    title = "Weighted densities between two normal ones"
    alphas, means, deviations = (half_plane[name] for name in ("alpha", "mean", "sd"))
    x = scale(_room(means), (_LEFT, WIDTH - 14))
    y = scale(_room(deviations), (_BOTTOM, _TOP))
    largest = max(max(row) for row in half_plane["distance"])
    desc = _describe(half_plane, largest)
    names = [f"alpha {number(alpha)}" for alpha in alphas]
    key, room = marks.legend(
        [(_sample(_LINES[place % len(_LINES)]), name) for place, name in enumerate(names)],
        _BOTTOM + 51,
    )
    svg = Svg(id, title, desc, _BOTTOM + 42 + room)
    svg.add(left_axis(y, _LEFT, n=5, grid=x.end), bottom_axis(x, _BOTTOM, name="mean"))
    for place in range(len(alphas)):
        points = [(x(a), y(b)) for a, b in zip(means[place], deviations[place], strict=True)]
        widths = [
            value / largest if largest > 0 else 0.0 for value in half_plane["distance"][place]
        ]
        svg.add(_line(points, widths, _LINES[place % len(_LINES)]))
    words = Words()
    for end, name in ((0, "training"), (-1, "deployment")):
        at = x(means[0][end]), y(deviations[0][end])
        svg.add(circle(*at, 4.5, "wb-other-fill"))
        words.put(name, [(at[0], at[1] + 18), (at[0], at[1] - 9)], "wb-strong wb-halo")
    svg.add(text(4, _TOP + 2, "standard deviation", "wb-muted wb-halo"), *words.parts, key)
    return Chart(svg.render(), title, desc, _table(half_plane, names))


def _line(points: Sequence[Point], widths: Sequence[float], cls: str) -> str:
    """Return a line, and beneath it pieces as wide as its points are far from the family."""
    parts = []
    for start in range(len(points) - 1):
        wide = _WIDEST * (widths[start] + widths[start + 1]) / 2
        if wide > 0.2:
            d = trace(points[start : start + 2])
            parts.append(element("path", d=d, style=f"stroke-width:{wide:.1f}"))
    beneath = element("g", "".join(parts), class_=cls, style=_BENEATH) if parts else ""
    return beneath + element("path", d=trace(points), class_=cls)


def _sample(cls: str) -> marks.Mark:
    return lambda x, y: line(x, y, x + 18, y, cls)


def _room(rows: Sequence[Sequence[float]]) -> Point:
    values = [value for row in rows for value in row]
    low, high = min(values), max(values)
    room = 0.12 * (high - low) or 0.5 * abs(high) or 1.0
    return low - room, high + room


def _describe(half_plane: Mapping[str, Any], largest: float) -> str:
    if largest < 1e-6:
        return "All curves stay among normal densities."
    farthest = max(
        zip(half_plane["distance"], half_plane["alpha"], strict=True), key=lambda row: max(row[0])
    )
    return (
        f"The weighted densities of alpha {number(farthest[1])} leave the normal ones farthest, by "
        f"a divergence of {number(largest, 2)}."
    )


def _table(half_plane: Mapping[str, Any], names: Sequence[str]) -> Table:
    rows = []
    for place, name in enumerate(names):
        columns = [half_plane[key][place] for key in ("mean", "sd", "distance")]
        middle = len(columns[0]) // 2
        rows.append((name, *(number(column[middle]) for column in columns)))
    return ("curve", "mean half way", "standard deviation", "distance"), tuple(rows)
