"""Where the work is done: in this process, or by the workers of dask; light until it is started."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from weighbridge._problem import Problem, cli_option
from weighbridge.cli._session import Session
from weighbridge.exceptions import InputError

# Rows of a block, unless the working memory has room for fewer.
MOST_ROWS = 50_000
# A block takes this part of the working memory: some wait, and a model makes copies of it.
_SHARE = 16
_BYTES = 8
# Folders of clusters that have not been stopped; a process that leaves at once removes them first.
_SCRATCH: set[Path] = set()


@dataclass(frozen=True)
class Asked:
    """What was asked for: `working_memory` in MiB, and how many workers dask starts by itself."""

    name: str = "local"
    scheduler: str | None = None
    working_memory: int | None = None
    jobs: int = 1

    @property
    def is_dask(self) -> bool:
        """Whether dask does the work."""
        return self.name == "dask"

    @property
    def n_jobs(self) -> int:
        """Jobs of the command itself; with dask its workers are the jobs, and change no digit."""
        return 1 if self.is_dask else self.jobs

    def check(self) -> None:
        """Refuse dask where it is not installed, before anything heavy is imported."""
        if self.is_dask and not all(map(_is_installed, ("dask", "distributed"))):
            message = "the package 'dask' (with 'distributed') is not installed."
            help = f'pip install "weighbridge[dask]", or {cli_option("engine", "local")}'
            raise InputError([Problem("WB146", message, (), help, "usage")])


def asked_for(settings: dict[str, Any]) -> Asked:
    """Take what is about the engine out of the options of a command.

    Parameters
    ----------
    settings : dict
        Options; engine, scheduler and working_memory are taken away, jobs stays.

    Returns
    -------
    Asked
        The same; a scheduler means dask.
    """
    name, scheduler = settings.pop("engine"), settings.pop("scheduler")
    if name == "local" and scheduler is not None:
        raise click.UsageError(
            "--scheduler belongs to dask, and --engine local does without.\n"
            f"  help: {cli_option('scheduler', scheduler)}"
        )
    name = name or ("local" if scheduler is None else "dask")
    asked = Asked(name, scheduler, settings.pop("working_memory"), settings["jobs"])
    asked.check()
    return asked


class Engine:
    """Does work block by block; this one in the present process.

    Parameters
    ----------
    working_memory : int, optional
        In MiB; decides how many rows a block has.
    """

    # jobs that are done at once, where that is not what --jobs says
    n_workers: int | None = None

    def __init__(self, working_memory: int | None = None):
        self.working_memory = working_memory

    def map(self, function: Callable[[Any], Any], blocks: Iterable[Any]) -> Iterator[Any]:
        """Yield what a function makes of each block, in order, few of them in memory at a time.

        Parameters
        ----------
        function : function of one block
            Importable, so that another process finds it.
        blocks : iterable
            Taken one by one, as there is room for them.

        Yields
        ------
        object
            What the function returned.
        """
        yield from map(function, blocks)

    def block_rows(self, n_columns: int) -> int:
        """Return how many rows a block of so many columns has."""
        if self.working_memory is None:
            return MOST_ROWS
        room = self.working_memory * 2**20 // (_SHARE * _BYTES * max(1, n_columns))
        return max(1, min(MOST_ROWS, room))


@contextmanager
def started(session: Session, asked: Asked) -> Iterator[Engine]:
    """Give the engine that was asked for, and stop it when the block ends.

    Inside, scikit-learn has the working memory that was asked for, and what joblib does in other
    processes goes to the workers of dask, if these were.

    Parameters
    ----------
    session : Session
        The run.
    asked : Asked
        The engine.

    Yields
    ------
    Engine
        Does work on blocks.
    """
    from sklearn import config_context

    with ExitStack() as stack:
        if asked.working_memory is not None:
            stack.enter_context(config_context(working_memory=asked.working_memory))
        if not asked.is_dask:
            yield Engine(asked.working_memory)
            return
        from weighbridge.cli._cluster import cluster

        yield stack.enter_context(cluster(asked, session))


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """Remove a folder when the block ends, or when the process leaves at once."""
    _SCRATCH.add(folder)
    try:
        yield folder
    finally:
        remove_scratch(folder)


def remove_scratch(*folders: Path) -> None:
    """Remove these folders of clusters, or all that are left."""
    for folder in folders or tuple(_SCRATCH):
        shutil.rmtree(folder, ignore_errors=True)
        _SCRATCH.discard(folder)


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # switched off in sys.modules
        return False
