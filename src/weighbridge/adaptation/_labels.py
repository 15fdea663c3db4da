"""Labels of some deployment rows: how many to ask for, which, and how they are read back."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from weighbridge._data import canonical_order, take_rows
from weighbridge._findings import Finding, Option, Problem, listed, shown, shown_file
from weighbridge._tables import Pair, Table, as_word, defused, labels_like, table_of, to_frame
from weighbridge.exceptions import InputError
from weighbridge.verdict import Verdict

ROW, STANDS_FOR = "row", "stands_for"
# How close a labelled sample is to come: to a share in points, to any other loss as a part of it.
_WITHIN, _WITHIN_PART = (0.05, 0.1), (0.1, 0.2)
# Rows of the file, and of either part of the deployment in it.
_MOST_ROWS, _FEWEST_ROWS = 500, 20
# A share of errors is taken to be at least this where training covers the deployment, and a coin's
# elsewhere; any other loss there to be so many times that of training.
_LEAST_ERROR, _COIN, _LARGER = 0.1, 0.5, 2.0
# Numbers that a spreadsheet has rounded are still the same.
_ROUNDED = 1e-9


def rows_to_label(
    within: float, shares: Sequence[float], spreads: Sequence[float], confidence: float = 0.95
) -> int:
    """Return how many rows of parts with these shares and spreads tell their mean that closely."""
    spread = float(np.dot(shares, spreads))
    return math.ceil((float(ndtri((1 + confidence) / 2)) * spread / within) ** 2)


@dataclass(frozen=True)
class LabelPlan:
    """How many deployment rows to label, and which: places in the table, and what each is for."""

    within: tuple[float, float]
    is_relative: bool
    wanted: tuple[int, ...]
    rows: np.ndarray
    stands_for: np.ndarray

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, ready for JSON."""
        return {
            "within": list(self.within),
            "relative": self.is_relative,
            "rows": list(self.wanted),
            "chosen": self.rows.size,
        }

    def frame(self, deploy: Table, label: str) -> Any:
        """Return the rows with all their columns, and an empty one for the label."""
        n, taken = self.rows.size, deploy.frame.iloc[self.rows]
        kept = [name for name in deploy.names if name not in (ROW, STANDS_FOR, label)]
        cells = {name: np.fromiter(map(_cell, taken[name]), object, n) for name in kept}
        numbers = {ROW: deploy.positions[self.rows] + 1, STANDS_FOR: self.stands_for}
        return to_frame({**numbers, **cells, label: np.full(n, None, object)})


def _cell(value: Any) -> Any:
    """Return a value as it is written: nothing for what is missing, no decimals for whole ones."""
    if value is None or value != value:
        return None
    return int(value) if isinstance(value, float) and value.is_integer() else value


def plan_labels(verdict: Verdict, deploy: Table, seed: int) -> LabelPlan:
    """Draw rows from the covered part and the other, more where losses are less certain."""
    looked_at, is_covered = verdict._problem.covered
    risk, is_share = verdict.candidate("none").risk, verdict.numbers.is_share
    spread = risk.training.standard_error * math.sqrt(risk.n_rows)
    counts = np.array([is_covered.sum(), (~is_covered).sum()])
    shares = counts / counts.sum()
    if is_share:
        least = math.sqrt(_LEAST_ERROR * (1 - _LEAST_ERROR))
        spreads, size, within = np.array([max(spread, least), _COIN]), 1.0, _WITHIN
    else:
        spreads, within = np.array([spread, _LARGER * spread]), _WITHIN_PART
        size = risk.training.value * float(shares @ [1.0, _LARGER])
    asked = [rows_to_label(each * size, shares, spreads, risk.confidence) for each in within]
    wanted = tuple(min(deploy.rows, max(_FEWEST_ROWS, each)) for each in asked)
    total, parts = min(wanted[0], _MOST_ROWS), shares * spreads
    inside = np.clip(round(total * parts[0] / parts.sum()), *_bounds(counts[0]))
    n_rows = np.array([inside, np.clip(total - inside, *_bounds(counts[1]))])
    rng = np.random.default_rng(seed)
    # whatever the order of the rows
    order = canonical_order(take_rows(verdict._problem.X_target, looked_at))
    order = order[rng.permutation(order.size)]
    drawn = [
        order[is_covered[order] == here][:n] for here, n in zip((True, False), n_rows, strict=True)
    ]
    stands_for = np.repeat(deploy.rows * shares / np.maximum(n_rows, 1), n_rows)
    mixed = rng.permutation(stands_for.size)  # the first so many are a sample too
    rows = looked_at[np.concatenate(drawn)[mixed]]
    return LabelPlan(within, not is_share, wanted, rows, stands_for[mixed])


def _bounds(count: int) -> tuple[int, int]:
    return min(_FEWEST_ROWS, count), count


@dataclass(frozen=True)
class Labels:
    """Labels of some deployment rows, where these are, and for how many rows each stands."""

    rows: np.ndarray
    values: np.ndarray
    stands_for: np.ndarray


def read_labels(data: Any, train: Table, deploy: Table, pair: Pair, label: str) -> Labels:
    """Read labels of deployment rows by their numbers, or refuse a table that does not fit."""
    table = table_of(data, "labels")
    where, asked = shown_file(table.name), label if label in table.names else defused(label)
    lacking = [name for name in (ROW, STANDS_FOR, asked) if name not in table.names]
    if lacking:
        raise _refused(
            f"{where} has no column {listed(lacking)}.",
            f"give label_these.csv with the column {shown(label)} filled in",
        )
    rows = _places(table, deploy)
    values, stands_for = (table.frame[name].to_numpy() for name in (asked, STANDS_FOR))
    filled = ~table.frame[asked].isna().to_numpy()
    if stands_for.dtype == object or not (np.isfinite(stands_for) & (stands_for > 0)).all():
        raise _refused(
            f"{shown(STANDS_FOR)} in {where} must be a positive number in every row.",
            "leave the column as it was written; 1 in every row means a plain random sample",
        )
    if not filled.any():
        raise _refused(
            f"no row of {where} has a label.", f"fill in the column {shown(label)} of some rows"
        )
    _check_values(values[filled], train, label, where)
    empty = np.setdiff1d(stands_for, stands_for[filled])
    if empty.size:
        raise _refused(
            f"none of the rows of {where} that stand for {empty[0]:.4g} others has a label.",
            "label some of them too: the labelled ones come from another part of the deployment",
        )
    _check_features(table, deploy, pair, rows)
    values = labels_like(values, np.asarray(pair.y), train.column(label).kind)
    return Labels(rows, values, stands_for)


def unseen_note(values: np.ndarray, pair: Pair) -> Iterator[Finding]:
    """Yield a finding where labelled rows have classes that the model cannot know."""
    if pair.task != "classification":
        return
    words = [as_word(each) for each in values.tolist()]
    seen = {None, *map(as_word, np.unique(np.asarray(pair.y)).tolist())}
    unseen = [str(each) for each in words if each not in seen]
    if unseen:
        yield Finding(
            "WB149",
            "warning",
            f"{len(unseen):,} labelled deployment rows are of classes that training does not have: "
            f"{listed(sorted({*unseen}))}. The actual error leaves them out.",
            "Correct what is misspelt; of a class that is new, add rows to the training data.",
        )


def _places(table: Table, deploy: Table) -> np.ndarray:
    """Return where the numbered rows are in the frame of the deployment."""
    numbers, where = table.frame[ROW].to_numpy(), shown_file(table.name)
    known = deploy.positions + 1
    is_known = np.isin(numbers, known) if numbers.dtype != object else np.zeros(numbers.size, bool)
    if not is_known.all():
        wrong = numbers[~is_known][0]
        limit = f"{deploy.rows:,}" if known.size == deploy.rows else f"{deploy.rows:,} that are used"
        raise _refused(
            f"{where} names row {shown(as_word(wrong))}, which is not one of the {limit} rows of "
            f"{shown_file(deploy.name)}.",
            "give the file and the seed of the run that wrote it: rows are known by their numbers",
        )
    unique, counts = np.unique(numbers, return_counts=True)
    if counts.max() > 1:
        raise _refused(
            f"{where} names row {unique[counts.argmax()]:.0f} {counts.max()} times.",
            "keep one of them",
        )
    return np.searchsorted(known, numbers)


def _check_values(values: np.ndarray, train: Table, label: str, where: str) -> None:
    wrong = [each for each in values.tolist() if not math.isfinite(_number(each))]
    if wrong and train.column(label).kind == "numeric":
        raise _refused(
            f"{shown(label)} in {where} holds {shown(wrong[0])}; in training it holds numbers.",
            "write labels as in training, and leave the cells of unknown ones empty",
        )


def _check_features(table: Table, deploy: Table, pair: Pair, rows: np.ndarray) -> None:
    """Refuse rows whose features are not those of the deployment row with their number."""
    for name in pair.X_target.columns:
        if name not in table.names:
            continue
        here, there = table.frame[name].to_numpy(), deploy.frame[name].to_numpy()[rows]
        if here.dtype == there.dtype == float:
            same = np.isclose(here, there, rtol=_ROUNDED, atol=0, equal_nan=True)
        else:
            pairs = zip(here.tolist(), there.tolist(), strict=True)
            same = np.array([_comparable(one) == _comparable(other) for one, other in pairs])
        if not same.all():
            first = int(np.argmin(same))
            row = deploy.positions[rows[first]] + 1
            raise _refused(
                f"{shown(name)} of row {row:,} is {shown(as_word(here[first]))} in "
                f"{shown_file(table.name)} and {shown(as_word(there[first]))} in "
                f"{shown_file(deploy.name)}.",
                "give the deployment file that the rows were taken from, in the same order",
            )


def _comparable(value: Any) -> str:
    """Return a cell as text that is the same however a spreadsheet has written it."""
    number = _number(value)
    if not math.isnan(number):
        return f"{number:.9g}"
    return "" if value is None or value != value else str(defused(value)).strip()


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _refused(message: str, help: str) -> InputError:
    return InputError([Problem("WB148", message, (), help)])
