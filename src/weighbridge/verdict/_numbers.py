"""Numbers as people read them: errors in per cent, changes in points, the rest in few digits."""

from __future__ import annotations

import math

from weighbridge._estimate import Estimate

MINUS = "−"


def value_text(value: float, measure: str) -> str:
    """Write an expected loss: an error in per cent, another measure with three or four digits."""
    if measure == "error":
        return f"{100 * value:.1f} %"
    return _plain(value)


def interval_text(estimate: Estimate, measure: str) -> str:
    """Write the interval of an expected loss."""
    return f"[{value_text(estimate.low, measure)}, {value_text(estimate.high, measure)}]"


def change_text(value: float, measure: str) -> str:
    """Write a change with its sign; of errors in points."""
    scaled = 100 * value if measure == "error" else value
    text = f"{abs(scaled):.1f}" if measure == "error" else _plain(abs(scaled))
    if float(text.replace(",", "")) == 0:
        return text
    return f"{MINUS if scaled < 0 else '+'}{text}"


def change_interval_text(estimate: Estimate, measure: str) -> str:
    """Write the interval of a change."""
    return f"[{change_text(estimate.low, measure)}, {change_text(estimate.high, measure)}]"


def unit(measure: str) -> str:
    """Return what changes are counted in."""
    return " points" if measure == "error" else ""


def noun(measure: str) -> str:
    """Return what the expected loss is called in a sentence."""
    return "expected error" if measure == "error" else f"expected error ({measure})"


def _plain(value: float) -> str:
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(digits, 12)}f}"
