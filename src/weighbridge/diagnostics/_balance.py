"""How far the features differ before and after weighting."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from weighbridge._findings import UNKNOWN, Record, one_line, percent, signed
from weighbridge._support import FEW_TO_NAME
from weighbridge.diagnostics._features import Feature, features_of
from weighbridge.diagnostics._moments import exponent_of, mean_on_any_scale, scale_to_one
from weighbridge.diagnostics._weights import check_weights
from weighbridge.tables import check_count, stacked_table

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


# Mean and variance of the source, the target, the weighted source, and the target with its weights.
_Moments = list[tuple[float, float]]
_Weights = tuple[np.ndarray | None, np.ndarray | None]


def _balance_rows(feature: Feature, weights: _Weights, denominator: str) -> Iterator[BalanceRow]:
    """Yield the rows of one feature: its values, and whether they are missing."""
    missing = feature.missing()
    samples = [v[~m] for v, m in zip((feature.source, feature.target), missing, strict=True)]
    present = [w if w is None else w[~m] for w, m in zip(weights, missing, strict=True)]
    row = partial(_row, feature.name, is_weighted=weights[0] is not None, denominator=denominator)
    if feature.levels is not None:
        counts = _of_sides(partial(_counts, len(feature.levels)), samples, present)
        labels, counts = _frequent(feature.levels, counts)
        for label, moments in zip(labels, _level_moments(counts), strict=True):
            yield row(f"{feature.name}={label}", "level", moments)
    elif _is_binary(np.concatenate(samples)):
        counts = _of_sides(partial(_counts, 2), [v.astype(np.intp) for v in samples], present)
        yield row(feature.name, "binary", _level_moments(counts)[1])
    else:
        largest = max(float(np.abs(values).max(initial=0.0)) for values in samples)
        exponent = exponent_of(largest)
        moments = _of_sides(partial(mean_on_any_scale, exponent=exponent), samples, present)
        yield row(feature.name, "number", moments, exponent)
    if any(m.any() for m in missing):
        counts = _of_sides(_count_missing, missing, weights)
        yield row(feature.gap_name, "missing", _level_moments(counts)[1])


def _of_sides(
    function: Callable[..., Any], samples: Sequence[np.ndarray], weights: Sequence[Any]
) -> list[Any]:
    """Return the function of both samples, then of both with their weights, if they have any."""
    unweighted = [function(sample, weights=None) for sample in samples]
    weighted = [
        result if w is None else function(sample, weights=w)
        for result, sample, w in zip(unweighted, samples, weights, strict=True)
    ]
    return [*unweighted, *weighted]


def _counts(n_levels: int, codes: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    return np.bincount(codes, weights, minlength=n_levels).astype(np.float64)


def _count_missing(missing: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return how many values are present and missing, or their weight."""
    rows = np.ones(missing.size) if weights is None else weights
    return np.array([rows[~missing].sum(), rows[missing].sum()])


def _row(
    feature: str,
    name: str,
    kind: str,
    moments: _Moments,
    exponent: int = 0,
    *,
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


def _level_moments(sides: list[np.ndarray]) -> list[_Moments]:
    """Return for each level its shares with ``p (1 - p)``."""
    # Divide by the sum of the levels, so that the share of a level that is everywhere is exactly 1.
    totals = [float(counts.sum()) for counts in sides]
    shares = [
        counts / total if total > 0 else np.full(counts.size, math.nan)
        for counts, total in zip(sides, totals, strict=True)
    ]
    return [[(float(p), float(p * (1 - p))) for p in level] for level in zip(*shares, strict=True)]


def _frequent(levels: Sequence[str], sides: list[np.ndarray]) -> tuple[list[str], list[np.ndarray]]:
    """Pool the rare levels; return the names of the others, and their counts on each side."""
    counts = sides[0] + sides[1]
    frequent = np.argsort(-counts, kind="stable")[:MAX_LEVELS]
    frequent = np.sort(frequent[counts[frequent] >= FEW_TO_NAME])
    labels = [levels[index] for index in frequent]
    if frequent.size == len(levels):
        return labels, sides
    rare = np.setdiff1d(np.arange(len(levels)), frequent)
    pooled = [np.append(side[frequent], sum(side[rare].tolist())) for side in sides]
    # A level may itself be called "other".
    return [*labels, "other" if "other" not in labels else "all other"], pooled


def _is_binary(values: np.ndarray) -> bool:
    """Return True for numbers that are 0 or 1, and not all the same."""
    return bool(values.size and values.min() == 0 and values.max() == 1) and bool(
        ((values == 0) | (values == 1)).all()
    )


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
        rows = [
            {name: finite_or_none(value) for name, value in vars(row).items()} for row in self.rows
        ]
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
    X : array-like, sparse matrix or data frame of shape (n_source, n_features)
        Source rows.
    X_target : same type, of shape (n_target, n_features)
        Target rows; columns of data frames are matched by name.
    weights : array-like of shape (n_source,), optional
        Weights of the source rows, on any scale.
    target_weights : array-like of shape (n_target,), optional
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
    stacked, codes = stacked_table(X, X_target)
    both_weights = (
        _checked(weights, int(np.sum(codes == 0)), "weights"),
        _checked(target_weights, int(np.sum(codes == 1)), "target_weights"),
    )
    rows = (
        row
        for feature in features_of(stacked, codes)
        for row in _balance_rows(feature, both_weights, denominator)
    )
    return BalanceTable(tuple(rows), denominator)


def _checked(weights: Any, n_rows: int, name: str) -> np.ndarray | None:
    return None if weights is None else scale_to_one(check_weights(weights, n_rows, name))


def finite_or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
