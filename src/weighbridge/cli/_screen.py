"""What a stream can show: colours, characters, width."""

from __future__ import annotations

import os
import shutil
from textwrap import wrap
from typing import TextIO

import click

COLUMNS = 80
# Signs in a name that would turn the direction of the rest of the line are written as escapes.
_TURNING = {
    sign: f"\\u{sign:04x}"
    for sign in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
# What stands for a character where the stream cannot write it.
_ASCII: dict[str, str | int | None] = {
    "█": "#",
    "─": "-",
    "–": "-",
    "—": "-",
    "→": "->",
    "−": "-",
    "×": "x",
    "…": "...",
    "∞": "inf",
    "≤": "<=",
    "≥": ">=",
    "·": "-",
    "’": "'",
    "“": '"',
    "”": '"',
}
_BLOCKS: dict[str, str | int | None] = {"█": "#", "─": "-"}
# The three roles of colour; a word always says the same.
ROLES = {"good": "green", "caution": "yellow", "stop": "red"}


class ReaderGone(BaseException):
    """Whoever read the output has gone, as after ``| head``."""


class Screen:
    """One of the two streams of a command.

    Parameters
    ----------
    stream : text stream
        Standard output or standard error.
    plain : bool, default=False
        No colour and no block characters.
    """

    def __init__(self, stream: TextIO, *, plain: bool = False):
        self.stream = stream
        self.plain = plain
        self.encoding = getattr(stream, "encoding", None) or "utf-8"
        self.is_terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
        self.colour = self.is_terminal and not plain and not os.environ.get("NO_COLOR")

    @property
    def width(self) -> int:
        """Columns of the terminal, 80 where there is none; never fewer, lest tables fall apart."""
        if not self.is_terminal:
            return COLUMNS
        return max(COLUMNS, shutil.get_terminal_size((COLUMNS, 24)).columns)

    @property
    def is_unicode(self) -> bool:
        """Whether every character can be written."""
        return self.encoding.lower().replace("-", "").startswith("utf")

    def text(self, text: str) -> str:
        """Return text in the characters that the stream has."""
        text = text.translate(_TURNING)
        if not self.is_unicode:
            text = text.translate(str.maketrans(_ASCII))
            text = text.encode(self.encoding, "backslashreplace").decode(self.encoding)
        elif self.plain:
            text = text.translate(str.maketrans(_BLOCKS))
        return text

    def styled(self, text: str, role: str | None = None, *, bold: bool = False) -> str:
        """Return text in bold or in the colour of a role, where there is colour."""
        if not self.colour or not (role or bold):
            return text
        return click.style(text, fg=ROLES.get(role or ""), bold=bold or None)

    def write(self, text: str = "", *, end: str = "\n") -> None:
        """Write text now."""
        try:
            click.echo(self.text(text) + end, file=self.stream, nl=False, color=self.colour)
            self.stream.flush()
        except BrokenPipeError:
            # nothing more can be written there, also not when the process ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.stream.fileno())
            raise ReaderGone from None


def within_columns(text: str) -> str:
    """Return text with lines of at most 80 columns; a long word, such as a path, stays whole."""
    return "\n".join(
        "\n".join(
            wrap(
                line,
                COLUMNS,
                subsequent_indent=" " * (len(line) - len(line.lstrip()) + 2),
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
        if len(line) > COLUMNS
        else line
        for line in text.split("\n")
    )
