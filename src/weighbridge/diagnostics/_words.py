"""How names are written in sentences, and what a notebook shows of a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def in_a_sentence(name: str) -> str:
    """Return what a feature is called in a sentence: columns of an array have numbers only."""
    return f"column {name}" if name.isdigit() else name


def listed(names: Sequence[str], most: int = 3) -> str:
    """Return the first few names, and how many more there are."""
    shown = [in_a_sentence(name) for name in names[:most]]
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    return ", ".join(shown)


def notebook_card(sentence: str, body: str, findings: Iterable[object]) -> str:
    """Return HTML without script: a sentence, what belongs to it as markup, and the findings."""
    return f"<div><p><b>{escape(sentence)}</b></p>{body}{html_list(map(str, findings))}</div>"


def html_list(lines: Iterable[str]) -> str:
    """Return lines of text as a list of HTML."""
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"
