"""Two tables that fit together, or every reason why they do not."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Any

import numpy as np

from weighbridge._problem import Option, Problem, listed, shown_file
from weighbridge._tables._features import (
    extra_columns,
    feature_problems,
    left_out,
    missing_columns,
)
from weighbridge._tables._label import (
    deployment_labels,
    label_problems,
    labels,
    weight_problems,
)
from weighbridge._tables._named import (
    contradictions,
    no_column,
    not_features,
    unknown_names,
)
from weighbridge._tables._read import read_table, table_of
from weighbridge._tables._table import Pair, Table
from weighbridge._tables._task import guess_task
from weighbridge._validation import FEWEST_ROWS
from weighbridge.exceptions import InputError

TASKS = ("auto", "classification", "regression")


def read_pair(
    train: Any,
    deploy: Any,
    *,
    label: str | None = None,
    weight: str | None = None,
    drop: Iterable[str] = (),
    keep: Iterable[str] | None = None,
    task: str = "auto",
    option: Option,
    max_rows: tuple[int | None, int | None] = (None, None),
    seed: int = 0,
) -> tuple[Table, Table, Pair]:
    """Read two tables and match them; all that is wrong with either comes out together.

    Parameters
    ----------
    train, deploy : path or data frame
        The labelled table, and the one the model is meant for.
    label, weight, drop, keep, task, option
        As in `check_pair`.
    max_rows : pair of int or None
        How many rows of each to keep, drawn at random; files only.
    seed : int, default=0
        Of the samples.

    Returns
    -------
    tuple of (Table, Table, Pair)

    Raises
    ------
    InputError
        With all problems of both tables.

    Examples
    --------
    >>> import pandas as pd
    >>> from weighbridge._problem import argument
    >>> from weighbridge._tables import read_pair
    >>> train = pd.DataFrame({"age": range(20, 60), "ill": [0, 1] * 20})
    >>> deploy = pd.DataFrame({"age": range(30, 70)})
    >>> read_pair(train, deploy, label="ill", option=argument)[2].task
    'classification'
    """
    problems: list[Problem] = []
    tables: list[Table | None] = []
    for data, name, most in ((train, "train", max_rows[0]), (deploy, "deploy", max_rows[1])):
        try:
            if isinstance(data, str | PathLike):
                tables.append(read_table(data, option=option, max_rows=most, seed=seed))
            else:
                tables.append(table_of(data, name, option=option))
        except InputError as error:
            problems += error.problems
            tables.append(None)
    first, second = tables
    settings: dict[str, Any] = {"label": label, "weight": weight, "task": task, "option": option}
    if first is None or second is None:
        if first is not None:
            problems += _training_problems(first, **settings)
        raise InputError(problems)
    return first, second, check_pair(first, second, drop=drop, keep=keep, **settings)


def check_pair(
    train: Table,
    deploy: Table,
    *,
    label: str | None = None,
    weight: str | None = None,
    drop: Iterable[str] = (),
    keep: Iterable[str] | None = None,
    task: str = "auto",
    option: Option,
) -> Pair:
    """Match the columns of two tables by name and check that they can be used.

    Parameters
    ----------
    train, deploy : Table
        The labelled table, and the one the model is meant for.
    label, weight : str, optional
        Columns of `train` with the labels and with own row weights. Without a label, a column
        that only `train` has is ignored with a note, as it may be one.
    drop : iterable of str
        Features to leave out.
    keep : iterable of str, optional
        Features to use; all shared columns if not given.
    task : {"auto", "classification", "regression"}, default="auto"
        What the label is for.
    option : callable
        How settings are spelt in messages.

    Returns
    -------
    Pair

    Raises
    ------
    InputError
        With every problem found.

    Examples
    --------
    >>> import pandas as pd
    >>> from weighbridge._problem import argument
    >>> from weighbridge._tables import check_pair, table_of
    >>> train = table_of(
    ...     pd.DataFrame({"age": range(40), "ill": [0, 1] * 20}), "train", option=argument
    ... )
    >>> deploy = table_of(pd.DataFrame({"age": range(30, 70)}), "deploy", option=argument)
    >>> check_pair(train, deploy, label="il", option=argument)
    Traceback (most recent call last):
    weighbridge.exceptions.InputError: error WB105: train has no column "il".
      nearest: ill
      help: label="ill"
    """
    if task not in TASKS:
        raise ValueError(f"Got task={task!r}, but expected one of {', '.join(TASKS)}.")
    drop, keep = _as_list(drop), None if keep is None else _as_list(keep)
    problems = [
        *unknown_names(train, deploy, drop, keep, option),
        *contradictions(label, weight, drop, keep, option),
        *_training_problems(train, label=label, weight=weight, task=task, option=option),
        *_too_few(deploy, "collect more deployment rows; they need no labels"),
    ]
    aside = not_features(train, (label, weight))
    names = [n for n in train.names if n not in aside and n not in drop]
    names = names if keep is None else [n for n in names if n in keep]
    if label is not None or keep is not None:
        problems += missing_columns(train, deploy, names, option)
    names = [name for name in names if name in deploy.names]
    notes, dropped = left_out(train, deploy, names, option)
    gone = {column.name for column in dropped}
    names = [name for name in names if name not in gone]
    problems += feature_problems(train, deploy, names, option)
    if not names and not any(p.code in ("WB103", "WB105", "WB133") for p in problems):
        problems.append(_none_left(sorted(gone), option))
    if problems:
        raise InputError(problems)
    aside |= {*drop}
    ignored, unused = extra_columns(train, deploy, aside, training_too=keep is None)
    y, y_target, task_used, label_notes = _labels(train, deploy, label, task)
    return Pair(
        X=train.frame[names],
        X_target=deploy.frame[names],
        y=y,
        weight=None if weight is None else np.array(train.frame[weight]),
        y_target=y_target,
        task=task_used,
        features=tuple((train.column(name), deploy.column(name)) for name in names),
        notes=(*label_notes, *notes, *ignored),
        dropped=(*dropped, *unused),
    )


def _as_list(names: Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _labels(
    train: Table, deploy: Table, label: str | None, task: str
) -> tuple[np.ndarray | None, np.ndarray | None, str | None, list[Any]]:
    if label is None:
        return None, None, None, []
    task = guess_task(labels(train, label)) if task == "auto" else task
    y = labels(train, label, task)
    if label not in deploy.names:
        return y, None, task, []
    y_target, note = deployment_labels(train, deploy, label, task)
    return y, y_target, task, [note]


def _training_problems(
    train: Table, *, label: str | None, weight: str | None, task: str, option: Option
) -> list[Problem]:
    """Return what the training table alone shows to be wrong."""
    problems, where = [], shown_file(train.name)
    for role, name in (("label", label), ("weight", weight)):
        if name is not None and name not in train.names:
            problems.append(no_column(f"{where} has no", role, name, train.names, option))
    problems += _too_few(train, "collect more labelled rows")
    if label in train.names:
        problems += label_problems(train, str(label), task, option)
    if weight in train.names:
        problems += weight_problems(train, str(weight), option)
    return problems


def _too_few(table: Table, remedy: str) -> list[Problem]:
    if table.rows >= FEWEST_ROWS:
        return []
    rows = f"{table.rows} row{'s' * (table.rows > 1)}"
    return [
        Problem(
            "WB107",
            f"{shown_file(table.name)} has {rows}; at least {FEWEST_ROWS} are needed.",
            (f"with {rows} the ratio cannot be told from noise",),
            remedy,
        )
    ]


def _none_left(gone: list[str], option: Option) -> Problem:
    return Problem(
        "WB133",
        "no feature is left.",
        (f"cannot be used: {listed(gone)}",) if gone else (),
        "give tables with features that can be used"
        if gone
        else f"leave fewer columns out with {option('drop')}",
    )
