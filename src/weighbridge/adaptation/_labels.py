"""Labels of some deployment rows: how many to ask for, which, and how they are read back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import ndtri

from weighbridge._data import canonical_order, take_rows
from weighbridge._findings import Problem, listed, shown, shown_file
from weighbridge._tables import Pair, Table, as_word, defused, table_of
from weighbridge.exceptions import InputError
from weighbridge.verdict import Verdict

ROW, STANDS_FOR = "row", "stands_for"
# How close labels are to come: to a share in points, to any other loss as a part of it.
_POINTS, _PARTS = (0.05, 0.1), (0.1, 0.2)
# Rows of the file, and of either part of the deployment in it.
_MOST_ROWS, _FEWEST_ROWS = 500, 20
# Where training covers the deployment, the share of errors is taken to be at least this, elsewhere
# a coin's; any other loss is taken to be so many times as large elsewhere.
_LEAST_ERROR, _COIN, _LARGER = 0.1, 0.5, 2.0


def rows_to_label(
    within: float, shares: np.ndarray, spreads: np.ndarray, confidence: float = 0.95
) -> int:
    """Return how many rows of parts with these shares and spreads tell their mean that closely."""
    half = float(ndtri((1 + confidence) / 2)) * float(shares @ spreads)
    return math.ceil(min((half / within) ** 2, 1e9)) if within else 0


def plan_labels(
    verdict: Verdict, deploy: Table, label: str, seed: int
) -> tuple[dict[str, Any], Any]:
    """Say how many rows to label, and draw them, more where losses are less certain."""
    looked_at, is_covered = verdict._problem.covered
    risk, is_share = verdict.candidate("none").risk, verdict.numbers.is_share
    spread = max(risk.training.standard_error * math.sqrt(risk.n_rows), 1e-300)
    counts = np.array([is_covered.sum(), (~is_covered).sum()])
    shares, size, within = counts / counts.sum(), 1.0, _POINTS if is_share else _PARTS
    spreads = np.array([max(spread, math.sqrt(_LEAST_ERROR * (1 - _LEAST_ERROR))), _COIN])
    if not is_share:
        spreads = spread * np.array([1, _LARGER])
        size = risk.training.value * float(shares @ [1, _LARGER])
    asked = [rows_to_label(each * size, shares, spreads, risk.confidence) for each in within]
    wanted = [min(deploy.rows, max(_FEWEST_ROWS, each)) for each in asked]
    total, least = min(wanted[0], _MOST_ROWS), np.minimum(_FEWEST_ROWS, counts)
    there = round(total * shares[1] * spreads[1] / float(shares @ spreads))
    there = min(max(there, least[1]), counts[1])
    n_rows = np.clip([total - there, there], least, counts)
    rng = np.random.default_rng(seed)
    # whatever the order of the rows
    order = rng.permutation(canonical_order(take_rows(verdict._problem.X_target, looked_at)))
    drawn = [order[is_covered[order]][: n_rows[0]], order[~is_covered[order]][: n_rows[1]]]
    stands_for = np.repeat(deploy.rows * shares / np.maximum(n_rows, 1), n_rows)
    mixed = rng.permutation(stands_for.size)  # the first so many are a sample too
    frame = _frame(deploy, label, looked_at[np.concatenate(drawn)[mixed]], stands_for[mixed])
    plan = {"within": list(within), "relative": not is_share, "rows": wanted}
    return {**plan, "chosen": len(frame)}, frame


def _frame(deploy: Table, label: str, rows: np.ndarray, stands_for: np.ndarray) -> Any:
    """Return rows of the deployment with all their columns, and an empty one for the label."""
    frame = deploy.frame.iloc[rows].reset_index(drop=True).convert_dtypes()
    frame = frame.astype(object).where(frame.notna(), None)
    frame = frame.drop(columns=[ROW, STANDS_FOR, label], errors="ignore")
    frame.insert(0, ROW, deploy.positions[rows] + 1)
    frame.insert(1, STANDS_FOR, stands_for)
    frame[label] = np.full(len(frame), None, object)
    return frame


def read_labels(
    data: Any, tables: tuple[Table, Table], pair: Pair, label: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return which deployment rows have which labels and stand for how many; refuse misfits."""
    (train, deploy), own = tables, pair.y_target
    if data is None:
        return None if own is None else (np.arange(own.size), own, np.ones(own.size))
    table = table_of(data, "labels")
    asked = label if label in table.names else defused(label)
    for misfit in _misfits(table, asked, train.column(label).kind, deploy, own):
        raise _refused(misfit)
    numbers, stands_for, values = (table.frame[n].to_numpy() for n in (ROW, STANDS_FOR, asked))
    rows = np.searchsorted(deploy.positions + 1, numbers)
    names = [n for n in pair.X_target if n in table.names and n not in (ROW, STANDS_FOR)]
    _check_features(table, deploy, names, rows)
    return rows, values, stands_for


def _misfits(table: Table, label: str, kind: str, deploy: Table, own: Any) -> Iterator[str]:
    """Yield what is wrong with the numbers of rows, what these stand for, and their labels."""
    where, there = shown_file(table.name), shown_file(deploy.name)
    if own is not None:
        yield f"{there} has labels as well as {where}."
    lacking = [name for name in (ROW, STANDS_FOR, label) if name not in table.names]
    if lacking:
        yield f"{where} has no column {listed(lacking)}."
    numbers, stands_for, values = (table.frame[n].to_numpy() for n in (ROW, STANDS_FOR, label))
    known = np.isin(numbers.astype(str), (deploy.positions + 1.0).astype(str))
    if not known.all():
        row = as_word(numbers[~known][0])
        yield f"{where} names row {row}; {there} has {deploy.positions.size:,} rows in use."
    unique, counts = np.unique(numbers, return_counts=True)
    if counts.max() > 1:
        yield f"{where} names row {as_word(unique[counts.argmax()])} more than once."
    if stands_for.dtype == object or not (np.isfinite(stands_for) & (stands_for > 0)).all():
        yield f"{shown(STANDS_FOR)} in {where} is not a positive number in every row."
    filled = np.array([each is not None and each == each for each in values.tolist()])
    empty = np.setdiff1d(stands_for, stands_for[filled])
    if empty.size:
        which = f"that stands for {empty[0]:.4g} others " if filled.any() else ""
        yield f"no row of {where} {which}has a label."
    if filled.sum() < 2:
        yield f"only one row of {where} has a label, which tells nothing."
    if kind == "numeric" and (values.dtype == object or np.isinf(values).any()):
        yield f"not every label in {where} is a finite number, as in training."


def _check_features(table: Table, deploy: Table, names: list[str], rows: np.ndarray) -> None:
    """Refuse a row that has not the features of the deployment row of its number."""
    for name in names:
        parts = table.frame[name].tolist(), deploy.frame[name].iloc[rows].tolist()
        for row, here, there in zip(deploy.positions[rows] + 1, *parts, strict=True):
            if _comparable(here) != _comparable(there):
                text = f"{shown(name)} of row {row} is {shown(here)} in {shown_file(table.name)}"
                raise _refused(f"{text} and {shown(there)} in {shown_file(deploy.name)}.")


def _comparable(value: Any) -> str:
    """Return a cell as text that is the same however a spreadsheet has written it."""
    try:
        return f"{float('nan' if value is None else value):.9g}"
    except ValueError:
        return str(defused(value)).strip()


def _refused(message: str) -> InputError:
    help = (
        "give a deployment file without labels, and label_these.csv as it was written for it, with "
        "labels in the last column; rows without one may stay or go"
    )
    return InputError([Problem("WB151", message, (), help)])
