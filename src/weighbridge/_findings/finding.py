"""Findings of a diagnosis, problems of the inputs, and how both name what the user typed."""

from __future__ import annotations

import difflib
import json
import shlex
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from weighbridge._findings.numbers import Record
from weighbridge.exceptions import Problem as Problem

# Arguments of Python that take several names, and so are written as lists.
LISTS = ("drop", "keep")
# Those that take no text, and are written without quotes; one has another name there.
BARE = ("lam", "alpha", "confidence", "seed", "jobs", "force")
NAMES = {"jobs": "n_jobs"}
LONGEST = 60


class Option(Protocol):
    """How a setting is spelt where the user is: an option of a command, or an argument."""

    def __call__(self, name: str, *values: str) -> str:
        """Return what to type to give `name` these values."""


def cli_option(name: str, *values: str) -> str:
    """Return a setting as it is typed at the command line."""
    value = ",".join(values)
    if not value:
        return f"--{name}"
    # a value that starts with a dash would be taken for another option
    joint = "=" if value.startswith("-") else " "
    return f"--{name}{joint}{escaped(shlex.quote(value))}"


def argument(name: str, *values: str) -> str:
    """Return a setting as it is written in Python."""
    if name in BARE:
        return f"{NAMES.get(name, name)}={', '.join(values) or True}"
    quoted = [json.dumps(value, ensure_ascii=not value.isprintable()) for value in values]
    if name in LISTS:
        return f"{name}=[{', '.join(quoted)}]"
    return f"{name}={', '.join(quoted)}" if quoted else name


def escaped(text: str) -> str:
    """Return text on one line: what cannot be printed is written as an escape."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode()
        for c in text
    )


def shown(text: object) -> str:
    """Return a name or value for a message, in quotes, escaped and cut to 60 characters."""
    written = escaped(str(text))
    return f'"{written if len(written) <= LONGEST else written[: LONGEST - 1] + "…"}"'


def one_line(name: str, width: int = 22) -> str:
    """Return a name for a table of text: on one line, escaped and cut."""
    written = escaped(" ".join(name.split()))
    return written if len(written) <= width else written[: width - 1] + "…"


def shown_file(name: str) -> str:
    """Return the name of a file for a message; of a long one the end, which tells files apart."""
    written = escaped(name)
    return written if len(written) <= LONGEST else "…" + written[1 - LONGEST :]


def listed(names: Iterable[str], most: int = 6) -> str:
    """Return names in quotes, the first few of many."""
    names = list(names)
    few = ", ".join(shown(name) for name in names[:most])
    return few if len(names) <= most else f"{few} and {len(names) - most:,} more"


def nearest(name: str, candidates: Iterable[str], most: int = 3) -> list[str]:
    """Return the candidates most like a name; upper and lower case count as the same."""
    folded: dict[str, list[str]] = {}
    for candidate in candidates:
        folded.setdefault(candidate.casefold().strip(), []).append(candidate)
    close = difflib.get_close_matches(name.casefold().strip(), folded, n=most, cutoff=0.6)
    return [candidate for key in close for candidate in folded[key]][:most]


LEVELS = ("note", "warning", "error")


@dataclass(frozen=True)
class Finding(Record):
    """One finding, the same in Python, at the terminal and in a report.

    Parameters
    ----------
    code : str
        ``WB`` and three digits; never reused for anything else.
    level : {"note", "warning", "error"}
        How much it matters.
    message : str
        What was found, with the numbers.
    help : str
        What to do about it.

    Examples
    --------
    >>> from weighbridge.diagnosis import Finding
    >>> print(Finding("WB305", "note", "age still differs by 0.26.", "A larger lam reduces it."))
    note WB305: age still differs by 0.26. A larger lam reduces it.
    """

    code: str
    level: str
    message: str
    help: str

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise ValueError(f"Got level={self.level!r}, but expected one of {', '.join(LEVELS)}.")

    def __str__(self) -> str:
        return f"{self.level} {self.code}: {self.message} {self.help}"


def users_line() -> int:
    """Return the stacklevel, seen from a function that warns, of the line outside this package."""
    level, frame = 1, sys._getframe(1)
    # scikit-learn, joblib and NumPy (errstate) put frames of their own around a fit
    ours = ("weighbridge.", "joblib.", "sklearn.callback.", "numpy._core._ufunc_config")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(ours):
        level, frame = level + 1, frame.f_back
    return level
