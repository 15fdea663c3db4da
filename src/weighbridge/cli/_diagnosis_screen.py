"""A diagnosis at the terminal."""

from __future__ import annotations

import math
from textwrap import fill
from typing import Any

from weighbridge.cli._screen import COLUMNS, Screen

# Rows of the table before the rest is counted.
_SHOWN = 8
_LONGEST_NAME = 22
# Differences from here on are shown with enough digits of the means to be seen there.
_VISIBLE = 0.1
_ROLES = {"enough": "good", "thin": "caution", "broken": "stop"}


def diagnosis_block(result: dict[str, Any], screen: Screen, *, show_all: bool) -> str:
    """Return the text of a diagnosis, from its result."""
    sentence = result["verdict"]["sentence"]
    role = _ROLES.get(result["overlap"]["word"]) if "overlap" in sentence else None
    blocks = [
        "\n" + screen.styled(sentence, role, bold=True),
        "\n".join(_numbers(result)),
        "\n".join(balance_lines(result["pictures"]["balance"], screen, show_all=show_all)),
        *(finding_text(each) for each in result["findings"]),
    ]
    if "report" in result["files"]:
        blocks.append(f"  report   {result['files']['report']}")
    blocks.append("  Does it matter for your model? weighbridge adapt ... --label NAME")
    return "\n\n".join(blocks)


def finding_text(finding: dict[str, str]) -> str:
    """Return a finding within 80 columns, the text beside its code."""
    head = f"  {finding['level']} {finding['code']}: "
    text = f"{finding['message']} {finding['help']}".rstrip()
    return fill(
        text,
        COLUMNS - 2,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=True,
        break_on_hyphens=False,
    )


def _numbers(result: dict[str, Any]) -> list[str]:
    auc, overlap = result["shift"]["auc"], result["overlap"]
    shown = f"  AUC {auc['value']:.2f} [{auc['low']:.2f}, {auc['high']:.2f}]"
    if overlap["word"] == "broken":
        first = f"{shown}   weights mean nothing here (WB302)"
    else:
        rows = f"{overlap['worth_full']:,.0f} of {overlap['n_source']:,} rows"
        tail = overlap["tail_index"]
        first = f"{shown}   full ratio worth {rows}"
        first += "" if tail is None else f"   tail index {tail:.2f}"
    outside = share_text(overlap["outside"])
    return [first, f"  {outside} of the deployment rows lie outside the training data"]


def balance_lines(rows: list[dict[str, Any]], screen: Screen, *, show_all: bool) -> list[str]:
    """Return the features that differ most, with bars as long as the terminal allows."""
    shown = rows if show_all else rows[:_SHOWN]
    if not shown:
        return ["  no features to compare"]
    names = [cut(row["name"]) for row in shown]
    n_name = max(len("feature"), *map(len, names))
    head = f"  {'feature':<{n_name}} {'training':>10} {'deployment':>12}   "
    n_bar = screen.width - len(head) - 9
    title = "difference in standard deviations"
    if len(head) + len(title) > COLUMNS:
        title = "standardised difference"
    longest = max((abs(row["before"]) for row in shown if row["before"] is not None), default=0.0)
    lines = [head + title]
    for name, row in zip(names, shown, strict=True):
        source, target = _means(row)
        bar = _bar(row["before"], longest, n_bar)
        change = signed(row["before"])
        lines.append(f"  {name:<{n_name}} {source:>10} {target:>12}   {bar:<{n_bar}} {change:>7}")
    if len(rows) > len(shown):
        next_one = rows[len(shown)]["before"]
        below = "" if next_one is None else f" up to {abs(next_one):.2f}"
        more = f" {len(rows) - len(shown)} more{below}: weighbridge diagnose --all "
        lines.append(f"  {more:─^{COLUMNS - 4}}")
    return lines


def cut(name: str, width: int = _LONGEST_NAME) -> str:
    """Return a name on one line, at most so long."""
    from weighbridge._problem import escaped

    name = escaped(" ".join(name.split()))
    return name if len(name) <= width else name[: width - 1] + "…"


def _bar(value: float | None, longest: float, width: int) -> str:
    if value is None or longest == 0:
        return ""
    return "█" * round(width * abs(value) / longest)


def signed(value: float | None) -> str:
    """Return a difference with its sign; one without a number is no comparison."""
    if value is None:
        return "–"
    text = f"{abs(value):.2f}" if abs(value) < 1000 else f"{abs(value):.0e}"
    if float(text) == 0:
        return text
    return ("+" if value > 0 else "−") + text


def share_text(share: float | None) -> str:
    """Return a share in per cent; what is not quite 0 or 1 is not shown as such."""
    if share is None:
        return "–"
    percent = 100 * share
    if 0 < percent < 0.5:
        return "<1 %"
    return ">99 %" if 99.5 <= percent < 100 else f"{percent:.0f} %"


def _means(row: dict[str, Any]) -> tuple[str, str]:
    """Return both means with digits that let a difference be seen."""
    means = (row["mean_source"], row["mean_target"])
    if row["kind"] != "number":
        return share_text(means[0]), share_text(means[1])
    known = [abs(mean) for mean in means if mean is not None]
    size = max(known, default=0.0)
    if size >= 1e7 or 0 < size < 1e-4:
        return _number(means[0], ".2e"), _number(means[1], ".2e")
    decimals = 1 if size == 0 else max(0, min(1, 3 - math.floor(math.log10(size))))
    if 0 < size < 1:
        decimals = 1 - math.floor(math.log10(size))
    gap = abs(means[0] - means[1]) if len(known) == 2 else 0.0
    if gap > 0 and abs(row["before"] or 0.0) >= _VISIBLE:
        decimals = max(decimals, min(4, -math.floor(math.log10(gap))))
    return _number(means[0], f",.{decimals}f"), _number(means[1], f",.{decimals}f")


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else f"{value:{form}}".replace("-", "−")
