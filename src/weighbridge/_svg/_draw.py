"""Primitives of a drawing: scales, ticks, marks and words, each a string.

What a mark looks like is a matter of its class; the rules are in ``style.css``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from weighbridge._findings import number, tick_labels
from weighbridge._svg._escape import clean, escape
from weighbridge._svg._scale import Point, Scale, octaves, scale, ticks
from weighbridge._svg._trace import coord, simplify, steps, trace
from weighbridge._svg._width import shorten, shorten_apart, text_width

__all__ = [
    "SIZE",
    "WIDTH",
    "Labels",
    "Point",
    "Scale",
    "Svg",
    "bottom_axis",
    "circle",
    "clean",
    "coord",
    "element",
    "escape",
    "group",
    "hatch",
    "is_bold",
    "left_axis",
    "line",
    "name_column",
    "octaves",
    "path",
    "rect",
    "scale",
    "simplify",
    "square",
    "squares",
    "steps",
    "text",
    "ticks",
    "trace",
]

WIDTH = 360
SIZE = 12
_ID = re.compile(r"[A-Za-z][\w.-]*\Z", re.ASCII)

Labels = Callable[[Sequence[float]], list[str]]


def element(tag: str, content: str = "", **attributes: object) -> str:
    """Return an element; numbers are written short, ``class_`` is ``class`` and ``_`` is ``-``.

    `content` is markup; attributes are escaped, and those that are None left out.
    """
    parts = []
    for name, value in attributes.items():
        if value is None or value == "":
            continue
        shown = coord(value) if isinstance(value, int | float) else escape(value)
        parts.append(f' {name.rstrip("_").replace("_", "-")}="{shown}"')
    head = f"<{tag}{''.join(parts)}"
    return f"{head}>{content}</{tag}>" if content else f"{head}/>"


def group(*parts: str, **attributes: object) -> str:
    """Return parts that share attributes; nothing where there are none."""
    content = "".join(parts)
    return element("g", content, **attributes) if content else ""


def line(x1: float, y1: float, x2: float, y2: float, cls: str) -> str:
    """Return a straight line."""
    return path([(x1, y1), (x2, y2)], cls)


def rect(x: float, y: float, width: float, height: float, cls: str, tip: str = "") -> str:
    """Return a rectangle, with a tip where there is one."""
    content = element("title", escape(tip)) if tip else ""
    return element("rect", content, x=x, y=y, width=width, height=height, class_=cls)


def circle(x: float, y: float, r: float, cls: str) -> str:
    """Return a circle."""
    return element("circle", cx=x, cy=y, r=r, class_=cls)


def square(x: float, y: float, r: float, cls: str) -> str:
    """Return a square of half width `r` around a point."""
    return rect(x - r, y - r, 2 * r, 2 * r, cls)


def squares(points: Iterable[Point], r: float, cls: str) -> str:
    """Return squares of half width `r` around points, as one shape."""
    side = coord(2 * r)
    shapes = [f"M{coord(x - r)} {coord(y - r)}h{side}v{side}h-{side}z" for x, y in points]
    return element("path", d="".join(shapes), class_=cls) if shapes else ""


def path(points: Iterable[Point], cls: str, *, closed: bool = False) -> str:
    """Return a line through points."""
    return element("path", d=trace(points, closed=closed), class_=cls)


def hatch(x: float, y: float, width: float, height: float, gap: float = 6) -> str:
    """Return slanted lines that fill a rectangle."""
    parts = []
    # the lines u + v = c in the rectangle's own coordinates
    for k in range(1, math.ceil((width + height) / gap)):
        c = k * gap
        left, right = max(0.0, c - height), min(width, c)
        parts.append(trace([(x + left, y + c - left), (x + right, y + c - right)]))
    return element("path", d="".join(parts), class_="wb-hatch") if parts else ""


def text(
    x: float,
    y: float,
    words: object,
    cls: str = "",
    *,
    anchor: str = "start",
    size: float = SIZE,
    room: float | None = None,
    whole: str | None = None,
) -> str:
    """Return words; those wider than `room` are cut, and the `whole` of them is the tip."""
    shown = clean(words)
    whole = shown if whole is None else whole
    if room is not None:
        shown = shorten(shown, room, size, bold=is_bold(cls))
    content = escape(shown)
    if shown != whole:
        content += element("title", escape(whole))
    return element(
        "text",
        content,
        x=x,
        y=y,
        class_=cls,
        text_anchor=None if anchor == "start" else anchor,
        font_size=None if size == SIZE else size,
    )


def name_column(names: Sequence[str], places: Sequence[float], x: float, room: float) -> str:
    """Return names below each other, cut where they are long but so that they can be told apart."""
    cut = shorten_apart(names, room)
    return group(
        *(
            text(x, y + 4, shown, whole=name)
            for shown, name, y in zip(cut, names, places, strict=True)
        )
    )


def is_bold(cls: str) -> bool:
    """True where the style sets words of this class in bold."""
    return bool({"wb-used", "wb-strong"} & set(cls.split()))


def bottom_axis(
    x: Scale,
    y: float,
    *,
    name: str = "",
    labels: Labels | None = None,
    n: int = 6,
    grid: float | None = None,
    width: float = WIDTH,
) -> str:
    """Return an axis at height `y`: line, ticks, numbers that do not overlap, and a name below.

    It needs 20 units below `y`, 36 with a name. With `grid`, lines rise from it to that height.
    """
    if labels is None:
        labels = _each if x.log else tick_labels
    lines, rising, numbers = [trace([(x.start, y), (x.end, y)])], [], []
    for value, words, place in _placed(x, labels, n, width):
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
        middle = min(max(middle, half + 2), width - half - 2) if 2 * half < width else width / 2
        parts.append(text(middle, y + 32, name, anchor="middle", room=width - 4))
    return "".join(parts)


def left_axis(
    y: Scale,
    x: float,
    *,
    labels: Labels = tick_labels,
    n: int = 4,
    grid: float | None = None,
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


def _each(values: Sequence[float]) -> list[str]:
    return [number(value) for value in values]


def _placed(x: Scale, labels: Labels, n: int, width: float) -> list[tuple[float, str, float]]:
    """Return ticks with their labels and places: as many as there is room for."""
    for most in range(n, 0, -1):
        values = (octaves if x.log else ticks)(x.low, x.high, most)
        words = labels(values)
        halves = [text_width(each) / 2 for each in words]
        places = [
            min(max(x(value), half + 1), width - half - 1)
            for value, half in zip(values, halves, strict=True)
        ]
        ends = zip(places, halves, places[1:], halves[1:], strict=False)
        if all(left + a + 5 <= right - b for left, a, right, b in ends):
            return list(zip(values, words, places, strict=True))
    return []


@dataclass
class Svg:
    """A drawing with a title and a description, read by machines and by readers of the page.

    Parameters
    ----------
    id : str
        Starts the ids of title and description; unique in a page.
    title, desc : str
        What it is, and what it shows, in a sentence.
    height : float
        In units; the width is 360 where nothing else is said.
    width : float
        In units.
    data : dict of str to float
        Further numbers for scripts, as ``data-`` attributes.
    """

    id: str
    title: str
    desc: str
    height: float
    width: float = WIDTH
    data: dict[str, float] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not _ID.match(self.id):
            raise ValueError(
                f"Got id={self.id!r}, but expected a letter, then letters, digits, '-', '_' or '.'."
            )

    def add(self, *parts: str) -> None:
        """Draw further parts on top."""
        self.parts += parts

    def render(self) -> str:
        """Return the whole drawing."""
        head = element("title", escape(self.title), id=f"{self.id}-title")
        head += element("desc", escape(self.desc), id=f"{self.id}-desc")
        numbers = {f"data-{name}": f"{value:.6g}" for name, value in self.data.items()}
        return element(
            "svg",
            head + "".join(self.parts),
            xmlns="http://www.w3.org/2000/svg",
            class_="wb-chart",
            viewBox=f"0 0 {coord(self.width)} {coord(self.height)}",
            role="img",
            aria_labelledby=f"{self.id}-title {self.id}-desc",
            font_size=SIZE,
            **numbers,
        )
