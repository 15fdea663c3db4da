"""The ``weighbridge`` command."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line, or say what is missing for it."""
    _open_closed()
    try:
        from weighbridge.cli._app import app

        app()
    except KeyboardInterrupt:  # before the run, or when it is over
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    except ImportError as error:
        sys.exit(
            f"error: the command line needs the package {error.name!r}, which is not installed.\n"
            '  help: pip install "weighbridge[cli,plot]"'
        )


def _open_closed() -> None:
    """Open the streams that are closed, lest a file takes the place of one and its output."""
    # an answer that is written into nothing is an error (the file is opened for reading), narration
    # is not
    ways = {"stdin": (0, "r"), "stdout": (os.O_RDONLY, "w"), "stderr": (os.O_WRONLY, "w")}
    for name, (flags, mode) in ways.items():
        if getattr(sys, name) is None:
            number = os.open(os.devnull, flags)
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))
