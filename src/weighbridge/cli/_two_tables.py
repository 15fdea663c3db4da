"""The two tables of a command that needs no label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from weighbridge._findings import cli_option
from weighbridge._tables import read_blocks
from weighbridge.adaptation import Inputs, read_inputs
from weighbridge.cli._inputs import block_rows
from weighbridge.ratios import fit_ratio, is_fitted


def settings_dict(two: Inputs, asked: dict[str, Any], *others: str) -> dict[str, Any]:
    """Return what was asked for, ready for JSON."""
    return {
        "seed": asked["seed"],
        "ratio": two.ratio_name,
        **{name: asked[name] for name in others},
        "jobs": asked["jobs"],
        "drop": list(asked["drop"]),
        "keep": list(asked["keep"]) or None,
    }


def fitted_ratio(two: Inputs) -> Any:
    """Return the ratio, fitted unless it is known."""
    return two.ratio if is_fitted(two.ratio) else fit_ratio(two.X, two.X_target, two.ratio)


def log_ratio_blocks(
    two: Inputs, ratio: Any, path: Path, working_memory: int | None = None
) -> Iterator[np.ndarray]:
    """Yield the log ratio of all training rows, in blocks where not all are in memory."""
    table, columns = two.tables[0], list(two.X.columns)
    kinds = {each.name: each.kind for each, _ in two.pair.features}
    rows = block_rows(len(kinds), working_memory)
    # a column that holds the ratio is no feature
    known = two.ratio_name in kinds and two.ratio_name not in columns
    blocks: Iterable[Any] = [two.X]
    if table.sampled < table.rows:
        blocks = read_blocks(path, kinds, rows=rows)
    elif working_memory is not None and not known:
        blocks = (two.X.iloc[start : start + rows] for start in range(0, table.rows, rows))
    for block in blocks:
        if known and two.ratio_name in block:
            with np.errstate(divide="ignore"):
                yield np.log(block[two.ratio_name].to_numpy())
        else:
            yield np.asarray(ratio.score_samples(block[columns]))


def read_two(
    train: Path, deploy: Path, asked: dict[str, Any], *, max_train: int | None = None
) -> Inputs:
    """Read both files, match their columns, find the ratio; `max_train` rows stand for more."""
    return read_inputs(
        train,
        deploy,
        ratio=asked["ratio"],
        option=cli_option,
        max_train=max_train,
        seed=asked["seed"],
        aside=asked["label"],
        drop=asked["drop"],
        keep=asked["keep"] or None,
    )
