"""Two tables that fit together, or every reason why they do not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from weighbridge._findings import Finding, Option, Problem, listed, nearest, shown, shown_file
from weighbridge._tables._features import match_features, mixed_values, value_problems
from weighbridge._tables._read import read_table
from weighbridge._tables._table import Dropped, Pair, Table
from weighbridge.exceptions import InputError
from weighbridge.tables import FEWEST_ROWS

TASKS = ("auto", "classification", "regression")
# A class needs this many rows, so that every fold has some.
FEWEST_OF_CLASS = 5
# Whole numbers with more values than this are quantities.
MOST_CLASSES = 20


def read_pair(
    train: Any,
    deploy: Any,
    *,
    option: Option,
    max_rows: int | None = None,
    seed: int = 0,
    **roles: Any,
) -> tuple[Table, Table, Pair]:
    """Read two tables and match them, see `check_pair`; all that is wrong comes out together."""
    problems: list[Problem] = []
    tables: list[Table] = []
    # Labelled deployment rows are never sampled away.
    for data, name, label in ((train, "train", None), (deploy, "deploy", roles.get("label"))):
        try:
            table = read_table(data, name, max_rows=max_rows, seed=seed, label=label)
            tables.append(table)
        except InputError as error:
            problems += error.problems
            if data is deploy and tables:
                problems += _training_problems(tables[0], tables[0], option, **roles)
    if problems:
        raise InputError(problems)
    here, there = tables
    return here, there, check_pair(here, there, option=option, **roles)


def check_pair(
    train: Table,
    deploy: Table,
    *,
    option: Option,
    label: str | None = None,
    # a column of training that is not a feature, such as a label that is not looked at
    aside: str | None = None,
    weight: str | None = None,
    drop: Iterable[str] = (),
    keep: Iterable[str] | None = None,
    task: str = "auto",
) -> Pair:
    """Match the columns of two tables by name, or raise every reason why they cannot be used."""
    if task not in TASKS:
        raise ValueError(f"Got task={task!r}, but expected one of {', '.join(TASKS)}.")
    drop, keep = list(drop), None if keep is None else list(keep)
    if aside in train.names and aside not in drop:
        drop.append(str(aside))
    problems = [
        *_unknown_names(train, deploy, drop, keep, option),
        *_contradictions(label, weight, drop, keep, option),
        *_training_problems(train, deploy, option, label, aside, weight, task),
        *_too_few(deploy, "collect more deployment rows; they need no labels"),
    ]
    left = _not_features(train, deploy, (label, aside, weight)) | {*drop}
    names = [n for n in train.names if n not in left]
    names = names if keep is None else [n for n in names if n in keep]
    is_named = label is not None or keep is not None
    found = match_features(train, deploy, names, option, is_named=is_named)
    problems += found.problems
    names, gone = found.names, [column.name for column in found.dropped]
    if not names and not any(p.code in ("WB103", "WB105", "WB133") for p in problems):
        problems.append(_none_left(sorted(gone), option))
    if problems:
        raise InputError(problems)
    ignored, unused = _extra_columns(train, deploy, left, training_too=keep is None)
    y, y_target, task_used, label_notes = _labels(train, deploy, label, task)
    return Pair(
        X=train.frame[names],
        X_target=deploy.frame[names],
        y=y,
        weight=None if weight is None else np.array(train.frame[weight]),
        y_target=y_target,
        task=task_used,
        features=tuple((train.column(name), deploy.column(name)) for name in names),
        notes=(*label_notes, *found.notes, *ignored),
        dropped=(*found.dropped, *unused),
    )


def _labels(
    train: Table, deploy: Table, label: str | None, task: str
) -> tuple[np.ndarray | None, np.ndarray | None, str | None, list[Any]]:
    if label is None:
        return None, None, None, []
    y, task = _read_labels(train, label, task)
    if label not in deploy.names:
        return y, None, task, []
    y_target, note = _deployment_labels(train, deploy, label)
    return y, y_target, task, [note]


def _training_problems(
    train: Table,
    deploy: Table,
    option: Option,
    label: str | None = None,
    aside: str | None = None,
    weight: str | None = None,
    task: str = "auto",
    **others: Any,
) -> Iterator[Problem]:
    """Yield what is wrong with the training table; the other one may say what was meant."""
    where = shown_file(train.name)
    for role, name in (("label", label), ("label", aside), ("weight", weight)):
        if name is not None and name not in train.names:
            problem = _no_column(f"{where} has no", role, name, train.names, option)
            taken = (name, aside, weight)
            yield _or_this(problem, train, deploy, taken, option) if name == label else problem
    yield from _too_few(train, "collect more labelled rows")
    if label in train.names:
        yield from _label_problems(train, str(label), task, option)
    if weight in train.names:
        yield from _weight_problems(train, str(weight))


def _too_few(table: Table, remedy: str) -> Iterator[Problem]:
    if table.rows < FEWEST_ROWS:
        rows = f"{table.rows} row{'s' * (table.rows > 1)}"
        yield Problem(
            "WB107",
            f"{shown_file(table.name)} has {rows}; at least {FEWEST_ROWS} are needed.",
            (f"with {rows} the ratio cannot be told from noise",),
            remedy,
        )


def _extra_columns(
    train: Table, deploy: Table, left: set[str], training_too: bool
) -> tuple[list[Finding], list[Dropped]]:
    """Return notes about columns that only one table has, and that nobody asked for."""
    notes: list[Finding] = []
    dropped: list[Dropped] = []
    for table, other, remedy in (
        (deploy, train, "Nothing to do, unless a name is misspelt in one of the files."),
        # with a label, what training has alone is a problem
        (train, deploy, "Nothing to do for a label; otherwise check the names."),
    )[: 1 + training_too]:
        extra = [name for name in _alone(table, other) if name not in left]
        if not extra:
            continue
        here, there = shown_file(table.name), shown_file(other.name)
        what = "it is" if len(extra) == 1 else "they are"
        message = f"{here} also has {listed(extra)}, which {there} does not have; {what} ignored."
        notes.append(Finding("WB138", "note", message, remedy))
        dropped += [Dropped(name, "WB138", f"{there} does not have it") for name in extra]
    return notes, dropped


def _none_left(gone: list[str], option: Option) -> Problem:
    return Problem(
        "WB133",
        "no features are left.",
        (f"cannot be used: {listed(gone)}",) if gone else (),
        "give tables with features that can be used"
        if gone
        else f"leave fewer columns out with {option('drop')}",
    )


def _unknown_names(
    train: Table, deploy: Table, drop: list[str], keep: list[str] | None, option: Option
) -> list[Problem]:
    """Return the problems of names to leave out or to use that no table has."""
    here, both = shown_file(train.name), list(dict.fromkeys([*train.names, *deploy.names]))
    neither = f"neither {here} nor {shown_file(deploy.name)} has a"
    unknown = [_no_column(neither, "drop", name, both, option) for name in drop if name not in both]
    # a column that only deployment has cannot be kept; it has no values to train on
    return unknown + [
        _no_column(f"{here} has no", "keep", name, train.names, option)
        for name in keep or []
        if name not in train.names
    ]


def _contradictions(
    label: str | None, weight: str | None, drop: list[str], keep: list[str] | None, option: Option
) -> Iterator[Problem]:
    """Yield the problems of names that are given two roles."""
    found = []
    if label is not None and label in drop:
        found.append((label, "the label and among the columns to leave out", "label", "drop"))
    if label is not None and label == weight:
        found.append((label, "the label and the row weights", "label", "weight"))
    found += [
        (name, "among the columns to use and those to leave out", "keep", "drop")
        for name in keep or []
        if name in drop
    ]
    for name, what, one, other in found:
        help = f"give one of the two: {option(one, name)} or {option(other, name)}"
        yield Problem("WB134", f"{shown(name)} is both {what}.", (), help, "usage")


def _no_column(lacks: str, role: str, name: str, names: Sequence[str], option: Option) -> Problem:
    """Return the problem of one name; `lacks` is what comes before "column" in the sentence."""
    close = nearest(name, names)
    evidence = f"nearest: {', '.join(shown(n)[1:-1] for n in close)}"
    return Problem(
        "WB105",
        f"{lacks} column {shown(name)}.",
        (evidence if close else f"there are {listed(names)}",),
        option(role, close[0]) if close else f"name one of these: {option(role, names[0])}",
        "usage",
    )


def _or_this(
    problem: Problem, train: Table, deploy: Table, taken: tuple[Any, ...], option: Option
) -> Problem:
    """Return the problem of a label that training lacks, with what the other table suggests."""
    name, *others = taken
    alone = [each for each in _alone(train, deploy) if each not in others]
    if name in deploy.names:
        known, remedy = f"{shown_file(deploy.name)} has it", "give training first, then deployment"
    elif len(alone) == 1 and not nearest(name, train.names):
        known = f"only {shown_file(train.name)} has {shown(alone[0])}"
        remedy = option("label", alone[0])
    else:
        return problem
    return replace(problem, evidence=(known,), help=remedy)


def _alone(table: Table, other: Table) -> list[str]:
    return [name for name in table.names if name not in other.names]


def _not_features(train: Table, deploy: Table, names: Iterable[str | None]) -> set[str]:
    """Return label and weights; where one is misspelt, also what it may have meant."""
    known = {name for name in names if name is not None}
    misspelt = [name for name in known if name not in train.names]
    meant = [nearest(name, train.names) or _alone(train, deploy) for name in misspelt]
    return known.union(*meant)


def guess_task(y: np.ndarray) -> str:
    """Return "classification" for text, booleans and few whole numbers, else "regression"."""
    y = np.asarray(y)
    if y.dtype.kind not in "iuf":
        return "classification"
    values = np.unique(y)
    whole = y.dtype.kind in "iu" or bool((values == np.floor(values)).all())
    return "classification" if whole and values.size <= MOST_CLASSES else "regression"


def _label_problems(train: Table, label: str, task: str, option: Option) -> Iterator[Problem]:
    """Yield why a column cannot be the label."""
    problems = value_problems(train, label)
    mixed = mixed_values(train, label)
    if mixed is not None and not problems:
        problems.append(mixed)
    for p in problems:
        # an empty label is no way out, as it is for a feature
        yield p if p.code == "WB131" else replace(p, help="correct it, or remove the rows")
    tally, where = train.tallies[label], shown_file(train.name)
    if tally.counts["missing"]:
        row = tally.first["missing"][0]
        yield Problem(
            "WB106",
            f"{tally.counts['missing']:,} of {train.rows:,} labels are missing "
            f"(first at {where} {train.place(row)}).",
            (),
            "remove those rows; rows without a label cannot train a model",
        )
    if problems or tally.counts["missing"]:
        return
    y, task = _read_labels(train, label, task)
    values = train.frame[label].to_numpy()
    is_beyond = values.dtype.kind == "f" and bool((np.abs(values) >= 2**53).any())
    if task == "regression":
        yield from _regression_problems(train, label, y, option)
    elif is_beyond:
        yield Problem(
            "WB132",
            f"{shown(label)} in {where} holds whole numbers beyond 2^53, which cannot be told "
            "apart as numbers.",
            (),
            f"write classes as text, with a letter in front; or {option('task', 'regression')}",
        )
    else:
        yield from _class_problems(train, label, y, option)


def _read_labels(table: Table, label: str, task: str) -> tuple[np.ndarray, str]:
    """Return the labels that are there, classes as whole numbers or else as text, and the task."""
    values = np.array(table.frame[label].dropna())
    task = guess_task(values) if task == "auto" else task
    if values.dtype == object:
        return np.array(values.tolist(), dtype=str), task
    if task == "regression":
        return values, task
    if (values == np.floor(values)).all() and (np.abs(values) < 2**53).all():
        return values.astype(np.int64), task
    return values.astype(str), task


def _regression_problems(
    train: Table, label: str, y: np.ndarray, option: Option
) -> Iterator[Problem]:
    where = shown_file(train.name)
    if y.dtype.kind == "U":
        yield Problem(
            "WB136",
            f"{shown(label)} in {where} is text; regression needs numbers.",
            (f"values: {listed(np.unique(y).tolist(), 4)}",),
            f"{option('task', 'classification')}, or another label",
            "usage",
        )
    elif (y == y[0]).all():
        yield _one_value(where, y)


def _one_value(where: str, y: np.ndarray) -> Problem:
    return Problem(
        "WB108",
        f"every label in {where} is {shown(y[0])}.",
        (),
        f"a model needs at least two classes with {FEWEST_OF_CLASS} rows each, or numbers that "
        "differ",
    )


def _class_problems(train: Table, label: str, y: np.ndarray, option: Option) -> Iterator[Problem]:
    where = shown_file(train.name)
    classes, counts = np.unique(y, return_counts=True)
    rare = [str(name) for name in classes[counts < FEWEST_OF_CLASS]]
    if classes.size == 1:
        yield _one_value(where, y)
        return
    if not rare:
        return
    few = int(counts.min())
    message = (
        f"class {shown(rare[0])} of {shown(label)} has {few} row{'s' * (few > 1)} in {where}"
        if len(rare) == 1
        else f"{len(rare):,} of {classes.size:,} classes of {shown(label)} have too few rows in "
        f"{where}"
    )
    numbers = f", or {option('task', 'regression')}" if y.dtype.kind in "if" else ""
    yield Problem(
        "WB108",
        f"{message}; at least {FEWEST_OF_CLASS} are needed.",
        (f"these: {listed(rare)}",) if len(rare) > 1 else (),
        f"merge {'it' if len(rare) == 1 else 'them'} with another class, or remove the rows"
        f"{numbers}",
    )


def _weight_problems(train: Table, weight: str) -> list[Problem]:
    """Return why a column cannot hold row weights."""
    tally = train.tallies[weight]
    column = f"the weights {shown(weight)} in {shown_file(train.name)}"

    def problem(what: str, row: int, remedy: str) -> list[Problem]:
        place = f" (first at {train.place(row)})" if row >= 0 else ""
        return [Problem("WB135", f"{column} {what}{place}.", (), remedy)]

    if train.column(weight).kind == "category":
        return problem("are not all numbers", tally.first_text[0], "write them as numbers >= 0")
    if tally.counts["missing"]:
        first = tally.first["missing"][0]
        return problem("are missing in some rows", first, "fill them; 0 leaves a row out")
    values = train.frame[weight].to_numpy()
    if not np.isfinite(values).all():
        first = int(train.positions[~np.isfinite(values)][0])
        return problem("are infinite in some rows", first, "replace them with numbers >= 0")
    if (values < 0).any():
        first = int(train.positions[values < 0][0])
        return problem("are negative in some rows", first, "replace them; 0 leaves a row out")
    if not (values > 0).any():
        return problem("are zero in every row", -1, "give at least some rows a weight")
    return []


def _deployment_labels(
    train: Table, deploy: Table, label: str
) -> tuple[np.ndarray | None, Finding]:
    """Return the labels of deployment where they can be compared, and a note that says so."""
    other, missing = shown_file(deploy.name), deploy.tallies[label].counts["missing"]
    note, reason = f"{other} also has the label {shown(label)}; it is set aside", ""
    if missing == deploy.rows:
        reason = "every one is missing"
    elif deploy.column(label).kind != train.column(label).kind or value_problems(deploy, label):
        reason = "its values are not like those of training"
    if reason:
        help = "Nothing to do; it is not a feature."
        return None, Finding("WB116", "note", f"{note} and not used: {reason}.", help)
    some, help = "", "Nothing to do; it takes no part in fitting or choosing."
    if missing:
        some = f" on the {deploy.rows - missing:,} of {deploy.rows:,} rows that have one"
        help = "They are taken as a random sample of the deployment: label rows drawn at random."
    message = f"{note} and used only at the end, for the actual error{some}."
    return np.array(deploy.frame[label]), Finding("WB116", "note", message, help)
