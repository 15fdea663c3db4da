"""A number with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtri

from weighbridge._findings.numbers import Numbers


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
    >>> from weighbridge.diagnostics import Estimate
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
