"""Numbers and intervals as people read them: a few digits, thousands apart, a true minus."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

MINUS = "−"
INFINITY = "∞"
UNKNOWN = "–"

# An interval or a change is written with digits of which it is that many units, unless it is a
# smaller part of the loss than this: that is rounding.
_UNITS = 5
_VISIBLE = 1e-4
_MOST_DECIMALS = 9
_HUGE = 1e8
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def number(value: float | None, digits: int = 3) -> str:
    """Write a number with a few digits."""
    if value is None or math.isnan(value):
        return UNKNOWN
    size = abs(value)
    if size != 0 and not 1e-4 <= size < 1e6:
        text = _scientific(size, digits)
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


def signed(value: float | None, digits: int = 2) -> str:
    """Write a standardised difference with its sign."""
    if value is None or math.isnan(value):
        return UNKNOWN
    size = abs(value)
    text = f"{size:.{digits}f}" if size < 1000 else _scientific(size, 1)
    sign = MINUS if value < 0 else "+"
    return sign + text if text.strip("0.,") else text


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
    return [
        "0" if value == 0 else f"{value / unit:,.{decimals}f}{letter}".replace("-", MINUS)
        for value in values
    ]


def percent_labels(values: Sequence[float]) -> list[str]:
    """Write shares of an axis in per cent."""
    return [f"{label} %" for label in tick_labels([100 * value for value in values])]


def _decimals(values: Sequence[float], most: int = 9) -> int:
    """Return how many digits after the point all values need."""
    for digits in range(most):
        if all(abs(round(value, digits) - value) <= 1e-9 * max(1, abs(value)) for value in values):
            return digits
    return most


def _scientific(size: float, digits: int) -> str:
    if math.isinf(size):
        return INFINITY
    mantissa, exponent = f"{size:.{digits - 1}e}".split("e")
    return f"{_trimmed(mantissa)}e{int(exponent)}".replace("-", MINUS)


def _trimmed(text: str) -> str:
    """Drop zeros behind the point."""
    return text.rstrip("0").rstrip(".") if "." in text else text


class Numbers:
    """Writes losses and changes of one measure, in texts and on axes, with the same digits."""

    def __init__(
        self,
        measure: str,
        typical: float,
        losses: Iterable[Estimate | None] = (),
        changes: Iterable[Estimate | None] = (),
    ):
        self.measure = measure
        self.is_share = measure in ("error", "accuracy")
        self.unit = " points" if self.is_share else ""
        self.loss = "error" if self.is_share else f"error ({measure})"
        self.noun = f"expected {self.loss}"
        self._factor = 100 if self.is_share else 1
        width = _largest(each.high - each.low for each in losses if each is not None)
        reach = _largest(
            abs(end) for each in changes if each is not None for end in (each.low, each.high)
        )
        size = _largest([abs(typical)])
        self._exponent = 0 if self.is_share else _common_exponent(max(size, width, reach))
        self.decimals = self._digits_of_typical(size)
        for extent in (width, reach):
            if extent > _VISIBLE * size:
                # so that it is a few units of the last digit
                to_see = math.ceil(math.log10(_UNITS / self._scaled(extent)))
                self.decimals = max(self.decimals, to_see)
        self.decimals = min(self.decimals, _MOST_DECIMALS)
        # An axis that is no shorter has ticks that can be written with these digits.
        self.least = _UNITS * 10.0 ** (self._exponent - self.decimals) / self._factor

    def _digits_of_typical(self, size: float) -> int:
        """Return three digits of a loss; of an error a tenth of a point, or what 0 and 1 need."""
        if self.is_share:
            edge = self._scaled(min(size, 1 - size))
            return max(1, -math.floor(math.log10(edge))) if edge > 0 else 1
        return max(0, 2 - math.floor(math.log10(self._scaled(size)))) if size > 0 else 2

    def _scaled(self, value: float) -> float:
        return self._factor * value / 10.0**self._exponent

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
        return _with_sign(value, self.plain(value))

    def change_interval(self, estimate: Estimate) -> str:
        """Write the interval of a change."""
        return f"[{self.change(estimate.low)}, {self.change(estimate.high)}]"

    def change_span(self, estimate: Estimate) -> str:
        """Write the interval of a change for a table."""
        return f"{self.change(estimate.low)} – {self.change(estimate.high)}"

    def plain(self, value: float) -> str:
        """Write a loss without its unit."""
        return self._written(value, self.decimals)

    def labels(self, values: Sequence[float]) -> list[str]:
        """Write the losses along an axis."""
        unit = " %" if self.is_share else ""
        return [label + unit for label in self._ticks(values)]

    def change_labels(self, values: Sequence[float]) -> list[str]:
        """Write the changes along an axis."""
        return [_with_sign(*each) for each in zip(values, self._ticks(values), strict=True)]

    def _ticks(self, values: Sequence[float]) -> list[str]:
        decimals = _decimals([self._scaled(value) for value in values])
        return ["0" if value == 0 else self._written(value, decimals) for value in values]

    def _written(self, value: float, decimals: int) -> str:
        scaled = abs(self._scaled(value))
        if not scaled < _HUGE:
            return number(self._factor * value)
        text = f"{scaled:,.{decimals}f}"
        if not text.strip("0.,"):
            return text
        power = f"e{self._exponent}".replace("-", MINUS) if self._exponent else ""
        return f"{MINUS if value < 0 else ''}{text}{power}"


def _largest(sizes: Iterable[float]) -> float:
    return max((size for size in sizes if math.isfinite(size)), default=0.0)


def _common_exponent(size: float) -> int:
    """Return the power of ten that huge or tiny numbers are written with, all with the same."""
    if size == 0 or 1e-4 <= size < _HUGE:
        return 0
    return max(math.floor(math.log10(size)), -300)


def _with_sign(value: float, text: str) -> str:
    return f"+{text}" if value > 0 and text.strip("0.,") else text


class Brief:
    """Shows the few names that most people need when it is completed; the others are there too."""

    _first: ClassVar[tuple[str, ...]]

    def __dir__(self) -> list[str]:
        return [*(name for name in dir(type(self)) if name.startswith("_")), *self._first]


@dataclass(frozen=True, repr=False)
class Record:
    """Plain values with a text: what they are in JSON, and where they are shown."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON.

        Returns
        -------
        dict
            All fields; None stands for NaN and infinity, a list for a tuple.
        """
        return {each.name: _plain(getattr(self, each.name)) for each in fields(self) if each.repr}

    def __repr__(self) -> str:
        return str(self)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True)
class Estimate:
    """A number, its standard error, and the interval that is said to hold the true one.

    Parameters
    ----------
    value : float
        The estimate.
    standard_error : float
        Its standard error.
    low, high : float
        Ends of the interval.

    Examples
    --------
    >>> from weighbridge.diagnosis import Estimate
    >>> print(Estimate.normal(0.353, 0.02))
    0.353 [0.314, 0.392]
    """

    value: float
    standard_error: float
    low: float
    high: float

    @classmethod
    def normal(
        cls,
        value: float,
        standard_error: float,
        confidence: float = 0.95,
        bounds: tuple[float, float] = (float("-inf"), float("inf")),
    ) -> Estimate:
        """Make the interval of a normal estimate, cut off at what the number can be.

        Parameters
        ----------
        value, standard_error : float
            The estimate and its standard error.
        confidence : float, default=0.95
            Of the interval.
        bounds : (float, float)
            Smallest and largest possible value.

        Returns
        -------
        Estimate
            With its interval.
        """
        if standard_error < 0:
            raise ValueError(
                f"Got standard_error={standard_error!r}, but a standard error is 0 or more."
            )
        from scipy.special import ndtri  # only here: help and codes are instant without it

        half = float(ndtri((1 + confidence) / 2)) * standard_error
        low, high = max(bounds[0], value - half), min(bounds[1], value + half)
        return cls(float(value), float(standard_error), float(low), float(high))

    def to_dict(self) -> dict[str, float]:
        """Return value and interval, ready for JSON.

        Returns
        -------
        dict
            ``value``, ``low``, ``high``.
        """
        return {"value": self.value, "low": self.low, "high": self.high}

    def __str__(self) -> str:
        ends = [end for end in (self.value, self.low, self.high) if math.isfinite(end)]
        numbers = Numbers("", max(map(abs, ends), default=0.0), [self])
        return f"{numbers.plain(self.value)} {numbers.interval(self)}"


def wilson(share: Any, n: Any, confidence: float = 0.95) -> tuple[Any, Any]:
    """Return Wilson's interval of a share, or of several, of `n` rows, which need not be whole."""
    import numpy as np  # only here, as in `Estimate.normal`
    from scipy.special import ndtri

    z = float(ndtri((1 + confidence) / 2))
    scale = 1 / (1 + z**2 / n)
    middle = scale * (share + z**2 / (2 * n))
    half = scale * z * np.hypot(np.sqrt(share * (1 - share) / n), z / (2 * n))
    # rounding may leave an end on the wrong side of the share, where that is 0 or 1
    return np.maximum(np.minimum(middle - half, share), 0.0), np.minimum(
        np.maximum(middle + half, share), 1.0
    )
