"""How names are written in sentences."""

from __future__ import annotations

from collections.abc import Sequence


def in_a_sentence(name: str) -> str:
    """Return what a feature is called in a sentence: columns of an array have numbers only."""
    return f"column {name}" if name.isdigit() else name


def listed(names: Sequence[str], most: int = 3) -> str:
    """Return the first few names, and how many more there are."""
    shown = [in_a_sentence(name) for name in names[:most]]
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    return ", ".join(shown)
