"""Rows that are in both tables, and running numbers that tell the tables apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import rankdata

from weighbridge._estimators import FittedRows
from weighbridge._findings import Option, Problem, shown
from weighbridge._tables import Table
from weighbridge.diagnostics import MOSTLY_SHARED, TELLS_APART
from weighbridge.exceptions import InputError


def check_rows(X: Any, X_target: Any, tables: tuple[Table, Table], option: Option) -> None:
    """Refuse keys, and deployment rows that are training rows; the same table twice is fine."""
    problems = [
        Problem(
            "WB111",
            f"{shown(name)} {why}.",
            ("a running number or key is not a property of the cases",),
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
                ("the training rows cannot also stand for deployment",),
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
