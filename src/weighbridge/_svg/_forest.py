"""Forest charts: what each weighting is expected to lose, and its change against none."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from weighbridge._findings import Numbers
from weighbridge._svg._axes import Labels, Mark, Scale, bottom_axis, legend, line_mark, scale
from weighbridge._svg._draw import (
    WIDTH,
    Chart,
    Svg,
    capital,
    circle,
    element,
    group,
    line,
    square,
    text,
    text_width,
    wrap,
)
from weighbridge.pictures import Forest, forest_numbers

_ROW = 26
_TOP = 4
_MOST_NAME = 120.0
_WITHHELD = "withheld"


def expected_error(forest: Forest, *, id: str, actual: Mapping[str, float] | None = None) -> Chart:
    """Draw the expected error of each weighting with its interval, and what it actually was."""
    writer = forest_numbers(forest)
    estimates = forest.value, forest.low, forest.high
    rows = _rows(forest, *estimates, instead=_WITHHELD, actual=actual or {})
    axis = f"expected {writer.loss}, {100 * forest.confidence:g} % intervals"
    drawn = _Forest(rows, writer.value, axis, writer.labels, writer.least)
    title = f"Expected {writer.loss} in deployment"
    return drawn.draw(id, title, _describe_errors(rows, writer), _WITHHELD)


def paired_change(forest: Forest, *, id: str) -> Chart:
    """Draw the change of each weighting against none on the same rows."""
    writer = forest_numbers(forest)
    changes = forest.change, forest.change_low, forest.change_high
    rows = _rows(forest, *changes, instead="reference", actual={})
    axis = f"change against none{',' * bool(writer.unit)}{writer.unit}"
    labels = writer.change_labels
    drawn = _Forest(rows, writer.change, axis, labels, writer.least, zero=True)
    instead = "no other weighting to compare" if len(rows) < 2 else _WITHHELD
    desc = _describe_changes(rows, writer, instead)
    return drawn.draw(id, "Change against none, same rows", desc, instead)


@dataclass(frozen=True)
class _Row:
    """One weighting of a forest: a number with its interval, or words instead of it."""

    name: str
    value: float
    low: float
    high: float
    instead: str
    rough: bool
    used: bool
    actual: float | None = None

    @property
    def is_known(self) -> bool:
        """True where there is a number."""
        return not math.isnan(self.value)


def _rows(
    forest: Forest,
    value: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    *,
    instead: str,
    actual: Mapping[str, float],
) -> list[_Row]:
    """Return the weightings with these numbers; `instead` stands for what none does not have."""
    return [
        _Row(
            name,
            float(value[place]),
            float(low[place]),
            float(high[place]),
            instead if name == "none" else _WITHHELD,
            bool(forest.rough[place]),
            place == forest.use,
            actual.get(name),
        )
        for place, name in enumerate(forest.names)
    ]


def _said(value: float, writer: Numbers) -> str:
    """Write a loss in a sentence."""
    return writer.value(value).replace("%", "percent")


def _describe_errors(rows: Sequence[_Row], writer: Numbers) -> str:
    """Say what the weighting to use is expected to lose, and what none does."""
    main = _main(rows)
    if main is None:
        return f"The expected {writer.loss} is withheld."
    said = f"{capital(main.name)} {_said(main.value, writer)}"
    for row in rows:
        if row.name == "none" != main.name and row.is_known:
            return f"{said}, none {_said(row.value, writer)}."
    return f"{said}, interval {writer.plain(main.low)} to {writer.plain(main.high)}."


def _describe_changes(rows: Sequence[_Row], writer: Numbers, instead: str) -> str:
    """Say how the weighting to use changes the loss."""
    main = _main(rows)
    if main is None:
        return f"Change against none: {instead}."
    value, low, high = (writer.change(end) for end in (main.value, main.low, main.high))
    return f"{capital(main.name)} {value}{writer.unit}, interval {low} to {high}."


def _main(rows: Sequence[_Row]) -> _Row | None:
    """Return the weighting to speak of: the one to use, or the last with a number."""
    known = [row for row in rows if row.is_known]
    return next((row for row in known if row.used), known[-1] if known else None)


@dataclass(frozen=True)
class _Forest:
    """Rows of estimates on one axis."""

    rows: Sequence[_Row]
    write: Callable[[float], str]
    axis: str
    labels: Labels
    least: float
    zero: bool = False

    def draw(self, id: str, title: str, desc: str, instead: str) -> Chart:
        """Return the drawing; the words instead where no row has a number."""
        bottom = _TOP + _ROW * len(self.rows)
        known = [row for row in self.rows if row.is_known]
        names = self._names()
        if not known:
            svg = Svg(id, title, desc, bottom + 8)
            svg.add(names, _instead(self._left(), bottom, instead))
            return svg.chart()
        key, room = legend(self._key(), bottom + 50)
        svg = Svg(id, title, desc, bottom + 42 + room)
        x = self._scale(known)
        svg.add(bottom_axis(x, bottom, name=self.axis, labels=self.labels, grid=_TOP), names)
        if self.zero:
            svg.add(line(x(0), _TOP, x(0), bottom, "wb-reference"))
        for place, row in enumerate(self.rows):
            svg.add(self._row(x, row, _middle(place)))
        svg.add(key)
        return svg.chart()

    def _left(self) -> float:
        widths = [text_width(row.name, bold=row.used) for row in self.rows]
        return min(_MOST_NAME, max(widths, default=0)) + 12

    def _names(self) -> str:
        left = self._left()
        return group(
            *(
                text(2, _middle(place) + 4, row.name, "wb-used" if row.used else "", room=left - 12)
                for place, row in enumerate(self.rows)
            )
        )

    def _scale(self, known: Sequence[_Row]) -> Scale:
        ends = [end for row in known for end in (row.low, row.high)]
        ends += [row.actual for row in known if row.actual is not None]
        ends += [0.0] * self.zero
        low, high = min(ends), max(ends)
        margin = max(0.04 * (high - low), (self.least - (high - low)) / 2)
        values = [text_width(self.write(row.value), bold=row.used) for row in known]
        return scale((low - margin, high + margin), (self._left() + 4, WIDTH - 10 - max(values)))

    def _row(self, x: Scale, row: _Row, y: float) -> str:
        if not row.is_known:
            at, anchor = self._place_of_words(x)
            return text(at, y + 4, row.instead, "wb-muted wb-halo", anchor=anchor)
        low, value, high = (x(end) for end in (row.low, row.value, row.high))
        look = "wb-used" if row.used else "wb-other"
        shape, size = (square, 4.5) if row.used else (circle, 4.0)
        parts = [
            line(low, y, high, y, f"{look} wb-rough" if row.rough else look),
            shape(value, y, size, f"{look}-fill"),
        ]
        if row.actual is not None:
            parts.append(_diamond(x(row.actual), y))
        cls = "wb-used" if row.used else ""
        parts.append(text(WIDTH - 2, y + 4, self.write(row.value), cls, anchor="end"))
        return "".join(parts)

    def _place_of_words(self, x: Scale) -> tuple[float, str]:
        """Return where words stand instead of a number: in the middle, or next to the zero line."""
        if not self.zero:
            return (x.start + x.end) / 2, "middle"
        if x(0) - x.start > x.end - x(0):
            return x(0) - 8, "end"
        return x(0) + 8, "start"

    def _key(self) -> list[tuple[Mark, str]]:
        items: list[tuple[Mark, str]] = []
        if any(row.used for row in self.rows) and len(self.rows) > 1:
            items.append((_used_mark, "the one to use"))
        if any(row.rough for row in self.rows):
            items.append((line_mark("wb-other wb-rough"), "rough: thin overlap"))
        if any(row.actual is not None for row in self.rows):
            items.append((lambda x, y: _diamond(x + 9, y), "actual error"))
        if self.zero:
            items.append((line_mark("wb-reference"), "left of it is better"))
        return items


def _middle(place: int) -> float:
    return _TOP + _ROW * (place + 0.5)


def _instead(left: float, bottom: float, words: str) -> str:
    lines = wrap(words, WIDTH - left - 4)
    first = (_TOP + bottom) / 2 + 4 - 8 * (len(lines) - 1)
    parts = [text((left + WIDTH) / 2, first + 16 * k, each) for k, each in enumerate(lines)]
    return group(*parts, class_="wb-muted", text_anchor="middle")


def _used_mark(x: float, y: float) -> str:
    return line(x, y, x + 18, y, "wb-used") + square(x + 9, y, 4.5, "wb-used-fill")


def _diamond(x: float, y: float, r: float = 5) -> str:
    corners = f"{x:g} {y - r:g} {x + r:g} {y:g} {x:g} {y + r:g} {x - r:g} {y:g}"
    return element("polygon", points=corners, class_="wb-actual")
