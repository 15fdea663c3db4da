"""A finished drawing, with its words and its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

Table = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]


@dataclass(frozen=True)
class Chart:
    """A drawing and what belongs to it on a page.

    Parameters
    ----------
    svg : str
        One ``<svg>`` element, styled by the rules of `style_sheet` inside an element of class
        ``wb``.
    title, desc : str
        What it is, and what it shows, in a sentence.
    table : tuple
        Heads and rows of the numbers behind it, as text.
    """

    svg: str
    title: str
    desc: str
    table: Table

    def standalone(self) -> str:
        """Return the drawing with its style inside, for a file of its own."""
        start, rest = self.svg.split(">", 1)
        start = start.replace('class="wb-chart"', 'class="wb wb-chart"', 1)
        return f"{start}><style>{style_sheet()}</style>{rest}"


@cache
def style_sheet() -> str:
    """Return the rules that style all drawings, scoped to elements of class ``wb``."""
    return files("weighbridge._svg").joinpath("style.css").read_text(encoding="utf-8")
