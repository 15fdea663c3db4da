"""Labels of deployment rows: how many to ask for, which, how they are read, what they tell."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold

from weighbridge._findings import Estimate, Finding, Problem, listed, shown, shown_file
from weighbridge._pass_weights import fit_with_weights
from weighbridge._tables import Pair, Table, as_word, defused, read_table
from weighbridge.domain import CrossFittedDomain, DomainRows, covered_rows
from weighbridge.exceptions import InputError
from weighbridge.model_selection import respond
from weighbridge.tables import FEWEST_ROWS, canonical_order, take_rows, target_like_source
from weighbridge.target_risk import (
    NAMES,
    Relation,
    Sample,
    base_of,
    by_labels,
    compare_relation,
    find_measure,
    forecast_labels,
    forecast_losses,
    label_values,
    value_of,
    with_forecast,
)
from weighbridge.verdict import Actual, Verdict, knowing

if TYPE_CHECKING:
    from weighbridge.adaptation._adaptation import Adaptation
    from weighbridge.adaptation._inputs import Inputs

ROW, STANDS_FOR = "row", "stands_for"
# How close labels are to come: to a share in points, to any other loss as a part of it.
_POINTS, _PARTS = (0.05, 0.1), (0.1, 0.2)
# Rows of the file, and of either part of the deployment in it.
_MOST_ROWS, _FEWEST_ROWS = 500, 20
# Where training covers the deployment, the share of errors is taken to be at least this, elsewhere
# a coin's; any other loss is taken to be so many times as large elsewhere.
_LEAST_ERROR, _COIN, _LARGER = 0.1, 0.5, 2.0
# Confidence at which labelled rows are said to be unlike the others.
_BEYOND_DOUBT = 0.999
_DRAW = "Label rows drawn at random; weighbridge label draws them."


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
    risk, is_share = verdict.candidate("none").risk, verdict.numbers.is_share
    problem = verdict._problem
    is_covered = problem.covered[1]
    spread = max(risk.training.standard_error * math.sqrt(risk.n_rows), 1e-300)
    shares, spreads = np.array([is_covered.mean(), 1 - is_covered.mean()]), _spreads(is_share)
    size, within = 1.0, _POINTS if is_share else _PARTS
    if is_share:
        spreads[0] = max(spread, spreads[0])
    else:
        spreads, size = spread * spreads, risk.training.value * float(shares @ spreads)
    asked = [rows_to_label(each * size, shares, spreads, risk.confidence) for each in within]
    wanted = [min(deploy.rows, max(_FEWEST_ROWS, each)) for each in asked]
    total = min(wanted[0], _MOST_ROWS)
    frame = _drawn(problem.X_target, problem.covered, deploy, label, seed, total, spreads)
    plan = {"within": list(within), "relative": not is_share, "rows": wanted}
    return {**plan, "chosen": len(frame)}, frame


def draw_rows(inputs: Inputs, label: str, budget: int, seed: int) -> Any:
    """Draw so many deployment rows to label, by the same rule, before any model is fitted."""
    if inputs.pair.y_target is not None:
        where = shown_file(inputs.tables[1].name)
        help = "give a copy without that column, or run adapt, which uses the labels there are"
        raise InputError([Problem("WB151", f"{where} has labels already.", (), help)])
    X, X_target = inputs.X, target_like_source(inputs.X, inputs.X_target)
    spreads = _spreads(inputs.pair.task == "classification")
    covered = covered_rows(X, X_target)
    return _drawn(X_target, covered, inputs.tables[1], label, seed, budget, spreads)


def _spreads(is_share: bool) -> np.ndarray:
    """Return how far losses are taken to spread where training covers the deployment, and not."""
    least = math.sqrt(_LEAST_ERROR * (1 - _LEAST_ERROR))
    return np.array([least, _COIN] if is_share else [1.0, _LARGER])


def _drawn(
    X_target: Any, covered: Any, deploy: Table, label: str, seed: int, total: int, spreads: Any
) -> Any:
    """Return rows to label out of the two parts of the deployment, in the order of a sample."""
    looked_at, is_covered = covered
    counts = np.array([is_covered.sum(), (~is_covered).sum()])
    shares, least = counts / counts.sum(), np.minimum(min(_FEWEST_ROWS, total // 2), counts)
    there = round(total * shares[1] * spreads[1] / float(shares @ spreads))
    there = min(max(there, least[1]), counts[1], total - least[0])
    n_rows = np.clip([total - there, there], least, counts)
    rng = np.random.default_rng(seed)
    # whatever the order of the rows
    order = rng.permutation(canonical_order(take_rows(X_target, looked_at)))
    drawn = [order[is_covered[order]][: n_rows[0]], order[~is_covered[order]][: n_rows[1]]]
    stands_for = np.repeat(deploy.rows * shares / np.maximum(n_rows, 1), n_rows)
    mixed = rng.permutation(stands_for.size)  # the first so many are a sample too
    return _frame(deploy, label, looked_at[np.concatenate(drawn)[mixed]], stands_for[mixed])


def _frame(deploy: Table, label: str, rows: np.ndarray, stands_for: np.ndarray) -> Any:
    """Return rows of the deployment with all their columns, and an empty one for the label."""
    frame = deploy.frame.iloc[rows].reset_index(drop=True).convert_dtypes()
    frame = frame.astype(object).where(frame.notna(), None)
    frame = frame.drop(columns=[ROW, STANDS_FOR, label], errors="ignore")
    ahead = {ROW: deploy.positions[rows] + 1, STANDS_FOR: stands_for}
    # made at once: adding columns to a frame of hundreds one by one is slow, and warned of
    return type(frame)({**ahead, **frame, label: np.full(len(frame), None, object)})


class Labels(NamedTuple):
    """Which deployment rows may have labels, these, and how many rows each stands for."""

    rows: np.ndarray
    values: np.ndarray
    stands_for: np.ndarray

    @classmethod
    def of_all(cls, values: np.ndarray) -> Labels:
        """Return the labels of all rows, or of a random sample of them."""
        return cls(np.arange(values.size), values, np.ones(values.size))

    @property
    def given(self) -> np.ndarray:
        """Which rows have one, whether training has its class or not."""
        return np.array([as_word(each) is not None for each in self.values.tolist()], dtype=bool)


def read_labels(data: Any, tables: tuple[Table, Table], pair: Pair, label: str) -> Labels:
    """Return which deployment rows have which labels and stand for how many; refuse misfits."""
    (train, deploy), own = tables, pair.y_target
    if data is None:
        values = np.empty(0) if own is None else own
        return Labels.of_all(values)
    table = read_table(data, "labels")
    asked = label if label in table.names else defused(label)
    for misfit in _misfits(table, asked, train.column(label).kind, deploy, own):
        raise _refused(misfit)
    numbers, stands_for, values = (table.frame[n].to_numpy() for n in (ROW, STANDS_FOR, asked))
    rows = np.searchsorted(deploy.positions + 1, numbers)
    names = [n for n in pair.X_target if n in table.names and n not in (ROW, STANDS_FOR)]
    _check_features(table, deploy, names, rows)
    return Labels(rows, values, stands_for)


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
        which = f"whose {STANDS_FOR} is {empty[0]:.4g} " if filled.any() else ""
        yield f"no row of {where} {which}has a label."
    if filled.sum() < 2:
        yield f"only one row of {where} has a label, which is too few."
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
        f"labels in the last column, at least one for each value of {STANDS_FOR}"
    )
    return InputError([Problem("WB151", message, (), help)])


def knowing_labels(found: Adaptation, X_target: Any, labels: Labels, scoring: str) -> Adaptation:
    """Return what was found, led by the truth where labels of the deployment are known."""
    actual, relation = actual_errors(found.verdict, X_target, labels, scoring)
    # labels of one part or one class tell nothing of the relation, and it follows the mix
    if found.verdict._problem.by_label or {"WB153", "WB154"} & {each.code for each in found.notes}:
        relation = None
    return replace(found, verdict=knowing(found.verdict, actual, relation), actual=actual)


def actual_errors(
    verdict: Verdict, X_target: Any, labels: Labels, scoring: str
) -> tuple[dict[str, Actual] | None, Relation | None]:
    """Return the loss of every candidate by known deployment labels, and what these tell."""
    measure = find_measure(scoring, None, verdict.model)
    classes = verdict.model.classes_ if is_classifier(verdict.model) else None
    codes, known = class_codes(labels.values, classes)
    loss = measure.row_loss
    if loss is None or known.sum() < 2:  # one label tells nothing
        return None, None
    sample = Sample.drawn(labels.rows, labels.stands_for, known)
    problem, confidence = verdict._problem, verdict.confidence
    is_forecast = verdict.overlap != "broken" and measure.bounds[0] == 0
    is_few = is_forecast and labels.given.sum() < problem.n_target
    found, relation, codes = {}, None, codes[known]
    for each in filter(None, (*verdict.candidates, verdict.constant)):
        losses = loss.loss(codes, respond(each.model, X_target[known], loss.response, classes))
        told = alone = by_labels(losses, sample, measure, confidence)
        if is_forecast:
            held_out = verdict._held_out[each.name]
            forecast, _ = forecast_losses(problem, loss, held_out)
            if is_few:
                told = with_forecast(losses, sample, forecast, measure, confidence)
            if each.name == "none" and sample.rows.size >= FEWEST_ROWS:
                both = forecast, forecast_labels(problem, held_out)
                values = label_values(problem, codes)
                relation = compare_relation(losses, values, sample, both, confidence)
                relation = relation.rooted(forecast.value) if measure.root else relation
        numbers = told.value, told.standard_error, told.low, told.high
        found[each.name] = Actual(*numbers, sample.rows.size, alone if is_few else None)
    return found, relation


def metrics_dict(
    verdict: Verdict, X_target: Any, labels: Labels, scorers: dict[str, str]
) -> list[dict[str, Any]]:
    """Return every metric asked for: in training, expected and actual, without weights and used."""
    classes = verdict.model.classes_ if is_classifier(verdict.model) else None
    codes, known = class_codes(labels.values, classes)
    is_told = known.sum() > 1  # one label tells nothing
    shares = labels.stands_for[known]
    if is_told:
        shares = Sample.drawn(labels.rows, labels.stands_for, known).shares
    rows = X_target[known], codes[known], classes, shares
    found = []
    for name, risks in verdict._metrics({"none", verdict.use}).items():
        is_gain = name == "accuracy"  # as it was asked for, not as a loss
        candidates = []
        for each, risk in risks.items():
            told: dict[str, Any] = {"name": each, "state": risk.state}
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


def class_codes(labels: np.ndarray, classes: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return labels as numbers of their class, and which of them the model can know at all."""
    if classes is None:
        numbers = np.asarray(labels, dtype=np.float64)
        return numbers, np.isfinite(numbers)
    numbers_of = {as_word(each): code for code, each in enumerate(classes.tolist())}
    # a whole number may be a class among decimals
    codes = [numbers_of.get(as_word(v), numbers_of.get(str(v), -1)) for v in labels.tolist()]
    return np.array(codes), np.array(codes) >= 0


def label_findings(labels: Labels, inputs: Inputs, seed: int) -> Iterator[Finding]:
    """Yield what is wrong with labels: new classes, one class only, rows unlike the others."""
    pair, given = inputs.pair, labels.given
    if pair.task == "classification":
        _, known = class_codes(labels.values, np.unique(np.asarray(pair.y)))
        unseen, words = (
            [str(as_word(each)) for each in labels.values[some].tolist()]
            for some in (given & ~known, given)
        )
        if unseen:
            yield Finding(
                "WB152",
                "warning",
                f"{len(unseen):,} labelled deployment rows are of classes that training does not "
                f"have: {listed(sorted({*unseen}))}. The actual error leaves them out.",
                "Correct misspelt classes; if a class is new, add rows of it to the training data.",
            )
        if len(words) > 1 and len({*words}) == 1:
            said = f"All {len(words):,} labelled deployment rows are of one class"
            help = "Check that labels of other classes were not left out; else label more rows."
            yield Finding("WB154", "warning", f"{said}, {shown(words[0])}.", help)
    if np.unique(labels.stands_for).size == 1:  # not by a design of two parts
        yield from _unlike_others(labels.rows[given], inputs.X_target, seed)


def _unlike_others(rows: np.ndarray, X_target: Any, seed: int) -> Iterator[Finding]:
    """Yield a finding where labelled rows are beyond doubt unlike those without a label."""
    others = np.setdiff1d(np.arange(len(X_target)), rows)
    if min(rows.size, others.size) < FEWEST_ROWS:
        return
    both = X_target.iloc[others], X_target.iloc[rows]
    auc = CrossFittedDomain(DomainRows(*both, random_state=seed)).auc(_BEYOND_DOUBT)
    if auc.low > 0.5:
        said = f"Deployment rows with a label are not like those without (AUC {auc.value:.2f})"
        said += ": their error is that of part of the deployment."
        yield Finding("WB153", "warning", said, _DRAW)


# As how many training rows a labelled deployment row may count.
_COUNTS = (1.0, 3.0, 10.0, 30.0)
_FOLDS = 5


def pool_labels(found: Adaptation, inputs: Inputs, labels: Labels, scoring: str) -> Adaptation:
    """Refit the model with labelled deployment rows, where that is clearly better on such rows."""
    verdict, pair = found.verdict, inputs.pair
    loss = find_measure(scoring, None, verdict.model).row_loss
    classes = verdict.model.classes_ if is_classifier(verdict.model) else None
    codes, known = class_codes(labels.values, classes)
    codes, n = codes[known], int(known.sum())
    if loss is None or n < 2 * _FOLDS:
        return replace(found, pooled={"counts": 0.0, "labels": n, "change": None})
    sample = Sample.drawn(labels.rows, labels.stands_for, known)
    weights = found.weights if pair.weight is None else found.weights * pair.weight
    X, y = inputs.X_target.iloc[sample.rows], codes if classes is None else classes[codes]

    def fitted(rows: np.ndarray, counts: float) -> Any:
        return fit_with_weights(
            clone(base_of(verdict.model)),
            pd.concat([inputs.X, X.iloc[rows]]),
            np.concatenate([np.asarray(pair.y), y[rows]]),
            np.concatenate([weights, counts * weights.mean() * n * sample.shares[rows]]),
        )

    def losses(model: Any, rows: np.ndarray) -> np.ndarray:
        return loss.loss(codes[rows], respond(model, X.iloc[rows], loss.response, classes))

    def left_out(counts: float) -> np.ndarray:
        off = np.empty(n)
        for kept, left in KFold(_FOLDS, shuffle=True, random_state=found.settings.seed).split(off):
            off[left] = losses(fitted(kept, counts), left)
        return off

    before = losses(verdict.model, np.arange(n))
    changes = {counts: left_out(counts) - before for counts in _COUNTS}
    counts = min(changes, key=lambda each: float(sample.shares @ changes[each]))
    error = float(np.sqrt(sample.covariance(changes[counts])[0][0, 0]))
    value = float(sample.shares @ changes[counts])
    # the best of several counts looks better than it is
    confidence = 1 - (1 - verdict.confidence) / len(_COUNTS)
    change = Estimate.normal(value, error, confidence)
    pooled = {"counts": counts * (change.high < 0), "labels": n, "change": change.to_dict()}
    if pooled["counts"]:
        verdict = replace(verdict, model=fitted(np.arange(n), counts))
    return replace(found, verdict=verdict, pooled=pooled)
