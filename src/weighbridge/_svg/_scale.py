"""Where numbers are drawn: straight and logarithmic scales, and the round numbers along them."""

from __future__ import annotations

import math
from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True)
class Scale:
    """A map from numbers to units of the drawing, straight or by logarithms; see `scale`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return where a number is drawn; the middle where the domain is one point."""
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        # halves, since the difference of huge numbers may be infinite
        span = high / 2 - low / 2
        share = 0.5 if span == 0 else (value / 2 - low / 2) / span
        return self.start + share * (self.end - self.start)

    def clamp(self, value: float) -> float:
        """Return where a number is drawn, or the end of the axis it lies beyond."""
        return self(min(max(value, self.low), self.high))


def scale(domain: Point, span: Point, *, log: bool = False) -> Scale:
    """Map numbers from `domain` to units from `span`."""
    low, high = float(domain[0]), float(domain[1])
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(f"Got domain={domain}, but expected two finite numbers, smaller first.")
    if log and low <= 0:
        raise ValueError(f"Got domain={domain}, but logarithms need numbers above 0.")
    return Scale(low, high, float(span[0]), float(span[1]), log)


def ticks(low: float, high: float, n: int = 5) -> list[float]:
    """Return at most `n` round numbers from `low` to `high`.

    They are 1, 2 or 5 times a power of ten apart.
    """
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(f"Got low={low}, high={high}, but expected finite numbers, low <= high.")
    span = high / n - low / n
    if not span > 1e-300:
        return [float(low)]
    exponent = math.floor(math.log10(span))
    for power in (exponent, exponent + 1, exponent + 2):
        for factor in (1, 2, 5):
            step = float(f"{factor}e{power}")
            if step < span * 0.5:
                continue
            whole = range(math.floor(low / step), math.ceil(high / step) + 1)
            # read from decimals: 3 * 0.1 is not the number nearest to 0.3
            values = [float(f"{factor * each}e{power}") for each in whole]
            inside = sorted({value for value in values if low <= value <= high})
            if len(inside) <= n:
                return inside
    return [float(low)]


def octaves(low: float, high: float, n: int = 8) -> list[float]:
    """Return at most `n` powers of two from `low` to `high`, equally many octaves apart."""
    first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
    step = 1
    while last // step + (-first) // step + 1 > n:
        step *= 2
    return [2.0 ** (k * step) for k in range(-((-first) // step), last // step + 1)]
