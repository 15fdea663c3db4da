"""Standardised differences of the features, before and after weighting."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from weighbridge._findings import UNKNOWN, Record, one_line, percent, signed
from weighbridge.domain import MIN_NAMED_ROWS
from weighbridge.tables import (
    Feature,
    check_count,
    check_weights,
    stacked_features,
    stacked_table,
)

# The other levels share one row, so that a table does not grow with their number.
MAX_LEVELS = 50
# Means have enough digits to show a standardised difference of this size.
VISIBLE_DIFFERENCE = 0.1


@dataclass(frozen=True)
class BalanceRow(Record):
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

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return self.text()

    def text(
        self, n: int = 15, *, weighted: bool = True, width: int = 80, more: str = "largest({})"
    ) -> str:
        """Return the `n` largest rows with bars, and how many more rows `more` would show."""
        rows, rest = self.largest(len(self))[:n], self.largest(len(self))[n:]
        if not rows:
            return "  no features to compare"
        weighted = weighted and rows[0].after is not None
        n_name = max(len("feature"), *(len(one_line(row.name)) for row in rows))
        head = f"  {'feature':<{n_name}} {'training':>11} {'deployment':>13}   "
        n_bar = width - len(head) - (16 if weighted else 8)
        title = "difference in standard deviations"
        if weighted:
            title = f"{'difference':<{n_bar}} {'before':>7} {'after':>7}"
        elif len(head) + len(title) > 80:
            title = "standardised difference"
        lines = [(head + title).rstrip()]
        longest = max((abs(row.before) for row in rows if math.isfinite(row.before)), default=0.0)
        for row in rows:
            source, target = _mean_texts(row)
            # A row without a value has no bar, and an infinite difference the longest.
            size = 0.0 if math.isnan(row.before) else min(abs(row.before), longest or 1.0)
            bar = "█" * round(n_bar * size / (longest or 1.0))
            after = f" {signed(row.after):>7}" if weighted else ""
            line = f"  {one_line(row.name):<{n_name}} {source:>11} {target:>13}   {bar:<{n_bar}}"
            lines.append(f"{line} {signed(row.before):>7}{after}")
        if rest:
            limit = "" if math.isnan(rest[0].before) else f" up to {abs(rest[0].before):.2f}"
            note = f" {len(rest)} more{limit}: {more.format(len(self))} "
            lines.append(f"  {note:─^76}")
        return "\n".join(lines)


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
    source_weights, target_weights = (
        np.ones(n_rows) if given is None else check_weights(given, n_rows, name)
        for given, n_rows, name in (
            (weights, n_source, "weights"),
            (target_weights, n_target, "target_weights"),
        )
    )
    rows = tuple(
        _balance_row(*column, denominator)
        for feature in stacked_features(stacked, codes)
        for column in _feature_columns(feature, (source_weights, target_weights))
    )
    if weights is None:
        rows = tuple(
            replace(row, mean_weighted=None, after=None, variance_ratio_after=None) for row in rows
        )
    return BalanceTable(rows, denominator)


_Pair = tuple[np.ndarray, np.ndarray]


def _feature_columns(
    feature: Feature, weights: _Pair
) -> Iterator[tuple[str, str, str, _Pair, _Pair]]:
    """Yield names, kind, values and weights: of the number or the levels, then of the gaps."""
    missing = feature.missing()
    samples = feature.source[~missing[0]], feature.target[~missing[1]]
    known, both = (weights[0][~missing[0]], weights[1][~missing[1]]), np.concatenate(samples)
    if feature.levels is not None:
        for label, codes in _pooled_levels(feature.levels, both):
            indicators = np.isin(samples[0], codes), np.isin(samples[1], codes)
            yield f"{feature.name}={label}", feature.name, "level", indicators, known
    else:
        is_binary = both.size and both.min() == 0 and both.max() == 1 and set(both) == {0, 1}
        yield feature.name, feature.name, "binary" if is_binary else "number", samples, known
    if any(gaps.any() for gaps in missing):
        yield feature.gap_name, feature.name, "missing", missing, weights


def _pooled_levels(levels: tuple[str, ...], codes: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name and code of each frequent level, then the codes of the others together."""
    counts = np.bincount(codes, minlength=len(levels))
    frequent = np.argsort(-counts, kind="stable")[:MAX_LEVELS]
    frequent = np.sort(frequent[counts[frequent] >= MIN_NAMED_ROWS])
    labels = [levels[code] for code in frequent]
    yield from zip(labels, frequent[:, None], strict=True)
    if len(labels) < len(levels):
        rare = np.setdiff1d(np.arange(len(levels)), frequent)
        yield "other" if "other" not in labels else "all other", rare


def _balance_row(
    name: str, feature: str, kind: str, samples: _Pair, weights: _Pair, denominator: str
) -> BalanceRow:
    """Return the row of a number, or of a share of 0 and 1."""
    is_number = kind == "number"
    # Dividing by a power of 2 is exact, and squares neither over- nor underflow.
    largest = max(float(np.abs(values).max(initial=0.0)) for values in samples)
    exponent = math.frexp(largest)[1] if is_number else 0
    source, target = (np.ldexp(values.astype(float), -exponent) for values in samples)
    mean_source, variance_source = _moments(source, np.ones(source.size), is_number)
    _, variance = _moments(target, np.ones(target.size), is_number)
    sd = math.sqrt(variance if denominator == "target" else (variance_source + variance) / 2)
    mean_target, variance_target = _moments(target, weights[1], is_number)
    mean_weighted, variance_weighted = _moments(source, weights[0], is_number)
    ratios: list[float | None] = [None, None]
    if is_number:
        variances = variance_source, variance_weighted
        ratios = [_divide(variance_target, variance, math.nan) for variance in variances]
    return BalanceRow(
        name,
        feature,
        kind,
        *(math.ldexp(mean, exponent) for mean in (mean_source, mean_target, mean_weighted)),
        *(_divide(mean_target - mean, sd) for mean in (mean_source, mean_weighted)),
        *ratios,
    )


def _moments(values: np.ndarray, weights: np.ndarray, is_number: bool) -> tuple[float, float]:
    """Return the mean m and the variance of numbers of size 1 or less.

    With ``s = w / sum(w)``, the variance is ``m (1 - m)`` for a share, and otherwise the unbiased
    ``sum(s (x - m)**2) / (1 - sum(s**2))``, which is NaN if one row has all of the weight.
    """
    if not weights.any():
        return math.nan, math.nan
    low, high = float(values.min()), float(values.max())
    if low == high:  # This is exact, whatever the rounding of sums.
        return low, math.nan if is_number and values.size == 1 else 0.0
    # Rounding must not take a mean beyond the largest value, which may be the largest double.
    mean = min(max(float(weights @ values) / float(weights.sum()), low), high)
    if not is_number:
        return mean, mean * (1 - mean)
    shares = weights / weights.sum()
    # 1 - sum(s**2) would lose its digits if one row has most of the weight.
    spread = 2 * float(shares[1:] @ np.cumsum(shares)[:-1])
    return mean, float(shares @ (values - mean) ** 2) / spread if spread > 2.0**-53 else math.nan


def _divide(value: float, scale: float, zero_by_zero: float = 0.0) -> float:
    if scale != 0:  # NaN stays NaN.
        return value / scale
    return zero_by_zero if value == 0 else math.copysign(math.inf, value)


def _mean_texts(row: BalanceRow) -> tuple[str, str]:
    """Return both means with the digits that their size and their difference need."""
    means = (row.mean_source, row.mean_target)
    if row.kind != "number":
        return percent(means[0]), percent(means[1])
    size = max((abs(mean) for mean in means if math.isfinite(mean)), default=0.0)
    if size >= 1e7 or 0 < size < 1e-4:
        form = ".2e"
    else:
        magnitude = math.floor(math.log10(size)) if size else 0
        decimals = 1 - magnitude if magnitude < 0 else max(0, min(1, 3 - magnitude))
        gap = abs(means[0] - means[1])
        if gap > 0 and abs(row.before) >= VISIBLE_DIFFERENCE:
            decimals = max(decimals, min(4, -math.floor(math.log10(gap))))
        form = f",.{decimals}f"
    source, target = (f"{mean:{form}}".replace("-", "−").replace("nan", UNKNOWN) for mean in means)
    return source, target
