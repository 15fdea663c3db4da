"""The two tables of a run: read, matched, with their ratio, and without rows in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from weighbridge._estimators import FittedRows
from weighbridge._findings import Finding, Option, Problem, nearest, shown, shown_file
from weighbridge._tables import Pair, Table, read_pair
from weighbridge.diagnostics import MOSTLY_SHARED, TELLS_APART
from weighbridge.exceptions import InputError
from weighbridge.ratios import (
    KLIEP,
    KMM,
    ULSIF,
    AutoRatio,
    ClassifierRatio,
    GaussianRatio,
    KnownRatio,
    NearestNeighbourRatio,
)

# Deployment rows beyond this are represented by that many of them, drawn at random, and it is said.
_MOST_DEPLOYMENT_ROWS = 200_000
RATIOS: dict[str, Callable[[], Any]] = {
    "auto": AutoRatio,
    "classifier": ClassifierRatio,
    "gaussian": GaussianRatio,
    "ulsif": ULSIF,
    "rulsif": lambda: ULSIF(relative=0.1),
    "kliep": KLIEP,
    "kmm": KMM,
    "nearest": NearestNeighbourRatio,
}


@dataclass(frozen=True)
class Inputs:
    """Training and deployment as they were read, and the ratio between them."""

    tables: tuple[Table, Table]
    pair: Pair
    X: Any
    X_target: Any
    ratio_name: str
    ratio: Any
    notes: tuple[Finding, ...]


def read_inputs(
    train: Any,
    deploy: Any,
    *,
    ratio: Any,
    option: Option,
    max_train: int | None = None,
    **settings: Any,
) -> Inputs:
    """Read both tables, match their columns, find the ratio, and refuse keys and shared rows."""
    max_rows = (max_train, _MOST_DEPLOYMENT_ROWS)
    here, there, pair = read_pair(train, deploy, option=option, max_rows=max_rows, **settings)
    n, m = len(pair.X), len(pair.X_target)
    # rows are known by their number, in both tables together
    X, X_target = pair.X.set_axis(range(n)), pair.X_target.set_axis(range(n, n + m))
    name, found, X, X_target = _find_ratio(ratio, X, X_target, option)
    _check_rows(X, X_target, (here, there), option)
    notes = (*pair.notes, *_sample_note(here), *_sample_note(there))
    return Inputs((here, there), pair, X, X_target, name, found, notes)


def _sample_note(table: Table) -> Iterator[Finding]:
    """Yield a finding where not all rows of a table were looked at."""
    if table.sampled < table.rows:
        yield Finding(
            "WB139",
            "note",
            f"{table.sampled:,} of the {table.rows:,} rows of {shown_file(table.name)}, drawn at "
            "random, represent all of them.",
            "More would hardly change what is shown; weights and predictions are for every row.",
        )


def _check_rows(X: Any, X_target: Any, tables: tuple[Table, Table], option: Option) -> None:
    """Refuse keys, and deployment rows that are training rows; the same table twice is fine."""
    problems = [
        Problem(
            "WB111",
            f"{shown(name)} {why}.",
            ("a running number or key does not describe the cases",),
            option("drop", name),
        )
        for name, why in _keys(X, X_target)
    ]
    shared = FittedRows(X_target).known_beyond_chance(X)
    same = shared == len(X) and FittedRows(X).share(X_target) == 1
    if shared and not same and _mostly(shared, X, X_target):
        problems.append(
            Problem(
                "WB112",
                f"{tables[1].name} contains {shared:,} of the {len(X):,} rows of {tables[0].name}.",
                ("the training rows cannot also represent deployment",),
                "remove the shared rows from one of the files",
            )
        )
    if problems:
        raise InputError(problems)


def _mostly(shared: int, X: Any, X_target: Any) -> bool:
    return max(shared / len(X), FittedRows(X).share(X_target)) > MOSTLY_SHARED


def _keys(X: Any, X_target: Any) -> Iterator[tuple[str, str]]:
    """Yield columns of whole numbers that are no property of the cases, and what shows it."""
    for name in X.columns:
        source, target = X[name].to_numpy(), X_target[name].to_numpy()
        if source.dtype.kind != "f":
            continue
        values = np.concatenate([source, target])
        if not (values == np.rint(values)).all():  # NaN is not
            continue
        if _is_count(source) and _is_count(target):
            yield name, "counts the rows of each file"
        elif np.unique(values).size == values.size and _tells_apart(values, source.size):
            yield name, "is different in every row and tells the files apart"


def _is_count(values: np.ndarray) -> bool:
    """True for consecutive whole numbers, each once, in any order."""
    return bool(np.ptp(values) == values.size - 1 and np.unique(values).size == values.size)


def _tells_apart(values: np.ndarray, n_source: int) -> bool:
    n_target = values.size - n_source
    above = rankdata(values)[:n_source].sum() - n_source * (n_source + 1) / 2
    auc = above / (n_source * n_target)
    return bool(max(auc, 1 - auc) > TELLS_APART)


def _find_ratio(ratio: Any, X: Any, X_target: Any, option: Option) -> tuple[str, Any, Any, Any]:
    """Return the name of a ratio, the ratio, and both tables without the column that holds it."""
    if not isinstance(ratio, str):
        return type(ratio).__name__, ratio, X, X_target
    if ratio in RATIOS:
        return ratio, RATIOS[ratio](), X, X_target
    if ratio not in X.columns:
        near = nearest(ratio, [*RATIOS, *X.columns])
        raise _no_ratio(
            f"{shown(ratio)} is neither a ratio nor a column of both files.",
            f"ratios: {', '.join(RATIOS)}",
            option("ratio", near[0] if near else "auto"),
        )
    values = np.concatenate([X[ratio].to_numpy(), X_target[ratio].to_numpy()])
    numbers = values.dtype.kind == "f"
    if not numbers or not (np.isfinite(values) & (values >= 0)).all():
        raise _no_ratio(
            f"{shown(ratio)} is not a density ratio: every row needs 0 or a positive number.",
            "a ratio is how much likelier a row is in deployment than in training",
            f"correct the column, or estimate the ratio: {option('ratio', 'auto')}",
        )
    with np.errstate(divide="ignore"):
        known = KnownRatio(RatioOfRows(np.log(values)))
    return ratio, known, X.drop(columns=ratio), X_target.drop(columns=ratio)


class RatioOfRows:
    """Log ratios that are known for each row; a row is known by its number in the index."""

    def __init__(self, log_ratio: np.ndarray) -> None:
        self.log_ratio = log_ratio

    def __call__(self, X: Any) -> np.ndarray:
        """Return the log ratios of these rows."""
        return np.asarray(self.log_ratio[X.index.to_numpy()])


def _no_ratio(message: str, evidence: str, help: str) -> InputError:
    return InputError([Problem("WB704", message, (evidence,), help, "usage")])
