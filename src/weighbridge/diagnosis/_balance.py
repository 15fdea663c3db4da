"""Standardised differences of the features, before and after weighting."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from weighbridge._findings import Record, number, one_line, percent, signed
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
# A smaller standardised difference need not be visible in the means.
VISIBLE_DIFFERENCE = 0.1


@dataclass(frozen=True)
class BalanceRow(Record):
    """A number, a binary number, a level of a category, or the missing values of a feature.

    `kind` is "number", "binary", "level" or "missing", and the means of all but a number are
    shares. `before` is ``(mean_target - mean_source) / sd`` and `after` has `mean_weighted`
    instead. Both of these are None without weights.
    """

    name: str
    feature: str
    kind: str
    mean_source: float
    mean_target: float
    mean_weighted: float | None
    before: float
    after: float | None


@dataclass(frozen=True, repr=False)
class BalanceTable(Record):
    """The rows of `balance_table`."""

    rows: tuple[BalanceRow, ...]

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
        """Return the `n` largest rows with bars, and how to show the others."""
        rows = self.largest(n)
        if not rows:
            return "  no features to compare"
        n_name = max(len("feature"), *(len(one_line(row.name)) for row in rows))
        weighted = weighted and rows[0].after is not None
        n_bar = width - n_name - (47 if weighted else 39)
        word = "difference" if weighted else "standardised difference"
        heads = f" {'before':>7} {'after':>7}" if weighted else ""
        title = f"  {'feature':<{n_name}} {'training':>11} {'deployment':>13}   "
        lines = [f"{title}{word:<{n_bar}}{heads}".rstrip()]
        finite = [abs(row.before) for row in rows if math.isfinite(row.before)]
        longest = max(finite, default=0.0) or 1.0
        for row in rows:
            source, target = _mean_texts(row)
            size = 0.0 if math.isnan(row.before) else min(abs(row.before), longest)
            bar = "█" * round(n_bar * size / longest)
            after = f" {signed(row.after):>7}" if weighted else ""
            line = f"  {one_line(row.name):<{n_name}} {source:>11} {target:>13}   {bar:<{n_bar}}"
            lines.append(f"{line} {signed(row.before):>7}{after}")
        if n_others := len(self) - len(rows):
            lines.append(f"  {n_others} more: {more.format(len(self))}")
        return "\n".join(lines)


def balance_table(
    X: ArrayLike,
    X_target: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    denominator: str = "pooled",
) -> BalanceTable:
    """Compare the means of the features, before and after weighting.

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
    denominator : {"pooled", "target"}, default="pooled"
        Standard deviation: the root of the mean of the two variances, or that of the target.

    Returns
    -------
    BalanceTable
        Has `rows`: one for each number, for each level of a category, and for each feature with
        missing values. Each has ``name``, ``feature``, ``kind``, ``mean_source``, ``mean_target``,
        ``mean_weighted``, ``before`` and ``after``; ``pandas.DataFrame(table.rows)`` has them as
        columns. ``largest(n)`` returns the rows that differ most.

    Notes
    -----
    Levels with fewer than 10 rows in both samples together, and those beyond the 50 most frequent,
    share one row, ``site=other``. The standard deviation of a number has ``n - 1`` in its
    denominator, and that of a share ``p`` is ``sqrt(p (1 - p))``. If it is 0, the difference is 0
    if the means are equal, and infinite otherwise. A feature without a value in one sample has the
    difference NaN.

    Examples
    --------
    >>> from weighbridge.diagnosis import balance_table
    >>> X, X_target = [[1, -1], [2, 12]], [[3, 0], [4, 42]]
    >>> table = balance_table(X, X_target, weights=[1, 2], denominator="target")
    >>> [round(row.after, 3) for row in table.rows]
    [2.593, 0.449]
    """
    if denominator not in ("pooled", "target"):
        raise ValueError(f"Got denominator={denominator!r}, but expected 'pooled' or 'target'.")
    stacked, codes = stacked_table(X, X_target)
    n_source = int((codes == 0).sum())
    checked = None if weights is None else check_weights(weights, n_source)
    rows = [
        _balance_row(*column, denominator)
        for feature in stacked_features(stacked, codes)
        for column in _feature_columns(feature, checked)
    ]
    return BalanceTable(tuple(rows))


_Column = tuple[str, str, str, np.ndarray, np.ndarray, np.ndarray | None]


def _feature_columns(feature: Feature, weights: np.ndarray | None) -> Iterator[_Column]:
    """Yield names, kind, samples and weights: of the number or the levels, then of the gaps."""
    missing = feature.missing()
    source, target = feature.source[~missing[0]], feature.target[~missing[1]]
    known = None if weights is None else weights[~missing[0]]
    both = np.concatenate([source, target])
    if feature.levels is not None:
        for label, codes in _pooled_levels(feature.levels, both):
            indicators = np.isin(source, codes), np.isin(target, codes)
            yield f"{feature.name}={label}", feature.name, "level", *indicators, known
    else:
        kind = "binary" if np.array_equal(np.unique(both), [0, 1]) else "number"
        yield feature.name, feature.name, kind, source, target, known
    if any(gaps.any() for gaps in missing):
        yield feature.gap_name, feature.name, "missing", *missing, weights


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
    name: str,
    feature: str,
    kind: str,
    source: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray | None,
    denominator: str,
) -> BalanceRow:
    """Return the row of a number, or of a share of 0 and 1."""
    # Dividing by a power of 2 is exact, and squares neither over- nor underflow.
    largest = max(float(np.abs(values).max(initial=0.0)) for values in (source, target))
    exponent = math.frexp(largest)[1] if kind == "number" else 0
    source, target = (np.ldexp(values.astype(float), -exponent) for values in (source, target))
    mean_source, mean_target = _mean(source), _mean(target)
    variance_source, variance = (_variance(values, kind) for values in (source, target))
    sd = math.sqrt(variance if denominator == "target" else (variance_source + variance) / 2)
    mean_weighted = after = None
    if weights is not None:
        mean = _mean(source, weights)
        mean_weighted, after = math.ldexp(mean, exponent), _divide(mean_target - mean, sd)
    return BalanceRow(
        name,
        feature,
        kind,
        math.ldexp(mean_source, exponent),
        math.ldexp(mean_target, exponent),
        mean_weighted,
        _divide(mean_target - mean_source, sd),
        after,
    )


def _mean(values: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the mean, which rounding does not take beyond the smallest or the largest value."""
    weights = np.ones(values.size) if weights is None else weights
    if not weights.any():
        return math.nan
    mean = float(weights @ values) / float(weights.sum())
    return min(max(mean, float(values.min())), float(values.max()))


def _variance(values: np.ndarray, kind: str) -> float:
    if kind != "number":
        mean = _mean(values)
        return mean * (1 - mean)
    if values.size < 2:
        return math.nan
    # A sum of squares of rounding errors is not a variance.
    return float(np.var(values, ddof=1)) if values.min() < values.max() else 0.0


def _divide(value: float, sd: float) -> float:
    if sd != 0:  # NaN stays NaN.
        return value / sd
    return 0.0 if value == 0 else math.copysign(math.inf, value)


def _mean_texts(row: BalanceRow) -> tuple[str, str]:
    """Return both means, with enough digits to see that they differ."""
    if row.kind != "number":
        return percent(row.mean_source), percent(row.mean_target)
    for digits in range(3, 8):
        texts = number(row.mean_source, digits), number(row.mean_target, digits)
        if texts[0] != texts[1] or abs(row.before) < VISIBLE_DIFFERENCE:
            break
    return texts
