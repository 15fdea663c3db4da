"""What every code means, from one source; the documentation takes it from here too."""

from __future__ import annotations

import textwrap
import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

# first digit of a code: what its group is about
GROUPS = {
    "1": "Inputs and files",
    "2": "Shift",
    "3": "Overlap and weights",
    "4": "The ratio",
    "5": "The choice of a weighting",
    "6": "The expected error",
    "7": "The model and the settings",
    "9": "The run itself",
}
WIDTH = 80
# Nearest codes that an error names.
_NEAREST = 3
_INDENT = 9


@dataclass(frozen=True)
class Step:
    """One thing to do."""

    say: str
    type: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """What one code means."""

    code: str
    name: str
    levels: tuple[str, ...]
    seen: str
    why: str
    do: tuple[Step, ...]
    silence: str
    raised_by: str
    reserved: str = ""

    @property
    def level(self) -> str:
        """The level, or the levels, in words."""
        return " or ".join(self.levels)


@cache
def entries() -> dict[str, Entry]:
    """Return every entry by its code, in the order of the codes."""
    text = files(__package__).joinpath("findings.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    silence = table.pop("silence")
    return {code: _entry(code, table[code], silence) for code in sorted(table)}


def _entry(code: str, fields: dict[str, Any], silence: dict[str, str]) -> Entry:
    """Return an entry; one that does not say how to silence it is silenced as its level is."""
    levels = _several(fields.pop("level"))
    usual = silence["warned" if fields.pop("warned", False) else levels[0]]
    fields["silence"] = fields.get("silence", usual).replace("{code}", code)
    steps = [Step(each["say"], _several(each.get("type", []))) for each in fields.pop("do")]
    return Entry(code=code, levels=levels, do=tuple(steps), **fields)


def _several(texts: str | list[str]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)


def page(code: str) -> str:
    """Return what a code means: what was seen, why it matters, what to do, how to silence it."""
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
    """Return text next to its head, wrapped, without the signs that mark code."""
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
