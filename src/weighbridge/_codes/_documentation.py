"""The same pages as reStructuredText, for the documentation."""

from __future__ import annotations

from weighbridge._codes._entries import GROUPS, Entry, entries


def documentation() -> str:
    """Return every code by group, each with a label of its own.

    Returns
    -------
    str
        reStructuredText; another page can refer to the label ``WB301``.

    Examples
    --------
    >>> from weighbridge._codes import documentation
    >>> ".. _WB301:" in documentation()
    True
    """
    parts = []
    for digit, title in GROUPS.items():
        group = [entry for entry in entries().values() if entry.code[2] == digit]
        parts += [_heading(f"WB{digit}xx: {title[0].lower()}{title[1:]}", "-"), _overview(group)]
        parts += [_section(entry) for entry in group]
    return "\n\n".join(parts) + "\n"


def _heading(title: str, line: str) -> str:
    return f"{title}\n{line * len(title)}"


def _overview(group: list[Entry]) -> str:
    rows = [("code", "what", "level")]
    rows += [(f":ref:`{entry.code} <{entry.code}>`", entry.name, entry.level) for entry in group]
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: 12 68 20", ""]
    for row in rows:
        lines += [f"   {'*' if first else ' '} - {cell}" for first, cell in _marked(row)]
    return "\n".join(lines)


def _marked(row: tuple[str, ...]) -> list[tuple[bool, str]]:
    return [(number == 0, cell) for number, cell in enumerate(row)]


def _section(entry: Entry) -> str:
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
