"""A balance table as text: means, standardised differences, and bars of their size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from weighbridge._findings import UNKNOWN, one_line, percent, signed

if TYPE_CHECKING:
    from weighbridge.diagnosis._balance import BalanceRow

WIDTH = 80
# Means have enough digits to show a standardised difference of this size.
VISIBLE_DIFFERENCE = 0.1


def balance_text(
    rows: Sequence[BalanceRow], *, most: int = 15, width: int = WIDTH, how: str = "largest({})"
) -> str:
    """Return the first rows with bars, the number of rows left out, and `how` to see them."""
    if not rows:
        return "  no features to compare"
    rows, rest = rows[:most], rows[most:]
    is_weighted = rows[0].after is not None
    names = [one_line(row.name) for row in rows]
    n_name = max(len("feature"), *map(len, names))
    head = f"  {'feature':<{n_name}} {'training':>11} {'deployment':>13}   "
    n_bar = width - len(head) - (16 if is_weighted else 8)
    title = "difference in standard deviations"
    if len(head) + len(title) > WIDTH:
        title = "standardised difference"
    if is_weighted:
        title = f"{'difference':<{n_bar}} {'before':>7} {'after':>7}"
    longest = max((abs(row.before) for row in rows if math.isfinite(row.before)), default=0.0)
    lines = [(head + title).rstrip()]
    for name, row in zip(names, rows, strict=True):
        source, target = _means(row)
        differences = f" {signed(row.before):>7}"
        if row.after is not None:
            differences += f" {signed(row.after):>7}"
        bar = _bar(row.before, longest, n_bar)
        lines.append(f"  {name:<{n_name}} {source:>11} {target:>13}   {bar:<{n_bar}}{differences}")
    if rest:
        largest = abs(rest[0].before)
        limit = "" if math.isnan(largest) else f" up to {largest:.2f}"
        more = f" {len(rest)} more{limit}: {how.format(len(rows) + len(rest))} "
        lines.append(f"  {more:─^{WIDTH - 4}}")
    return "\n".join(lines)


def _bar(difference: float, longest: float, width: int) -> str:
    if math.isnan(difference):
        return ""
    if math.isinf(difference):
        return "█" * width
    return "█" * round(width * abs(difference) / longest) if longest > 0 else ""


def _means(row: BalanceRow) -> tuple[str, str]:
    """Return both means with the digits that their size and their difference need."""
    means = (row.mean_source, row.mean_target)
    if row.kind != "number":
        return percent(means[0]), percent(means[1])
    size = max((abs(mean) for mean in means if math.isfinite(mean)), default=0.0)
    if size >= 1e7 or 0 < size < 1e-4:
        return _number(means[0], ".2e"), _number(means[1], ".2e")
    decimals = 1 if size == 0 else max(0, min(1, 3 - math.floor(math.log10(size))))
    if 0 < size < 1:
        decimals = 1 - math.floor(math.log10(size))
    gap = abs(means[0] - means[1])
    if gap > 0 and abs(row.before) >= VISIBLE_DIFFERENCE:
        decimals = max(decimals, min(4, -math.floor(math.log10(gap))))
    return _number(means[0], f",.{decimals}f"), _number(means[1], f",.{decimals}f")


def _number(value: float, form: str) -> str:
    return UNKNOWN if math.isnan(value) else f"{value:{form}}".replace("-", "−")
