"""Two samples as they come: columns matched, rows counted, one table of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from weighbridge.tables import (
    FEWEST_ROWS,
    as_labels,
    check_sample_weight,
    is_continuous,
    refuse_missing,
    stacked_table,
    take_rows,
    target_like_source,
)

# Whole numbers with more different values than this count something, and are not classes.
MOST_WHOLE = 50
# Rows that a class should have for its frequency to mean anything.
RARE_CLASS = 20


@dataclass(frozen=True)
class Samples:
    """The rows that count, with columns in one order, their labels and sample weights."""

    X: Any
    X_target: Any
    y: Any
    sample_weight: np.ndarray | None
    table: Any
    codes: np.ndarray

    @property
    def has_quantities(self) -> bool:
        """True for labels that are numbers with decimals, or counts of many values."""
        y = as_labels(self.y)
        return is_continuous(y) or (y.dtype.kind in "iuf" and np.unique(y).size > MOST_WHOLE)


def read_samples(X: Any, X_target: Any, y: Any = None, sample_weight: Any = None) -> Samples:
    """Match the columns, leave out source rows of weight 0; refuse few rows, missing labels."""
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
                "anything about a shift. Collect more rows; target rows need no labels."
            )
    if y is not None:
        refuse_missing(y)
    return Samples(X, X_target, y, sample_weight, table, codes)


def _rows_of(part: Any, rows: np.ndarray) -> Any:
    """Return some rows of a table or of labels, whatever they are held in."""
    if isinstance(part, list | tuple):
        return [part[row] for row in rows]
    return take_rows(sp.csr_array(part) if sp.issparse(part) else part, rows)


def in_a_sentence(name: str) -> str:
    """Return what a feature is called in a sentence: columns of an array have numbers only."""
    return f"column {name}" if name.isdigit() else name


def listed(names: Sequence[str], most: int = 3) -> str:
    """Return the first few names, and how many more there are."""
    shown = [in_a_sentence(name) for name in names[:most]]
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    return ", ".join(shown)
