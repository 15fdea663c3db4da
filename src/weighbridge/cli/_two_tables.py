"""The two tables of a command that needs no label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from weighbridge._findings import cli_option
from weighbridge._tables import read_blocks
from weighbridge.adaptation import Inputs, inputs_dict, read_inputs
from weighbridge.cli._inputs import block_rows
from weighbridge.ratios import fit_ratio, is_fitted


@dataclass(frozen=True, kw_only=True)
class TwoTables(Inputs):
    """Training and deployment as a command without labels sees them."""

    label: str | None

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

    def fitted_ratio(self) -> Any:
        """Return the ratio, fitted unless it is known."""
        known = is_fitted(self.ratio)
        return self.ratio if known else fit_ratio(self.X, self.X_target, self.ratio)

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
                    with np.errstate(divide="ignore"):
                        part = np.log(block[self.ratio_name].to_numpy())
                else:
                    part = ratio.score_samples(block[columns])
                yield np.asarray(part)
        elif known or working_memory is None:
            yield np.asarray(ratio.score_samples(self.X))
        else:
            for start in range(0, table.rows, rows):
                yield np.asarray(ratio.score_samples(self.X.iloc[start : start + rows]))


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
