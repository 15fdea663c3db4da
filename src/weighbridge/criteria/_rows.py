"""What every criterion knows about the source rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pickle import PicklingError
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _num_samples

from weighbridge._data import (
    as_numbers,
    check_sample_weight,
    exact_keys,
    is_foreign,
    is_frame,
    read_columns,
    take_rows,
    to_numpy,
)
from weighbridge.blocks import ON_BLOCKS, Block, Rows, as_rows, in_memory, is_blocks
from weighbridge.ratios import (
    mean_one_log_ratio,
    source_log_weight,
    weighting_or_default,
)
from weighbridge.weighting import RIWERM, mean_one

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SourceRows:
    """Labelled source rows that count, their log ratios and their weights in validation."""

    X: Any
    y: np.ndarray
    log_ratio: FloatArray
    sample_weight: FloatArray | None
    validation: FloatArray
    classes: np.ndarray | None
    kept: np.ndarray | None = field(default=None, repr=False)

    @cached_property
    def codes(self) -> np.ndarray:
        """Labels as numbers."""
        if self.classes is None:
            return self.y.astype(float)
        return np.searchsorted(self.classes, self.y)

    @property
    def unit_weights(self) -> FloatArray:
        """Weight of each row in the mean of the losses."""
        return (
            self.validation if self.sample_weight is None else self.sample_weight * self.validation
        )

    @property
    def on_blocks(self) -> bool:
        """Whether the table comes in blocks; the vectors are in memory."""
        return isinstance(self.X, Rows)

    def beside(self, vector: npt.NDArray[Any], missing: float = 0.0) -> npt.NDArray[Any]:
        """Return a vector with an entry for each row of the table, also those that do not count."""
        if self.kept is None or not self.on_blocks:
            return vector
        out = np.full(self.X.n_rows, missing, dtype=vector.dtype)
        out[self.kept] = vector
        return out

    def fingerprint(self, *others: Any) -> str:
        """Name the rows, and what else a value depends on, by their content."""
        X = self.X
        if self.on_blocks:
            X = [X.shape, X.sum(_content)]
        elif issparse(X):  # as numbers: a sparse matrix also remembers what was asked of it
            X = [X.data, X.indices, X.indptr, X.shape]
        try:
            return str(
                joblib.hash(
                    [X, self.y, self.log_ratio, self.sample_weight, self.validation, *others]
                )
            )
        except (PicklingError, AttributeError, TypeError):
            raise ValueError(
                "Got a part that has no name by its content, probably a lambda or a function "
                "defined inside another; a journal needs functions that can be imported."
            ) from None


def source_rows(
    estimator: Any,
    X: Any,
    y: Any,
    log_ratio: Any,
    sample_weight: Any,
    validation: Any,
    *,
    on_blocks: bool = False,
) -> SourceRows:
    """Check the rows and leave out those whose own weight is 0."""
    if on_blocks:
        X = as_rows(X)
        y, log_ratio, sample_weight = (in_memory(part) for part in (y, log_ratio, sample_weight))
    elif is_blocks(X):
        raise TypeError(
            "Got rows in blocks, which this criterion cannot read; on blocks there is "
            f"criteria.CrossValidation() for {ON_BLOCKS}. Use others in memory, on rows.sample(n)."
        )
    else:
        X = np.asarray(X) if isinstance(X, list | tuple) else indexable(X)[0]
    n = _num_samples(X)
    if n < 2:
        raise ValueError(
            f"Got n_samples={n} source rows; choosing a weighting holds rows out and takes at "
            "least 2, and some dozens to be of use."
        )
    y, log_ratio = np.asarray(y), np.asarray(log_ratio, dtype=float)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(
            f"Got y of shape {y.shape}; choosing a weighting takes one label for each row. Fit "
            "one model for each output."
        )
    if y.shape != (n,) or log_ratio.shape != (n,):
        raise ValueError(
            f"Got X with {n} rows, y of shape {y.shape} and log_ratio of shape "
            f"{log_ratio.shape}; all need one entry for each row."
        )
    sample_weight = check_sample_weight(sample_weight, n)
    kept = None
    if sample_weight is not None and not sample_weight.all():
        kept = np.flatnonzero(sample_weight > 0)
        X = X if on_blocks else table_rows(X, kept)
        y, log_ratio, sample_weight = y[kept], log_ratio[kept], sample_weight[kept]
    log_ratio = mean_one_log_ratio(log_ratio, sample_weight)
    weighting = weighting_or_default(RIWERM(0.9) if validation is None else validation)
    weights = mean_one(source_log_weight(weighting, log_ratio, sample_weight), sample_weight)
    classes = _classes(estimator, y)
    return SourceRows(X, y, log_ratio, sample_weight, weights, classes, kept)


def _content(block: Block) -> npt.NDArray[np.uint64]:
    """Return a sum of keys of the rows, the same wherever blocks end; whole numbers wrap around."""
    table = to_numpy(block.table) if is_foreign(block.table) else block.table
    keys = exact_keys(table, as_numbers(read_columns(table)))
    places = np.arange(block.start, block.start + keys.size, dtype=np.uint64)
    return np.asarray([(keys * (2 * places + 1)).sum(dtype=np.uint64)])


def table_rows(X: Any, numbers: np.ndarray) -> Any:
    """Return some rows of any table, in its own container."""
    return take_rows(X, numbers) if is_frame(X) else _safe_indexing(X, numbers)


def _classes(estimator: Any, y: np.ndarray) -> np.ndarray | None:
    if not is_classifier(estimator):
        _check_numbers(y)
        return None
    kind = type_of_target(y)
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"Unknown label type: {kind}. A classifier needs one class for each row.")
    classes = np.unique(y)
    if classes.size < 2:
        raise ValueError(
            f"Got one class only ({classes[0]!r}) in all {y.size} source rows that count; a "
            "classifier needs rows of at least two classes."
        )
    return classes


def _check_numbers(y: np.ndarray) -> None:
    try:
        finite = np.isfinite(y.astype(float))
    except (TypeError, ValueError):
        raise ValueError(
            f"Got y of type {y.dtype} that is not numbers; a regressor needs one number for each "
            "row."
        ) from None
    if not finite.all():
        raise ValueError(
            f"Got y with NaN or infinite values in {int((~finite).sum())} of {y.size} source rows "
            "that count; leave these rows out."
        )
