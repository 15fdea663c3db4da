"""Models of the user's own, whose code may fail in ways that are not ours."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from pickle import PicklingError
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from weighbridge._data import check_sample_weight
from weighbridge._findings import Option, Problem, escaped, shown, shown_file
from weighbridge._pass_weights import fit_with_weights
from weighbridge.exceptions import InputError

# Rows that a model on trial predicts, and letters of a message that are shown.
_ASKED = 20
_LONGEST = 300


def call_own(name: str, doing: str, call: Callable[[], Any], option: Option) -> Any:
    """Return what code of the user's own returns; whatever it raises is told as its own failure."""
    try:
        return call()
    except (InputError, MemoryError):
        raise
    # code that is not ours can raise anything
    except Exception as error:
        raise failure_of(name, doing, error, option) from error


def try_model(name: str, model: Any, X: Any, y: Any, weight: Any, option: Option) -> None:
    """Fit a model once and let it predict a few rows, before all the work that rests on it."""
    weights = check_sample_weight(weight, len(X))
    weights = np.ones(len(X)) if weights is None else weights
    tried = clone(model)
    call_own(name, "when it is fitted", lambda: fit_with_weights(tried, X, y, weights), option)
    few = X.head(_ASKED)
    predicted = call_own(name, "when it predicts", lambda: np.shape(tried.predict(few)), option)
    if predicted != (len(few),):
        raise _refused(
            f"{shown(name)} predicts an array of shape {predicted} for {len(few)} rows.",
            (f"expected: one prediction for each row, shape ({len(few)},)",),
            option,
        )


@contextmanager
def blamed(models: Mapping[str, Any], option: Option) -> Iterator[None]:
    """Tell a failure inside one of these models as its own; any other goes on as it is."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    # code that is not ours can raise anything
    except Exception as error:
        for name, model in models.items():
            if _went_through(error, name, model):
                raise failure_of(name, "in the middle of the work", error, option) from error
        raise


def failure_of(name: str, doing: str, error: Exception, option: Option) -> InputError:
    """Return the failure of a model in words: which, when, and what it said."""
    said = escaped(" ".join(f"{type(error).__name__}: {error}".split())).rstrip(": .")
    said = said if len(said) <= _LONGEST else said[: _LONGEST - 1] + "…"
    message = f"the model {shown(name)} fails {doing}: {said}."
    return _refused(message, tuple(_place(error, name)), option)


def _refused(message: str, evidence: tuple[str, ...], option: Option) -> InputError:
    help = f"correct the model, or take another: {option('model', 'linear')}"
    return InputError([Problem("WB706", message, evidence, help)])


def _place(error: Exception, name: str) -> Iterator[str]:
    """Yield the last line of the user's own module that was reached."""
    file = _file_of_module(name)
    frames = [each for each in traceback.extract_tb(error.__traceback__) if each.filename == file]
    if frames:
        yield f"in {shown_file(Path(file).name)} line {frames[-1].lineno}, {frames[-1].name}"


def _went_through(error: Exception, name: str, model: Any) -> bool:
    """Return whether an error came up through the code of a model, here or in another process."""
    if isinstance(error, PicklingError):  # named models can be sent to other processes
        return True
    text = "".join(traceback.format_exception(error))
    return any(f'File "{file}"' in text for file in _files(name, model))


def _files(name: str, model: Any) -> set[str]:
    """Return the files of a model's code, without those that every model of scikit-learn has."""
    parts = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    kinds = [
        kind
        for part in parts
        for kind in type(part).__mro__
        if kind.__module__.partition(".")[0] not in ("sklearn", "builtins", "weighbridge")
    ]
    found = {_file_of_module(name)}
    for kind in kinds:
        try:
            found.add(inspect.getfile(kind))
        except (OSError, TypeError):  # compiled, or typed into a prompt
            continue
    return found - {""}


def _file_of_module(name: str) -> str:
    return getattr(sys.modules.get(name.partition(":")[0]), "__file__", None) or ""
