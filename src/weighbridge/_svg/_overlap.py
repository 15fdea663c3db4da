"""Whether the samples overlap: the log ratio in both, and how far its classifier is right."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from weighbridge._findings import number, percent, percent_labels
from weighbridge._svg._axes import area_mark, bottom_axis, left_axis, legend, line_mark, scale
from weighbridge._svg._draw import (
    WIDTH,
    Chart,
    Point,
    Svg,
    Table,
    capital,
    hatch,
    line,
    path,
    squares,
    steps,
    text,
)
from weighbridge.pictures import OverlapHistogram, ReliabilityCurve

_HALF = 78
_TOP = 6
# Half of the width of a step that has no neighbours.
_LONE = 12.0


def overlap(overlap: OverlapHistogram, *, id: str) -> Chart:
    """Draw the log ratio in both samples, training up, and hatch where no training row lies."""
    title = "Log ratio in training and deployment"
    desc = _describe(overlap)
    edges, limit = overlap.edges.tolist(), overlap.limit
    training, deployment = overlap.training.tolist(), overlap.deployment.tolist()
    x = scale((edges[0], edges[-1]), (6, WIDTH - 6))
    tallest = max([*training, *deployment]) or 1.0
    middle = _TOP + _HALF
    bottom = middle + _HALF + 4
    up = scale((0, tallest), (middle, _TOP))
    down = scale((0, tallest), (middle, bottom - 4))
    items = [
        (line_mark("wb-training"), "training, up"),
        (area_mark("wb-deployment-fill"), "deployment, down"),
    ]
    has_beyond = overlap.n_beyond > 0 and limit < edges[-1]
    if overlap.n_beyond > 0:
        words = f"no training rows: {percent(overlap.beyond)} of deployment"
        items.append((lambda x, y: hatch(x, y - 5, 18, 10, 5), words))
    key, room = legend(items, bottom + 51)
    svg = Svg(id, title, desc, bottom + 42 + room)
    if has_beyond:
        start = x.clamp(limit)
        svg.add(hatch(start, _TOP, x.end - start, bottom - _TOP))
    lower = [(x(edge), down(share)) for edge, share in steps(edges, deployment)]
    upper = [(x(edge), up(share)) for edge, share in steps(edges, training)]
    ends = (x.start, middle), (x.end, middle)
    svg.add(
        path([ends[0], *lower, ends[1]], "wb-deployment-fill", closed=True),
        path([ends[0], *upper, ends[1]], "wb-training"),
        line(x.start, middle, x.end, middle, "wb-axis"),
        bottom_axis(x, bottom, name="log ratio, deployment over training", n=7),
        key,
    )
    return svg.chart(_overlap_table(overlap))


def _describe(overlap: OverlapHistogram) -> str:
    if overlap.n_beyond == 0:
        return "No deployment row lies beyond the training rows."
    share = percent(overlap.beyond).replace("%", "percent")
    share = share.replace("<", "less than").replace(">", "more than")
    return f"{capital(share)} of deployment rows lie beyond all training rows."


def _overlap_table(overlap: OverlapHistogram) -> Table:
    columns = overlap.edges[:-1], overlap.edges[1:], overlap.training, overlap.deployment
    rows = [
        (f"{number(low)} to {number(high)}", percent(training, 1), percent(deployment, 1))
        for low, high, training, deployment in zip(*columns, strict=True)
    ]
    return ("log ratio", "training", "deployment"), tuple(rows)


def reliability(reliability: ReliabilityCurve, *, id: str) -> Chart:
    """Draw the observed against the predicted share of deployment rows, with its band."""
    title = "Predicted and observed share of deployment rows"
    desc = f"The curve stays within {reliability.largest_gap:.2f} of the diagonal."
    left, top, bottom = 48.0, 8.0, 218.0
    x, y = scale((0, 1), (left, WIDTH - 12)), scale((0, 1), (bottom, top))
    places = [x.clamp(value) for value in reliability.predicted.tolist()]
    edges = _edges(places, x.start, x.end)

    def curve(shares: np.ndarray) -> list[Point]:
        return steps(edges, [y.clamp(value) for value in shares.tolist()])

    items = [
        (line_mark("wb-weighted"), "observed"),
        (area_mark("wb-band"), "its uncertainty"),
        (line_mark("wb-reference"), "as predicted"),
    ]
    key, room = legend(items, bottom + 51)
    svg = Svg(id, title, desc, bottom + 42 + room)
    middles = zip(places, [y.clamp(value) for value in reliability.observed.tolist()], strict=True)
    svg.add(
        path([*curve(reliability.high), *reversed(curve(reliability.low))], "wb-band", closed=True),
        left_axis(y, left, labels=percent_labels, n=6, grid=x.end),
        bottom_axis(x, bottom, name="predicted chance of deployment", labels=percent_labels),
        path([(x(0), y(0)), (x(1), y(1))], "wb-reference"),
        path(curve(reliability.observed), "wb-weighted"),
        squares(middles, 2.4, "wb-weighted-fill"),
        text(left + 4, top + 10, "observed share", "wb-muted wb-halo"),
        key,
    )
    return svg.chart(_reliability_table(reliability))


def _edges(places: Sequence[float], start: float, end: float) -> list[float]:
    """Return the ends of steps around their places: half way to the next one, inside the axis."""
    between = [(left + right) / 2 for left, right in pairwise(places)]
    if between:
        first, last = 2 * places[0] - between[0], 2 * places[-1] - between[-1]
    else:
        first, last = places[0] - _LONE, places[0] + _LONE
    return [max(first, start), *between, min(last, end)]


def _reliability_table(reliability: ReliabilityCurve) -> Table:
    names = ("predicted", "observed", "low", "high")
    columns = [getattr(reliability, name) for name in names]
    rows = [tuple(f"{value:.3f}" for value in row) for row in zip(*columns, strict=True)]
    return names, tuple(rows)
