"""The label of a training table and what it is for, and its row weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from weighbridge._findings import Finding, Option, Problem, listed, shown, shown_file
from weighbridge._tables._features import mixed_values, value_problems
from weighbridge._tables._table import Table

# A class needs this many rows, so that every fold has some.
FEWEST_OF_CLASS = 5
# Whole numbers with more values than this are quantities.
MOST_CLASSES = 20


def guess_task(y: np.ndarray) -> str:
    """Return "classification" for text, booleans and few whole numbers, else "regression"."""
    y = np.asarray(y)
    if y.dtype.kind not in "iuf":
        return "classification"
    values = np.unique(y)
    whole = y.dtype.kind in "iu" or bool((values == np.floor(values)).all())
    return "classification" if whole and values.size <= MOST_CLASSES else "regression"


def label_problems(train: Table, label: str, task: str, option: Option) -> list[Problem]:
    """Return why a column cannot be the label."""
    problems = value_problems(train, label)
    mixed = mixed_values(train, label)
    if mixed is not None and not problems:
        problems.append(mixed)
    # an empty label is no way out, as it is for a feature
    problems = [
        p if p.code == "WB131" else replace(p, help="correct it, or remove the rows")
        for p in problems
    ]
    tally, where = train.tallies[label], shown_file(train.name)
    if tally.counts["missing"]:
        row = tally.first["missing"][0]
        problems.append(
            Problem(
                "WB106",
                f"{tally.counts['missing']:,} of {train.rows:,} labels are missing "
                f"(first at {where} {train.place(row)}).",
                (),
                "remove those rows; rows without a label cannot train a model",
            )
        )
    if problems or not train.frame[label].notna().any():
        return problems
    task = guess_task(labels(train, label)) if task == "auto" else task
    if task != "regression" and _is_beyond(train, label):
        return [
            Problem(
                "WB132",
                f"{shown(label)} in {where} holds whole numbers beyond 2^53, which cannot be told "
                "apart as numbers.",
                (),
                f"write classes as text, with a letter in front; or {option('task', 'regression')}",
            )
        ]
    y = labels(train, label, task)
    if task == "regression":
        return _regression_problems(train, label, y, option)
    return _class_problems(train, label, y, option)


def _is_beyond(train: Table, label: str) -> bool:
    values = train.frame[label].to_numpy()
    return values.dtype.kind == "f" and bool((np.abs(values) >= 2**53).any())


def labels(table: Table, label: str, task: str = "auto") -> np.ndarray:
    """Return the labels that are there: whole numbers, other numbers (as classes text), or text."""
    values = np.array(table.frame[label].dropna())
    if values.dtype == object:
        return np.array(values.tolist(), dtype=str)
    if task == "regression":
        return values
    if (values == np.floor(values)).all() and (np.abs(values) < 2**53).all():
        return values.astype(np.int64)
    return values.astype(str) if task == "classification" else values


def _regression_problems(train: Table, label: str, y: np.ndarray, option: Option) -> list[Problem]:
    where = shown_file(train.name)
    if y.dtype.kind == "U":
        return [
            Problem(
                "WB136",
                f"{shown(label)} in {where} is text; regression needs numbers.",
                (f"values: {listed(np.unique(y).tolist(), 4)}",),
                f"{option('task', 'classification')}, or another label",
                "usage",
            )
        ]
    return [_one_value(where, y)] if (y == y[0]).all() else []


def _one_value(where: str, y: np.ndarray) -> Problem:
    return Problem(
        "WB108",
        f"every label in {where} is {shown(y[0])}.",
        (),
        f"a model needs at least two classes with {FEWEST_OF_CLASS} rows each, or numbers that "
        "differ",
    )


def _class_problems(train: Table, label: str, y: np.ndarray, option: Option) -> list[Problem]:
    where = shown_file(train.name)
    classes, counts = np.unique(y, return_counts=True)
    if classes.size == 1:
        return [_one_value(where, y)]
    rare = [str(name) for name in classes[counts < FEWEST_OF_CLASS]]
    if not rare:
        return []
    few = int(counts.min())
    message = (
        f"class {shown(rare[0])} of {shown(label)} has {few} row{'s' * (few > 1)} in {where}"
        if len(rare) == 1
        else f"{len(rare):,} of {classes.size:,} classes of {shown(label)} have too few rows in "
        f"{where}"
    )
    numbers = f", or {option('task', 'regression')}" if y.dtype.kind in "if" else ""
    return [
        Problem(
            "WB108",
            f"{message}; at least {FEWEST_OF_CLASS} are needed.",
            (f"these: {listed(rare)}",) if len(rare) > 1 else (),
            f"merge {'it' if len(rare) == 1 else 'them'} with another class, or remove the rows"
            f"{numbers}",
        )
    ]


def weight_problems(train: Table, weight: str, option: Option) -> list[Problem]:
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
        return problem("are infinite in some rows", first, "replace them by numbers >= 0")
    if (values < 0).any():
        first = int(train.positions[values < 0][0])
        return problem("are negative in some rows", first, "replace them; 0 leaves a row out")
    if not (values > 0).any():
        return problem("are zero in every row", -1, "give at least some rows a weight")
    return []


def deployment_labels(
    train: Table, deploy: Table, label: str, task: str
) -> tuple[np.ndarray | None, Finding]:
    """Return the labels of deployment where they can be compared, and a note that says so."""
    other, tally = shown_file(deploy.name), deploy.tallies[label]
    note = f"{other} also has the label {shown(label)}; it is set aside"
    reason = ""
    if tally.counts["missing"]:
        reason = f"{tally.counts['missing']:,} of {deploy.rows:,} are missing"
    elif deploy.column(label).kind != train.column(label).kind or value_problems(deploy, label):
        reason = "its values are not like those of training"
    if reason:
        return None, Finding(
            "WB116", "note", f"{note} and not used: {reason}.", "Nothing to do; it is no feature."
        )
    y_target = labels(deploy, label, task)
    if y_target.dtype.kind != labels(train, label, task).dtype.kind:
        # whole numbers in one table, decimals in the other: both as the text of a decimal
        y_target = np.array(deploy.frame[label]).astype(str)
    return y_target, Finding(
        "WB116",
        "note",
        f"{note} and used only at the end, for the actual error.",
        "Nothing to do; it takes no part in fitting or choosing.",
    )
