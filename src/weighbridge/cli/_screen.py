"""What a run shows: its two streams, the narration of its stages, and its result as JSON."""

from __future__ import annotations

import atexit
import errno
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Sequence
from textwrap import fill
from typing import Any, TextIO

import click

import weighbridge
from weighbridge._files import SCHEMA
from weighbridge._findings import Stages, spent

COLUMNS = 80
# What we tell a terminal: the three roles of colour (a word always says the same), and more.
_CODES = {
    "good": "\x1b[32m",
    "caution": "\x1b[33m",
    "stop": "\x1b[31m",
    "bold": "\x1b[1m",
    "end": "\x1b[0m",
    "wipe": "\r\x1b[K",  # to the start of the line, and erase it
}
# Each travels through a text as a lone surrogate, which no file and no command line can hold.
_MARKS = {name: chr(0xD800 + k) for k, name in enumerate(_CODES)}
# Signs in a name that a terminal would obey, or that break or turn a line, are written as escapes;
# those above ASCII as in JSON, which leaves no others.
_OBEYED = (*range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F))
_SHOWN: dict[int, str] = {
    **{sign: f"\\x{sign:02x}" for sign in range(0x20) if sign != ord("\n")},
    **{sign: f"\\u{sign:04x}" for sign in (*_OBEYED, *range(0x2066, 0x206A))},
    **{ord(mark): _CODES[name] for name, mark in _MARKS.items()},
}
# What stands for a character where the stream cannot write it.
_STANDS = '# - - - -> - x ... inf <= >= - \' " "'
_ASCII = str.maketrans(dict(zip("█─–—→−×…∞≤≥·’“”", _STANDS.split(), strict=True)))
_BLOCKS = str.maketrans("█─", "#-")
# A stage shows its progress after so many seconds, and anew so many seconds later.
_QUIET = 1.0
_PAUSE = 0.1
_NAME = 9
# Of a result; a command fills in what it has.
_PARTS = (
    "inputs",
    "settings",
    "versions",
    "date",
    "verdict",
    "answers",
    "shift",
    "overlap",
    "expect",
)


class ReaderGone(BaseException):
    """Whoever read the output has gone, as after ``| head``."""


class Screen:
    """One of the two streams of a command, and the only way to it; plain has no colour."""

    def __init__(self, stream: TextIO, *, plain: bool = False, name: str = ""):
        # a stream without a name may be lost: the run goes on without a word
        self.stream, self.name = stream, name
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
        """Return text in the characters that the stream has, without any that a terminal obeys."""
        text = text.translate(_SHOWN)
        if not self.is_unicode:
            text = text.translate(_ASCII)
        elif self.plain:
            text = text.translate(_BLOCKS)
        return text.encode(self.encoding, "backslashreplace").decode(self.encoding)

    def styled(self, text: str, role: str | None = None, *, bold: bool = False) -> str:
        """Return text in bold or in the colour of a role, where there is colour."""
        if not self.colour or not (role or bold):
            return text
        return _MARKS.get(role or "", "") + _MARKS["bold"] * bold + text + _MARKS["end"]

    def write(self, text: str = "", *, end: str = "\n") -> None:
        """Write text now."""
        try:
            click.echo(self.text(text) + end, self.stream, nl=False, color=self.is_terminal)
        except OSError as error:
            # nothing more can be written there, also not when the process ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.stream.fileno())
            if self.name and error.errno in (errno.EPIPE, errno.EINVAL):  # the latter on Windows
                raise ReaderGone from None
            if self.name:
                raise OSError(error.errno, error.strerror, self.name) from None


class Narration(Stages):
    """Tells the stages of a run, a line each: at a terminal rewritten, elsewhere when it ends."""

    def __init__(
        self, screen: Screen, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic
    ):
        super().__init__(clock=clock)
        self.screen, self.quiet = screen, quiet
        # what to do with news of the job, by topic
        self.on_news: dict[str, Callable[[Any], None]] = {}
        self._is_live = screen.is_terminal and not quiet
        self._told: set[str] = set()
        self._line = ""
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._ticker: threading.Thread | None = None

    def say(self, text: str) -> None:
        """Write one line of narration."""
        if not self.quiet:
            with self._lock:
                self._wipe()
                self.screen.write(within_columns(text.replace("\n", "\\n")))

    def detail(self, stage: str, text: str) -> None:
        """Say what a stage does or did, in a few words."""
        self._details[stage] = self.screen.text(text.replace("\n", "\\n"))

    def count(self, stage: str, unit: str) -> None:
        """Say what is counted in a stage: fits, rows, or %."""
        self._units[stage] = unit

    def heard(self, topic: str, news: Any) -> None:
        """Say what the job has to tell, where a command knows how."""
        if topic in self.on_news:
            self.on_news[topic](news)

    def say_outside(self, share: float) -> None:
        """Say at once, before any fit, that the files hardly overlap."""
        from weighbridge._findings import percent
        from weighbridge.ratios import OUTSIDE

        if share > OUTSIDE:
            self.say(f"  outside  {percent(share)} of the deployment rows (WB302)")

    def finish(self) -> None:
        """End the last stage."""
        self.end()
        self._over.set()

    def stop(self) -> None:
        """End without a word, as after an error; the stage stays known."""
        self._over.set()
        with self._lock:
            self._wipe()

    def began(self, stage: str) -> None:
        """Keep the line of the stage up to date at a terminal, also while one fit takes long."""
        if self._is_live and self._ticker is None:
            self._ticker = threading.Thread(target=self._tick, daemon=True)
            self._ticker.start()

    def ended(self, stage: str, seconds: float) -> None:
        """Say that a stage is over; one that comes again (a second model) has had its line."""
        with self._lock:
            self._wipe()
            if stage not in self._told:
                self._told.add(stage)
                self.say(self._finished(stage, seconds))

    def draw(self) -> None:
        """Rewrite the line of the stage, unless it is young."""
        with self._lock:
            if not self._is_live or not self.stage or self._clock() - self.begun < _QUIET:
                return
            self._wipe()
            self._line = self.line()
            self.screen.write(self._line, end="")

    def _tick(self) -> None:
        while not self._over.wait(_PAUSE):
            self.draw()

    def _finished(self, stage: str, seconds: float) -> str:
        left = f"  {stage:<{_NAME}}{self._details[stage]}"
        right = spent(seconds)
        room = COLUMNS - 10 - len(right)
        if len(left) > room:
            left = left[: room - 1] + "…"
        return f"{left:<{room}} {right}"

    def _wipe(self) -> None:
        if self._line:
            self.screen.write(_MARKS["wipe"], end="")
            self._line = ""


class Session:
    """What all commands share while they run."""

    def __init__(self, words: Sequence[str]):
        # words that are not understood are refused in JSON too, where JSON is asked for
        options = words[: words.index("--")] if "--" in words else words
        self.json = next((_json_form(word) for word in options if _json_form(word)), None)
        self.debug = "--debug" in options
        plain = "--plain" in options
        self.out = Screen(sys.stdout, plain=plain, name="standard output")
        self.err = Screen(sys.stderr, plain=plain)
        self.narration = Narration(self.err, quiet="--quiet" in options)
        self.command = next((word for word in words if not word.startswith("-")), None)

    def own_output(self) -> None:
        """Keep standard output to ourselves: what anybody else prints goes to standard error."""
        sys.stdout, stream = self.err.stream, self.out.stream
        if stream is sys.__stdout__:  # prints of compiled code and of other processes too
            again = os.dup(stream.fileno())
            os.dup2(self.err.stream.fileno(), stream.fileno())
            self.out.stream = os.fdopen(again, "w", encoding=self.out.encoding)
            atexit.register(self.out.stream.close)  # lest Python finds it left open

    def result(self, **parts: Any) -> dict[str, Any]:
        """Return a result with every key that the schema asks for."""
        return {
            "schema": SCHEMA,
            "version": weighbridge.__version__,
            "command": self.command,
            **dict.fromkeys(_PARTS),
            "findings": [],
            "files": {},
            "timing": self.narration.timing(),
            "failure": None,
            **parts,
        }

    def show(self, result: dict[str, Any], text: Callable[[dict[str, Any]], str]) -> None:
        """Print a result that is complete: JSON where it is asked for, else a text for people."""
        self.narration.finish()
        result["timing"] = self.narration.timing()
        if self.json is not None:
            self.print_json(result)
        else:
            self.out.write(text(result))

    def print_json(self, result: dict[str, Any]) -> None:
        """Print one JSON object, without its long arrays unless they are asked for."""
        if self.json != "full":
            result = {name: part for name, part in result.items() if name != "pictures"}
        ascii_only = not self.out.is_unicode
        self.out.write(json.dumps(result, indent=2, allow_nan=False, ensure_ascii=ascii_only))


def _json_form(word: str) -> str | None:
    if word == "--json":
        return "short"
    return word.removeprefix("--json=") if word.startswith("--json=") else None


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


def within_columns(text: str) -> str:
    """Return text with lines of at most 80 columns; a long word, such as a path, stays whole."""
    return "\n".join(
        line
        if len(line) <= COLUMNS
        else fill(
            line.replace(" %", "\xa0%"),  # a number and its unit stay together
            COLUMNS,
            subsequent_indent=" " * (len(line) - len(line.lstrip()) + 2),
            break_long_words=False,
            break_on_hyphens=False,
        ).replace("\xa0%", " %")
        for line in text.split("\n")
    )
