"""Where numbers are drawn and what marks mean: scales, round numbers along axes, legends."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from weighbridge._findings import number, tick_labels
from weighbridge._svg._draw import (
    SIZE,
    WIDTH,
    Point,
    circle,
    element,
    group,
    line,
    rect,
    square,
    text,
    text_width,
    trace,
)

Labels = Callable[[Sequence[float]], list[str]]


@dataclass(frozen=True)
class Scale:
    """A map from numbers to units of the drawing, straight or by logarithms; see `scale`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return where a number is drawn; the middle where the domain is one point."""
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        # halves, since the difference of huge numbers may be infinite
        span = high / 2 - low / 2
        share = 0.5 if span == 0 else (value / 2 - low / 2) / span
        return self.start + share * (self.end - self.start)

    def clamp(self, value: float) -> float:
        """Return where a number is drawn, or the end of the axis it lies beyond."""
        return self(min(max(value, self.low), self.high))


def scale(domain: Point, span: Point, *, log: bool = False) -> Scale:
    """Map numbers from `domain` to units from `span`."""
    low, high = float(domain[0]), float(domain[1])
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(f"Got domain={domain}, but expected two finite numbers, smaller first.")
    if log and low <= 0:
        raise ValueError(f"Got domain={domain}, but logarithms need numbers above 0.")
    return Scale(low, high, float(span[0]), float(span[1]), log)


def ticks(low: float, high: float, n: int = 5) -> list[float]:
    """Return at most `n` round numbers from `low` to `high`."""
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(f"Got low={low}, high={high}, but expected finite numbers, low <= high.")
    span = high / n - low / n
    if not span > 1e-300:
        return [float(low)]
    exponent = math.floor(math.log10(span))
    for power in (exponent, exponent + 1, exponent + 2):
        for factor in (1, 2, 5):
            step = float(f"{factor}e{power}")
            if step < span * 0.5:
                continue
            whole = range(math.floor(low / step), math.ceil(high / step) + 1)
            # read from decimals: 3 * 0.1 is not the number nearest to 0.3
            values = [float(f"{factor * each}e{power}") for each in whole]
            inside = sorted({value for value in values if low <= value <= high})
            if len(inside) <= n:
                return inside
    return [float(low)]


def octaves(low: float, high: float, n: int = 8) -> list[float]:
    """Return at most `n` powers of two from `low` to `high`, equally many octaves apart."""
    first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
    step = 1
    while last // step + (-first) // step + 1 > n:
        step *= 2
    return [2.0 ** (k * step) for k in range(-((-first) // step), last // step + 1)]


def bottom_axis(
    x: Scale,
    y: float,
    *,
    name: str = "",
    labels: Labels | None = None,
    n: int = 6,
    grid: float | None = None,
) -> str:
    """Return an axis at height `y`: line, ticks, numbers that do not overlap, and a name below."""
    if labels is None:
        labels = (lambda values: [number(each) for each in values]) if x.log else tick_labels
    lines, rising, numbers = [trace([(x.start, y), (x.end, y)])], [], []
    for value, words, place in _placed(x, labels, n):
        at = x(value)
        if grid is not None:
            rising.append(trace([(at, y), (at, grid)]))
        lines.append(trace([(at, y), (at, y + 4)]))
        numbers.append(text(place, y + 16, words))
    parts = [_lines(rising, "wb-grid"), _lines(lines, "wb-axis")]
    parts.append(group(*numbers, class_="wb-muted", text_anchor="middle"))
    if name:
        middle = (x.start + x.end) / 2
        half = text_width(name, SIZE) / 2
        middle = min(max(middle, half + 2), WIDTH - half - 2) if 2 * half < WIDTH else WIDTH / 2
        parts.append(text(middle, y + 32, name, anchor="middle", room=WIDTH - 4))
    return "".join(parts)


def left_axis(
    y: Scale, x: float, *, labels: Labels = tick_labels, n: int = 4, grid: float | None = None
) -> str:
    """Return numbers left of `x`, with lines from it to `grid` where that is given."""
    lines, numbers = [], []
    values = ticks(y.low, y.high, n)
    for value, words in zip(values, labels(values), strict=True):
        at = y(value)
        if grid is not None:
            lines.append(trace([(x, at), (grid, at)]))
        numbers.append(text(x - 5, at + 4, words, room=x - 6))
    drawn = _lines(lines, "wb-grid")
    return drawn + group(*numbers, class_="wb-muted", text_anchor="end")


def _lines(traces: Sequence[str], cls: str) -> str:
    return element("path", d="".join(traces), class_=cls) if traces else ""


def _placed(x: Scale, labels: Labels, n: int) -> list[tuple[float, str, float]]:
    """Return ticks with their labels and places: as many as there is room for."""
    for most in range(n, 0, -1):
        values = (octaves if x.log else ticks)(x.low, x.high, most)
        words = labels(values)
        halves = [text_width(each) / 2 for each in words]
        places = [
            min(max(x(value), half + 1), WIDTH - half - 1)
            for value, half in zip(values, halves, strict=True)
        ]
        ends = zip(places, halves, places[1:], halves[1:], strict=False)
        if all(left + a + 5 <= right - b for left, a, right, b in ends):
            return list(zip(values, words, places, strict=True))
    return []


# Draws a mark in the 18 units right of x, in the middle of a line of text at height y.
Mark = Callable[[float, float], str]
_LINE = 18


def legend(items: Sequence[tuple[Mark, str]], y: float, *, left: float = 4) -> tuple[str, float]:
    """Return marks with their words, as many on a line as fit, and the height of them."""
    if not items:
        return "", 0
    x, height, marks, words = left, _LINE, [], []
    for mark, meaning in items:
        width = 24 + text_width(meaning)
        if x > left and x + width > WIDTH - 2:
            x, height = left, height + _LINE
        at = y + height - _LINE
        marks.append(mark(x, at))
        words.append(text(x + 23, at + 4, meaning, room=WIDTH - 2 - left - 23))
        x += width + 12
    return "".join(marks) + group(*words, class_="wb-muted"), height


def line_mark(cls: str) -> Mark:
    """Return a mark that is a piece of a line."""
    return lambda x, y: line(x, y, x + 18, y, cls)


def area_mark(cls: str) -> Mark:
    """Return a mark that is a piece of an area."""
    return lambda x, y: rect(x, y - 5, 18, 10, cls)


def training_mark(x: float, y: float) -> str:
    """Training rows as a hollow circle."""
    return circle(x + 9, y, 4.5, "wb-training-fill")


def weighted_mark(x: float, y: float) -> str:
    """Weighted training rows as a filled square."""
    return square(x + 9, y, 3.5, "wb-weighted-fill")
