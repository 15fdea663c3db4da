"""Features of two tables: which there are, which cannot be used, and which are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from weighbridge._findings import Finding, Option, Problem, listed, nearest, shown, shown_file
from weighbridge._tables._table import WRITTEN, Dropped, Table, Tally

# Numbers, in one way of writing or another, in at least this share of the cells.
MOST = 0.9
# Text that is different in nearly every row, in a column of more values than this.
FEW_LEVELS = 20
# More problems of one kind than this are told as one.
APART = 3


class Matched(NamedTuple):
    """The features to use, notes on those that are left out, and what is wrong with others."""

    names: list[str]
    notes: list[Finding]
    dropped: list[Dropped]
    problems: list[Problem]


def match_features(
    train: Table, deploy: Table, names: list[str], option: Option, *, is_named: bool
) -> Matched:
    """Judge the features of training; where they were named, deployment must have all of them."""
    missing = [*_missing(train, deploy, names, option)] if is_named else []
    used, notes, dropped = [], [], []
    found: list[tuple[str, Problem]] = []
    for name in names:
        if name not in deploy.names:
            continue
        note = _empty(train, deploy, name, option)
        problems = [] if note is not None else _problems(train, deploy, name, option)
        if note is None and not problems:
            note = _no_category(train, deploy, name)
        if note is not None:
            notes.append(note)
            dropped.append(Dropped(name, note.code, note.message))
        else:
            used.append(name)
            notes += [] if problems else _signs(train, name)
        found += [(name, problem) for problem in problems]
    return Matched(used, notes, dropped, [*missing, *_together(found)])


def _missing(train: Table, deploy: Table, names: list[str], option: Option) -> Iterator[Problem]:
    """Yield the problem of features that only training has, as one."""
    there = set(deploy.names)
    shared = [name for name in names if name in there]
    absent = [name for name in names if name not in there]
    if not absent:
        return
    here, other = shown_file(train.name), shown_file(deploy.name)
    if not shared:
        yield Problem(
            "WB133",
            f"{here} and {other} have no feature in common.",
            (f"{here}: {listed(names)}", f"{other}: {listed(deploy.names)}"),
            "check that these are the right files; columns are matched by name",
        )
        return
    close = [shown(n) for name in absent[:APART] for n in nearest(name, deploy.names, most=1)]
    nearby = (f"nearest in {other}: {', '.join(close)}",) if close else ()
    shorter = option("drop", *absent)
    if len(shared) < len(absent):
        shorter = option("keep", *shared)
    it = "it" if len(absent) == 1 else "them"
    yield Problem(
        "WB103",
        f"{other} has no column{'s' * (len(absent) > 1)} {listed(absent)}, which {here} has.",
        ("every feature must be in both", *nearby),
        f"add {it} to {other}, or leave {it} out of both: {shorter}",
    )


def _empty(train: Table, deploy: Table, name: str, option: Option) -> Finding | None:
    empty = [shown_file(t.name) for t in (train, deploy) if not t.tallies[name].present]
    if not empty:
        return None
    return Finding(
        "WB114",
        "note",
        f"{shown(name)} is empty in {' and '.join(empty)}; it is left out of both.",
        f"Fill it, or leave it out yourself: {option('drop', name)}.",
    )


def _no_category(train: Table, deploy: Table, name: str) -> Finding | None:
    """A note on text that is no category: dates, or different in nearly every row."""
    if {train.column(name).kind, deploy.column(name).kind} != {"category"}:
        return None
    # the larger table tells a key from a category of many levels
    table = max((train, deploy), key=lambda t: int(t.frame[name].notna().sum()))
    values = table.frame[name]
    present, distinct = int(values.notna().sum()), int(values.nunique())
    if distinct <= FEW_LEVELS:
        return None
    if all(
        t.tallies[name].counts["date"] >= MOST * t.tallies[name].present for t in (train, deploy)
    ):
        return Finding(
            "WB137",
            "note",
            f"{shown(name)} holds dates written as text; it is left out of both.",
            "To use it, write it as a number, such as days since the first.",
        )
    if distinct < MOST * present:
        return None
    return Finding(
        "WB137",
        "note",
        f"{shown(name)} is text with {distinct:,} different values in {present:,} rows of "
        f"{shown_file(table.name)}; it is left out of both.",
        "To use it, make columns from it that say something about the cases.",
    )


def _signs(table: Table, name: str) -> list[Finding]:
    """A note on a few different numbers with a sign, which may be categories (``5 %``)."""
    tally = table.tallies[name]
    few = table.column(name).kind == "category" and table.frame[name].nunique() <= FEW_LEVELS
    if not few or tally.counts["sign"] < MOST * tally.present:
        return []
    message = f"{shown(name)} holds numbers with a symbol ({shown(tally.first['sign'][1])}); each "
    help = "If they are quantities, write them without it."
    return [Finding("WB131", "note", f"{message}is taken for a category.", help)]


def _problems(train: Table, deploy: Table, name: str, option: Option) -> list[Problem]:
    values = [p for table in (train, deploy) for p in value_problems(table, name)]
    conflict = None if values else _conflict(train, deploy, name, option)
    return values if conflict is None else [conflict]


def value_problems(table: Table, name: str) -> list[Problem]:
    """Return what is wrong with the values of one column, whatever the other table has."""
    tally, where = table.tallies[name], shown_file(table.name)
    written = _written_numbers(table, name)
    if written is not None:
        return [written]
    if table.column(name).kind == "category":
        return []
    return list(not_finite(name, tally, where, table.place))


def not_finite(
    name: str, tally: Tally, where: str, place: Callable[[int], str]
) -> Iterator[Problem]:
    """Yield the problems of numbers that are infinite, or too large to be anything else."""
    for kind, code, what in (
        ("infinite", "WB109", "infinite value"),
        ("beyond", "WB132", "number"),
    ):
        count = tally.counts[kind]
        if not count:
            continue
        row, text = tally.first[kind]
        plural = "s" * (count > 1)
        size = " too large for a double" if kind == "beyond" else ""
        yield Problem(
            code,
            f"{shown(name)} has {count:,} {what}{plural}{size} in {where} (first at {place(row)}).",
            (f"{place(row)}: {shown(text)}",) if kind == "beyond" else (),
            f"replace {'it' if count == 1 else 'them'}; an empty cell counts as missing",
        )


def _written_numbers(table: Table, name: str) -> Problem | None:
    """Numbers with a decimal comma or thousands separators; never taken for categories."""
    tally = table.tallies[name]
    found = [kind for kind in WRITTEN if tally.counts[kind]]
    marked = sum(tally.counts[kind] for kind in found)
    if table.column(name).kind == "numeric" or not marked or _signs(table, name):
        return None
    if marked + tally.counts["number"] < MOST * tally.present:
        return None
    row, text = tally.first[found[0]]
    return Problem(
        "WB131",
        f"{shown(name)} in {shown_file(table.name)} holds numbers written with "
        f"{WRITTEN[found[0]]}.",
        (f"{table.place(row)}: {shown(text)}   ({_of(marked, tally.present)} like it)",),
        "write numbers as 1234.5: a point before decimals, nothing between thousands, no symbol",
    )


def mixed_values(table: Table, name: str) -> Problem | None:
    """The problem of a column of numbers with some text among them, in one table."""
    tally = table.tallies[name]
    if table.typed or table.column(name).kind == "numeric":
        return None
    if tally.not_numbers > tally.present / 2 or table.frame[name].nunique() <= FEW_LEVELS:
        return None
    return Problem(
        "WB104",
        f"{shown(name)} is a number in most rows of {shown_file(table.name)}, but not in all.",
        (_first_text(table, name),),
        _correct(tally.not_numbers),
    )


def _conflict(train: Table, deploy: Table, name: str, option: Option) -> Problem | None:
    kinds = train.column(name).kind, deploy.column(name).kind
    if kinds == ("numeric", "numeric"):
        return None
    if kinds == ("category", "category"):
        return mixed_values(train, name) or mixed_values(deploy, name)
    number, text = (train, deploy) if kinds[0] == "numeric" else (deploy, train)
    count = text.tallies[name].not_numbers
    few = count <= text.tallies[name].present / 2
    remedy = _correct(count) if few else "make it the same in both, or leave it out of both: "
    return Problem(
        "WB104",
        f"{shown(name)} is a number in {shown_file(number.name)} but not in "
        f"{shown_file(text.name)}.",
        (_first_text(text, name),),
        remedy if few else remedy + option("drop", name),
    )


def _first_text(table: Table, name: str) -> str:
    tally = table.tallies[name]
    row, text = tally.first_text
    are = "is not a number" if tally.not_numbers == 1 else "are not numbers"
    return (
        f"{shown_file(table.name)} {table.place(row)}: {shown(text)}   "
        f"({_of(tally.not_numbers, tally.present)} {are})"
    )


def _correct(count: int) -> str:
    if count == 1:
        return "correct that value, or empty it so that it counts as missing"
    return "correct those values, or empty them so that they count as missing"


def _of(count: int, total: int) -> str:
    return f"{count:,} of {total:,} value{'s' * (total > 1)}"


def _together(found: list[tuple[str, Problem]]) -> list[Problem]:
    """Tell the same problem of many columns as one."""
    problems = []
    for code in dict.fromkeys(problem.code for _, problem in found):
        same = [(name, problem) for name, problem in found if problem.code == code]
        if len(same) <= APART:
            problems += [problem for _, problem in same]
            continue
        first = same[0][1]
        others = list(dict.fromkeys(name for name, _ in same if name != same[0][0]))
        line = f"the same in {len(others):,} further column{'s' * (len(others) > 1)}: "
        problems.append(replace(first, evidence=(*first.evidence, line + listed(others))))
    return problems
