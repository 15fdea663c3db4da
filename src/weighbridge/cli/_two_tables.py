"""The two tables of a command that needs no label."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped, unused-ignore]

from weighbridge._findings import Finding, Problem, cli_option, listed, shown_file
from weighbridge._tables import Dropped, Pair, Table, check_pair, read_blocks, read_table
from weighbridge.adaptation import (
    MOST_DEPLOYMENT_ROWS,
    check_rows,
    find_ratio,
    inputs_dict,
    sample_note,
)
from weighbridge.cli._inputs import block_rows, size_text
from weighbridge.exceptions import InputError
from weighbridge.ratios import fit_ratio, is_fitted


@dataclass(frozen=True)
class TwoTables:
    """Training and deployment as a command without labels sees them."""

    tables: tuple[Table, Table]
    pair: Pair
    label: str | None
    X: Any
    X_target: Any
    ratio: Any
    ratio_name: str
    notes: tuple[Finding, ...]

    @property
    def size(self) -> str:
        """Rows and columns in words."""
        return size_text(self.tables)

    def inputs(self) -> dict[str, Any]:
        """Return what went in, ready for JSON."""
        return inputs_dict(self.tables, self.pair, None, self.label)

    def settings(self, asked: dict[str, Any], *others: str) -> dict[str, Any]:
        """Return what was asked for, ready for JSON."""
        return {
            "seed": asked["seed"],
            "ratio": self.ratio_name,
            **{name: asked[name] for name in others},
            "jobs": asked["jobs"],
            "drop": list(asked["drop"]),
            "keep": list(asked["keep"]) or None,
        }

    def threads(self, jobs: int) -> Any:
        """Return a context in which the libraries underneath use so many threads."""
        return threadpool_limits(min(jobs, os.cpu_count() or 1))

    def fitted_ratio(self) -> Any:
        """Return the ratio, fitted unless it is known."""
        if is_fitted(self.ratio):
            return self.ratio
        return fit_ratio(self.X, self.X_target, self.ratio)

    def log_ratio(
        self, ratio: Any, path: Path, working_memory: int | None = None
    ) -> Iterator[np.ndarray]:
        """Yield the log ratio of all training rows, in blocks where not all are in memory."""
        table, columns = self.tables[0], list(self.X.columns)
        kinds = {each.name: each.kind for each, _ in self.pair.features}
        rows = block_rows(len(kinds), working_memory)
        known = self.ratio_name in kinds  # a column of the table holds the ratio
        if table.sampled < table.rows:
            for block in read_blocks(path, kinds, rows=rows):
                if known:
                    yield _logarithm(block[self.ratio_name].to_numpy())
                else:
                    yield np.asarray(ratio.score_samples(block[columns]))
        elif known or working_memory is None:
            yield np.asarray(ratio.score_samples(self.X))
        else:
            for start in range(0, table.rows, rows):
                yield np.asarray(ratio.score_samples(self.X.iloc[start : start + rows]))


def _logarithm(ratio: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(ratio))


def read_two(
    train: Path, deploy: Path, settings: dict[str, Any], *, max_train: int | None = None
) -> TwoTables:
    """Read both files, match their columns, find the ratio; `max_train` rows stand for more."""
    tables = _read(train, deploy, (max_train, MOST_DEPLOYMENT_ROWS), settings["seed"])
    pair = _matched(*tables, settings)
    n, m = len(pair.X), len(pair.X_target)
    X, X_target = pair.X.set_axis(range(n)), pair.X_target.set_axis(range(n, n + m))
    name, ratio, X, X_target = find_ratio(settings["ratio"], X, X_target, cli_option)
    check_rows(X, X_target, tables, cli_option)
    notes = (*pair.notes, *(each for table in tables for each in sample_note(table)))
    return TwoTables(tables, pair, settings["label"], X, X_target, ratio, name, notes)


def _read(
    train: Path, deploy: Path, max_rows: tuple[int | None, int], seed: int
) -> tuple[Table, Table]:
    """Read both files; what is wrong with either comes out together."""
    tables: list[Table] = []
    problems: list[Problem] = []
    for path, most in zip((train, deploy), max_rows, strict=True):
        try:
            tables.append(read_table(path, max_rows=most, seed=seed))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return tables[0], tables[1]


def _matched(train: Table, deploy: Table, settings: dict[str, Any]) -> Pair:
    """Match the columns; a label, and whatever else training has alone, is no feature here."""
    label, drop, keep = settings["label"], list(settings["drop"]), settings["keep"] or None
    aside = [label] if label in train.names and label not in drop else []
    alone = []
    if keep is None:
        alone = [
            name
            for name in train.names
            if name not in deploy.names and name not in aside and name not in drop
        ]
    pair = check_pair(
        train,
        deploy,
        # one that is not there is refused, with the nearest names
        label=None if label is None or label in train.names else label,
        drop=[*drop, *aside, *alone],
        keep=keep,
        option=cli_option,
    )
    if not alone:
        return pair
    files = shown_file(train.name), shown_file(deploy.name)
    note = Finding(
        "WB138",
        "note",
        f"{files[0]} also has {listed(alone)}, which {files[1]} has not; "
        f"{'it is' if len(alone) == 1 else 'they are'} ignored.",
        "Nothing to do for a label; otherwise check the names.",
    )
    dropped = [Dropped(name, "WB138", f"{files[1]} does not have it") for name in alone]
    return replace(pair, notes=(*pair.notes, note), dropped=(*pair.dropped, *dropped))
