"""Mirrored histogram of the log ratio: training up, deployment down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weighbridge._findings import number, percent
from weighbridge._svg import _legend as marks
from weighbridge._svg._chart import Chart, Table
from weighbridge._svg._draw import (
    WIDTH,
    Svg,
    bottom_axis,
    hatch,
    line,
    path,
    scale,
    steps,
)

_HALF = 78
_TOP = 6


def overlap(overlap: Mapping[str, Any], *, id: str) -> Chart:
    """Draw the log ratio in both samples, and where no training row lies.

    Parameters
    ----------
    overlap : mapping
        The part ``overlap`` of the pictures of a result.
    id : str
        Starts the ids inside the drawing.

    Returns
    -------
    Chart
        Training up, deployment down; the region without training rows hatched.

    Examples
    --------
    >>> from weighbridge._svg import overlap
    >>> histogram = {"edges": [-1, 0, 1], "training": [0.5, 0.5], "deployment": [0.2, 0.8]}
    >>> overlap(histogram | {"limit": 0.5, "beyond": 0.02, "n_beyond": 40}, id="overlap").desc
    '2 percent of deployment rows lie beyond all training rows.'
    """
    title = "Log ratio in training and deployment"
    desc = _describe(overlap)
    edges, limit = overlap["edges"], overlap["limit"]
    x = scale((edges[0], edges[-1]), (6, WIDTH - 6))
    tallest = max([*overlap["training"], *overlap["deployment"]]) or 1.0
    middle = _TOP + _HALF
    bottom = middle + _HALF + 4
    up = scale((0, tallest), (middle, _TOP))
    down = scale((0, tallest), (middle, bottom - 4))
    items = [(marks.training_line, "training, up"), (marks.deployment_area, "deployment, down")]
    has_beyond = overlap["n_beyond"] > 0 and limit < edges[-1]
    if overlap["n_beyond"] > 0:
        words = f"no training rows: {percent(overlap['beyond'])} of deployment"
        items.append((marks.hatch_mark, words))
    key, room = marks.legend(items, bottom + 51)
    svg = Svg(id, title, desc, bottom + 42 + room)
    if has_beyond:
        start = x.clamp(limit)
        svg.add(hatch(start, _TOP, x.end - start, bottom - _TOP))
    lower = [(x(edge), down(share)) for edge, share in steps(edges, overlap["deployment"])]
    upper = [(x(edge), up(share)) for edge, share in steps(edges, overlap["training"])]
    ends = (x.start, middle), (x.end, middle)
    svg.add(
        path([ends[0], *lower, ends[1]], "wb-deployment-fill", closed=True),
        path([ends[0], *upper, ends[1]], "wb-training"),
        line(x.start, middle, x.end, middle, "wb-axis"),
        bottom_axis(x, bottom, name="log ratio, deployment over training", n=7),
        key,
    )
    return Chart(svg.render(), title, desc, _table(overlap))


def _describe(overlap: Mapping[str, Any]) -> str:
    if overlap["n_beyond"] == 0:
        return "No deployment row lies beyond the training rows."
    share = percent(overlap["beyond"]).replace("%", "percent")
    share = share.replace("<", "less than").replace(">", "more than")
    share = share[0].upper() + share[1:]
    return f"{share} of deployment rows lie beyond all training rows."


def _table(overlap: Mapping[str, Any]) -> Table:
    edges = overlap["edges"]
    rows = [
        (f"{number(low)} to {number(high)}", percent(training, 1), percent(deployment, 1))
        for low, high, training, deployment in zip(
            edges[:-1], edges[1:], overlap["training"], overlap["deployment"], strict=True
        )
    ]
    return ("log ratio", "training", "deployment"), tuple(rows)
