"""The page of one code at the terminal."""

from __future__ import annotations

import textwrap
from difflib import get_close_matches

from weighbridge._codes._entries import GROUPS, Entry, entries

WIDTH = 80
# Nearest codes that an error names.
_NEAREST = 3
_INDENT = 9


def page(code: str) -> str:
    """Return what a code means: what was seen, why it matters, what to do, how to silence it.

    Parameters
    ----------
    code : str
        Such as ``"WB301"``; ``"wb301"`` and ``"301"`` are read as well.

    Returns
    -------
    str
        At most 25 lines of at most 80 columns.

    Examples
    --------
    >>> from weighbridge._codes import page
    >>> print(page("WB301"))
    WB301  thin overlap (warning)
    <BLANKLINE>
    Seen     The full ratio is worth fewer than 10 rows for each parameter of the
    ...
    """
    entry = entries().get(_spelt(code))
    if entry is None:
        raise ValueError(f"Got code={code!r}, but there is no such code; {_nearest(code)}")
    return "\n".join(
        [
            f"{entry.code}  {entry.name} ({entry.level})",
            "",
            *_paragraph("Seen", entry.seen),
            "",
            *_paragraph("Why", entry.why),
            "",
            *_steps(entry),
            "",
            *_paragraph("Silence", entry.silence),
            *_paragraph("From", entry.raised_by),
        ]
    )


def _paragraph(head: str, text: str, mark: str = "") -> list[str]:
    """Return text beside its head, wrapped, without the signs that mark code."""
    return textwrap.wrap(
        text.replace("``", ""),
        width=WIDTH,
        initial_indent=f"{head:<{_INDENT}}{mark}",
        subsequent_indent=" " * (_INDENT + len(mark)),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _steps(entry: Entry) -> list[str]:
    lines: list[str] = []
    for step in entry.do:
        lines += _paragraph("" if lines else "Do", step.say, "- ")
        lines += [" " * (_INDENT + 4) + line for line in step.type]
    return lines


def _spelt(code: str) -> str:
    """Return a code as it is written here."""
    code = code.strip().upper()
    return f"WB{code}" if code.isdigit() else code


def _nearest(code: str) -> str:
    """Return the codes that may be meant, by a word of their name or by their letters."""
    known = entries()
    word = code.strip().lower()
    found = [name for name, entry in known.items() if word.isalpha() and word in entry.name]
    found = found or get_close_matches(_spelt(code), known, n=_NEAREST)
    if not found:
        groups = (f"WB{digit}xx {title[0].lower()}{title[1:]}" for digit, title in GROUPS.items())
        return f"codes are {', '.join(groups)}."
    return f"nearest: {', '.join(f'{name} ({known[name].name})' for name in found[:_NEAREST])}."
