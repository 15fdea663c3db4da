"""What some rows of one feature add to a comparison: counts, levels, range and moments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.special import xlogy

# Below the exponent of every double: that of a stretch with nothing but zeros, so that it has no
# say in the exponent of the whole.
LOWEST = -1100


def exponent_of(largest: float) -> int:
    """Return the power of 2 that brings a number next to 1; dividing by it is exact."""
    return math.frexp(largest)[1] if largest > 0 else LOWEST


@dataclass(frozen=True)
class RowWeights:
    """Weights of a stretch of rows over ``2.0**exponent``, none of them above 1."""

    values: np.ndarray
    exponent: int

    @classmethod
    def of(cls, weights: np.ndarray) -> RowWeights:
        """Take a power of 2 out of weights >= 0, so that squares neither over- nor underflow."""
        exponent = exponent_of(float(weights.max(initial=0.0)))
        return cls(np.ldexp(weights, -exponent), exponent)

    def at(self, rows: np.ndarray) -> RowWeights:
        """Return the weights of some of the rows."""
        return RowWeights(self.values[rows], self.exponent)

    @cached_property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.values.sum())

    @cached_property
    def shares(self) -> np.ndarray:
        """Weights that sum to 1."""
        return self.values / self.total

    @cached_property
    def spread(self) -> float:
        """Probability that two rows drawn by weight are not the same one."""
        # 1 - sum(shares**2) would lose its digits where one row has most of the weight
        return 2 * float(self.shares[1:] @ np.cumsum(self.shares)[:-1])


@dataclass(frozen=True)
class Moments:
    """Mean and variance of weighted numbers; those of two stretches of rows are added."""

    total: float = 0.0
    mean: float = 0.0
    square: float = 0.0
    spread: float = 0.0

    @classmethod
    def of(cls, values: np.ndarray, weights: RowWeights | None = None) -> Moments:
        """Sum up numbers near 1 or below."""
        total = float(values.size) if weights is None else weights.total
        if total == 0:
            return cls()
        if weights is None:
            mean = float(values.mean())
            gap = values - mean
            return cls(total, mean, float(gap @ gap) / total, 1 - 1 / total)
        mean = float(weights.shares @ values)
        gap = values - mean
        return cls(total, mean, float(weights.shares @ gap**2), weights.spread)

    def __add__(self, other: Moments) -> Moments:
        if self.total == 0 or other.total == 0:
            return other if self.total == 0 else self
        total = self.total + other.total
        mine, others = self.total / total, other.total / total
        # Chan, Golub & LeVeque (1983): nothing is the difference of two large sums
        gap = other.mean - self.mean
        return Moments(
            total,
            self.mean + gap * others,
            self.square * mine + other.square * others + gap * gap * mine * others,
            self.spread * mine**2 + other.spread * others**2 + 2 * mine * others,
        )

    def scaled(self, value: float, weight: float = 1.0) -> Moments:
        """Return the moments of the numbers and the weights times these factors."""
        if value == weight == 1:
            return self
        return Moments(
            self.total * weight, self.mean * value, self.square * value * value, self.spread
        )

    @property
    def variance(self) -> float:
        """Unbiased variance; NaN where one row has all of the weight."""
        return self.square / self.spread if self.spread > 2.0**-53 else math.nan


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
    """What is known of one feature in some rows of a sample; it is added to that of others."""

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
                "which would be counted; a key or free text is not a category: leave it out."
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
    values = values[~gaps] if gaps.any() else values
    low = float(values.min(initial=math.inf))
    high = float(values.max(initial=-math.inf))
    is_binary = low >= 0 and high <= 1 and bool(((values == 0) | (values == 1)).all())
    exponent = exponent_of(max(abs(low), abs(high))) if values.size else LOWEST
    codes = values.astype(np.intp) if is_binary else None
    tally = partial(_tally, gaps, codes, (0, 1), np.ldexp(values, -exponent))
    sums = (tally(None), None if weights is None else tally(weights))
    return FeatureSums(name, kind, values.size, low, high, is_binary, exponent, *sums)


def text_sums(
    name: str, codes: np.ndarray, levels: tuple[str, ...], weights: RowWeights | None
) -> FeatureSums:
    """Sum up numbers of levels, -1 for a missing value."""
    gaps = codes < 0
    codes = codes[~gaps] if gaps.any() else codes
    tally = partial(_tally, gaps, codes, levels, None)
    sums = (tally(None), None if weights is None else tally(weights))
    return FeatureSums(name, "text", codes.size, math.inf, -math.inf, False, LOWEST, *sums)


def _tally(
    gaps: np.ndarray,
    codes: np.ndarray | None,
    levels: tuple[Any, ...],
    numbers: np.ndarray | None,
    weights: RowWeights | None,
) -> Tally:
    """Sum up the gaps, and what is there: levels, numbers, or numbers that are levels."""
    there = weights.at(~gaps) if weights is not None and gaps.any() else weights
    total = float(gaps.size - gaps.sum()) if there is None else there.total
    moments = Moments() if numbers is None else Moments.of(numbers, there)
    found = {} if codes is None else _levels(codes, levels, there)
    exponent = 0 if weights is None else weights.exponent
    return Tally(exponent, total, _sum(gaps, weights), found, moments)


def _added(first: Tally, second: Tally, factors: list[float]) -> Tally:
    exponent = max(first.exponent, second.exponent)
    return first.at(exponent, factors[0]) + second.at(exponent, factors[1])


def _levels(
    codes: np.ndarray, levels: tuple[Any, ...], weights: RowWeights | None
) -> dict[Any, float]:
    own = None if weights is None else weights.values
    counts = np.bincount(codes, weights=own, minlength=len(levels))
    return dict(zip(levels, counts.tolist(), strict=True))


def _sum(rows: np.ndarray, weights: RowWeights | None) -> float:
    return float(rows.sum() if weights is None else weights.values[rows].sum())


@dataclass(frozen=True)
class WeightSums:
    """What is known of the weights of some rows; it is added to that of others."""

    n_rows: int
    exponent: int
    total: float
    squares: float
    logs: float

    @classmethod
    def of(cls, weights: np.ndarray) -> WeightSums:
        """Sum up weights >= 0."""
        own = RowWeights.of(weights)
        values = own.values
        logs = float(xlogy(values, values).sum())
        return cls(values.size, own.exponent, own.total, float(values @ values), logs)

    def __add__(self, other: WeightSums) -> WeightSums:
        exponent = max(self.exponent, other.exponent)
        mine, others = self._at(exponent), other._at(exponent)
        return WeightSums(
            self.n_rows + other.n_rows,
            exponent,
            *(first + second for first, second in zip(mine, others, strict=True)),
        )

    def _at(self, exponent: int) -> tuple[float, float, float]:
        down = self.exponent - exponent
        factor = math.ldexp(1.0, down)
        logs = factor * (self.logs + down * math.log(2) * self.total)
        return factor * self.total, factor * factor * self.squares, logs

    @property
    def effective_sample_size(self) -> float:
        """Square of the sum over the sum of the squares."""
        return self.total**2 / self.squares

    @property
    def design_effect(self) -> float:
        """Number of rows over the effective one."""
        return self.n_rows * self.squares / self.total**2

    @property
    def perplexity(self) -> float:
        """Exponential of the entropy of the shares."""
        return math.exp(math.log(self.total) - self.logs / self.total)
