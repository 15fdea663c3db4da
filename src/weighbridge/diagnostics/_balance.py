"""How far the features differ before and after weighting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from weighbridge._findings import UNKNOWN, Record, one_line, percent, signed
from weighbridge.diagnostics._features import paired_sums
from weighbridge.diagnostics._sums import FeatureSums, Tally, kind_of_both
from weighbridge.ratios import FEW_TO_NAME
from weighbridge.tables import check_count, gap_name

# Levels beyond the most frequent ones share one row, so that a table does not grow with them; so do
# those with too few rows in both samples together to be named.
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
# Name, kind and moments of one row of the table.
_Compared = tuple[str, str, list[_Moments]]


def _balance_rows(
    source: FeatureSums, target: FeatureSums, gap_name: str, denominator: str
) -> list[BalanceRow]:
    """Return the rows of one feature from its sums in the two samples."""
    found, exponent = _values_compared(source, target)
    if source.plain.missing or target.plain.missing:
        gaps = [[each.there, each.missing] for each in _sides(source, target)]
        found.append((gap_name, "missing", _level_moments(gaps)[1]))
    return [_row(source, each, exponent, denominator) for each in found]


def _sides(source: FeatureSums, target: FeatureSums) -> list[Tally]:
    return [source.plain, target.plain, source.own, target.own]


def _values_compared(source: FeatureSums, target: FeatureSums) -> tuple[list[_Compared], int]:
    """Return name, kind and moments of the values that are there, and the exponent of numbers."""
    name = source.name
    if kind_of_both(source, target) == "text":
        labels, shares = _frequent(source, target)
        named = zip(labels, _level_moments(shares), strict=True)
        return [(f"{name}={label}", "level", moments) for label, moments in named], 0
    if _is_binary(source, target):
        counts = [[each.levels[0], each.levels[1]] for each in _sides(source, target)]
        return [(name, "binary", _level_moments(counts)[1])], 0
    exponent = max(source.exponent, target.exponent)
    sums = (source, target, source, target)
    moments = [
        _mean_and_variance(part, side, exponent)
        for part, side in zip(sums, _sides(source, target), strict=True)
    ]
    return [(name, "number", moments)], exponent


def _row(sums: FeatureSums, compared: _Compared, exponent: int, denominator: str) -> BalanceRow:
    name, kind, moments = compared
    (source, plain), (_, plain_target), (weighted, variance), (target, aim) = moments
    deviation = math.sqrt(plain_target if denominator == "target" else (plain + plain_target) / 2)
    is_number, is_weighted = kind == "number", sums.weighted is not None
    exponent *= is_number
    return BalanceRow(
        name=name,
        feature=sums.name,
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


def _mean_and_variance(sums: FeatureSums, side: Tally, exponent: int) -> _Moments:
    """Return mean and unbiased variance over powers of ``2.0**exponent``; NaN without values."""
    if side.moments.total == 0:
        return math.nan, math.nan
    low, high = (math.ldexp(end, -exponent) for end in (sums.low, sums.high))
    if sums.low == sums.high:  # exactly, whatever the rounding of sums
        return low, 0.0 if sums.count > 1 else math.nan
    moments = side.moments.scaled(math.ldexp(1.0, sums.exponent - exponent))
    # rounding must not take a mean beyond the largest value, which may be the largest double
    return min(max(moments.mean, low), high), moments.variance


def _level_moments(sides: list[list[float]]) -> list[list[_Moments]]:
    """Return for each level its shares with ``p (1 - p)``."""
    shares = []
    for side in sides:
        counts = np.array(side, dtype=np.float64)
        # the sum of the levels, so that the share of a level that is everywhere is 1 exactly
        total = counts.sum()
        shares.append(counts / total if total > 0 else np.full(counts.size, math.nan))
    return [
        [(float(side[level]), float(side[level] * (1 - side[level]))) for side in shares]
        for level in range(len(sides[0]))
    ]


def _frequent(source: FeatureSums, target: FeatureSums) -> tuple[list[str], list[list[float]]]:
    """Pool the rare levels; return what the others are called, and their weights on each side."""
    plain = [source.plain.levels, target.plain.levels]
    levels = sorted(set(plain[0]) | set(plain[1]))
    counts = np.array([sum(part.get(level, 0) for part in plain) for level in levels])
    kept = np.argsort(-counts, kind="stable")[:MAX_LEVELS]
    kept = np.sort(kept[counts[kept] >= FEW_TO_NAME])
    labels = [levels[place] for place in kept]
    sides = [[side.levels.get(level, 0.0) for level in labels] for side in _sides(source, target)]
    if kept.size == len(levels):
        return labels, sides
    rare = sorted(set(levels) - set(labels))
    for side, weights in zip(_sides(source, target), sides, strict=True):
        weights.append(sum(side.levels.get(level, 0.0) for level in rare))
    # a level may itself be called so
    return [*labels, "other" if "other" not in labels else "all other"], sides


def _is_binary(source: FeatureSums, target: FeatureSums) -> bool:
    """True for numbers that are 0 or 1, and not all the same."""
    if min(source.low, target.low) != 0 or max(source.high, target.high) != 1:
        return False
    return source.is_binary and target.is_binary


WIDTH = 80
# Differences from here on are shown with enough digits of the means to be seen there.
_VISIBLE = 0.1


def balance_text(
    rows: Sequence[BalanceRow], *, most: int = 15, width: int = WIDTH, how: str = "largest({})"
) -> str:
    """Return the first rows as lines with bars, how many more there are, and `how` to see them."""
    if not rows:
        return "  no features to compare"
    rows, rest = rows[:most], rows[most:]
    is_weighted = rows[0].after is not None
    names = [one_line(row.name) for row in rows]
    n_name = max(len("feature"), *map(len, names))
    head = f"  {'feature':<{n_name}} {'training':>11} {'deployment':>13}   "
    tail = 16 if is_weighted else 8
    n_bar = width - len(head) - tail
    longest = max((abs(row.before) for row in rows if math.isfinite(row.before)), default=0.0)
    title = "difference in standard deviations"
    if len(head) + len(title) > WIDTH:
        title = "standardised difference"
    if is_weighted:
        title = f"{'difference':<{n_bar}} {'before':>7} {'after':>7}"
    lines = [(head + title).rstrip()]
    for name, row in zip(names, rows, strict=True):
        source, target = _means(row)
        bar = _bar(row.before, longest, n_bar)
        numbers = f" {signed(row.before):>7}"
        if row.after is not None:
            numbers += f" {signed(row.after):>7}"
        lines.append(f"  {name:<{n_name}} {source:>11} {target:>13}   {bar:<{n_bar}}{numbers}")
    if rest:
        largest = abs(rest[0].before)
        below = "" if math.isnan(largest) else f" up to {largest:.2f}"
        more = f" {len(rest)} more{below}: {how.format(len(rows) + len(rest))} "
        lines.append(f"  {more:─^{WIDTH - 4}}")
    return "\n".join(lines)


def _bar(value: float, longest: float, width: int) -> str:
    if math.isnan(value):
        return ""
    if math.isinf(value):
        return "█" * width
    return "█" * round(width * abs(value) / longest) if longest > 0 else ""


def _means(row: BalanceRow) -> tuple[str, str]:
    means = (row.mean_source, row.mean_target)
    if row.kind != "number":
        return percent(means[0]), percent(means[1])
    known = [abs(mean) for mean in means if math.isfinite(mean)]
    size = max(known, default=0.0)
    if size >= 1e7 or 0 < size < 1e-4:
        return _plain(means[0], ".2e"), _plain(means[1], ".2e")
    decimals = 1 if size == 0 else max(0, min(1, 3 - math.floor(math.log10(size))))
    if 0 < size < 1:
        decimals = 1 - math.floor(math.log10(size))
    gap = abs(means[0] - means[1])
    if gap > 0 and abs(row.before) >= _VISIBLE:
        decimals = max(decimals, min(4, -math.floor(math.log10(gap))))
    return _plain(means[0], f",.{decimals}f"), _plain(means[1], f",.{decimals}f")


def _plain(value: float, form: str) -> str:
    return UNKNOWN if math.isnan(value) else f"{value:{form}}".replace("-", "−")


@dataclass(frozen=True, repr=False)
class BalanceTable(Record):
    """How far the features differ, as `balance_table` finds it.

    Parameters
    ----------
    rows : tuple of BalanceRow
        In the order of the columns.
    denominator : {"pooled", "target"}
        Whose standard deviation the differences are measured in.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.diagnostics import balance_table
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(size=(1000, 3)), rng.normal([0, 1, 0.2], size=(500, 3))
    >>> table = balance_table(X, X_target)
    >>> [row.name for row in table.largest(2)]
    ['1', '2']
    """

    rows: tuple[BalanceRow, ...]
    denominator: str

    def largest(self, n: int = 15) -> tuple[BalanceRow, ...]:
        """Return the rows that differ most before weighting.

        Parameters
        ----------
        n : int, default=15
            How many, at most.

        Returns
        -------
        tuple of BalanceRow
            Largest first; what cannot be compared comes last.
        """
        check_count("n", n, 0)
        by_size = sorted(
            self.rows, key=lambda row: math.inf if math.isnan(row.before) else -abs(row.before)
        )
        return tuple(by_size[:n])

    def table(self) -> dict[str, np.ndarray]:
        """Return the columns of the table, for a data frame.

        Returns
        -------
        dict of ndarray
            One entry for each field of `BalanceRow`; NaN stands for None.
        """
        columns = {}
        for field in fields(BalanceRow):
            values = [getattr(row, field.name) for row in self.rows]
            is_text = field.name in ("name", "feature", "kind")
            columns[field.name] = np.array(values, dtype=object if is_text else np.float64)
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Return the table, ready for JSON.

        Returns
        -------
        dict
            ``denominator`` and ``rows``; None stands for NaN and infinity.
        """
        rows = [{name: _finite(value) for name, value in vars(row).items()} for row in self.rows]
        return {"denominator": self.denominator, "rows": rows}

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return balance_text(self.largest(len(self.rows)))


def balance_table(
    X: Any,
    X_target: Any,
    weights: Any = None,
    *,
    target_weights: Any = None,
    denominator: str = "pooled",
) -> BalanceTable:
    """Compare the means and variances of the features, before and after weighting.

    The conventions are those of R's cobalt: differences are target minus source, over a standard
    deviation of the unweighted samples that is the same before and after.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or rows in blocks, (n_source, n_features)
        Source rows. Blocks (`weighbridge.blocks.Rows`, dask collections) are read once, and few of
        them are in memory.
    X_target : same type, of shape (n_target, n_features)
        Target rows; columns of data frames are matched by name.
    weights : array-like, dask array or Rows of shape (n_source,), optional
        Weights of the source rows, on any scale.
    target_weights : array-like, dask array or Rows of shape (n_target,), optional
        Weights of the target rows; they count before and after.
    denominator : {"pooled", "target"}, default="pooled"
        Standard deviation: the root of the mean of the two variances, or that of the target.

    Returns
    -------
    BalanceTable
        One row for each number, for each level of a category, and for each feature with missing
        values; print it.

    Notes
    -----
    Levels with fewer than 10 rows in both samples together, and those beyond the 50 most frequent,
    share one row, ``site=other``. The standard deviation of a number has ``n - 1`` in its
    denominator, and its weighted variance the factor ``sum(w)**2 / (sum(w)**2 - sum(w**2))``; that
    of a share ``p`` is ``sqrt(p (1 - p))``. Where it is 0 the difference is 0 if the means are
    equal, and infinite if they are not. A feature without a value in one sample has the difference
    NaN.

    All of it comes from sums over the rows, which do not depend on the size of blocks but for
    rounding. For each text column in blocks one count is kept for each different text.

    Examples
    --------
    >>> from weighbridge.diagnostics import balance_table
    >>> X, X_target = [[1, -1], [2, 12]], [[3, 0], [4, 42]]
    >>> table = balance_table(X, X_target, [1, 2], target_weights=[1, 2], denominator="target")
    >>> table.table()["after"].round(7)
    array([2.8284271, 0.6846589])
    """
    if denominator not in ("pooled", "target"):
        raise ValueError(f"Got denominator={denominator!r}, but expected 'pooled' or 'target'.")
    pairs = list(paired_sums(X, X_target, weights, target_weights))
    labels = [source.name for source, _ in pairs]
    rows = (
        _balance_rows(source, target, gap_name(source.name, labels), denominator)
        for source, target in pairs
    )
    return BalanceTable(tuple(row for found in rows for row in found), denominator)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
