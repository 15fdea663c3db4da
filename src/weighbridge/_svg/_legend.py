"""What the marks of a chart mean, in a line or two below it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weighbridge._svg._draw import WIDTH, circle, element, group, hatch, line, rect, square, text
from weighbridge._svg._width import text_width

# Draws a mark in the 18 units right of x, in the middle of a line of text at height y.
Mark = Callable[[float, float], str]
LINE = 18


def legend(items: Sequence[tuple[Mark, str]], y: float, *, left: float = 4) -> tuple[str, float]:
    """Return marks with their words, as many on a line as fit, and the height of them."""
    if not items:
        return "", 0
    x, height, marks, words = left, LINE, [], []
    for mark, meaning in items:
        width = 24 + text_width(meaning)
        if x > left and x + width > WIDTH - 2:
            x, height = left, height + LINE
        at = y + height - LINE
        marks.append(mark(x, at))
        words.append(text(x + 23, at + 4, meaning, room=WIDTH - 2 - left - 23))
        x += width + 12
    return "".join(marks) + group(*words, class_="wb-muted"), height


def training_line(x: float, y: float) -> str:
    """Training rows as a dashed line."""
    return line(x, y, x + 18, y, "wb-training")


def training_mark(x: float, y: float) -> str:
    """Training rows as a hollow circle."""
    return circle(x + 9, y, 4.5, "wb-training-fill")


def deployment_area(x: float, y: float) -> str:
    """Deployment rows as a filled area."""
    return rect(x, y - 5, 18, 10, "wb-deployment-fill")


def weighted_line(x: float, y: float) -> str:
    """Weighted training rows as a solid line."""
    return line(x, y, x + 18, y, "wb-weighted")


def weighted_mark(x: float, y: float) -> str:
    """Weighted training rows as a filled square."""
    return square(x + 9, y, 3.5, "wb-weighted-fill")


def used_mark(x: float, y: float) -> str:
    """The weighting to use: a square on a thick line."""
    return line(x, y, x + 18, y, "wb-used") + square(x + 9, y, 4.5, "wb-used-fill")


def rough_mark(x: float, y: float) -> str:
    """An interval that the weights hardly carry."""
    return line(x, y, x + 18, y, "wb-other wb-rough")


def actual_mark(x: float, y: float) -> str:
    """What really happened: a hollow diamond."""
    return diamond(x + 9, y)


def band_mark(x: float, y: float) -> str:
    """A shaded region."""
    return rect(x, y - 5, 18, 10, "wb-band")


def hatch_mark(x: float, y: float) -> str:
    """A hatched region."""
    return hatch(x, y - 5, 18, 10, 5)


def reference_line(x: float, y: float) -> str:
    """A line to compare with."""
    return line(x, y, x + 18, y, "wb-reference")


def diamond(x: float, y: float, r: float = 5) -> str:
    """Return a hollow diamond around a point."""
    corners = f"{x:g} {y - r:g} {x + r:g} {y:g} {x:g} {y + r:g} {x - r:g} {y:g}"
    return element("polygon", points=corners, class_="wb-actual")
