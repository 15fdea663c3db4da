"""The page of all findings, from what the package says about each code and its cases."""

from __future__ import annotations

import textwrap
from typing import Any

from findings_cases import Case, cases, start

from weighbridge._findings import GROUPS, entries

# Columns of a line on the page; Python prints a finding in one line, however long.
WIDTH = 78
OPENING = """\
Each code below comes with a small case that raises it. To try one, go to an empty folder and run
these lines of Python, then the Python of the case in the same session, then its commands in the
same folder.
"""
CUT = """\
Three dots stand for the rest of the output, and the place of a warning in your code is left out.
Cases with Parquet need ``weighbridge[cli]``, the one with a network ``weighbridge[torch]``.
Figures may differ in the last digits between versions of NumPy and scikit-learn.
"""


def documentation() -> str:
    """Return every code by group, each with its own label."""
    parts = [_heading("The cases on this page", "-"), OPENING, _block("python", start()), CUT]
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
            *_cases(entry.code),
        ]
    )


def _cases(code: str) -> list[str]:
    """Return what raises a code and what it then prints, or why that is not shown."""
    found = [case for case in cases().values() if case.code == code]
    if found[0].reason:
        return [f"**No case is shown.** {found[0].reason}"]
    heads = ["**A case that raises it.**", *["**Another one.**"] * (len(found) - 1)]
    return [text for head, case in zip(heads, found, strict=True) for text in (head, *_case(case))]


def _case(case: Case) -> list[str]:
    output = "\n".join(map(_folded, case.output.strip("\n").split("\n")))
    blocks = [_block("python", case.python)] if case.python else []
    if case.shell:
        typed = "\n".join(f"$ {line}" for line in case.shell.strip().split("\n"))
        return [*blocks, _block("console", f"{typed}\n{output}")]
    return [*blocks, _block("text", output)]


def _folded(line: str) -> str:
    return textwrap.fill(line, WIDTH, subsequent_indent="  ") if len(line) > WIDTH else line


def _block(language: str, text: str) -> str:
    return f".. code-block:: {language}\n\n" + textwrap.indent(text.strip("\n"), "   ")


def _step(say: str, lines: tuple[str, ...]) -> str:
    if not lines:
        return f"* {say}"
    typed = "\n".join(f"     {line}" for line in lines)
    return f"* {say}\n\n  .. code-block:: text\n\n{typed}"
