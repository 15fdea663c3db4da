"""A balance table as text of at most 80 columns."""

from __future__ import annotations

import math
from collections.abc import Sequence

from weighbridge._findings import percent
from weighbridge._problem import one_line
from weighbridge.diagnostics._balance_row import BalanceRow

WIDTH = 80
# Differences from here on are shown with enough digits of the means to be seen there.
_VISIBLE = 0.1


def balance_text(
    rows: Sequence[BalanceRow], *, most: int = 15, width: int = WIDTH, how: str = "largest({})"
) -> str:
    """Return the first rows as lines with bars, and how many more there are, and `how` to see them.

    The rows come with the largest differences first.
    """
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


def signed(value: float) -> str:
    """Write a standardised difference with its sign."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "+∞" if value > 0 else "−∞"
    text = f"{value:+.2f}" if abs(value) < 1000 else f"{value:+.0e}"
    return text.replace("-", "−").replace("+0.00", "0.00").replace("−0.00", "0.00")


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
    return "–" if math.isnan(value) else f"{value:{form}}".replace("-", "−")
