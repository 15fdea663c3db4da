"""Columns that the user names: are they there, and do the names agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from weighbridge._problem import Option, Problem, listed, nearest, shown, shown_file
from weighbridge._tables._table import Table


def unknown_names(
    train: Table, deploy: Table, drop: list[str], keep: list[str] | None, option: Option
) -> list[Problem]:
    """Return the problems of names to leave out or to use that no table has."""
    here, both = shown_file(train.name), list(dict.fromkeys([*train.names, *deploy.names]))
    neither = f"neither {here} nor {shown_file(deploy.name)} has a"
    unknown = [no_column(neither, "drop", name, both, option) for name in drop if name not in both]
    # a column that only deployment has cannot be kept; it has no values to train on
    return unknown + [
        no_column(f"{here} has no", "keep", name, train.names, option)
        for name in keep or []
        if name not in train.names
    ]


def contradictions(
    label: str | None, weight: str | None, drop: list[str], keep: list[str] | None, option: Option
) -> list[Problem]:
    """Return the problems of names that are given two roles."""
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
    return [
        Problem(
            "WB134",
            f"{shown(name)} is both {what}.",
            (),
            f"give one of the two: {option(one, name)} or {option(other, name)}",
            "usage",
        )
        for name, what, one, other in found
    ]


def no_column(lacks: str, role: str, name: str, names: Sequence[str], option: Option) -> Problem:
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


def not_features(train: Table, names: Iterable[str | None]) -> set[str]:
    """Return label and weights; where one is misspelt, also what it may have meant."""
    known = {name for name in names if name is not None}
    misspelt = [name for name in known if name not in train.names]
    return known | {close for name in misspelt for close in nearest(name, train.names)}
