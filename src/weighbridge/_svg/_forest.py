"""Forest charts: what each weighting is expected to lose, and its change against none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weighbridge._findings import percent_labels, signed_labels, tick_labels
from weighbridge._svg import _legend as marks
from weighbridge._svg._chart import Chart
from weighbridge._svg._draw import (
    WIDTH,
    Labels,
    Scale,
    Svg,
    bottom_axis,
    circle,
    group,
    line,
    scale,
    square,
    text,
)
from weighbridge._svg._forest_words import (
    Row,
    Writer,
    describe_changes,
    describe_errors,
    error_table,
)
from weighbridge._svg._width import text_width, wrap

_ROW = 26
_TOP = 4
_MOST_NAME = 120.0
_WITHHELD = "withheld"


def expected_error(expect: Mapping[str, Any], *, id: str, use: str | None = None) -> Chart:
    """Draw the expected error of each weighting with its interval.

    Parameters
    ----------
    expect : mapping
        The part ``expect`` of a result: measure, confidence and candidates.
    id : str
        Starts the ids inside the drawing.
    use : str, optional
        Name of the weighting to use; by default that of ``expect["use"]``, if there is one.

    Returns
    -------
    Chart
        The one to use as a square, the others as circles; what is withheld in words.

    Examples
    --------
    >>> from weighbridge._svg import expected_error
    >>> none = {"name": "none", "error": {"value": 0.401, "low": 0.369, "high": 0.433}}
    >>> expect = {"measure": "error", "confidence": 0.95, "candidates": [none]}
    >>> expected_error(expect, use="none", id="expect").desc
    'None 40.1 percent, interval 36.9 to 43.3.'
    """
    writer, use = Writer(expect), use or expect.get("use")
    actual = expect.get("actual") or {}
    rows = [
        Row(
            each["name"],
            each["error"],
            _WITHHELD,
            each.get("state") == "flagged",
            each["name"] == use,
            actual.get(each["name"]),
        )
        for each in expect["candidates"]
    ]
    title = f"Expected {writer.loss} in deployment"
    confidence = f"{100 * expect['confidence']:g} %"
    labels = percent_labels if writer.is_share else tick_labels
    forest = _Forest(
        rows, writer.value, f"expected {writer.loss}, {confidence} intervals", labels, 1
    )
    desc = describe_errors(rows, writer, expect.get("withheld"))
    return Chart(
        forest.draw(id, title, desc, _withheld(expect)),
        title,
        desc,
        error_table(expect, writer, confidence),
    )


def paired_change(expect: Mapping[str, Any], *, id: str, use: str | None = None) -> Chart:
    """Draw the change of each weighting against none on the same rows.

    Parameters
    ----------
    expect : mapping
        The part ``expect`` of a result: measure, confidence and candidates.
    id : str
        Starts the ids inside the drawing.
    use : str, optional
        Name of the weighting to use; by default that of ``expect["use"]``, if there is one.

    Returns
    -------
    Chart
        Left of the dashed line is better than none.

    Examples
    --------
    >>> from weighbridge._svg import paired_change
    >>> none = {"name": "none", "error": {"value": 0.40, "low": 0.37, "high": 0.43}, "change": None}
    >>> tuned = {"name": "tuned", "error": {"value": 0.35, "low": 0.31, "high": 0.39}}
    >>> tuned["change"] = {"value": -0.048, "low": -0.091, "high": -0.005}
    >>> expect = {"measure": "error", "confidence": 0.95, "candidates": [none, tuned]}
    >>> paired_change(expect, use="tuned", id="change").desc
    'Tuned −4.8 points, interval −9.1 to −0.5.'
    """
    writer, use = Writer(expect), use or expect.get("use")
    rows = [
        Row(
            each["name"],
            each.get("change"),
            "reference" if each["name"] == "none" else _WITHHELD,
            each.get("state") == "flagged",
            each["name"] == use,
        )
        for each in expect["candidates"]
    ]
    title = "Change against none, same rows"
    name = f"change against none{',' * bool(writer.unit)}{writer.unit}"
    forest = _Forest(rows, writer.change, name, signed_labels, writer.factor, zero=True)
    instead = "no other weighting to compare" if len(rows) < 2 else _withheld(expect)
    desc = describe_changes(rows, writer, instead)
    confidence = f"{100 * expect['confidence']:g} %"
    svg = forest.draw(id, title, desc, instead)
    return Chart(svg, title, desc, error_table(expect, writer, confidence))


@dataclass(frozen=True)
class _Forest:
    """Rows of estimates on one axis."""

    rows: Sequence[Row]
    write: Callable[[float], str]
    axis: str
    labels: Labels
    factor: float
    zero: bool = False

    def draw(self, id: str, title: str, desc: str, instead: str) -> str:
        """Return the drawing; the words instead where no row has a number."""
        bottom = _TOP + _ROW * len(self.rows)
        known = [row for row in self.rows if row.estimate]
        names = self._names()
        if not known:
            svg = Svg(id, title, desc, bottom + 8)
            svg.add(names, _instead(self._left(), bottom, instead))
            return svg.render()
        key, room = marks.legend(self._key(), bottom + 50)
        svg = Svg(id, title, desc, bottom + 42 + room)
        x = self._scale(known)
        svg.add(bottom_axis(x, bottom, name=self.axis, labels=self.labels, grid=_TOP), names)
        if self.zero:
            svg.add(line(x(0), _TOP, x(0), bottom, "wb-reference"))
        for place, row in enumerate(self.rows):
            svg.add(self._row(x, row, _middle(place)))
        svg.add(key)
        return svg.render()

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

    def _scale(self, known: Sequence[Row]) -> Scale:
        ends = [row.estimate[end] for row in known if row.estimate for end in ("low", "high")]
        ends += [row.actual for row in known if row.actual is not None]
        ends += [0.0] * self.zero
        low, high = self.factor * min(ends), self.factor * max(ends)
        margin = 0.04 * (high - low) or 0.05 * abs(high) or 1.0
        values = [
            text_width(self.write(row.estimate["value"]), bold=row.used)
            for row in known
            if row.estimate
        ]
        return scale((low - margin, high + margin), (self._left() + 4, WIDTH - 10 - max(values)))

    def _row(self, x: Scale, row: Row, y: float) -> str:
        if row.estimate is None:
            at, anchor = self._place_of_words(x)
            return text(at, y + 4, row.instead, "wb-muted wb-halo", anchor=anchor)
        low, value, high = (x(self.factor * row.estimate[end]) for end in ("low", "value", "high"))
        look = "wb-used" if row.used else "wb-other"
        shape, size = (square, 4.5) if row.used else (circle, 4.0)
        parts = [
            line(low, y, high, y, f"{look} wb-rough" if row.rough else look),
            shape(value, y, size, f"{look}-fill"),
        ]
        if row.actual is not None:
            parts.append(marks.diamond(x(self.factor * row.actual), y))
        words = self.write(row.estimate["value"])
        cls = "wb-used" if row.used else ""
        parts.append(text(WIDTH - 2, y + 4, words, cls, anchor="end"))
        return "".join(parts)

    def _place_of_words(self, x: Scale) -> tuple[float, str]:
        """Return where words stand instead of a number: in the middle, or beside the zero line."""
        if not self.zero:
            return (x.start + x.end) / 2, "middle"
        if x(0) - x.start > x.end - x(0):
            return x(0) - 8, "end"
        return x(0) + 8, "start"

    def _key(self) -> list[tuple[marks.Mark, str]]:
        items: list[tuple[marks.Mark, str]] = []
        if any(row.used for row in self.rows) and len(self.rows) > 1:
            items.append((marks.used_mark, "the one to use"))
        if any(row.rough for row in self.rows):
            items.append((marks.rough_mark, "rough: thin overlap"))
        if any(row.actual is not None for row in self.rows):
            items.append((marks.actual_mark, "actual error"))
        if self.zero:
            items.append((marks.reference_line, "left of it is better"))
        return items


def _middle(place: int) -> float:
    return _TOP + _ROW * (place + 0.5)


def _withheld(expect: Mapping[str, Any]) -> str:
    code = expect.get("withheld")
    return f"{_WITHHELD} ({code})" if code else _WITHHELD


def _instead(left: float, bottom: float, words: str) -> str:
    lines = wrap(words, WIDTH - left - 4)
    first = (_TOP + bottom) / 2 + 4 - 8 * (len(lines) - 1)
    parts = [text((left + WIDTH) / 2, first + 16 * k, each) for k, each in enumerate(lines)]
    return group(*parts, class_="wb-muted", text_anchor="middle")
