"""Numbers as people read them: errors in per cent, changes in points, the rest in few digits."""

from __future__ import annotations

import math

from weighbridge._estimate import Estimate

_MINUS = "−"


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
        self.unit = " points" if self.is_share else ""
        self.noun = "expected error" if self.is_share else f"expected error ({measure})"
        self.decimals = 1 if self.is_share else _decimals(typical)

    def value(self, value: float) -> str:
        """Write a loss."""
        return f"{self._plain(value)} %" if self.is_share else self._plain(value)

    def interval(self, estimate: Estimate) -> str:
        """Write the interval of a loss."""
        return f"[{self.value(estimate.low)}, {self.value(estimate.high)}]"

    def span(self, estimate: Estimate) -> str:
        """Write the interval of a loss for a table."""
        return f"{self._plain(estimate.low)} – {self._plain(estimate.high)}"

    def change(self, value: float) -> str:
        """Write a change with its sign."""
        text = self._plain(abs(value))
        if float(text.replace(",", "")) == 0:
            return text
        return f"{_MINUS if value < 0 else '+'}{text}"

    def change_interval(self, estimate: Estimate) -> str:
        """Write the interval of a change."""
        return f"[{self.change(estimate.low)}, {self.change(estimate.high)}]"

    def change_span(self, estimate: Estimate) -> str:
        """Write the interval of a change for a table."""
        return f"{self.change(estimate.low)} – {self.change(estimate.high)}"

    def _plain(self, value: float) -> str:
        return f"{100 * value if self.is_share else value:,.{self.decimals}f}"


def _decimals(typical: float) -> int:
    if typical == 0 or not math.isfinite(typical):
        return 2
    return min(max(0, 2 - math.floor(math.log10(abs(typical)))), 9)
