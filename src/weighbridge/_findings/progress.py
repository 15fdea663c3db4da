"""How far a long job is: whoever works says ``(stage, done, total)``, whoever listens is called."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

Progress: TypeAlias = Callable[[str, int, int], object]

# A shorter search is over before anybody wonders; and a line is rewritten at most this often.
_QUIET_SECONDS = 2.0
_PAUSE = 0.1
# What a stage does, until something more exact is known.
DETAILS = {
    "read": "the two files",
    "shift": "ratio, diagnosis, unweighted model",
    "bridge": "weightings fitted to all rows",
    "verify": "selection repeated without each fold",
    "write": "files",
}
# What stages take of a whole job whose fits are quick; slower ones are measured (`expect`).
USUAL = {"read": 0.02, "shift": 0.60, "bridge": 0.07, "verify": 0.25, "write": 0.06}
# Share of the work after which the time left is worth saying.
_KNOWN = 0.1
# Columns of a name, and of a line.
_NAME, _COLUMNS = 9, 80


class Moment(NamedTuple):
    """The last thing that was heard: how much of a stage is done, and when."""

    stage: str
    done: int
    total: int
    at: float


class Stages:
    """Listens to a job, and keeps the stage that it is in, how far, and the seconds of each."""

    # told often, it passes on little, so that no job waits for whoever shows it: `began` and
    # `ended` once a stage, news for people, and every step to the function of a user

    def __init__(
        self, progress: Progress | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.seconds: dict[str, float] = {}
        self.last: Moment | None = None
        self.begun = 0.0
        # what each stage of the whole job takes of it; nothing where there is but the present one
        self.plan: dict[str, float] = {}
        self._expected: dict[str, float] = {}
        self._details, self._units = dict(DETAILS), {"shift": "steps"}
        self._progress, self._clock = progress, clock

    @property
    def stage(self) -> str | None:
        """The stage that the job is in."""
        return None if self.last is None else self.last.stage

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Note how much of a stage is done; the one before is over."""
        if stage != self.stage:
            self.end()
            self.begun = self._clock()
            self.began(stage)
        self.last = Moment(stage, done, total, self._clock())
        if self._progress is not None:
            self._progress(stage, done, total)

    def end(self) -> None:
        """End the present stage."""
        if self.last is None:
            return
        stage, seconds = self.last.stage, self._clock() - self.begun
        self.last = None
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds
        self.ended(stage, seconds)

    def expect(self, **seconds: float) -> None:
        """Learn how long stages to come will take."""
        self._expected |= seconds

    def left(self) -> float | None:
        """Return about how many seconds the job still takes; None while too little is done."""
        if self.last is None:
            return None
        stage, done, total, at = self.last
        plan = self.plan if stage in self.plan else {stage: 1.0}
        part, passed = done / total if total > 1 else 0.0, at - self.begun
        over = {name: seconds for name, seconds in self.seconds.items() if name in plan}
        known = sum(plan[name] for name in over) + plan[stage] * part
        if known < _KNOWN:
            return None
        pace = (sum(over.values()) + passed) / known
        own = passed / part if part >= _KNOWN else self._expected.get(stage, plan[stage] * pace)
        coming = [name for name in plan if name not in over and name != stage]
        later = sum(self._expected.get(name, plan[name] * pace) for name in coming)
        # less what has passed since
        return own * (1 - part) + later - (self._clock() - at)

    def line(self) -> str:
        """Return the stage, how far it is, and what the job still takes."""
        if self.last is None:
            return ""
        stage, done, total, _ = self.last
        unit, left = self._units.get(stage, "fits"), self.left()
        parts = [self._details.get(stage, "")]
        if total > 1:
            parts = [f"{done} %" if unit == "%" else f"{done:,} of {total:,} {unit}"]
        parts.append(spent(self._clock() - self.begun))
        parts += [f"about {spent(left)} left"] if left is not None and left > 0 else []
        return f"  {stage:<{_NAME}}{', '.join(parts)}"[: _COLUMNS - 1]

    def timing(self) -> dict[str, float]:
        """Return the seconds of each stage that is over."""
        return {stage: round(seconds, 3) for stage, seconds in self.seconds.items()}

    def began(self, stage: str) -> None:
        """Hear that a stage begins."""

    def ended(self, stage: str, seconds: float) -> None:
        """Hear that a stage is over."""

    def heard(self, topic: str, news: Any) -> None:
        """Hear something that people may want to know before the job goes on."""


class StageLine(Stages):
    """Shows the stage on one line of standard error, and leaves nothing behind."""

    def __init__(self) -> None:
        super().__init__()
        self._line = _Line(_QUIET_SECONDS)

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Note how much of a stage is done, and show it."""
        super().__call__(stage, done, total)
        self._line.show(self.line())

    def close(self) -> None:
        """Wipe the line."""
        self._line.show("", now=True)
        self._line.end("\r")


class _Line:
    """A line on standard error that is rewritten: after some seconds, and not too often."""

    def __init__(self, wait: float) -> None:
        self.begun = self._drawn = time.perf_counter()
        self._wait, self._text, self._width = wait, "", 0

    def show(self, text: str, *, now: bool = False) -> None:
        """Show a text, now or when it is time for it."""
        time_now = time.perf_counter()
        if time_now - self.begun < self._wait:
            return
        self._text = text
        if now or not self._width or time_now - self._drawn >= _PAUSE:
            self._draw()
            self._drawn = time_now

    def end(self, sign: str) -> None:
        """Show what is left to show, and leave the line."""
        if self._text:
            self._draw()
        if self._width:
            sys.stderr.write(sign)
            sys.stderr.flush()

    def _draw(self) -> None:
        sys.stderr.write("\r" + self._text.ljust(self._width))
        sys.stderr.flush()
        self._width, self._text = max(len(self._text), self._width), ""


def shown_progress(progress: Any) -> Any:
    """Return who is told of a job: by default a line at a terminal; True and False decide it."""
    if progress is None or progress is True:  # a program without a terminal may have no stream
        progress = bool(sys.stderr and (progress or sys.stderr.isatty()))
    return (StageLine() if progress else None) if isinstance(progress, bool) else progress


def told_progress(progress: Any) -> Stages:
    """Return who is told: the listener itself, or one around the function of a user."""
    if progress is not None and not callable(progress):
        raise TypeError(
            f"Got progress={progress!r}, but expected a function progress(stage, done, total)."
        )
    return progress if isinstance(progress, Stages) else Stages(progress)


class Stage:
    """Counts the steps of one stage, and tells of its beginning and of every step."""

    def __init__(self, progress: Progress, name: str, total: int):
        self.name, self.total, self.done = name, total, 0
        self._progress = progress
        progress(name, 0, total)

    def step(self) -> None:
        """Count one more step as done."""
        self.reach(self.done + 1)

    def reach(self, done: int) -> None:
        """Say how many steps are done."""
        self.done = done
        self._progress(self.name, self.done, self.total)


class SearchProgress:
    """Shows the evaluations of a search on a line, and to callbacks of scikit-learn 1.9."""

    def __init__(self, verbose: int | None, estimator: Any) -> None:
        # 0 is silent, 1 reports at once, None to a terminal only, after two seconds
        wanted = sys.stderr and (sys.stderr.isatty() if verbose is None else verbose)
        self.shows_line = bool(wanted)
        self.has_callbacks = hasattr(estimator, "_skl_callbacks")
        self._estimator = estimator
        self._fit: Any = None
        self._line = _Line(_QUIET_SECONDS if verbose is None else 0.0)

    @property
    def listener(self) -> SearchProgress | None:
        """What a search is to call; None where nobody would hear it."""
        return self if self.shows_line or self.has_callbacks else None

    def __call__(self, evaluation: Any, done: int, planned: int, best: float) -> None:
        """Say that one more evaluation is finished."""
        if self.shows_line:
            self._show(done, planned, best)
        if self.has_callbacks:
            self._tell(done, planned)

    def close(self) -> None:
        """End the line, and tell the callbacks that the search is over."""
        self._line.end("\n")
        if self._fit is not None:
            self._fit.call_on_fit_task_end(estimator=self._estimator)

    def _show(self, done: int, planned: int, best: float) -> None:
        seconds = time.perf_counter() - self._line.begun
        self._line.show(f"weighting {done} of {planned}, best loss {best:.4g}, {seconds:.0f} s")

    def _tell(self, done: int, planned: int) -> None:
        if self._fit is None:
            self._fit = self._estimator._init_callback_context(max_subtasks=planned)
            self._fit.call_on_fit_task_begin(estimator=self._estimator)
        if done > planned:
            return
        task = self._fit.subcontext(task_name="weighting")
        task.call_on_fit_task_begin(estimator=self._estimator)
        task.call_on_fit_task_end(estimator=self._estimator)


def spent(seconds: float) -> str:
    """Return a time as people say it."""
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes / 60:.1f} h"
