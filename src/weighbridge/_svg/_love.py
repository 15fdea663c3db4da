"""Love chart: how far each feature is from deployment, before and after weighting."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weighbridge._findings import INFINITY, UNKNOWN, number
from weighbridge._svg import _legend as marks
from weighbridge._svg._chart import Chart, Table
from weighbridge._svg._draw import (
    WIDTH,
    Point,
    Scale,
    Svg,
    bottom_axis,
    circle,
    clean,
    element,
    group,
    name_column,
    path,
    rect,
    scale,
    squares,
    text,
    trace,
)
from weighbridge._svg._width import text_width

# Differences below this are commonly called balanced.
_BALANCED = 0.1
_MOST_ROWS = 15
_ROW = 21
_TOP = 4
_MOST_NAME = 122.0


@dataclass(frozen=True)
class _Row:
    """Sizes of one difference; infinite between two constants, NaN where there is none."""

    name: str
    before: float
    after: float


def love(rows: Sequence[Mapping[str, Any]], after: str | None, *, id: str) -> Chart:
    """Draw the size of each standardised difference, before and after weighting.

    Parameters
    ----------
    rows : sequence of mapping
        The part ``balance`` of the pictures of a result, largest difference first. A difference
        of None between known means is infinite: that of two constants.
    after : str or None
        Name of the weighting after which; None for the differences before weighting only.
    id : str
        Starts the ids inside the drawing.

    Returns
    -------
    Chart
        The first 15 rows; all of them are in its table.

    Examples
    --------
    >>> from weighbridge._svg import love
    >>> age = {"name": "age", "mean_source": 38, "mean_target": 49, "before": 0.87}
    >>> love([age | {"after": {"tuned": 0.13}}], "tuned", id="love").desc
    'age falls from 0.87 to 0.13; 0 of 1 differences end below 0.1.'
    """
    read = [_read(row, after) for row in rows]
    title = "Differences before weighting"
    if after is not None:
        title = f"Differences before and after weighting ({after})"
    desc = _describe(read, after)
    return Chart(_draw(read, after, id, title, desc), title, desc, _table(rows))


def _draw(rows: Sequence[_Row], after: str | None, id: str, title: str, desc: str) -> str:
    shown = rows[:_MOST_ROWS]
    bottom = _TOP + _ROW * max(1, len(shown))
    left = min(_MOST_NAME, max((text_width(row.name) for row in shown), default=0.0)) + 10
    words = [_words(row, after) for row in shown]
    right = WIDTH - 12 - max(map(text_width, words), default=0.0)
    x = scale((0, _right_end(shown)), (left, right))
    items = [(marks.training_mark, "before")]
    if after is not None:
        items.append((marks.weighted_mark, f"after ({after})"))
    items.append((marks.band_mark, f"below {_BALANCED}"))
    key, room = marks.legend(items, bottom + 51)
    rest = len(rows) - len(shown)
    svg = Svg(id, title, desc, bottom + 42 + room + 18 * (rest > 0))
    svg.add(rect(left, _TOP, x(_BALANCED) - left, bottom - _TOP, "wb-band"))
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
    return svg.render()


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
    return 1.06 * max([*sizes, 2.5 * _BALANCED])


def _read(row: Mapping[str, Any], after: str | None) -> _Row:
    before = _size(row, row["before"])
    left = math.nan
    if after is not None:
        given = (row.get("after") or {}).get(after)
        # weights change neither of two constants
        left = math.inf if math.isinf(before) and given is None else _finite(given)
    return _Row(clean(row["name"]), before, left)


def _size(row: Mapping[str, Any], difference: float | None) -> float:
    means = row.get("mean_source"), row.get("mean_target")
    if difference is None and None not in means:
        return math.inf
    return _finite(difference)


def _finite(difference: float | None) -> float:
    return math.nan if difference is None else abs(difference)


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
        below = sum(row.before < _BALANCED for row in known)
        said = f"{first.name} differs most, by {_written(first.before)} standard deviations"
        return f"{said}; {below} of {len(known)} differences are below {_BALANCED}."
    below = sum(row.after < _BALANCED for row in known)
    end = f"{below} of {len(known)} differences end below {_BALANCED}."
    if math.isinf(first.before):
        return f"{first.name} is one value in training and another in deployment; {end}"
    verb = "falls" if first.after < first.before else "goes"
    said = f"{first.name} {verb} from {_written(first.before)} to {_written(first.after)}"
    return f"{said}; {end}"


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    names = list((rows[0].get("after") or {}) if rows else {})
    heads = ("feature", "training", "deployment", "before", *(f"after, {name}" for name in names))
    written = []
    for row in rows:
        before = row["before"]
        signless = _written(_size(row, before)) if before is None else _signed(before)
        after = [_signed((row.get("after") or {}).get(name)) for name in names]
        means = number(row.get("mean_source")), number(row.get("mean_target"))
        written.append((clean(row["name"]), *means, signless, *after))
    return heads, tuple(written)


def _signed(difference: float | None) -> str:
    if difference is None:
        return UNKNOWN
    size = _written(abs(difference))
    if not size.strip("0."):
        return size
    return f"{'−' if difference < 0 else '+'}{size}"
