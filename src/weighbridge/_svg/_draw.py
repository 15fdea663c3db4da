"""Primitives of a drawing: lines, marks and words, each a string, and the finished chart.

What a mark looks like is a matter of its class; the rules are in ``style.css``.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape as _escape
from importlib.resources import files
from itertools import takewhile

WIDTH = 360
SIZE = 12
_ID = re.compile(r"[A-Za-z][\w.-]*\Z", re.ASCII)
# Characters that XML forbids, and signs that turn the direction of all text behind them.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_TURNING = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")

Point = tuple[float, float]
Table = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]
# In units of the font size, for the widest of the fonts that systems use for pages: a label that
# fits by this table fits everywhere.
_GROUPS = {
    0.3: "ijlIJ'",
    0.34: " ,./:;\\|\u00a0·",
    0.4: "f-\u00ad()[]t!",
    0.42: "r",
    0.55: '"*_`sz?c–',
    0.65: "LFkvxyPTYaoeESbdghnpqu$0123456789{}",
    0.71: "KAVBRXZC",
    0.8: "UHNDG&OQ",
    0.87: "w#+<=>^~−×→←↑↓±∞≤≥",
    1.0: "M%mW@…",
}
_EM = {letter: width for width, letters in _GROUPS.items() for letter in letters}
_ACCENTED = 0.82
_LOWER = 1.03
_OTHER = 1.25
# East Asian letters and emoji.
_WIDE = 1.3
# What a bold letter is wider by.
_BOLD = 0.105
_ELLIPSIS = "…"


def text_width(words: str, size: float = 12, *, bold: bool = False) -> float:
    """Return an upper bound of the width of a line of text."""
    return size * (sum(map(_letter_width, words)) + _BOLD * bold * len(words))


def shorten(words: str, room: float, size: float = 12, *, bold: bool = False) -> str:
    """Cut a text in the middle where it is wider than its room; names differ at their ends."""
    if text_width(words, size, bold=bold) <= room:
        return words
    for kept in range(len(words) - 1, 0, -1):
        tail = kept // 2
        end = words[len(words) - tail :]
        # an accent without its letter would sit on the ellipsis
        while end and unicodedata.category(end[0]).startswith("M"):
            end = end[1:]
        cut = f"{words[: kept - tail].rstrip()}{_ELLIPSIS}{end.lstrip()}"
        if text_width(cut, size, bold=bold) <= room:
            return cut
    return _ELLIPSIS


def shorten_apart(names: Sequence[str], room: float, size: float = 12) -> list[str]:
    """Cut names so that they can still be told apart, where that is possible."""
    cut = [shorten(name, room, size) for name in names]
    if len(set(cut)) == len(set(names)):
        return cut
    first, last = min(names), max(names)
    common = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    )
    # a whole word in front, if there is one, is easier to read than the middle of it
    common = max(names[0].rfind(" ", 0, common), names[0].rfind("_", 0, common)) + 1 or common
    apart = [shorten(_ELLIPSIS + name[common:], room, size) for name in names]
    return apart if len(set(apart)) > len(set(cut)) else cut


def wrap(words: str, room: float, size: float = 12) -> list[str]:
    """Break a sentence into lines that fit."""
    lines: list[str] = []
    for word in words.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) <= room:
            lines[-1] = longer
        else:
            lines.append(shorten(word, room, size))
    return lines


def _letter_width(letter: str) -> float:
    known = _EM.get(letter)
    if known is not None:
        return known
    if unicodedata.east_asian_width(letter) in ("W", "F"):
        return _WIDE
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0.0
    base = unicodedata.normalize("NFD", letter)[0]
    if base in _EM:
        return max(_EM[base], _ACCENTED)
    return _LOWER if unicodedata.category(letter) == "Ll" else _OTHER


def clean(words: object) -> str:
    """Return a name from the data on one line, without signs that a page cannot hold."""
    text = _TURNING.sub("", " ".join(str(words).split()))
    return _FORBIDDEN.sub("\ufffd", text)


def capital(words: str) -> str:
    """Return words with a capital first letter."""
    return words[:1].upper() + words[1:]


def escape(words: object) -> str:
    """Return text that is safe in an element and in an attribute."""
    return _escape(_FORBIDDEN.sub("\ufffd", str(words)))


def coord(value: float) -> str:
    """Write a coordinate with at most one digit after the point."""
    if not math.isfinite(value):
        raise ValueError(f"Got the coordinate {value}; numbers must be finite to be drawn.")
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def trace(points: Iterable[Point], *, closed: bool = False) -> str:
    """Return the data of a path through points."""
    before: tuple[str, str] | None = None
    parts: list[str] = []
    for point in points:
        x, y = coord(point[0]), coord(point[1])
        if before is None:
            parts.append(f"M{x} {y}")
        elif y == before[1] and x != before[0]:
            parts.append(f"H{x}")
        elif x == before[0] and y != before[1]:
            parts.append(f"V{y}")
        elif (x, y) != before:
            parts.append(f"L{x} {y}")
        before = x, y
    return "".join(parts) + "Z" * closed


def steps(edges: Sequence[float], heights: Sequence[float]) -> list[Point]:
    """Return the corners of a histogram from its first bin to its last, without a baseline."""
    corners = []
    for left, right, height in zip(edges[:-1], edges[1:], heights, strict=True):
        corners += [(left, height), (right, height)]
    return corners


def simplify(points: Sequence[Point], tolerance: float = 0.25) -> list[Point]:
    """Leave out points that lie next to the line through those that stay."""
    if len(points) < 3:
        return list(points)
    (x1, y1), (x2, y2) = points[0], points[-1]
    length = math.hypot(x2 - x1, y2 - y1)

    def distance(point: Point) -> float:
        x, y = point
        if length == 0:
            return math.hypot(x - x1, y - y1)
        return abs((x2 - x1) * (y1 - y) - (x1 - x) * (y2 - y1)) / length

    far = max(range(1, len(points) - 1), key=lambda place: distance(points[place]))
    if distance(points[far]) <= tolerance:
        return [points[0], points[-1]]
    return simplify(points[: far + 1], tolerance)[:-1] + simplify(points[far:], tolerance)


def element(tag: str, content: str = "", **attributes: object) -> str:
    """Return an element; numbers are written short, ``class_`` is ``class`` and ``_`` is ``-``."""
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


def rect(x: float, y: float, width: float, height: float, cls: str) -> str:
    """Return a rectangle."""
    return element("rect", x=x, y=y, width=width, height=height, class_=cls)


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


@dataclass
class Svg:
    """A drawing with a title and a sentence on what it shows; ids start with `id`."""

    id: str
    title: str
    desc: str
    height: float
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
            viewBox=f"0 0 {WIDTH} {coord(self.height)}",
            role="img",
            aria_labelledby=f"{self.id}-title {self.id}-desc",
            font_size=SIZE,
            **numbers,
        )

    def chart(self, table: Table = ((), ())) -> Chart:
        """Return the finished drawing with the numbers behind it."""
        return Chart(self.render(), self.title, self.desc, table)


@dataclass(frozen=True)
class Chart:
    """A finished ``<svg>``, styled inside an element of class ``wb``, with its words and table."""

    svg: str
    title: str
    desc: str
    table: Table


@cache
def style_sheet() -> str:
    """Return the rules that style all drawings, scoped to elements of class ``wb``."""
    return files("weighbridge._svg").joinpath("style.css").read_text(encoding="utf-8")
