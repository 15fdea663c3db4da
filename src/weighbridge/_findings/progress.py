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

    # whether anybody reads the news; some cost time to find out
    wants_news = False

    def __init__(
        self, progress: Progress | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.seconds: dict[str, float] = {}
        self.last: Moment | None = None
        self.begun = 0.0
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

    def timing(self) -> dict[str, float]:
        """Return the seconds of each stage that is over."""
        return {stage: round(seconds, 3) for stage, seconds in self.seconds.items()}

    def began(self, stage: str) -> None:
        """Hear that a stage begins."""

    def ended(self, stage: str, seconds: float) -> None:
        """Hear that a stage is over."""

    def heard(self, topic: str, news: Any) -> None:
        """Hear something that people may want to know before the job goes on."""


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
        self.done += 1
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
        self._begun = self._drawn = time.perf_counter()
        self._wait = _QUIET_SECONDS if verbose is None else 0.0
        self._text, self._width = "", 0

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
        self._draw()
        if self._width:
            sys.stderr.write("\n")
            sys.stderr.flush()
        if self._fit is not None:
            self._fit.call_on_fit_task_end(estimator=self._estimator)

    def _show(self, done: int, planned: int, best: float) -> None:
        now = time.perf_counter()
        seconds = now - self._begun
        if seconds < self._wait:
            return
        self._text = f"weighting {done} of {planned}, best loss {best:.4g}, {seconds:.0f} s"
        if not self._width or now - self._drawn >= _PAUSE:
            self._draw()
            self._drawn = now

    def _draw(self) -> None:
        if self._text:
            sys.stderr.write("\r" + self._text.ljust(self._width))
            sys.stderr.flush()
            self._width, self._text = len(self._text), ""

    def _tell(self, done: int, planned: int) -> None:
        if self._fit is None:
            self._fit = self._estimator._init_callback_context(max_subtasks=planned)
            self._fit.call_on_fit_task_begin(estimator=self._estimator)
        if done > planned:
            return
        task = self._fit.subcontext(task_name="weighting")
        task.call_on_fit_task_begin(estimator=self._estimator)
        task.call_on_fit_task_end(estimator=self._estimator)
