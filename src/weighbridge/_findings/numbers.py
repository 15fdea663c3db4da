"""Numbers as people read them: a few digits, thousands apart, a true minus."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weighbridge._findings.estimate import Estimate

MINUS = "−"
INFINITY = "∞"
UNKNOWN = "–"

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def number(value: float | None, digits: int = 3) -> str:
    """Write a number with a few digits."""
    if value is None or math.isnan(value):
        return UNKNOWN
    if math.isinf(value):
        return INFINITY if value > 0 else MINUS + INFINITY
    size = abs(value)
    if size != 0 and not 1e-4 <= size < 1e6:
        mantissa, exponent = f"{size:.{digits - 1}e}".split("e")
        text = f"{_trimmed(mantissa)}e{int(exponent)}".replace("-", MINUS)
    else:
        decimals = 0 if size == 0 else max(0, digits - 1 - math.floor(math.log10(size)))
        text = _trimmed(f"{size:,.{decimals}f}")
    return MINUS + text if value < 0 and text.strip("0.,") else text


def percent(share: float | None, digits: int | None = None) -> str:
    """Write a share in per cent: whole, with one digit next to 0 and 1, which it is not called."""
    if share is None or math.isnan(share):
        return UNKNOWN
    if digits is None:
        if 0 < share < 0.0005:
            return "< 0.1 %"
        if 0.9995 <= share < 1:
            return "> 99.9 %"
        digits = int(0 < share < 0.01 or 0.99 < share < 1)
    return f"{100 * share:,.{digits}f} %".replace("-", MINUS)


def signed(value: float | None, digits: int = 1) -> str:
    """Write a change with its sign."""
    if value is None or math.isnan(value):
        return UNKNOWN
    text = f"{abs(value):,.{digits}f}"
    if not text.strip("0.,"):
        return text
    return f"{MINUS if value < 0 else '+'}{text}"


def count(value: float) -> str:
    """Write a number of rows."""
    return f"{value:,.0f}"


def tick_labels(values: Sequence[float]) -> list[str]:
    """Write the numbers of an axis alike, as short as they can be told apart."""
    largest = max(map(abs, values), default=0.0)
    unit, letter = next(
        ((size, mark) for size, mark in _PREFIXES if largest >= (1e4 if size == 1e3 else size)),
        (1.0, ""),
    )
    if largest >= 1e15 or 0 < largest < 1e-4:
        return [number(value) for value in values]
    decimals = _decimals([value / unit for value in values])
    return ["0" if value == 0 else _tick(value / unit, decimals) + letter for value in values]


def percent_labels(values: Sequence[float]) -> list[str]:
    """Write shares of an axis in per cent."""
    return [f"{label} %" for label in tick_labels([100 * value for value in values])]


def signed_labels(values: Sequence[float]) -> list[str]:
    """Write changes of an axis with their signs."""
    labels = tick_labels(values)
    return [
        f"+{label}" if value > 0 else label for value, label in zip(values, labels, strict=True)
    ]


def _decimals(values: Sequence[float], most: int = 9) -> int:
    """Return how many digits after the point all values need."""
    for digits in range(most):
        if all(abs(round(value, digits) - value) <= 1e-9 * max(1, abs(value)) for value in values):
            return digits
    return most


def _tick(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}".replace("-", MINUS)


def _trimmed(text: str) -> str:
    """Drop zeros behind the point."""
    return text.rstrip("0").rstrip(".") if "." in text else text


class Numbers:
    """Writes losses and changes of one measure with the same number of decimals."""

    def __init__(self, measure: str, typical: float):
        self.measure = measure
        self.is_share = measure == "error"
        self.factor = 100 if self.is_share else 1
        self.unit = " points" if self.is_share else ""
        self.loss = "error" if self.is_share else f"error ({measure})"
        self.noun = f"expected {self.loss}"
        self.decimals = 1 if self.is_share else _decimals_of_loss(typical)

    def value(self, value: float) -> str:
        """Write a loss."""
        return f"{self.plain(value)} %" if self.is_share else self.plain(value)

    def interval(self, estimate: Estimate) -> str:
        """Write the interval of a loss."""
        return f"[{self.value(estimate.low)}, {self.value(estimate.high)}]"

    def span(self, estimate: Estimate) -> str:
        """Write the interval of a loss for a table."""
        return f"{self.plain(estimate.low)} – {self.plain(estimate.high)}"

    def change(self, value: float) -> str:
        """Write a change with its sign."""
        return signed(self.factor * value, self.decimals)

    def change_interval(self, estimate: Estimate) -> str:
        """Write the interval of a change."""
        return f"[{self.change(estimate.low)}, {self.change(estimate.high)}]"

    def change_span(self, estimate: Estimate) -> str:
        """Write the interval of a change for a table."""
        return f"{self.change(estimate.low)} – {self.change(estimate.high)}"

    def plain(self, value: float) -> str:
        """Write a loss without its unit."""
        return f"{self.factor * value:,.{self.decimals}f}"


def _decimals_of_loss(typical: float) -> int:
    if typical == 0 or not math.isfinite(typical):
        return 2
    return min(max(0, 2 - math.floor(math.log10(abs(typical)))), 9)
