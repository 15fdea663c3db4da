"""Reliability of the classifier that tells deployment from training rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from weighbridge._findings import percent_labels
from weighbridge._svg import _legend as marks
from weighbridge._svg._chart import Chart, Table
from weighbridge._svg._draw import (
    WIDTH,
    Point,
    Svg,
    bottom_axis,
    left_axis,
    path,
    scale,
    squares,
    steps,
    text,
)

# Half of the width of a step that has no neighbours.
_LONE = 12.0


def reliability(reliability: Mapping[str, Any], *, id: str) -> Chart:
    """Draw the observed against the predicted share of deployment rows.

    Parameters
    ----------
    reliability : mapping
        The part ``reliability`` of the pictures of a result.
    id : str
        Starts the ids inside the drawing.

    Returns
    -------
    Chart
        A step curve with its band, and the diagonal dashed.

    Examples
    --------
    >>> from weighbridge._svg import reliability
    >>> curve = {"predicted": [0.1, 0.9], "observed": [0.12, 0.88], "largest_gap": 0.03}
    >>> reliability(curve | {"low": [0.1, 0.8], "high": [0.2, 0.9]}, id="trust").desc
    'The curve stays within 0.03 of the diagonal.'
    """
    title = "Predicted and observed share of deployment rows"
    desc = f"The curve stays within {reliability['largest_gap']:.2f} of the diagonal."
    left, top, bottom = 48.0, 8.0, 218.0
    x, y = scale((0, 1), (left, WIDTH - 12)), scale((0, 1), (bottom, top))
    places = [x.clamp(value) for value in reliability["predicted"]]
    edges = _edges(places, x.start, x.end)

    def curve(name: str) -> list[Point]:
        return steps(edges, [y.clamp(value) for value in reliability[name]])

    items = [
        (marks.weighted_line, "observed"),
        (marks.band_mark, "its uncertainty"),
        (marks.reference_line, "as predicted"),
    ]
    key, room = marks.legend(items, bottom + 51)
    svg = Svg(id, title, desc, bottom + 42 + room)
    middles = zip(places, [y.clamp(value) for value in reliability["observed"]], strict=True)
    svg.add(
        path([*curve("high"), *reversed(curve("low"))], "wb-band", closed=True),
        left_axis(y, left, labels=percent_labels, n=6, grid=x.end),
        bottom_axis(x, bottom, name="predicted chance of deployment", labels=percent_labels),
        path([(x(0), y(0)), (x(1), y(1))], "wb-reference"),
        path(curve("observed"), "wb-weighted"),
        squares(middles, 2.4, "wb-weighted-fill"),
        text(left + 4, top + 10, "observed share", "wb-muted wb-halo"),
        key,
    )
    return Chart(svg.render(), title, desc, _table(reliability))


def _edges(places: Sequence[float], start: float, end: float) -> list[float]:
    """Return the ends of steps around their places: half way to the next one, inside the axis."""
    between = [(left + right) / 2 for left, right in pairwise(places)]
    if between:
        first, last = 2 * places[0] - between[0], 2 * places[-1] - between[-1]
    else:
        first, last = places[0] - _LONE, places[0] + _LONE
    return [max(first, start), *between, min(last, end)]


def _table(reliability: Mapping[str, Any]) -> Table:
    names = ("predicted", "observed", "low", "high")
    columns = [reliability[name] for name in names]
    rows = [tuple(f"{value:.3f}" for value in row) for row in zip(*columns, strict=True)]
    return names, tuple(rows)
