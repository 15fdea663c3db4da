"""Love chart: how far each feature is from deployment, before and after weighting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from weighbridge._findings import INFINITY, UNKNOWN, number
from weighbridge._svg._axes import (
    Mark,
    Scale,
    area_mark,
    bottom_axis,
    legend,
    scale,
    training_mark,
    weighted_mark,
)
from weighbridge._svg._draw import (
    WIDTH,
    Chart,
    Point,
    Svg,
    circle,
    clean,
    element,
    group,
    name_column,
    path,
    rect,
    squares,
    text,
    text_width,
    trace,
)
from weighbridge.pictures import BALANCED, LovePlot

_MOST_ROWS = 15
_ROW = 21
_TOP = 4
_MOST_NAME = 122.0


class _Row(NamedTuple):
    """Sizes of one difference; infinite between two constants, NaN where there is none."""

    name: str
    before: float
    after: float


def love(love: LovePlot, after: str | None, *, id: str) -> Chart:
    """Draw the first 15 differences, before and after the weighting of this name."""
    names = [clean(name) for name in love.names]
    left = [math.nan] * len(names) if love.after is None else love.after.tolist()
    rows = [_Row(*row) for row in zip(names, love.before.tolist(), left, strict=True)]
    title = "Differences before weighting"
    if after is not None:
        title = f"Differences before and after weighting ({after})"
    return _draw(rows, after, Svg(id, title, _describe(rows, after), 0))


def _draw(rows: Sequence[_Row], after: str | None, svg: Svg) -> Chart:
    shown = rows[:_MOST_ROWS]
    bottom = _TOP + _ROW * max(1, len(shown))
    left = min(_MOST_NAME, max((text_width(row.name) for row in shown), default=0.0)) + 10
    words = [_words(row, after) for row in shown]
    right = WIDTH - 12 - max(map(text_width, words), default=0.0)
    x = scale((0, _right_end(shown)), (left, right))
    items: list[tuple[Mark, str]] = [(training_mark, "before")]
    if after is not None:
        items.append((weighted_mark, f"after ({after})"))
    items.append((area_mark("wb-band"), f"below {BALANCED}"))
    key, room = legend(items, bottom + 51)
    rest = len(rows) - len(shown)
    svg.height = bottom + 42 + room + 18 * (rest > 0)
    svg.add(rect(left, _TOP, x(BALANCED) - left, bottom - _TOP, "wb-band"))
    svg.add(bottom_axis(x, bottom, name="difference in standard deviations", n=5, grid=_TOP))
    if shown:
        names = [row.name for row in shown]
        places = [_middle(place) for place in range(len(shown))]
        svg.add(name_column(names, places, 2, left - 10), _marks(shown, x, after), _values(words))
    else:
        svg.add(text(WIDTH / 2, _middle(0) + 4, "no features", "wb-muted", anchor="middle"))
    svg.add(key)
    if rest > 0:
        more = f"{rest:,} more, which differ less, in the table"
        svg.add(text(4, bottom + 55 + room, more, "wb-muted"))
    return svg.chart()


def _middle(place: int) -> float:
    return _TOP + _ROW * (place + 0.5)


def _values(words: Sequence[str]) -> str:
    parts = [text(WIDTH - 2, _middle(place) + 4, each) for place, each in enumerate(words)]
    return group(*parts, class_="wb-muted", text_anchor="end")


def _marks(rows: Sequence[_Row], x: Scale, after: str | None) -> str:
    """Return stems, then circles, then squares: small on large, so that both can be seen."""
    stems, circles, ends = [], [], []
    after_marks: list[Point] = []
    for place, row in enumerate(rows):
        y = _middle(place)
        if not math.isnan(row.before):
            circles.append(_before_mark(x, row.before, y))
        if after is None or math.isnan(row.after):
            continue
        if not math.isnan(row.before):
            stems.append(trace([(x.clamp(row.after), y), (x.clamp(row.before), y)]))
        if math.isinf(row.after):
            ends.append(_arrow(x, y, "wb-weighted-fill"))
        else:
            after_marks.append((x.clamp(row.after), y))
    lines = element("path", d="".join(stems), class_="wb-stem") if stems else ""
    return (
        lines
        + group(*circles, class_="wb-training-fill")
        + squares(after_marks, 3.2, "wb-weighted-fill")
        + "".join(ends)
    )


def _before_mark(x: Scale, size: float, y: float) -> str:
    if math.isinf(size):
        return _arrow(x, y, "wb-training-fill", 2)
    return circle(x.clamp(size), y, 4.6, "")


def _arrow(x: Scale, y: float, cls: str, larger: float = 0) -> str:
    """Return an arrow at the end of the axis: the difference is infinite."""
    tip, tail, half = x.end + 2 + larger, x.end - 6 - larger, 4 + larger
    return path([(tail, y - half), (tip, y), (tail, y + half)], cls, closed=True)


def _right_end(rows: Sequence[_Row]) -> float:
    """Return the end of the axis: beyond all finite differences, and well beyond the band."""
    sizes = [size for row in rows for size in (row.before, row.after) if math.isfinite(size)]
    return 1.06 * max([*sizes, 2.5 * BALANCED])


def _words(row: _Row, after: str | None) -> str:
    before = _written(row.before)
    return before if after is None else f"{before} → {_written(row.after)}"


def _written(size: float) -> str:
    if math.isnan(size):
        return UNKNOWN
    if math.isinf(size):
        return INFINITY
    return f"{size:.2f}" if size < 1000 else number(size, 1)


def _describe(rows: Sequence[_Row], after: str | None) -> str:
    known = [row for row in rows if not math.isnan(row.before)]
    if not known:
        return "There are no differences to show."
    first = known[0]
    if after is None:
        below = sum(row.before < BALANCED for row in known)
        said = f"{first.name} differs most, by {_written(first.before)} standard deviations"
        return f"{said}; {below} of {len(known)} differences are below {BALANCED}."
    below = sum(row.after < BALANCED for row in known)
    end = f"{below} of {len(known)} differences end below {BALANCED}."
    if math.isinf(first.before):
        return f"{first.name} is one value in training and another in deployment; {end}"
    verb = "falls" if first.after < first.before else "goes"
    said = f"{first.name} {verb} from {_written(first.before)} to {_written(first.after)}"
    return f"{said}; {end}"
