"""Where a picture goes: checked before the work, written whole or not at all."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from weighbridge._files import write_whole

DEFAULT_PLOT = Path("weighbridge-demo") / "lines.png"
MARK = "weighbridge demo"  # in the metadata of every picture that the demo writes


def check_plot(path: Path, *, asked: bool, force: bool) -> bool:
    """Say before the work what would go wrong after it; False where nothing can be drawn."""
    if path.suffix not in (".png", ".svg"):
        raise click.UsageError(
            f'the picture must end in .png or .svg, not "{path.name}".\n'
            f"  help: --plot {path.with_suffix('.png')}"
        )
    folder = next(folder for folder in path.absolute().parents if folder.exists())
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise click.UsageError(f"cannot write into {folder}.\n  help: --plot OTHER")
    if path.exists() and not force and MARK.encode() not in path.read_bytes():
        raise click.UsageError(
            f"{path} was not written by the demo.\n  help: --plot OTHER, or --force to overwrite it"
        )
    if _has_matplotlib():
        return True
    if asked:
        raise click.UsageError(
            "--plot needs matplotlib, which is not installed.\n"
            '  help: pip install "weighbridge[plot]"'
        )
    return False


def _has_matplotlib() -> bool:
    try:
        return find_spec("matplotlib") is not None
    except ValueError:  # switched off in sys.modules
        return False


def save_atomically(figure: Any, path: Path) -> None:
    """Write the picture whole or not at all."""
    metadata = {"Title": MARK} if path.suffix == ".svg" else {"Software": MARK}
    with write_whole(path) as temporary:
        figure.savefig(temporary, dpi=150, metadata=metadata)
