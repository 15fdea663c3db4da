"""One feature of two samples: means, their difference, variances."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weighbridge.diagnostics._features import Feature

# Levels with fewer rows in both samples together share one row of the table; so do those beyond
# the most frequent ones, so that a table does not grow with the number of levels.
RARE = 10
MAX_LEVELS = 50


@dataclass(frozen=True)
class BalanceRow:
    """One line of a `BalanceTable`.

    Parameters
    ----------
    name : str
        ``age``, ``site=north`` or ``bmi missing``.
    feature : str
        The column it is about.
    kind : {"number", "binary", "level", "missing"}
        A number, a number that is 0 or 1, a level of a category, or whether a value is missing.
        All but the first are shares.
    mean_source, mean_target : float
        Means of the samples, over the values that are there.
    mean_weighted : float or None
        Weighted mean of the source; None without weights.
    before : float
        ``(mean_target - mean_source)`` over the standard deviation.
    after : float or None
        ``(mean_target - mean_weighted)`` over the same standard deviation.
    variance_ratio_before, variance_ratio_after : float or None
        Variance of the target over that of the source, for numbers.

    Examples
    --------
    >>> from weighbridge.diagnostics import balance_table
    >>> balance_table([[1.0], [3.0]], [[2.0], [4.0]]).rows[0].mean_source
    2.0
    """

    name: str
    feature: str
    kind: str
    mean_source: float
    mean_target: float
    mean_weighted: float | None
    before: float
    after: float | None
    variance_ratio_before: float | None
    variance_ratio_after: float | None


# Mean and variance; four of them are those of the source, the target, the weighted source, and the
# target with its own weights.
_Moments = tuple[float, float]
# A sample of one feature, without missing values, and its weights.
_Sample = tuple[np.ndarray, np.ndarray | None]
# Name, kind and moments of one row of the table.
_Compared = tuple[str, str, list[_Moments]]


def balance_rows(
    feature: Feature,
    weights: np.ndarray | None,
    target_weights: np.ndarray | None,
    denominator: str,
) -> list[BalanceRow]:
    """Return the rows of one feature; weights, where there are any, sum to 1."""
    gaps = feature.missing()
    gappy = bool(gaps[0].any() or gaps[1].any())
    samples = [
        (values[~gap], None if own is None else own[~gap]) if gappy else (values, own)
        for values, own, gap in zip(
            (feature.source, feature.target), (weights, target_weights), gaps, strict=True
        )
    ]
    found, exponent = _values_compared(feature, samples)
    if gappy:
        marks: list[_Sample] = [(gaps[0] * 1, weights), (gaps[1] * 1, target_weights)]
        found.append((feature.gap_name, "missing", _level_moments(marks, 2)[1]))
    return [
        _row(
            label,
            feature.name,
            kind,
            moments,
            exponent * (kind == "number"),
            weights is not None,
            denominator,
        )
        for label, kind, moments in found
    ]


def _values_compared(feature: Feature, samples: list[_Sample]) -> tuple[list[_Compared], int]:
    """Return name, kind and moments of the values that are there, and the exponent of numbers."""
    name = feature.name
    if feature.levels is not None:
        labels, codes = _frequent(samples, feature.levels)
        levels = _level_moments(codes, len(labels))
        named = zip(labels, levels, strict=True)
        return [(f"{name}={label}", "level", moments) for label, moments in named], 0
    if _is_binary(samples):
        binary = [(values.astype(int), own) for values, own in samples]
        return [(name, "binary", _level_moments(binary, 2)[1])], 0
    # a power of 2 near the largest value is exact, and keeps squares within doubles
    largest = max(float(np.abs(values).max(initial=0.0)) for values, _ in samples)
    exponent = min(1000, max(-1000, math.frexp(largest)[1]))
    near_one = [(np.ldexp(values, -exponent), own) for values, own in samples]
    return [(name, "number", _number_moments(near_one))], exponent


def _row(
    name: str,
    feature: str,
    kind: str,
    moments: list[_Moments],
    exponent: int,
    is_weighted: bool,
    denominator: str,
) -> BalanceRow:
    (source, plain), (_, plain_target), (weighted, variance), (target, aim) = moments
    deviation = math.sqrt(plain_target if denominator == "target" else (plain + plain_target) / 2)
    is_number = kind == "number"
    return BalanceRow(
        name=name,
        feature=feature,
        kind=kind,
        mean_source=math.ldexp(source, exponent),
        mean_target=math.ldexp(target, exponent),
        mean_weighted=math.ldexp(weighted, exponent) if is_weighted else None,
        before=_over(target - source, deviation),
        after=_over(target - weighted, deviation) if is_weighted else None,
        variance_ratio_before=_over(aim, plain, equal=math.nan) if is_number else None,
        variance_ratio_after=(
            _over(aim, variance, equal=math.nan) if is_number and is_weighted else None
        ),
    )


def _over(value: float, scale: float, equal: float = 0.0) -> float:
    """Divide; by 0 the result is infinite, or `equal` if the value is 0 as well."""
    if scale != 0:  # NaN stays
        return value / scale
    if value == 0:
        return equal
    return math.copysign(math.inf, value)


def _number_moments(samples: list[_Sample]) -> list[_Moments]:
    plain = [_mean_and_variance(values, None) for values, _ in samples]
    weighted = [
        before if own is None else _mean_and_variance(values, own)
        for before, (values, own) in zip(plain, samples, strict=True)
    ]
    return [*plain, *weighted]


def _mean_and_variance(values: np.ndarray, weights: np.ndarray | None) -> _Moments:
    """Return mean and unbiased variance; NaN without values."""
    total = float(values.size if weights is None else weights.sum())
    if total == 0:
        return math.nan, math.nan
    if values.min() == values.max():  # exactly, whatever the rounding of sums
        return float(values[0]), 0.0 if values.size > 1 else math.nan
    if weights is None:
        mean = float(values.mean())
        gap = values - mean
        return mean, float(gap @ gap) / (values.size - 1)
    shares = weights / total
    mean = float(shares @ values)
    gap = values - mean
    # one row with all of the weight has no variance
    freedom = 1 - float(shares @ shares)
    return mean, float(shares @ gap**2) / freedom if freedom > 0 else math.nan


def _level_moments(samples: list[_Sample], n_levels: int) -> list[list[_Moments]]:
    """Return for each level its shares with ``p (1 - p)``."""
    sides: list[_Sample] = [*((codes, None) for codes, _ in samples), *samples]
    shares = []
    for codes, own in sides:
        counts = np.bincount(codes, weights=own, minlength=n_levels)
        # the sum of the levels, so that the share of a level that is everywhere is 1 exactly
        total = counts.sum()
        shares.append(counts / total if total > 0 else np.full(n_levels, math.nan))
    return [
        [(float(side[level]), float(side[level] * (1 - side[level]))) for side in shares]
        for level in range(n_levels)
    ]


def _frequent(samples: list[_Sample], levels: tuple[str, ...]) -> tuple[list[str], list[_Sample]]:
    """Pool the rare levels; return what the others are called, and the new codes."""
    counts = sum(np.bincount(codes, minlength=len(levels)) for codes, _ in samples)
    kept = np.argsort(-np.asarray(counts), kind="stable")[:MAX_LEVELS]
    kept = np.sort(kept[np.asarray(counts)[kept] >= RARE])
    labels = [levels[place] for place in kept]
    if kept.size == len(levels):
        return labels, samples
    new = np.full(len(levels), kept.size)
    new[kept] = np.arange(kept.size)
    # a level may itself be called so
    pool = "other" if "other" not in labels else "all other"
    return [*labels, pool], [(new[codes], own) for codes, own in samples]


def _is_binary(samples: list[_Sample]) -> bool:
    """True for numbers that are 0 or 1, and not all the same."""
    seen = [values for values, _ in samples if values.size]
    if not seen or min(v.min() for v in seen) != 0 or max(v.max() for v in seen) != 1:
        return False
    return all(bool(((values == 0) | (values == 1)).all()) for values in seen)
