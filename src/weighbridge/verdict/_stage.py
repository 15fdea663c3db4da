"""How far a long job is, told to whoever wants to know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Progress: TypeAlias = Callable[[str, int, int], object]


class Stage:
    """Counts the steps of one stage, and tells of its beginning and of every step.

    Parameters
    ----------
    progress : function ``progress(stage, done, total)`` or None
        Who wants to know.
    name : str
        What the stage is called.
    total : int
        Number of its steps.
    """

    def __init__(self, progress: Progress | None, name: str, total: int):
        self.progress, self.name, self.total = progress, name, total
        self.done = 0
        self._tell()

    def step(self) -> None:
        """Count one more step as done."""
        self.done += 1
        self._tell()

    def _tell(self) -> None:
        if self.progress is not None:
            self.progress(self.name, self.done, self.total)


def check_progress(progress: Any) -> None:
    """Refuse what cannot be told anything, before any work."""
    if progress is not None and not callable(progress):
        raise TypeError(
            f"Got progress={progress!r}, but expected a function progress(stage, done, total)."
        )
