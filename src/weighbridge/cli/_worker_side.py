"""What dask's workers run for a command; it needs none of the packages of the command line."""

from __future__ import annotations

import pickle
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from joblib import parallel_config
from sklearn import config_context
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped, unused-ignore]


class Terms(NamedTuple):
    """What holds in the process of the command, and must hold for its workers too.

    `collects` says that warnings travel back with the result. They are of the whole process, so
    that only a worker that does one thing at a time can tell whose they are.
    """

    working_memory: int | None
    collects: bool


class Done(NamedTuple):
    """A result, and the warnings on the way to it: text and category."""

    result: Any
    warned: tuple[tuple[str, type[Warning]], ...]


def unpack(packed: bytes) -> Any:
    """Return what was packed; a task that a lost worker had is done again from its bytes."""
    return pickle.loads(packed)


def run_block(function: Callable[[Any], Any], packed: bytes, terms: Terms) -> Done:
    """Return what a function makes of a packed block."""
    with _alone(terms) as warned:
        result = function(unpack(packed))
    return Done(result, _told(warned))


def run_packed(packed: bytes, terms: Terms) -> Done:
    """Return what a packed call returns."""
    with _alone(terms) as warned:
        result = unpack(packed)()
    return Done(result, _told(warned))


class _OneThread:
    """Limits the libraries underneath to one thread while any task runs.

    The limit is of the process. Tasks beside each other that each restore what they found would
    give the threads back while another still works, and the last bits depend on their number.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tasks = 0
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._tasks:
                self._limits = threadpool_limits(1)
            self._tasks += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._tasks -= 1
            if not self._tasks:
                self._limits.restore_original_limits()


_ONE_THREAD = _OneThread()


@contextmanager
def _alone(terms: Terms) -> Iterator[list[warnings.WarningMessage]]:
    """Work as the command itself works with one job; collect warnings where that is safe."""
    options = {} if terms.working_memory is None else {"working_memory": terms.working_memory}
    with _ONE_THREAD, parallel_config(backend="sequential"), config_context(**options):
        if not terms.collects:
            yield []
            return
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("default")
            yield warned


def _told(warned: list[warnings.WarningMessage]) -> tuple[tuple[str, type[Warning]], ...]:
    return tuple(dict.fromkeys((str(each.message), each.category) for each in warned))


def predicted(saved: Any, block: Any) -> list[np.ndarray]:
    """Return the predictions of a block, and for classes their probabilities."""
    predictions = np.asarray(saved.model.predict(block))
    if not has_chances(saved):
        return [predictions]
    return [predictions, *np.asarray(saved.model.predict_proba(block)).T]


def has_chances(saved: Any) -> bool:
    """Return whether a model gives a probability for each class."""
    return saved.task == "classification" and hasattr(saved.model, "predict_proba")


def scored(ratio: Any, columns: list[str], block: Any) -> np.ndarray:
    """Return the log ratio of a block."""
    return np.asarray(ratio.score_samples(block[columns]))


def logarithm(column: str, block: Any) -> np.ndarray:
    """Return the log ratio of a block that holds the ratio in a column."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(block[column].to_numpy()))
