"""The two tables of a command that needs no label."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped, unused-ignore]

from weighbridge._findings import cli_option
from weighbridge._tables import read_blocks
from weighbridge.adaptation import Inputs, inputs_dict, read_inputs, refusals_told
from weighbridge.cli._inputs import block_rows, size_text
from weighbridge.ratios import fit_ratio, is_fitted


@dataclass(frozen=True, kw_only=True)
class TwoTables(Inputs):
    """Training and deployment as a command without labels sees them."""

    label: str | None

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

    @contextmanager
    def threads(self, jobs: int) -> Iterator[None]:
        """Let the libraries underneath use that many threads; tell refusals as findings."""
        with threadpool_limits(min(jobs, os.cpu_count() or 1)), refusals_told(cli_option):
            yield

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
    train: Path, deploy: Path, asked: dict[str, Any], *, max_train: int | None = None
) -> TwoTables:
    """Read both files, match their columns, find the ratio; `max_train` rows stand for more."""
    inputs = read_inputs(
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
    return TwoTables(**vars(inputs), label=asked["label"])
