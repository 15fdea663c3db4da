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

from weighbridge._source_ratio import mean_one_log_ratio, source_log_weight, weighting_or_default
from weighbridge._validation import check_sample_weight, is_frame
from weighbridge.ratios._columns import take_rows
from weighbridge.weighting import RIWERM, mean_one

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SourceRows:
    """Labelled source rows that count, their log ratios and their weights in validation.

    `codes` are the labels as numbers: places in `classes` for a classifier, else the labels.
    """

    X: Any
    y: np.ndarray
    log_ratio: FloatArray
    own: FloatArray | None
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
        return self.validation if self.own is None else self.own * self.validation

    def fingerprint(self, *others: Any) -> str:
        """Name the rows, and what else a value depends on, by their content."""
        X = self.X
        if issparse(X):  # as numbers: a sparse matrix also remembers what was asked of it
            X = [X.data, X.indices, X.indptr, X.shape]
        try:
            return str(joblib.hash([X, self.y, self.log_ratio, self.own, self.validation, *others]))
        except (PicklingError, AttributeError, TypeError):
            raise ValueError(
                "Got a part that has no name by its content, probably a lambda or a function "
                "defined inside another; a journal needs functions that can be imported."
            ) from None


def source_rows(
    estimator: Any, X: Any, y: Any, log_ratio: Any, sample_weight: Any, validation: Any
) -> SourceRows:
    """Check the rows and leave out those whose own weight is 0.

    Parameters
    ----------
    estimator : estimator
        Tells a classifier from a regressor.
    X, y : array-like
        Labelled source rows.
    log_ratio : array of shape (n_samples,)
        Log density ratios; scaled here to mean 1.
    sample_weight : array of shape (n_samples,) or None
        Own weights of the rows.
    validation : weighting or None
        Which weights the losses are averaged with; default `RIWERM(0.9)`.

    Returns
    -------
    SourceRows
        The rows that count.
    """
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
    own = check_sample_weight(sample_weight, n)
    kept = None
    if own is not None and not own.all():
        kept = np.flatnonzero(own > 0)
        X, y, log_ratio, own = table_rows(X, kept), y[kept], log_ratio[kept], own[kept]
    log_ratio = mean_one_log_ratio(log_ratio, own)
    weighting = weighting_or_default(RIWERM(0.9) if validation is None else validation)
    weights = mean_one(source_log_weight(weighting, log_ratio, own), own)
    classes = _classes(estimator, y)
    return SourceRows(X, y, log_ratio, own, weights, classes, kept)


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
