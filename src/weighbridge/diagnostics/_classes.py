"""Labels as classes, and what keeps them from being compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from weighbridge._namespace import to_numpy

# Whole numbers with more different values than this count something, and are no classes.
MOST_WHOLE = 50
# Rows that a class should have for its frequency to mean anything.
RARE_CLASS = 20


def coded_classes(y: Any, n_source: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes and the number of each row's; refuse what are no classes."""
    y = _as_array(y)
    if y.shape != (n_source,):
        raise ValueError(f"Got y of shape {y.shape}, but expected ({n_source},), one for each row.")
    refuse_missing(y)
    if _is_continuous(y):
        raise ValueError(
            "Got y with continuous values, but label shift is checked for classes only; leave the "
            "check out for regression, or pass classes."
        )
    kinds = {"number" if _is_number(v) else type(v).__name__ for v in y.tolist()}
    if len(kinds) > 1:
        raise ValueError(
            f"Got y with labels of several types ({', '.join(sorted(kinds))}); convert all of them "
            "to text."
        )
    labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if labels.size < 2:
        raise ValueError(
            f"Got y with one class only ({y.tolist()[0]!r}); a check needs two or more."
        )
    if counts.min() < 2:
        rare = labels.tolist()[int(np.argmin(counts))]
        raise ValueError(
            f"Got y with class {rare!r} in 1 row only; each class needs 2 rows or more, to be held "
            "out once. Merge rare classes, or leave them out."
        )
    if 4 * labels.size > y.size:
        raise ValueError(
            f"Got y with {labels.size} classes in {y.size} rows; there should be 4 rows or more "
            "for a class. Merge rare classes."
        )
    return labels, codes


def refuse_missing(y: Any) -> None:
    """Refuse labels that are not there."""
    values = _as_array(y).ravel().tolist()
    missing = sum(_is_missing(value) for value in values)
    if missing:
        raise ValueError(
            f"Got y with missing values in {missing} of {len(values)} rows; leave these rows out."
        )


def is_regression(y: Any) -> bool:
    """True for labels that are quantities: numbers with decimals, or counts of many values."""
    y = _as_array(y)
    return _is_continuous(y) or (y.dtype.kind in "iuf" and np.unique(y).size > MOST_WHOLE)


def _as_array(y: Any) -> np.ndarray:
    """Return labels as an array; a list of numbers and text is not turned into text."""
    array = to_numpy(y)
    if array.dtype.kind in "US" and not hasattr(y, "dtype"):
        array = np.asarray(y, dtype=object)
    return array.ravel() if array.ndim == 2 and array.shape[1] == 1 else array


def _is_continuous(y: np.ndarray) -> bool:
    return y.dtype.kind == "f" and bool(np.any(y != np.rint(y)))


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float)


def _is_missing(value: Any) -> bool:
    """True for None, NaN, and the signs of other libraries (which compare with nothing)."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value
