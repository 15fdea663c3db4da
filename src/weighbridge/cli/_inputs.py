"""Are the files there? Asked before anything heavy is imported, so that a typo costs no time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from weighbridge._problem import Problem, listed, nearest, shown
from weighbridge.exceptions import InputError

_TABLES = (".csv", ".tsv", ".txt", ".gz", ".parquet")


def check_there(paths: Sequence[Path], usage: str, suffixes: Sequence[str] = _TABLES) -> None:
    """Refuse files that do not exist, all of them together.

    Parameters
    ----------
    paths : sequence of Path
        The files that a command reads.
    usage : str
        How the command is typed.
    suffixes : sequence of str
        Endings of files that may have been meant.
    """
    problems = [_missing(path, usage, suffixes) for path in paths if not path.exists()]
    if problems:
        raise InputError(problems)


def _missing(path: Path, usage: str, suffixes: Sequence[str]) -> Problem:
    folder = path.parent
    try:
        names = sorted(each.name for each in folder.iterdir() if each.suffix in suffixes)
        evidence = f"in this folder: {listed(names)}" if names else "no table is in that folder"
    except OSError:
        names, evidence = [], f"there is no folder {shown(folder)}"
    near = nearest(path.name, names)
    help = str(folder / near[0]) if near else usage
    return Problem("WB101", f"there is no file {shown(path)}.", (evidence,), help, "usage")
