"""Two samples as they come: columns matched, rows counted, one table of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from weighbridge._namespace import is_foreign, to_numpy
from weighbridge._validation import FEWEST_ROWS, check_sample_weight
from weighbridge.diagnostics._classes import refuse_missing
from weighbridge.ratios._columns import take_rows
from weighbridge.ratios._fit_ratio import refuse_no_table, stack_samples, target_like_source


@dataclass(frozen=True)
class Samples:
    """The rows that count, with columns in one order, their labels and own weights."""

    X: Any
    X_target: Any
    y: Any
    own: np.ndarray | None
    table: Any
    codes: np.ndarray


def read_samples(X: Any, X_target: Any, y: Any = None, sample_weight: Any = None) -> Samples:
    """Match the columns, leave out source rows of own weight 0; refuse few rows, missing labels."""
    table, codes = stacked_table(X, X_target)
    X_target = target_like_source(X, X_target)
    n_source = int(np.sum(codes == 0))
    own = check_sample_weight(sample_weight, n_source)
    if own is not None and not own.all():
        used = np.flatnonzero(own)
        X, own = _rows_of(X, used), own[used]
        if y is not None and np.shape(y)[:1] == (n_source,):
            y = _rows_of(y, used)
        table, codes = stacked_table(X, X_target)
    for name, n_rows in zip(("X", "X_target"), np.bincount(codes), strict=True):
        if n_rows < FEWEST_ROWS:
            counted = " that count" if name == "X" and own is not None else ""
            raise ValueError(
                f"Got {n_rows} rows{counted} in {name}; at least {FEWEST_ROWS} are needed to say "
                "anything about a shift. Collect more rows; those of the target need no labels."
            )
    if y is not None:
        refuse_missing(y)
    return Samples(X, X_target, y, own, table, codes)


def stacked_table(X: Any, X_target: Any) -> tuple[Any, np.ndarray]:
    """Return both samples in one table that NumPy can read, and 0 for source, 1 for target."""
    for name, part in (("X", X), ("X_target", X_target)):
        if part is not None:
            refuse_no_table(name, part)
        check_rows(name, part)
    if hasattr(X, "columns") and hasattr(X_target, "columns"):
        X, X_target = _with_text_names(X), _with_text_names(X_target)
    stacked, codes = stack_samples(X, X_target)
    return (to_numpy(stacked) if is_foreign(stacked) else stacked), codes


def check_rows(name: str, part: Any) -> None:
    """Refuse tables with too few rows or columns to compare."""
    if part is None:
        raise TypeError(f"Got {name}=None; rows of both samples are needed to compare them.")
    nested = isinstance(part, list | tuple)
    shape: tuple[int, ...] = np.shape(part) if nested else getattr(part, "shape", ())
    if len(shape) == 2 and shape[0] < 2:
        raise ValueError(
            f"Got {name} with {shape[0]} row{'' if shape[0] == 1 else 's'}; samples are compared "
            "by 2 rows or more of each."
        )
    if len(shape) == 2 and shape[1] == 0:
        raise ValueError(f"Got {name} without columns; there is nothing to compare.")


def _with_text_names(X: Any) -> Any:
    """Return a data frame with its names as text; these are matched, and shown."""
    kinds = {type(name) for name in X.columns}
    if kinds <= {str} or not hasattr(X, "set_axis"):
        return X
    if str in kinds:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(
            f"Got a data frame whose column names are of several types ({names}); make all of them "
            "text, e.g. X.columns = X.columns.astype(str)."
        )
    return X.set_axis([str(name) for name in X.columns], axis=1)


def _rows_of(part: Any, rows: np.ndarray) -> Any:
    """Return some rows of a table or of labels, whatever they are held in."""
    if isinstance(part, list | tuple):
        return [part[row] for row in rows]
    return take_rows(sp.csr_array(part) if sp.issparse(part) else part, rows)
