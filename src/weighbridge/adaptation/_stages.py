"""Five stages of a run, how long each took, and who is told."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

STAGES = ("read", "shift", "bridge", "verify", "write")
Progress = Callable[[str, int, int], Any]


class Stages:
    """Passes progress on, and keeps the seconds of each stage.

    Parameters
    ----------
    progress : function ``progress(stage, done, total)`` or None
        Who is told.
    """

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress
        self.seconds: dict[str, float] = {}
        self._stage, self._since = "", time.perf_counter()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Say that so much of a stage is done; the one before is over."""
        self._count()
        self._stage = stage
        if self.progress is not None:
            self.progress(stage, done, total)

    def _count(self) -> None:
        now = time.perf_counter()
        if self._stage:
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + now - self._since
        self._since = now

    def end(self) -> dict[str, float]:
        """Return the seconds of all stages."""
        self._count()
        return {stage: round(seconds, 3) for stage, seconds in self.seconds.items()}
