"""The ``weighbridge`` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say what is missing for it."""
    try:
        from weighbridge.cli._app import app
    except ImportError as error:
        sys.exit(
            f"error: the command line needs the package {error.name!r}, which is not installed.\n"
            '  help: pip install "weighbridge[cli,plot]"'
        )
    app()
