"""Labelled rows, and their split into rows to fit to and rows to calibrate on."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from weighbridge.model_selection import table_rows


@dataclass(frozen=True)
class LabelledRows:
    """Rows of a table, their labels and the user's weights."""

    X: Any  # a table of any library
    y: np.ndarray
    sample_weight: np.ndarray | None

    def take(self, indices: np.ndarray) -> LabelledRows:
        """Return the rows at `indices`."""
        sample_weight = None if self.sample_weight is None else self.sample_weight[indices]
        return LabelledRows(table_rows(self.X, indices), self.y[indices], sample_weight)


def split_rows(
    rows: LabelledRows, calibration_size: Any, rng: np.random.RandomState, stratify: bool
) -> tuple[LabelledRows, LabelledRows]:
    """Split at random into rows to fit to (some of every class) and rows to calibrate on."""
    n_rows = rows.y.size
    n_calibration = _count_calibration_rows(calibration_size, n_rows)
    order, is_reserved = rng.permutation(n_rows), np.zeros(n_rows, dtype=bool)
    if stratify:
        classes, codes = np.unique(rows.y, return_inverse=True)
        if classes.size == 1:
            raise ValueError(
                f"Got y with only one class ({classes.tolist()[0]!r}). Add rows of another class."
            )
        if classes.size + n_calibration > n_rows:
            raise ValueError(
                f"Got {n_rows} rows and {n_calibration} of them to calibrate on, but expected one "
                f"or more of each of {classes.size} classes to fit to. Use a smaller "
                "calibration_size."
            )
        order = order[np.argsort(codes[order], kind="stable")]
        is_reserved = np.diff(codes[order], prepend=-1) > 0
    # Systematic sampling in the order of the classes gives each its share, to within one row.
    order = order[~is_reserved]
    steps = np.arange(order.size + 1) * n_calibration + rng.randint(order.size)
    calibration = np.sort(order[np.diff(steps // order.size) > 0])
    return rows.take(np.setdiff1d(np.arange(n_rows), calibration)), rows.take(calibration)


def _count_calibration_rows(size: Any, n_rows: int) -> int:
    count = 0
    if isinstance(size, Real) and 0 < float(size) < 1:
        count = min(max(round(n_rows * float(size)), 1), n_rows - 1)
    elif isinstance(size, Integral) and size is not True:
        count = int(size)
    if not 1 <= count < n_rows:
        raise ValueError(
            f"Got calibration_size={size!r} and n_samples={n_rows}, but expected at least 2 rows, "
            "and a share between 0 and 1 or a number from 1 to n_samples - 1 to calibrate on."
        )
    return count
