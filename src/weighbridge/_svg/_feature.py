"""One feature in training, deployment and weighted training: densities, or bars for values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from weighbridge._findings import number, percent
from weighbridge._svg import _legend as marks
from weighbridge._svg._chart import Chart, Table
from weighbridge._svg._draw import (
    WIDTH,
    Point,
    Scale,
    Svg,
    bottom_axis,
    clean,
    path,
    scale,
    steps,
    text,
)
from weighbridge._svg._feature_words import describe
from weighbridge._svg._value_bars import Sides, level_bars, value_bars

_PLOT = 92
_LEFT, _RIGHT = 6, WIDTH - 6


def feature(histogram: Mapping[str, Any], after: str | None, *, id: str) -> Chart:
    """Draw one feature in both samples and in the weighted training sample.

    Parameters
    ----------
    histogram : mapping
        One of the ``features`` of the pictures of a result.
    after : str or None
        Name of the weighting; None for the two samples only.
    id : str
        Starts the ids inside the drawing.

    Returns
    -------
    Chart
        Densities on a shared axis, or one bar for each value.

    Examples
    --------
    >>> from weighbridge._svg import feature
    >>> site = {"name": "site", "values": ["east", "north"], "edges": None}
    >>> site |= {"training": [0.3, 0.7], "deployment": [0.6, 0.4], "weighted": {}, "missing": {}}
    >>> feature(site, None, id="site").desc
    'site: east is 30 % of training and 60 % of deployment.'
    """
    name = clean(histogram["name"])
    weighted = (histogram.get("weighted") or {}).get(after) if after is not None else None
    title = f"{name} in training and deployment"
    if weighted is not None:
        title += f", and after weighting ({after})"
    desc = describe(histogram, weighted)
    head, top = _head(histogram, name, after if weighted is not None else None)
    sides = histogram["training"], histogram["deployment"], weighted
    if not histogram["training"]:
        body, bottom = text(WIDTH / 2, top + 30, "no values", "wb-muted", anchor="middle"), top + 50
    elif histogram.get("edges"):
        body, bottom = _densities(histogram["edges"], sides, top)
    elif not _are_numbers(histogram["values"]):
        body, bottom = level_bars(histogram["values"], sides, top)
    else:
        body, bottom = value_bars(histogram["values"], sides, top)
    svg = Svg(id, title, desc, bottom)
    svg.add(head, body)
    return Chart(svg.render(), title, desc, _table(histogram))


def feature_key(after: str | None, *, id: str) -> Chart:
    """Draw what the marks of `feature` mean, once for many of them.

    Parameters
    ----------
    after : str or None
        Name of the weighting.
    id : str
        Starts the ids inside the drawing.

    Returns
    -------
    Chart
        A line or two, without a table.

    Examples
    --------
    >>> from weighbridge._svg import feature_key
    >>> feature_key("tuned", id="key").desc
    'Dashed line or circle: training; filled area: deployment; solid line or square: weighted.'
    """
    items = [(_training_both, "training"), (marks.deployment_area, "deployment")]
    desc = "Dashed line or circle: training; filled area: deployment"
    if after is not None:
        items.append((_weighted_both, f"weighted training ({after})"))
        desc += "; solid line or square: weighted"
    key, height = marks.legend(items, 10)
    svg = Svg(id, "What the marks mean", f"{desc}.", height + 2)
    svg.add(key)
    return Chart(svg.render(), svg.title, svg.desc, ((), ()))


def _training_both(x: float, y: float) -> str:
    return marks.training_line(x, y) + marks.training_mark(x, y)


def _weighted_both(x: float, y: float) -> str:
    return marks.weighted_line(x, y) + marks.weighted_mark(x, y)


def _head(histogram: Mapping[str, Any], name: str, after: str | None) -> tuple[str, float]:
    """Return the name, with missing values below it, and where the picture starts."""
    head = text(_LEFT, 14, name, "wb-strong", size=13, room=_RIGHT - _LEFT)
    missing = histogram.get("missing") or {}
    shares = [missing.get("training") or 0.0, missing.get("deployment") or 0.0]
    if not any(shares):
        return head, 24
    words = f"missing {percent(shares[0])} → {percent(shares[1])}"
    weighted = (missing.get("weighted") or {}).get(after) if after is not None else None
    if weighted is not None:
        words += f", weighted {percent(weighted)}"
    return head + text(_LEFT, 30, words, "wb-muted", room=_RIGHT - _LEFT), 40


def _densities(edges: Sequence[float], sides: Sides, top: float) -> tuple[str, float]:
    bottom = top + _PLOT
    x = scale((edges[0], edges[-1]), (_LEFT, _RIGHT))
    tallest = max(height for side in sides if side is not None for height in side)
    y = scale((0, tallest or 1.0), (bottom, top))
    training, deployment, weighted = sides
    parts = [
        path(_outline(x, y, edges, deployment), "wb-deployment-fill", closed=True),
        path(_outline(x, y, edges, training)[1:-1], "wb-training"),
    ]
    if weighted is not None:
        parts.append(path(_outline(x, y, edges, weighted)[1:-1], "wb-weighted"))
    parts.append(bottom_axis(x, bottom, n=5))
    return "".join(parts), bottom + 22


def _outline(x: Scale, y: Scale, edges: Sequence[float], heights: Sequence[float]) -> list[Point]:
    corners = [(x(edge), y(height)) for edge, height in steps(edges, heights)]
    return [(x(edges[0]), y(0)), *corners, (x(edges[-1]), y(0))]


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _table(histogram: Mapping[str, Any]) -> Table:
    weighted = histogram.get("weighted") or {}
    heads = ("value", "training", "deployment", *weighted)
    edges = histogram.get("edges")
    if edges:
        names = [f"{low} to {high}" for low, high in pairwise(map(number, edges))]
        widths = [high - low for low, high in pairwise(edges)]
    else:
        values = histogram["values"] or []
        names = [number(each) if _are_numbers([each]) else clean(each) for each in values]
        widths = [1.0] * len(names)
    sides = [histogram["training"], histogram["deployment"], *weighted.values()]
    rows = [
        (name, *(percent(side[place] * width, 1) for side in sides))
        for place, (name, width) in enumerate(zip(names, widths, strict=True))
    ]
    gaps = histogram.get("missing") or {}
    if any((gaps.get(side) or 0) > 0 for side in ("training", "deployment")):
        own = [(gaps.get("weighted") or {}).get(name) for name in weighted]
        shares = [gaps.get("training"), gaps.get("deployment"), *own]
        rows.append(("missing", *(percent(share, 1) for share in shares)))
    return heads, tuple(rows)
