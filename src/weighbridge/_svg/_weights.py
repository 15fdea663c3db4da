"""Overlap and weights: log ratios in both samples, effective rows, on how few rows weights sit."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from weighbridge._findings import count, number, percent, percent_labels
from weighbridge._svg._axes import (
    Mark,
    Scale,
    area_mark,
    bottom_axis,
    left_axis,
    legend,
    line_mark,
    scale,
)
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
    rect,
    simplify,
    square,
    squares,
    steps,
    text,
    text_width,
)
from weighbridge.pictures import LorenzCurve, OverlapHistogram, ReliabilityCurve, WeightCurves

# A bound farther than this from the largest weight would squeeze the histogram.
_NEAR = 8.0
# Half of the height of the mirrored histogram, and the room above it.
_HALF = 78
_TOP = 6
# Half of the width of a step that has no neighbours.
_LONE = 12.0


def effective_rows(used: float, full: float | None, n: int, *, id: str) -> Chart:
    """Draw the effective rows of the used weights among `n`, and of the full ratio if another."""
    title = "Effective rows"
    desc = f"{count(used)} effective rows of {count(n)}"
    desc += f"; {count(full)} with the full ratio." if full is not None else "."
    x = scale((0, max(n, 1)), (4, WIDTH - 4))
    top, height = 22.0, 20.0
    axis = top + height + (17 if full is None else 33)
    svg = Svg(id, title, desc, axis + 5)
    svg.add(
        rect(x.start, top, x.end - x.start, height, "wb-band"),
        rect(x.start, top, x.clamp(used) - x.start, height, "wb-weighted-fill"),
        _label(x, used, 14, f"used: {count(used)} effective rows", "wb-used"),
        line(x.start, top + height, x.end, top + height, "wb-axis"),
        text(x.start, axis, "0", "wb-muted"),
        text(x.end, axis, f"{count(n)} rows", "wb-muted", anchor="end"),
    )
    if full is not None:
        at = x.clamp(full)
        svg.add(
            line(at, top, at, top + height + 5, "wb-tick"),
            _label(x, full, top + height + 16, f"full ratio: {count(full)} effective rows", ""),
        )
    rows = [("used", count(used))]
    rows += [("full ratio", count(full))] if full is not None else []
    return svg.chart((("weights", "effective rows"), (*rows, ("all rows", count(n)))))


def concentration(lorenz: LorenzCurve, *, id: str) -> Chart:
    """Draw which share of the weight the rows with the largest weights carry."""
    title = "On how few rows the weight sits"
    half, share = lorenz.half, percent(lorenz.half)
    rows, weight = lorenz.rows.tolist(), lorenz.weight.tolist()
    desc = f"Half of the weight sits on {share.replace('%', 'percent')} of rows."
    left, top, bottom = 48.0, 8.0, 198.0
    x, y = scale((0, 1), (left, WIDTH - 12)), scale((0, 1), (bottom, top))
    curve = [(x(a), y(b)) for a, b in zip(rows, weight, strict=True)]
    height = float(np.interp(half, rows, weight))
    key, room = legend(
        [(line_mark("wb-weighted"), "weights"), (line_mark("wb-reference"), "all rows alike")],
        bottom + 51,
    )
    svg = Svg(id, title, desc, bottom + 42 + room)
    svg.add(
        left_axis(y, left, labels=percent_labels, n=6, grid=x.end),
        bottom_axis(x, bottom, name="rows, largest weights first", labels=percent_labels),
        path([(x(0), y(0)), (x(1), y(1))], "wb-reference"),
        path([(left, y(height)), (x(half), y(height)), (x(half), bottom)], "wb-stem"),
        path(simplify(curve), "wb-weighted"),
        square(x(half), y(height), 4, "wb-weighted-fill"),
        _half_label(x, y, half, f"half on {share} of rows"),
        text(left + 4, top + 10, "share of the weight", "wb-muted wb-halo"),
        key,
    )
    return svg.chart(_lorenz_table(rows, weight))


def weights(weights: WeightCurves, *, id: str) -> Chart:
    """Draw how many rows have weights of which size, with the mean and the bound."""
    title = "How large the weights are"
    edges, counts, bound = weights.edges.tolist(), weights.counts.tolist(), weights.bound
    desc = f"Largest weight {number(weights.largest)}; their mean is 1."
    if bound is not None:
        desc = f"Largest weight {number(weights.largest)}, none can exceed {number(bound)}."
    low, high = min(edges[0], 0.5), max(edges[-1], 2.0)
    shows_bound = bound is not None and bound <= _NEAR * high
    if bound is not None and shows_bound:
        high = max(high, 1.15 * bound)
    left, top, bottom = 48.0, 8.0, 148.0
    x = scale((low, high), (left, WIDTH - 8), log=True)
    y = scale((0, max(counts) or 1), (bottom, top))
    key, room = legend(_weight_key(weights, shows_bound), bottom + 51)
    svg = Svg(id, title, desc, bottom + 42 + room)
    bars = [(x(edge), y(height)) for edge, height in steps(edges, counts)]
    svg.add(
        left_axis(y, left, n=4, grid=x.end),
        path([(x(edges[0]), bottom), *bars, (x(edges[-1]), bottom)], "wb-weighted-area"),
        line(x(1), top, x(1), bottom, "wb-reference"),
        bottom_axis(x, bottom, name="weight, on a logarithmic axis", n=9),
        key,
    )
    if bound is not None and shows_bound:
        svg.add(line(x(bound), top, x(bound), bottom, "wb-caution"))
    rows = [
        (f"{number(a)} to {number(b)}", count(c))
        for a, b, c in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    return svg.chart((("weight", "rows"), tuple(rows)))


def _weight_key(weights: WeightCurves, shows_bound: bool) -> list[tuple[Mark, str]]:
    items: list[tuple[Mark, str]] = [
        (area_mark("wb-weighted-area"), "training rows"),
        (line_mark("wb-reference"), "mean 1"),
    ]
    if weights.bound is not None:
        beyond = "" if shows_bound else ", beyond the axis"
        items.append((line_mark("wb-caution"), f"bound {number(weights.bound)}{beyond}"))
    if weights.n_below:
        words = f"first bar: also {count(weights.n_below)} with smaller weights"
        items.append((lambda x, y: "", words))
    return items


def _label(x: Scale, value: float, y: float, words: str, cls: str) -> str:
    """Return words under or over a place of a bar, kept inside the picture."""
    half = text_width(words, bold=cls == "wb-used") / 2
    at = min(max(x.clamp(value), half + 2), WIDTH - half - 2)
    return text(at, y, words, cls, anchor="middle")


def _half_label(x: Scale, y: Scale, half: float, words: str) -> str:
    """Return words at the foot of the stem, in the corner below the diagonal, where no line is."""
    foot = y.start - 8
    # the first place to the right of the diagonal for letters 12 units high
    free = x((y.start - foot + 12) / (y.start - y.end)) + 4
    at = min(max(x(half) + 8, free), WIDTH - 2 - text_width(words, bold=True))
    return text(at, foot, words, "wb-used wb-halo")


def _lorenz_table(rows: Sequence[float], weight: Sequence[float]) -> Table:
    """Return the curve at round shares of the rows: the whole of it tells no more."""
    shares = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0)
    carried = [(percent(each), percent(np.interp(each, rows, weight), 1)) for each in shares]
    return ("rows with the largest weights", "share of the weight"), tuple(carried)


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
