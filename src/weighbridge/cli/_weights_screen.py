"""Weights at the terminal: how many rows have which, and what they leave."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from weighbridge.cli._diagnosis_screen import cut, finding_text, share_text
from weighbridge.cli._screen import COLUMNS, Screen

# Differences that are named.
_NAMED = 4
_NAMES = {1.0: "power, ", 3.0: "relative, "}


def weights_block(result: dict[str, Any], screen: Screen) -> str:
    """Return the text of a run, from its result."""
    found, settings = result["weights"], result["settings"]
    worth = f"{found['worth']:,.0f}"
    head = f"{found['n']:,} weights, mean 1, worth {worth} row{'s' * (worth != '1')}"
    blocks = [
        f"\n{screen.styled(head, bold=True)}   ({weighting_text(settings)})",
        "\n".join(_bars(found, screen)),
        f"  half of the weight sits on {share_text(found['half'])} of the rows; largest weight "
        f"{found['largest']:.1f}\n{_left(found['left'])}",
        *(finding_text(each) for each in result["findings"]),
        f"  wrote {result['files']['weights']} (columns row, weight, log_ratio; same order as "
        f"{result['inputs']['train']['file']})",
    ]
    return "\n\n".join(blocks)


def weighting_text(settings: dict[str, Any]) -> str:
    """Return what a weighting is called."""
    lam, alpha = settings["lam"], settings["alpha"]
    if lam in (0, 1):
        return "none" if lam == 0 else "full"
    return f"{_NAMES.get(alpha, '')}lam {lam:.2f}, alpha {alpha:g}"


def _bars(found: dict[str, Any], screen: Screen) -> list[str]:
    edges, counts = found["edges"], found["counts"]
    names = [f"{low:g} – {high:g}" for low, high in pairwise(edges)]
    names.append(f"above {edges[-1]:g}")
    width = max(len(name) for name in names)
    room = screen.width - width - 12
    lines = [f"  {'weight':<{width}}  {'rows':>5}"]
    for name, count in zip(names, counts, strict=True):
        bar = "█" * round(room * count / max(counts))
        share = share_text(count / found["n"])
        lines.append(f"  {name:<{width}}  {share:>5}  {bar}".rstrip())
    return lines


def _left(left: list[dict[str, Any]]) -> str:
    """Return the largest differences that the weights leave, within one line."""
    line = "  differences left"
    for row in left[:_NAMED]:
        part = f"   {cut(row['name'])} {abs(row['after']):.2f}"
        if len(line) + len(part) <= COLUMNS:
            line += part
    return line
