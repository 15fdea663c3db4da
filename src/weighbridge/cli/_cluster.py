"""Workers of dask: a cluster of our own on this computer, or one that someone else has started."""

from __future__ import annotations

import logging
import os
import tempfile
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import cloudpickle  # type: ignore[import-untyped, unused-ignore]
import dask
from distributed import Client, KilledWorker, LocalCluster
from joblib import cpu_count, parallel_config

from weighbridge._problem import Problem, shown_file
from weighbridge.cli._deaf_loop import deaf_loop
from weighbridge.cli._engine import Asked, Engine, scratch
from weighbridge.cli._job_backend import JobBackend
from weighbridge.cli._scheduler import connected
from weighbridge.cli._session import Session
from weighbridge.cli._worker_side import Done, Terms, run_block, run_packed, unpack
from weighbridge.exceptions import InputError

# Blocks under way for each worker: one that it works on, and one that waits for it.
_AHEAD = 2
# What a cluster of our own must be able to put on the disk before the work begins.
_PROBE = 1 << 20
_CONFIG = {
    # tables are part of a task here, so that no worker is the only one that has them
    "distributed.admin.large-graph-warning-threshold": "1TiB",
}


class LostWorkersError(RuntimeError):
    """Work that dask has given up; `problem` says it to the user.

    No ValueError: a choice among ratios takes that for one candidate's failure, and goes on.
    """

    def __init__(self, problem: Problem):
        self.problem = problem
        super().__init__(problem.message)


class FarError(Exception):
    """Where an error in a worker came from, as text; joblib takes the traceback away."""


class DaskEngine(Engine):
    """Sends work to dask, and gets its results.

    Parameters
    ----------
    client : Client
        Of the cluster.
    asked : Asked
        What was asked for.
    """

    def __init__(self, client: Client, asked: Asked):
        super().__init__(asked.working_memory)
        self.n_workers: int = max(1, sum(client.nthreads().values()))
        self._client = client
        self._terms = Terms(asked.working_memory, collects=asked.scheduler is None)
        self._place = asked.scheduler or "this computer"

    def map(self, function: Callable[[Any], Any], blocks: Iterable[Any]) -> Iterator[Any]:
        """Yield what a function makes of each block, in order, few of them in memory at a time."""
        # sent once; a task, and no scattered data, because dask can make that anew
        held = self._client.submit(unpack, cloudpickle.dumps(function), pure=False)
        waiting: deque[Any] = deque()
        try:
            for block in blocks:
                packed = cloudpickle.dumps(block)
                task = self._client.submit(run_block, held, packed, self._terms, pure=False)
                waiting.append(task)
                if len(waiting) >= _AHEAD * self.n_workers:
                    yield self.result(waiting.popleft())
            while waiting:
                yield self.result(waiting.popleft())
        finally:
            self.take_back(waiting)

    def send(self, call: Callable[[], Any]) -> Any:
        """Send a call without arguments; return dask's future."""
        return self._client.submit(run_packed, cloudpickle.dumps(call), self._terms, pure=False)

    def result(self, future: Any) -> Any:
        """Return the result of a future, and give its warnings here."""
        try:
            done: Done = future.result()
        except (KilledWorker, CancelledError, ModuleNotFoundError) as error:
            raise LostWorkersError(self._problem(error)) from error
        except Exception as error:
            error.__cause__ = FarError("".join(traceback.format_exception(error)))
            raise
        finally:
            future.release()
        for text, category in done.warned:
            warnings.warn(text, category, stacklevel=2)
        return done.result

    def take_back(self, futures: Iterable[Any]) -> None:
        """Cancel what has not been done."""
        self._client.cancel(list(futures), force=True)

    def _problem(self, error: BaseException) -> Problem:
        """Return why work was given up."""
        if isinstance(error, ModuleNotFoundError):
            return Problem(
                "WB149",
                f"the workers of dask at {self._place} have no module {error.name!r}.",
                (),
                "install it where they run, or work here: --engine local",
                "usage",
            )
        if isinstance(error, KilledWorker):
            return Problem(
                "WB903",
                "dask gave a task up: every worker that took it was killed.",
                ("most often a worker that is killed wanted more memory than there is",),
                "fewer workers: --jobs 2; smaller blocks: --working-memory 256M",
            )
        return Problem(
            "WB903",
            f"the connection to dask at {self._place} was lost.",
            ("nothing was left half written",),
            "see whether the scheduler still runs, or work here: --engine local",
        )


@contextmanager
def cluster(asked: Asked, session: Session) -> Iterator[DaskEngine]:
    """Give an engine whose work is done by dask, also that of joblib inside the block.

    Parameters
    ----------
    asked : Asked
        Where its scheduler is; without one, workers are started on this computer.
    session : Session
        The run.

    Yields
    ------
    DaskEngine
        Does work on blocks.
    """
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(_CONFIG))
        if not session.debug:
            stack.enter_context(_quiet())
        if asked.scheduler is None:
            client = stack.enter_context(_own(asked.jobs))
        else:
            client = stack.enter_context(connected(asked.scheduler))
        engine = DaskEngine(client, asked)
        n, place = engine.n_workers, asked.scheduler or "this computer"
        session.narration.say(f"  dask     {n:,} worker{'s' * (n > 1)}, {place}")
        stack.enter_context(parallel_config(backend=JobBackend(engine), n_jobs=1))
        try:
            yield engine
        except LostWorkersError as error:
            raise InputError([error.problem]) from error


@contextmanager
def _own(jobs: int) -> Iterator[Client]:
    """Start two or more workers of one thread each, which nobody outside can reach."""
    n_workers = max(2, jobs if jobs > 1 else cpu_count())
    with (
        scratch(_spill_folder()) as folder,
        # the scheduler has a folder too
        dask.config.set({"temporary-directory": str(folder)}),
        deaf_loop() as loop,
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            # no pages; the port that dask opens all the same is one that is free
            dashboard_address=None,
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            local_directory=str(folder),
            loop=loop,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _spill_folder() -> Path:
    """Return a new folder for what memory cannot hold, once something can be written there."""
    parent = dask.config.get("temporary-directory") or None
    try:
        with scratch(Path(tempfile.mkdtemp(prefix="weighbridge-probe-", dir=parent))) as probe:
            _write_probe(probe / "probe")
        return Path(tempfile.mkdtemp(prefix="weighbridge-dask-", dir=parent))
    except OSError as error:
        place = shown_file(str(parent or tempfile.tempdir or "any folder for temporary files"))
        reason = error.strerror or str(error)
        raise InputError(
            [
                Problem(
                    "WB148",
                    f"dask cannot write into {place}: {reason}.",
                    ("its workers put there what memory cannot hold",),
                    "make room there, or name another: DASK_TEMPORARY_DIRECTORY=FOLDER",
                    "usage",
                )
            ]
        ) from None


def _write_probe(path: Path) -> None:
    with path.open("wb") as file:
        file.write(bytes(_PROBE))
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep dask's own log off the screen: what matters of it is said in our words."""
    handlers = logging.getLogger("distributed").handlers
    levels = [handler.level for handler in handlers]
    try:
        for handler in handlers:
            handler.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for handler, level in zip(handlers, levels, strict=True):
            handler.setLevel(level)
