"""Standardised differences of the features, before and after weighting."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from weighbridge._findings import Record
from weighbridge.diagnosis._balance_text import balance_text
from weighbridge.diagnosis._columns import Array, Feature, stacked_features
from weighbridge.diagnosis._weights import scaled_weights
from weighbridge.domain import MIN_NAMED_ROWS
from weighbridge.tables import check_count, stacked_table

# The other levels share one row, so that a table does not grow with their number.
MAX_LEVELS = 50


@dataclass(frozen=True)
class BalanceRow:
    """A number, a binary number, a level of a category, or the missing values of a feature.

    `kind` is "number", "binary", "level" or "missing", and the means of all but a number are
    shares. `before` is ``(mean_target - mean_source) / sd`` and `after` has `mean_weighted`
    instead. The variance ratios are those of the target over the source, for numbers. None means
    that there are no weights, or no number.
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


@dataclass(frozen=True, repr=False)
class BalanceTable(Record):
    """The rows of `balance_table`, and whose standard deviation is the `denominator`."""

    rows: tuple[BalanceRow, ...]
    denominator: str

    def largest(self, n: int = 15) -> tuple[BalanceRow, ...]:
        """Return the `n` rows that differ most before weighting, with NaN last."""
        check_count("n", n, 0)
        by_size = sorted(
            self.rows, key=lambda row: math.inf if math.isnan(row.before) else -abs(row.before)
        )
        return tuple(by_size[:n])

    def to_dict(self) -> dict[str, Any]:
        """Return the table for JSON, with None instead of NaN and infinity."""
        rows = [vars(row).copy() for row in self.rows]
        for row in rows:
            for name, value in row.items():
                if isinstance(value, float) and not math.isfinite(value):
                    row[name] = None
        return {"denominator": self.denominator, "rows": rows}

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return balance_text(self.largest(len(self.rows)))


def balance_table(
    X: ArrayLike,
    X_target: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    target_weights: ArrayLike | None = None,
    denominator: str = "pooled",
) -> BalanceTable:
    """Compare the means and variances of the features, before and after weighting.

    The conventions are those of R's cobalt: differences are target minus source, over a standard
    deviation of the unweighted samples that is the same before and after.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_source, n_features)
        Source rows.
    X_target : same type, of shape (n_target, n_features)
        Target rows. Columns of data frames are matched by name.
    weights : array-like of shape (n_source,), optional
        Weights of the source rows, on any scale.
    target_weights : array-like of shape (n_target,), optional
        Weights of the target rows, which count before and after.
    denominator : {"pooled", "target"}, default="pooled"
        Standard deviation: the root of the mean of the two variances, or that of the target.

    Returns
    -------
    BalanceTable
        Has `rows`: one for each number, for each level of a category, and for each feature with
        missing values. Each has ``name``, ``feature``, ``kind``, ``mean_source``, ``mean_target``,
        ``mean_weighted``, ``before``, ``after``, ``variance_ratio_before`` and
        ``variance_ratio_after``; ``pandas.DataFrame(table.rows)`` has them as columns.
        ``largest(n)`` returns the rows that differ most.

    Notes
    -----
    Levels with fewer than 10 rows in both samples together, and those beyond the 50 most frequent,
    share one row, ``site=other``. The standard deviation of a number has ``n - 1`` in its
    denominator, and its weighted variance the factor ``sum(w)**2 / (sum(w)**2 - sum(w**2))``.
    That of a share ``p`` is ``sqrt(p (1 - p))``. If it is 0, the difference is 0 if the means are
    equal, and infinite otherwise. A feature without a value in one sample has the difference NaN.

    Examples
    --------
    >>> from weighbridge.diagnosis import balance_table
    >>> X, X_target = [[1, -1], [2, 12]], [[3, 0], [4, 42]]
    >>> table = balance_table(X, X_target, [1, 2], target_weights=[1, 2], denominator="target")
    >>> [round(row.after, 7) for row in table.rows]
    [2.8284271, 0.6846589]
    """
    if denominator not in ("pooled", "target"):
        raise ValueError(f"Got denominator={denominator!r}, but expected 'pooled' or 'target'.")
    stacked, codes = stacked_table(X, X_target)
    n_source, n_target = np.bincount(codes).tolist()
    both_weights = (
        None if weights is None else scaled_weights(weights, n_source),
        None
        if target_weights is None
        else scaled_weights(target_weights, n_target, "target_weights"),
    )
    rows = (
        row
        for feature in stacked_features(stacked, codes)
        for row in _feature_rows(feature, both_weights, denominator)
    )
    return BalanceTable(tuple(rows), denominator)


def _feature_rows(
    feature: Feature, weights: Sequence[Array | None], denominator: str
) -> Iterator[BalanceRow]:
    """Yield the rows of one feature: its number or its levels, and its missing values."""
    missing = feature.missing()
    source, target = (
        values[~gaps]
        for values, gaps in zip((feature.source, feature.target), missing, strict=True)
    )
    present = tuple(w if w is None else w[~gaps] for w, gaps in zip(weights, missing, strict=True))
    row = partial(_row, feature.name, denominator=denominator)
    if feature.levels is not None:
        for label, codes in _pooled_levels(feature.levels, source, target):
            indicators = np.isin(source, codes), np.isin(target, codes)
            yield row(f"{feature.name}={label}", "level", indicators, present)
    else:
        kind = "binary" if _is_binary(np.concatenate([source, target])) else "number"
        yield row(feature.name, kind, (source, target), present)
    if any(gaps.any() for gaps in missing):
        yield row(feature.gap_name, "missing", missing, weights)


def _is_binary(values: Array) -> bool:
    """Return True if all numbers are 0 or 1, and not all the same."""
    if not values.size or values.min() != 0 or values.max() != 1:
        return False
    return bool(((values == 0) | (values == 1)).all())


def _pooled_levels(
    levels: Sequence[str], source: Array, target: Array
) -> Iterator[tuple[str, Array]]:
    """Yield the name and code of each frequent level, then the codes of the others together."""
    counts = np.bincount(np.concatenate([source, target]), minlength=len(levels))
    frequent = np.argsort(-counts, kind="stable")[:MAX_LEVELS]
    frequent = np.sort(frequent[counts[frequent] >= MIN_NAMED_ROWS])
    labels = [levels[code] for code in frequent]
    yield from zip(labels, frequent[:, None], strict=True)
    if len(labels) < len(levels):
        rare = np.setdiff1d(np.arange(len(levels)), frequent)
        yield "other" if "other" not in labels else "all other", rare


def _row(
    feature: str,
    name: str,
    kind: str,
    samples: tuple[Array, Array],
    weights: Sequence[Array | None],
    *,
    denominator: str,
) -> BalanceRow:
    """Return the row of a number, or of a share of 0 and 1."""
    # Dividing by a power of 2 is exact, and squares neither over- nor underflow.
    largest = max(float(np.abs(values).max(initial=0.0)) for values in samples)
    exponent = math.frexp(largest)[1] if kind == "number" else 0
    moments = partial(_moments, is_share=kind != "number")
    source, target = (np.ldexp(values.astype(float), -exponent) for values in samples)
    (mean_source, variance), (mean_target, variance_target) = moments(source), moments(target)
    sd = math.sqrt(variance_target if denominator == "target" else (variance + variance_target) / 2)
    if weights[1] is not None:
        mean_target, variance_target = moments(target, weights[1])
    mean_weighted, after, ratio_after = None, None, None
    if weights[0] is not None:
        mean, weighted_variance = moments(source, weights[0])
        mean_weighted, after = math.ldexp(mean, exponent), _divide(mean_target - mean, sd)
        ratio_after = _divide(variance_target, weighted_variance, zero_by_zero=math.nan)
    is_number = kind == "number"
    return BalanceRow(
        name=name,
        feature=feature,
        kind=kind,
        mean_source=math.ldexp(mean_source, exponent),
        mean_target=math.ldexp(mean_target, exponent),
        mean_weighted=mean_weighted,
        before=_divide(mean_target - mean_source, sd),
        after=after,
        variance_ratio_before=(
            _divide(variance_target, variance, zero_by_zero=math.nan) if is_number else None
        ),
        variance_ratio_after=ratio_after if is_number else None,
    )


def _moments(values: Array, weights: Array | None = None, *, is_share: bool) -> tuple[float, float]:
    """Return the mean m and the variance of numbers of size 1 or less.

    With ``s = w / sum(w)``, the variance is ``m (1 - m)`` for a share, and otherwise the unbiased
    ``sum(s (x - m)**2) / (1 - sum(s**2))``, which is NaN if one row has all of the weight.
    """
    if values.size == 0 or (weights is not None and not weights.any()):
        return math.nan, math.nan
    low, high = float(values.min()), float(values.max())
    if low == high:  # This is exact, whatever the rounding of sums.
        return low, 0.0 if is_share or values.size > 1 else math.nan
    if weights is None:
        weights = np.ones(values.size)
    # Rounding must not take a mean beyond the largest value, which may be the largest double.
    mean = min(max(float(weights @ values) / float(weights.sum()), low), high)
    if is_share:
        return mean, mean * (1 - mean)
    shares = weights / weights.sum()
    # 1 - sum(s**2) would lose its digits if one row has most of the weight.
    spread = 2 * float(shares[1:] @ np.cumsum(shares)[:-1])
    return mean, float(shares @ (values - mean) ** 2) / spread if spread > 2.0**-53 else math.nan


def _divide(value: float, scale: float, zero_by_zero: float = 0.0) -> float:
    if scale != 0:  # NaN stays NaN.
        return value / scale
    return zero_by_zero if value == 0 else math.copysign(math.inf, value)
