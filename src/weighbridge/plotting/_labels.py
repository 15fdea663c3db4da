"""Words and numbers on a picture."""

from __future__ import annotations

import math

INFINITY = "∞"


def shown_name(name: str, longest: int = 28) -> str:
    """Return a name from the data on one line, cut in the middle, and never read as a formula."""
    text = " ".join(str(name).split())
    if len(text) > longest:
        # both ends stay: names of one family differ at the end, and so do levels
        tail = (longest - 1) // 2
        text = f"{text[: longest - 1 - tail]}…{text[-tail:]}"
    return text.replace("$", r"\$")


def size(value: float) -> str:
    """Write the size of a difference."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return INFINITY
    return f"{value:.2f}" if value < 1000 else f"{value:.0e}"
