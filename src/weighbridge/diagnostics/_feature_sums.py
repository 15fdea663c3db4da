"""What some rows of one feature add to a comparison: counts, levels, range and moments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from weighbridge.diagnostics._moments import LOWEST, Moments, RowWeights, exponent_of

# One number is kept for each text that occurs; with more of them a column is a key or free text.
MOST_LEVELS = 1_000_000


@dataclass(frozen=True)
class Tally:
    """Weights of rows by what they hold, over ``2.0**exponent``; plain ones are counts."""

    exponent: int
    there: float
    missing: float
    levels: dict[Any, float]
    moments: Moments

    def at(self, exponent: int, value: float) -> Tally:
        """Return the tally under another exponent, of numbers times a factor."""
        factor = math.ldexp(1.0, self.exponent - exponent)
        if factor == value == 1:
            return self
        return Tally(
            exponent,
            self.there * factor,
            self.missing * factor,
            {level: weight * factor for level, weight in self.levels.items()},
            self.moments.scaled(value, factor),
        )

    def __add__(self, other: Tally) -> Tally:
        levels = self.levels.copy()
        for level, weight in other.levels.items():
            levels[level] = levels.get(level, 0.0) + weight
        return Tally(
            self.exponent,
            self.there + other.there,
            self.missing + other.missing,
            levels,
            self.moments + other.moments,
        )


@dataclass(frozen=True)
class FeatureSums:
    """What is known of one feature in some rows of a sample; it is added to that of others.

    Parameters
    ----------
    name : str
        Of the feature.
    kind : {"numbers", "dates", "durations", "text"}
        Dates and durations are numbers of days.
    count : int
        Rows with a value.
    low, high : float
        Smallest and largest number.
    is_binary : bool
        Whether all numbers are 0 or 1; their counts are then among the levels.
    exponent : int
        The moments are those of the numbers over ``2.0**exponent``.
    plain, weighted : Tally
        Rows counted, and by weight where there are weights.
    is_mixed : bool
        Whether there were stretches of several kinds; `kind` is the first.
    """

    name: str
    kind: str
    count: int
    low: float
    high: float
    is_binary: bool
    exponent: int
    plain: Tally
    weighted: Tally | None
    is_mixed: bool = False

    @property
    def own(self) -> Tally:
        """By weight where there are weights, else counted."""
        return self.plain if self.weighted is None else self.weighted

    def __add__(self, other: FeatureSums) -> FeatureSums:
        exponent = max(self.exponent, other.exponent)
        factors = [math.ldexp(1.0, part.exponent - exponent) for part in (self, other)]
        weighted = None
        if self.weighted is not None and other.weighted is not None:
            weighted = _added(self.weighted, other.weighted, factors)
        # what has no value may have been read as any kind
        differs = self.kind != other.kind and bool(self.count and other.count)
        sums = FeatureSums(
            self.name,
            kind_of_both(self, other),
            self.count + other.count,
            min(self.low, other.low),
            max(self.high, other.high),
            self.is_binary and other.is_binary,
            exponent,
            _added(self.plain, other.plain, factors),
            weighted,
            self.is_mixed or other.is_mixed or differs,
        )
        if len(sums.plain.levels) > MOST_LEVELS:
            raise ValueError(
                f"Got column {self.name!r} with more than {MOST_LEVELS:,} different texts, each of "
                "which would be counted; a key or free text is no category: leave it out."
            )
        return sums


def kind_of_both(first: FeatureSums, second: FeatureSums) -> str:
    """Return the kind of the first that has values; without any text, if one is read as text."""
    if first.count or second.count:
        return first.kind if first.count else second.kind
    return "text" if "text" in (first.kind, second.kind) else first.kind


def number_sums(
    name: str, values: np.ndarray, weights: RowWeights | None, kind: str = "numbers"
) -> FeatureSums:
    """Sum up numbers in which NaN is a missing value."""
    gaps = np.isnan(values)
    gappy = bool(gaps.any())
    if gappy:
        values = values[~gaps]
    low = float(values.min(initial=math.inf))
    high = float(values.max(initial=-math.inf))
    is_binary = low >= 0 and high <= 1 and bool(((values == 0) | (values == 1)).all())
    exponent = exponent_of(max(abs(low), abs(high))) if values.size else LOWEST
    near_one = np.ldexp(values, -exponent)
    codes = values.astype(np.intp) if is_binary else None

    def tally(weights: RowWeights | None) -> Tally:
        there = weights.at(~gaps) if gappy and weights is not None else weights
        moments = Moments.of(near_one, there)
        levels = {} if codes is None else _levels(codes, (0, 1), there)
        return Tally(_exponent(weights), moments.total, _sum(gaps, weights), levels, moments)

    weighted = None if weights is None else tally(weights)
    return FeatureSums(
        name, kind, values.size, low, high, is_binary, exponent, tally(None), weighted
    )


def text_sums(
    name: str, codes: np.ndarray, levels: tuple[str, ...], weights: RowWeights | None
) -> FeatureSums:
    """Sum up numbers of levels, -1 for a missing value."""
    gaps = codes < 0
    gappy = bool(gaps.any())
    if gappy:
        codes = codes[~gaps]

    def tally(weights: RowWeights | None) -> Tally:
        there = weights.at(~gaps) if gappy and weights is not None else weights
        found = _levels(codes, levels, there)
        total = float(codes.size) if there is None else there.total
        return Tally(_exponent(weights), total, _sum(gaps, weights), found, Moments())

    weighted = None if weights is None else tally(weights)
    return FeatureSums(
        name, "text", codes.size, math.inf, -math.inf, False, LOWEST, tally(None), weighted
    )


def _added(first: Tally, second: Tally, factors: list[float]) -> Tally:
    exponent = max(first.exponent, second.exponent)
    return first.at(exponent, factors[0]) + second.at(exponent, factors[1])


def _levels(
    codes: np.ndarray, levels: tuple[Any, ...], weights: RowWeights | None
) -> dict[Any, float]:
    own = None if weights is None else weights.values
    counts = np.bincount(codes, weights=own, minlength=len(levels))
    return dict(zip(levels, counts.tolist(), strict=True))


def _exponent(weights: RowWeights | None) -> int:
    return 0 if weights is None else weights.exponent


def _sum(rows: np.ndarray, weights: RowWeights | None) -> float:
    return float(rows.sum() if weights is None else weights.values[rows].sum())
