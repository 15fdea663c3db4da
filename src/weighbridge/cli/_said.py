"""What a run says before it works: what it read, what it took that for, how long it may take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weighbridge._problem import cli_option
from weighbridge.cli._diagnosis_screen import cut
from weighbridge.cli._narration import spent

if TYPE_CHECKING:
    from weighbridge._tables import Pair, Table
    from weighbridge.verdict._workload import Workload

# Models by what they are: a classifier, a regressor.
_MODELS = {
    "linear": ("logistic regression", "ridge regression"),
    "boosting": ("gradient boosting", "gradient boosting"),
    "forest": ("random forest", "random forest"),
    "svm": ("support vector machine", "support vector machine"),
}
# Seconds from which on a run is worth announcing.
_LONG = 10.0


def size_text(tables: tuple[Table, Table]) -> str:
    """Return rows and columns of both files."""
    first, second = (f"{each.rows:,} × {len(each.columns)}" for each in tables)
    return f"{first} and {second}"


def label_text(settings: dict[str, Any], pair: Pair) -> str:
    """Say what was taken for the task, since it was guessed unless it was given."""
    import numpy as np

    name, is_number = cut(settings["label"]), pair.task != "classification"
    models = [
        _MODELS[each][is_number] if each in _MODELS else cut(each) for each in settings["models"]
    ]
    model = f"model{'s' * (len(models) > 1)} {', '.join(models)}"
    if is_number:
        return f"{name} (numbers), {model}"
    classes, counts = np.unique(np.asarray(pair.y), return_counts=True)
    last = f"{100 * counts[-1] / counts.sum():.0f} % are {cut(str(classes[-1]), 12)}"
    return f"{name} ({classes.size} classes, {last}), {model}"


def workload_text(work: Workload, jobs: int, cores: int) -> str | None:
    """Say how long a slow model may take, and whether more jobs would help; None if it is quick.

    Parameters
    ----------
    work : Workload
        The fits that are left.
    jobs : int
        Jobs that the run has.
    cores : int
        Jobs that the computer can do at once.
    """
    seconds = work.duration(jobs)
    if seconds < _LONG:
        return None
    said = f"{', '.join(map(cut, work.names))}: about {_round(work.n_fits)} fits, {_about(seconds)}"
    more = min(cores, work.n_folds)
    if more <= jobs or _about(work.duration(more)) == _about(seconds):
        return said
    return f"{said}; {cli_option('jobs', str(more))} would take {_about(work.duration(more))}"


def _round(number: int) -> str:
    """Return a number with the two digits that an estimate has."""
    digits = max(0, len(str(number)) - 2)
    return f"{round(number, -digits):,}"


def _about(seconds: float) -> str:
    if seconds >= 95:
        return f"about {spent(seconds)}"
    tens = 10 * round(seconds / 10)
    return f"about {tens} s" if tens else "a few seconds"
