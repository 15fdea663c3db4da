"""Labels of deployment rows: how many to ask for, which, how they are read, what they tell."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri, stdtrit
from sklearn.base import is_classifier

from weighbridge._data import canonical_order, take_rows
from weighbridge._findings import Finding, Problem, listed, shown, shown_file, wilson
from weighbridge._tables import Pair, Table, as_word, defused, read_table
from weighbridge.criteria import respond
from weighbridge.exceptions import InputError
from weighbridge.target_risk import NAMES, Measure, find_measure, value_of
from weighbridge.verdict import Actual, Verdict, knowing

if TYPE_CHECKING:
    from weighbridge.adaptation._adaptation import Adaptation

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
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which deployment rows have which labels and stand for how many; refuse misfits."""
    (train, deploy), own = tables, pair.y_target
    if data is None:
        values = np.empty(0) if own is None else own
        return np.arange(values.size), values, np.ones(values.size)
    table = read_table(data, "labels")
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
        "labels in the last column; rows without a label may stay or go"
    )
    return InputError([Problem("WB151", message, (), help)])


def knowing_labels(
    found: Adaptation, X_target: Any, labels: np.ndarray, scoring: str, stands_for: Any = None
) -> Adaptation:
    """Return what was found, led by the truth where labels of the deployment are known."""
    actual = actual_errors(found.verdict, X_target, labels, scoring, stands_for)
    return replace(found, verdict=knowing(found.verdict, actual), actual=actual)


def actual_errors(
    verdict: Verdict, X_target: Any, y_target: np.ndarray, scoring: str, stands_for: Any = None
) -> dict[str, Actual] | None:
    """Return the loss of every candidate on deployment rows whose label is known, if any is."""
    measure = find_measure(scoring, None, verdict.model)
    classes = verdict.model.classes_ if is_classifier(verdict.model) else None
    labels, known = _codes(y_target, classes)
    loss = measure.row_loss
    if loss is None or known.sum() < 2:  # one label tells nothing
        return None
    rows, labels = X_target[known], labels[known]
    design = _design(np.ones(known.size) if stands_for is None else stands_for, known)
    found = {}
    for each in filter(None, (*verdict.candidates, verdict.constant)):
        losses = loss.loss(labels, respond(each.model, rows, loss.response, classes))
        found[each.name] = _actual(losses, measure, verdict.confidence, design)
    return found


def metrics_dict(
    verdict: Verdict, X_target: Any, labels: Any, scorers: dict[str, str], stands_for: np.ndarray
) -> list[dict[str, Any]]:
    """Return every metric asked for: in training, expected and actual, without weights and used."""
    classes = verdict.model.classes_ if is_classifier(verdict.model) else None
    codes, known = _codes(labels, classes)
    is_told = known.sum() > 1  # one label tells nothing
    shares = _design(stands_for, known)[0] if is_told else stands_for[known]
    rows = X_target[known], codes[known], classes, shares
    found = []
    for name, risks in verdict._metrics({"none", verdict.use}).items():
        is_gain = name == "accuracy"  # as it was asked for, not as a loss
        candidates = []
        for each, risk in risks.items():
            told: dict[str, Any] = {"name": each, "state": risk.state, "method": risk.method}
            told |= {"expected": None, "training": _turned(is_gain, risk.training.value)[0]}
            if risk.estimate is not None:
                ends = _turned(is_gain, *risk.estimate.to_dict().values())
                told["expected"] = dict(zip(("value", "low", "high"), ends, strict=True))
            model = verdict.candidate(each).model
            asked = find_measure(scorers[name], None, model)
            value = value_of(asked, model, *rows) if is_told else math.nan
            told["actual"] = None if math.isnan(value) else _turned(is_gain, value)[0]
            candidates.append(told)
        measure = "accuracy" if is_gain else NAMES[scorers[name]]
        found.append({"name": name, "measure": measure, "candidates": candidates})
    return found


def _turned(is_gain: bool, value: float, *ends: float) -> list[float]:
    """Return a loss, and the ends of its interval, as the gain that it leaves."""
    return [1 - value, *(1 - each for each in ends[::-1])] if is_gain else [value, *ends]


def _design(stands_for: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return share and stratum of each labelled row; rows that stand for as many are a stratum."""
    values, strata = np.unique(stands_for, return_inverse=True)
    stratum, weights = strata[known], stands_for[known]
    labelled = np.bincount(stratum, minlength=values.size)
    # those without a label are like the others of their stratum
    weights = weights * (np.bincount(strata) / np.maximum(labelled, 1))[stratum]
    if labelled.min() < 2:  # one label has no spread
        stratum = np.zeros_like(stratum)
    return weights / weights.sum(), stratum


def _actual(losses: np.ndarray, measure: Measure, confidence: float, design: Any = None) -> Actual:
    """Return a mean loss with its interval: Wilson's for a share of errors, else Student's."""
    n, level = losses.size, (1 + confidence) / 2
    shares, stratum = design or _design(np.ones(n), np.ones(n, dtype=bool))
    sizes = np.bincount(stratum)
    mean = min(float(shares @ losses), measure.bounds[1])
    if measure.bounds[1] == 1:
        # a plain sample of so many rows has the same variance; no stratum is taken to be pure
        chance = (np.bincount(stratum, losses) + 0.5) / (sizes + 1)
        middle = float(shares @ chance[stratum])
        n_eff = middle * (1 - middle) / float(shares**2 @ (chance * (1 - chance))[stratum])
        low, high = map(float, wilson(mean, n_eff, confidence))
        return Actual(mean, math.sqrt(mean * (1 - mean) / n_eff), low, high, n)
    off = shares * (losses - mean)
    off -= (np.bincount(stratum, off) / sizes)[stratum]
    parts = sizes * np.bincount(stratum, off**2) / (sizes - 1)
    error = math.sqrt(parts.sum())
    freedom = 1 / float(((parts / (error**2 or 1)) ** 2 / (sizes - 1)).sum() or 1)
    half = error * float(stdtrit(freedom, level)) if error else 0.0
    low, high = max(measure.bounds[0], mean - half), mean + half
    if not measure.root:
        return Actual(mean, error, low, high, n)
    root = math.sqrt(mean)
    return Actual(root, error / (2 * root) if root else 0.0, math.sqrt(low), math.sqrt(high), n)


def _codes(labels: np.ndarray, classes: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return labels as numbers of their class, and which of them the model can know at all."""
    if classes is None:
        numbers = np.asarray(labels, dtype=np.float64)
        return numbers, np.isfinite(numbers)
    numbers_of = {as_word(each): code for code, each in enumerate(classes.tolist())}
    # a whole number may be a class among decimals
    codes = [numbers_of.get(as_word(v), numbers_of.get(str(v), -1)) for v in labels.tolist()]
    return np.array(codes), np.array(codes) >= 0


def unseen_classes(values: np.ndarray, pair: Pair) -> Iterator[Finding]:
    """Yield a finding where labelled deployment rows have classes that training does not have."""
    if pair.task == "classification":
        _, known = _codes(values, np.unique(np.asarray(pair.y)))
        unseen = [str(as_word(each)) for each in values[~known].tolist() if as_word(each)]
        if unseen:
            yield Finding(
                "WB152",
                "warning",
                f"{len(unseen):,} labelled deployment rows are of classes that training does not "
                f"have: {listed(sorted({*unseen}))}. The actual error leaves them out.",
                "Correct misspelt classes; if a class is new, add rows of it to the training data.",
            )
