"""Numbers as people read them: errors in per cent, changes in points, the rest in few digits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from weighbridge._numbers import signed

if TYPE_CHECKING:
    from weighbridge._estimate import Estimate


class Numbers:
    """Writes losses and changes of one measure with the same number of decimals.

    Parameters
    ----------
    measure : str
        What is measured; an "error" is written in per cent, its changes in points.
    typical : float
        A typical value, which gets three digits, or more in front of the point.
    """

    def __init__(self, measure: str, typical: float):
        self.measure = measure
        self.is_share = measure == "error"
        self.factor = 100 if self.is_share else 1
        self.unit = " points" if self.is_share else ""
        self.loss = "error" if self.is_share else f"error ({measure})"
        self.noun = f"expected {self.loss}"
        self.decimals = 1 if self.is_share else _decimals(typical)

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


def _decimals(typical: float) -> int:
    if typical == 0 or not math.isfinite(typical):
        return 2
    return min(max(0, 2 - math.floor(math.log10(abs(typical)))), 9)
