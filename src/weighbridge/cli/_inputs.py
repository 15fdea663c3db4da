"""What every command does around its work: check files, collect warnings, limit threads."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from weighbridge._findings import Problem, listed, nearest, shown
from weighbridge.cli._screen import Session
from weighbridge.exceptions import InputError, WeightWarning

if TYPE_CHECKING:
    from weighbridge._tables import Table

_TABLES = (".csv", ".tsv", ".txt", ".gz", ".parquet")


def check_there(paths: Sequence[Path], usage: str, suffixes: Sequence[str] = _TABLES) -> None:
    """Refuse files that do not exist, all together and before anything heavy is imported."""
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


@contextmanager
def library_warnings(session: Session) -> Iterator[None]:
    """Collect warnings, and say in one line how many there were; ``--debug`` lists them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        yield
    # those of ours about overlap are among the findings already
    for text in dict.fromkeys(
        str(each.message) for each in caught if each.category is WeightWarning
    ):
        session.narration.say(f"  {text}")
    foreign = [each for each in caught if not each.category.__module__.startswith("weighbridge")]
    if not foreign:
        return
    kinds = sorted({each.category.__name__ for each in foreign})
    count = f"{len(foreign)} warning{'s' if len(foreign) > 1 else ''}"
    session.narration.say(f"  {count} from the libraries underneath ({', '.join(kinds)})")
    if session.debug:
        for text in dict.fromkeys(str(each.message) for each in foreign):
            session.err.write(text)


@contextmanager
def limit_threads(jobs: int) -> Iterator[None]:
    """Limit the threads of NumPy and scikit-learn to the number of jobs."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped, unused-ignore]

    with threadpool_limits(min(jobs, os.cpu_count() or 1)):
        yield


@contextmanager
def modules_here(*, wanted: bool) -> Iterator[None]:
    """Let Python, also in parallel jobs, find modules of the present folder where wanted."""
    here = os.getcwd()
    if wanted:
        sys.path.append(here)  # last, lest a file of that folder takes the place of a library
    try:
        yield
    finally:
        if wanted:
            sys.path.remove(here)


def size_text(tables: tuple[Table, Table]) -> str:
    """Return rows and columns of both files."""
    first, second = (f"{each.rows:,} × {len(each.columns)}" for each in tables)
    return f"{first} and {second}"
