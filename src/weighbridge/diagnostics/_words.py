"""How names and shares are written in sentences and tables."""

from __future__ import annotations

import math
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


def percent(share: float) -> str:
    """Write a share in per cent: whole, with one digit next to 0 and 1, which it is not called."""
    if math.isnan(share):
        return "–"
    if 0 < share < 0.0005:
        return "< 0.1 %"
    if 0.9995 <= share < 1:
        return "> 99.9 %"
    digits = int(0 < share < 0.01 or 0.99 < share < 1)
    return f"{100 * share:.{digits}f} %"
