"""Two samples as they come: columns matched, rows counted, one table of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from weighbridge._validation import FEWEST_ROWS, check_sample_weight
from weighbridge.diagnostics._classes import refuse_missing
from weighbridge.ratios import stacked_table
from weighbridge.ratios._columns import take_rows
from weighbridge.ratios._fit_ratio import target_like_source


@dataclass(frozen=True)
class Samples:
    """The rows that count, with columns in one order, their labels and own weights."""

    X: Any
    X_target: Any
    y: Any
    sample_weight: np.ndarray | None
    table: Any
    codes: np.ndarray


def read_samples(X: Any, X_target: Any, y: Any = None, sample_weight: Any = None) -> Samples:
    """Match the columns, leave out source rows of own weight 0; refuse few rows, missing labels."""
    table, codes = stacked_table(X, X_target)
    X_target = target_like_source(X, X_target)
    n_source = int(np.sum(codes == 0))
    sample_weight = check_sample_weight(sample_weight, n_source)
    if sample_weight is not None and not sample_weight.all():
        used = np.flatnonzero(sample_weight)
        X, sample_weight = _rows_of(X, used), sample_weight[used]
        if y is not None and np.shape(y)[:1] == (n_source,):
            y = _rows_of(y, used)
        table, codes = stacked_table(X, X_target)
    for name, n_rows in zip(("X", "X_target"), np.bincount(codes), strict=True):
        if n_rows < FEWEST_ROWS:
            counted = " that count" if name == "X" and sample_weight is not None else ""
            raise ValueError(
                f"Got {n_rows} rows{counted} in {name}; at least {FEWEST_ROWS} are needed to say "
                "anything about a shift. Collect more rows; those of the target need no labels."
            )
    if y is not None:
        refuse_missing(y)
    return Samples(X, X_target, y, sample_weight, table, codes)


def _rows_of(part: Any, rows: np.ndarray) -> Any:
    """Return some rows of a table or of labels, whatever they are held in."""
    if isinstance(part, list | tuple):
        return [part[row] for row in rows]
    return take_rows(sp.csr_array(part) if sp.issparse(part) else part, rows)
