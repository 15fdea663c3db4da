"""The entries of `findings.toml`, read once and checked."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Step:
    """One thing to do.

    Parameters
    ----------
    say : str
        What to do, in a sentence; code stands between double backticks.
    type : tuple of str
        Lines to type, shown as they are; empty where a sentence is all.

    Examples
    --------
    >>> from weighbridge._codes import Step
    >>> Step("Leave it out of both files:", ("--drop visit_id",)).type
    ('--drop visit_id',)
    """

    say: str
    type: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """What one code means.

    Parameters
    ----------
    code : str
        ``WB`` and three digits.
    name : str
        The finding in a few words.
    levels : tuple of {"error", "warning", "note"}
        How much it matters; several where that depends on who says it.
    seen, why : str
        What was seen, and why it matters.
    do : tuple of Step
        What to do about it.
    silence : str
        How to silence it, or that it cannot be.
    raised_by : str
        Who says it.
    reserved : str
        Why no part of the library says it yet; empty for the others.

    Examples
    --------
    >>> from weighbridge._codes import entries
    >>> entries()["WB301"].name
    'thin overlap'
    """

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
    def group(self) -> str:
        """What codes with the same first digit are about."""
        return GROUPS[self.code[2]]

    @property
    def level(self) -> str:
        """The level, or the levels, in words."""
        return " or ".join(self.levels)


@cache
def entries() -> dict[str, Entry]:
    """Return every entry by its code, in the order of the codes.

    Returns
    -------
    dict of Entry
        One for each code.

    Examples
    --------
    >>> from weighbridge._codes import entries
    >>> min(entries())
    'WB100'
    """
    text = files(__package__).joinpath("findings.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    silence = table.pop("silence")
    return {code: _entry(code, table[code], silence) for code in sorted(table)}


def _entry(code: str, fields: dict[str, Any], silence: dict[str, str]) -> Entry:
    """Return an entry; one that does not say how to silence it is silenced as its level is."""
    levels = fields["level"] if isinstance(fields["level"], list) else [fields["level"]]
    usual = silence["warned" if fields.get("warned") else levels[0]]
    return Entry(
        code=code,
        name=fields["name"],
        levels=tuple(levels),
        seen=fields["seen"],
        why=fields["why"],
        do=tuple(_step(each) for each in fields["do"]),
        silence=fields.get("silence", usual).replace("{code}", code),
        raised_by=fields["raised_by"],
        reserved=fields.get("reserved", ""),
    )


def _step(fields: dict[str, Any]) -> Step:
    lines = fields.get("type", [])
    return Step(fields["say"], (lines,) if isinstance(lines, str) else tuple(lines))
