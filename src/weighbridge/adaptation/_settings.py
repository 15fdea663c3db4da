"""What a run is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from weighbridge._problem import Option, Problem, shown
from weighbridge._tables import TASKS
from weighbridge.exceptions import InputError


@dataclass(frozen=True)
class Settings:
    """The arguments of `weighbridge.adapt`, whose documentation says what they mean."""

    label: str
    task: str = "auto"
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] | None = None
    weight: str | None = None
    models: tuple[Any, ...] = ("linear",)
    metric: str | None = None
    ratio: Any = "auto"
    lam: float | None = None
    alpha: float | None = None
    confidence: float = 0.95
    seed: int = 0
    n_jobs: int = 1

    def check(self, option: Option) -> None:
        """Refuse settings that make no sense, all of them together, before any work."""
        found = []
        if self.task not in TASKS:
            found.append(_problem(f"task {shown(self.task)}", TASKS, option("task", "auto")))
        if self.lam is not None and not 0 <= self.lam <= 1:
            found.append(
                _problem(
                    f"lam {self.lam:g}",
                    ("0 (no weights) to 1 (the full ratio)",),
                    option("lam", "0.8"),
                )
            )
        if self.alpha is not None and not abs(self.alpha) < float("inf"):
            found.append(
                _problem(f"alpha {self.alpha:g}", ("a finite number",), option("alpha", "3"))
            )
        if not 0 < self.confidence < 1:
            found.append(
                _problem(
                    f"a confidence of {self.confidence:g}",
                    ("between 0 and 1",),
                    option("confidence", "0.95"),
                )
            )
        if self.n_jobs == 0:
            found.append(
                _problem("0 jobs", ("a number of cores, or -1 for all",), option("jobs", "1"))
            )
        if found:
            raise InputError(found)


def _problem(got: str, expected: tuple[str, ...], help: str) -> Problem:
    return Problem("WB705", f"got {got}.", (f"expected: {', '.join(expected)}",), help, "usage")
