"""How wide words are at most, and what is left of them where there is no room."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import takewhile

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
