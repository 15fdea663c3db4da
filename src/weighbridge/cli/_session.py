"""One run of a command: its streams, what it was asked to print, and how it ends."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

from weighbridge import __version__
from weighbridge._files import SCHEMA
from weighbridge.cli._narration import Narration
from weighbridge.cli._screen import Screen

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


class Session:
    """What all commands share while they run.

    Parameters
    ----------
    words : sequence of str
        The command line, looked at before it is understood: a failure to understand it is also
        told in JSON where JSON is asked for.
    """

    def __init__(self, words: Sequence[str]):
        options = words[: words.index("--")] if "--" in words else words
        self.json = next((_json_form(word) for word in options if _json_form(word)), None)
        self.debug = "--debug" in options
        plain = "--plain" in options
        self.out = Screen(sys.stdout, plain=plain)
        self.err = Screen(sys.stderr, plain=plain)
        self.narration = Narration(self.err, quiet="--quiet" in options)
        self.command = next((word for word in words if not word.startswith("-")), None)
        # what an interrupt leaves behind, in words
        self.on_interrupt: Callable[[], list[str]] = lambda: ["no file was written"]
        self.left = False  # whether an interrupt has been told

    def result(self, **parts: Any) -> dict[str, Any]:
        """Return a result with every key that the schema asks for."""
        return {
            "schema": SCHEMA,
            "version": __version__,
            "command": self.command,
            **dict.fromkeys(_PARTS),
            "findings": [],
            "files": {},
            "timing": self.timing(),
            "failure": None,
            **parts,
        }

    def timing(self) -> dict[str, float]:
        """Return the seconds of each stage that is over."""
        return {stage: round(seconds, 3) for stage, seconds in self.narration.timing.items()}

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
