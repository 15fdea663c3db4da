"""Labels as classes: the codes of classes, and bins of numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from weighbridge.tables import as_labels, is_continuous, refuse_missing


def coded_classes(y: ArrayLike, n_source: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes and the code of each row; raise ValueError unless they can be compared."""
    y = as_labels(y)
    if y.shape != (n_source,):
        raise ValueError(f"Got y of shape {y.shape}, but expected ({n_source},), one for each row.")
    refuse_missing(y)
    if is_continuous(y):
        raise ValueError(
            "Got y with continuous values, but label shift is checked for classes only; leave the "
            "check out for regression, or pass classes."
        )
    kinds = {"number" if isinstance(v, int | float) else type(v).__name__ for v in y.tolist()}
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
            "per class. Merge rare classes."
        )
    return labels, codes


def binned_labels(labels: np.ndarray, n_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the bin of each number, and the medians of the bins."""
    edges = np.unique(np.quantile(labels, np.arange(1, n_bins) / n_bins))
    codes = np.searchsorted(edges, labels, side="left")
    codes = np.unique(codes, return_inverse=True)[1]
    medians = [float(np.median(labels[codes == code])) for code in range(int(codes.max()) + 1)]
    return codes, np.array(medians)
