"""What a command says while it works: five stages, one line each, on standard error."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from weighbridge.cli._screen import COLUMNS, Screen, within_columns

STAGES = ("read", "shift", "bridge", "verify", "write")
# What a stage does, until something more exact is known.
_DETAILS = {
    "read": "the two files",
    "shift": "ratio, diagnosis, unweighted model",
    "bridge": "weightings fitted to all rows",
    "verify": "selection repeated without each fold",
    "write": "files",
}
# A stage shows its progress after so many seconds, and anew so many seconds later at the earliest.
_QUIET = 1.0
_PAUSE = 0.1
# Share of the work after which the time left is worth saying.
_KNOWN = 0.1
_NAME = 9


class Narration:
    """Tells the stages of a run; called with ``(stage, done, total)`` it goes on to that stage.

    At a terminal one line is rewritten while a stage lasts; elsewhere a stage is one line, written
    when it ends.

    Parameters
    ----------
    screen : Screen
        Standard error.
    quiet : bool, default=False
        Say nothing, and keep the times all the same.
    clock : function, default=time.monotonic
        Seconds.
    """

    def __init__(
        self, screen: Screen, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic
    ):
        self.screen = screen
        self.quiet = quiet
        self.timing: dict[str, float] = {}
        self.stage: str | None = None
        self._clock = clock
        self._details = dict(_DETAILS)
        self._told: set[str] = set()
        self._units: dict[str, str] = {}
        self._progress = (0, 0)
        self._started = self._drawn = self._advanced = 0.0
        self._line = ""
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._ticker: threading.Thread | None = None

    def say(self, text: str) -> None:
        """Write one line of narration."""
        if not self.quiet:
            with self._lock:
                self._wipe()
                self.screen.write(within_columns(text))

    def detail(self, stage: str, text: str) -> None:
        """Say what a stage does or did, in a few words."""
        self._details[stage] = text

    def count(self, stage: str, unit: str) -> None:
        """Say what is counted in a stage: fits, rows, or %."""
        self._units[stage] = unit

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Note that `done` of `total` parts of a stage are finished."""
        with self._lock:
            if stage != self.stage:
                self._end_stage()
                self.stage, self._started = stage, self._clock()
                self._start_ticker()
            self._progress, self._advanced = (done, total), self._clock()
            self._draw()

    def finish(self) -> None:
        """End the last stage."""
        with self._lock:
            self._end_stage()
            self.stage = None
        self._over.set()

    def stop(self) -> None:
        """End without a word, as after an error; the stage stays known."""
        self._over.set()
        with self._lock:
            self._wipe()

    def _end_stage(self) -> None:
        if self.stage is None:
            return
        seconds = self._clock() - self._started
        self.timing[self.stage] = self.timing.get(self.stage, 0.0) + seconds
        self._wipe()
        # a stage that comes again (a second model) is one line all the same
        if self.stage not in self._told:
            self._told.add(self.stage)
            self.say(self._finished(self.stage, seconds))

    def _finished(self, stage: str, seconds: float) -> str:
        left = f"  {stage:<{_NAME}}{self._details[stage]}"
        right = spent(seconds)
        room = COLUMNS - 10 - len(right)
        if len(left) > room:
            left = left[: room - 1] + "…"
        return f"{left:<{room}} {right}"

    def _draw(self) -> None:
        """Rewrite the line of the stage, unless it is young or has just been written."""
        now = self._clock()
        if self.quiet or not self.screen.is_terminal or now - self._started < _QUIET:
            return
        if now - self._drawn < _PAUSE or self.stage is None:
            return
        self._wipe()
        self._drawn = now
        self._line = self.screen.text(self._running(self.stage, now - self._started))
        self.screen.write(self._line, end="")

    def _running(self, stage: str, seconds: float) -> str:
        done, total = self._progress
        unit = self._units.get(stage, "fits")
        parts = [self._details[stage]]
        if total > 1:
            parts = [f"{done} %" if unit == "%" else f"{done:,} of {total:,} {unit}"]
        parts.append(spent(seconds))
        if total > 1 and _KNOWN * total <= done < total:
            # at the pace of what is done, less what has passed since
            pace = (self._advanced - self._started) / done
            left = pace * (total - done) - (self._clock() - self._advanced)
            parts += [f"about {spent(left)} left"] if left > 0 else []
        return f"  {stage:<{_NAME}}{', '.join(parts)}"[: COLUMNS - 1]

    def _wipe(self) -> None:
        if self._line:
            self.screen.write("\r\x1b[K", end="")  # to the start of the line, and erase it
            self._line = ""

    def _start_ticker(self) -> None:
        """Keep the time running on the screen while one fit takes long."""
        if self.quiet or not self.screen.is_terminal or self._ticker is not None:
            return
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._ticker.start()

    def _tick(self) -> None:
        while not self._over.wait(_PAUSE):
            with self._lock:
                self._draw()


def spent(seconds: float) -> str:
    """Return a time as people say it."""
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes / 60:.1f} h"
