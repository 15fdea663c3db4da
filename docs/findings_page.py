"""The page of all findings, from what the package says about each code."""

from __future__ import annotations

from typing import Any

from weighbridge._findings import GROUPS, entries


def documentation() -> str:
    """Return every code by group, each with its own label."""
    parts = []
    for digit, title in GROUPS.items():
        group = [entry for entry in entries().values() if entry.code[2] == digit]
        parts += [_heading(f"WB{digit}xx: {title[0].lower()}{title[1:]}", "-"), _overview(group)]
        parts += [_section(entry) for entry in group]
    return "\n\n".join(parts) + "\n"


def _heading(title: str, line: str) -> str:
    return f"{title}\n{line * len(title)}"


def _overview(group: list[Any]) -> str:
    rows = [("code", "what", "level")]
    rows += [(f":ref:`{entry.code} <{entry.code}>`", entry.name, entry.level) for entry in group]
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: 12 68 20", ""]
    for code, *cells in rows:
        lines += [f"   * - {code}", *(f"     - {cell}" for cell in cells)]
    return "\n".join(lines)


def _section(entry: Any) -> str:
    reserved = f" *Not said yet:* {entry.reserved}" if entry.reserved else ""
    return "\n\n".join(
        [
            f".. _{entry.code}:",
            _heading(f"{entry.code}: {entry.name}", "~"),
            f"*{entry.level[0].upper()}{entry.level[1:]}*, from {entry.raised_by}{reserved}",
            f"**Seen.** {entry.seen}",
            f"**Why.** {entry.why}",
            "**Do.**",
            *(_step(step.say, step.type) for step in entry.do),
            f"**Silence.** {entry.silence}",
        ]
    )


def _step(say: str, lines: tuple[str, ...]) -> str:
    if not lines:
        return f"* {say}"
    typed = "\n".join(f"     {line}" for line in lines)
    return f"* {say}\n\n  .. code-block:: text\n\n{typed}"
