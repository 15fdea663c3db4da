"""Labelled rows, and their two parts: one to fit a model to, one to calibrate it on."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import indexable
from sklearn.utils.validation import _num_samples, assert_all_finite, column_or_1d

from weighbridge._validation import check_sample_weight
from weighbridge.criteria._rows import table_rows
from weighbridge.ratios._columns import read_columns


@dataclass(frozen=True)
class Part:
    """Some labelled rows, with the user's own weights."""

    X: Any
    y: np.ndarray
    sample_weight: np.ndarray | None

    def take(self, rows: np.ndarray) -> Part:
        """Return some of the rows, by their positions."""
        sample_weight = None if self.sample_weight is None else self.sample_weight[rows]
        return Part(table_rows(self.X, rows), self.y[rows], sample_weight)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.y.size)


def labelled_rows(X: Any, y: Any, sample_weight: Any, name: str) -> Part:
    """Check that there is one label for each row."""
    if y is None:
        raise ValueError(
            f"{name} requires y to be passed, but the target y is None: it has the labels of the "
            "source rows."
        )
    shape = np.asarray(y).shape
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"Got y of shape {shape}; {name} takes one label for each row. Calibrate one "
            "model for each output."
        )
    X = np.asarray(X) if isinstance(X, list | tuple) else indexable(X)[0]
    labels, n = column_or_1d(y, warn=True), _num_samples(X)
    if labels.size != n:
        raise ValueError(f"Got X with {n} rows and y with {labels.size}; each row needs a label.")
    if labels.dtype == object:
        _refuse_gaps(labels)
    assert_all_finite(labels, input_name="y")
    return Part(X, labels, check_sample_weight(sample_weight, n))


def _refuse_gaps(labels: np.ndarray) -> None:
    (column,) = read_columns(labels[:, None])
    missing = sum(label is None or label != label for label in column)
    if missing:
        raise ValueError(
            f"Got y that is missing (None or NaN) in {missing} of {labels.size} rows; leave them "
            "out: only rows with a label can be fitted to or calibrated on."
        )


def split(
    part: Part, calibration_size: Any, rng: np.random.RandomState, *, by_class: bool
) -> tuple[Part, Part]:
    """Deal the rows at random, one part to fit to, one to calibrate on.

    With `by_class` every class has the same share in both, and a row of each is fitted to.
    """
    n = part.n_rows
    wanted = _calibration_rows(calibration_size, n)
    order = rng.permutation(n)
    first = np.zeros(n, dtype=bool)
    if by_class:
        codes = np.unique(part.y, return_inverse=True)[1]
        order = order[np.argsort(codes[order], kind="stable")]
        first = np.diff(codes[order], prepend=-1) > 0
        if wanted > n - first.sum():
            raise ValueError(
                f"Got {n} rows of {first.sum()} classes, {wanted} of them to calibrate on; the "
                "rest cannot hold a row of each class. Give more rows, or a smaller "
                "calibration_size."
            )
    rest = order[~first]
    marks = (np.arange(rest.size + 1) * wanted + rng.randint(rest.size)) // rest.size
    held = rest[np.diff(marks) > 0]
    fitted = np.setdiff1d(order, held)
    return part.take(fitted), part.take(np.sort(held))


def _calibration_rows(size: Any, n: int) -> int:
    if n < 2:
        raise ValueError(
            f"Got n_samples={n} rows; one part is fitted to and the other calibrated on, which "
            "takes at least 2 rows, and some hundreds to be of use."
        )
    if isinstance(size, Integral) and 1 <= int(size) < n and not isinstance(size, bool):
        return int(size)
    if isinstance(size, Real) and 0 < float(size) < 1:
        return min(max(round(n * float(size)), 1), n - 1)
    raise ValueError(
        f"Got calibration_size={size!r} for {n} rows, but expected a share between 0 and 1, or a "
        f"number of rows from 1 to {n - 1}."
    )
