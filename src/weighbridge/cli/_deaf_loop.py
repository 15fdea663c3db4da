"""A loop of events whose child processes do not hear Ctrl-C."""

from __future__ import annotations

import asyncio
import queue
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any

from tornado.ioloop import IOLoop


@contextmanager
def deaf_loop() -> Iterator[Any]:
    """Run a loop in a thread of its own until the block ends.

    A terminal sends Ctrl-C to the workers too, and each would print where it was. Threads and
    processes inherit which signals are blocked, also those that dask starts for a killed one.

    Yields
    ------
    IOLoop
        It runs.
    """
    started: queue.Queue[tuple[Any, asyncio.Event]] = queue.Queue()

    async def serve() -> None:
        over = asyncio.Event()
        started.put((IOLoop.current(), over))
        await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    with _interrupts_blocked():
        thread.start()
    loop, over = started.get()
    try:
        yield loop
    finally:
        loop.add_callback(over.set)
        thread.join()


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C in this thread; one that comes meanwhile is delivered afterwards."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows has other ways
        yield
        return
    # the first process of a program starts this one too, which would unblock it again
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
