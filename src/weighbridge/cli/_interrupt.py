"""Ctrl-C: stop within a second, also while compiled code runs that does not listen."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from weighbridge._files import remove_unfinished
from weighbridge.cli._engine import remove_scratch

EXIT_CODE = 130
# Seconds that the program has to come back from whatever it does before it is left at once.
PATIENCE = 0.8


class Interrupted(BaseException):
    """The user pressed Ctrl-C.

    No KeyboardInterrupt: a search takes that as a wish for the best so far, and goes on.
    """


@contextmanager
def interrupts_stop(farewell: Callable[[], None]) -> Iterator[None]:
    """Turn Ctrl-C into `Interrupted`; where that does not arrive in time, say farewell and leave.

    Python runs a handler between two of its own steps, so that a long call of compiled code holds
    it up. The signal also writes to a pipe, and a thread that waits there for it needs no such gap.
    """
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before_fd = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    before = signal.signal(signal.SIGINT, _stop)
    threading.Thread(target=_leave_late, args=(reader, farewell), daemon=True).start()
    interrupted = False
    try:
        yield
    except Interrupted:
        interrupted = True
        raise
    finally:
        # once interrupted, the thread stays until the process is gone: cleaning up may hang too
        signal.signal(signal.SIGINT, signal.SIG_IGN if interrupted else before)
        if not interrupted:
            signal.set_wakeup_fd(before_fd)
            os.close(writer)


def _stop(number: int, frame: FrameType | None) -> None:
    raise Interrupted


def _leave_late(reader: int, farewell: Callable[[], None]) -> None:
    while received := os.read(reader, 1):
        if received[0] != signal.SIGINT:
            continue
        threading.Event().wait(PATIENCE)
        remove_unfinished()
        remove_scratch()
        farewell()
        os._exit(EXIT_CODE)
    os.close(reader)
