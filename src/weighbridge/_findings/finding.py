"""What a diagnosis found: a code, a sentence and a remedy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from html import escape

LEVELS = ("note", "warning", "error")


@dataclass(frozen=True)
class Finding:
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
    >>> from weighbridge.diagnostics import Finding
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

    def to_dict(self) -> dict[str, str]:
        """Return the fields, ready for JSON.

        Returns
        -------
        dict
            ``code``, ``level``, ``message``, ``help``.
        """
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.level} {self.code}: {self.message} {self.help}"


def notebook_card(sentence: str, body: str, findings: Iterable[object]) -> str:
    """Return HTML without script: a sentence, what belongs to it as markup, and the findings."""
    return f"<div><p><b>{escape(sentence)}</b></p>{body}{html_list(map(str, findings))}</div>"


def html_list(lines: Iterable[str]) -> str:
    """Return lines of text as a list of HTML."""
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"
