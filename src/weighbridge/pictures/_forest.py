"""Expected losses of weightings in numbers: what a verdict found, in columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from weighbridge._findings import Estimate, Numbers
from weighbridge.pictures._picture import Picture


@dataclass(frozen=True)
class Forest(Picture):
    """Expected losses of the weightings that were compared, as `compute_forest` lists them.

    Parameters
    ----------
    names, literature : tuple of str
        What the weightings are shown as, and what the literature calls them.
    value, low, high : ndarray of shape (n_candidates,)
        Expected loss with its interval; NaN where it is withheld.
    change, change_low, change_high : ndarray of shape (n_candidates,)
        Paired change against none with its interval; NaN for none, and where it is withheld.
    rough : ndarray of bool of shape (n_candidates,)
        Where the weights hardly carry the interval.
    use : int
        Which of them is to be used.
    measure : str
        What is measured.
    confidence : float
        Of the intervals.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.datasets import make_quadratic
    >>> from weighbridge.plotting import compute_forest
    >>> from weighbridge.verdict import assess
    >>> data = make_quadratic(random_state=0)
    >>> verdict = assess(LinearRegression(), data.X, data.y, data.X_target, random_state=0)
    >>> forest = compute_forest(verdict)
    >>> forest.names[forest.use], forest.literature[0]
    ('tuned', 'ERM')
    """

    names: tuple[str, ...]
    literature: tuple[str, ...]
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    change: np.ndarray
    change_low: np.ndarray
    change_high: np.ndarray
    rough: np.ndarray
    use: int
    measure: str
    confidence: float


def read_forest(expect: dict[str, Any], use: str | None) -> Forest:
    """List what the part ``expect`` of a result says; `use` is the weighting to use."""
    # weightings with the same weights are one row
    candidates = [each for each in expect["candidates"] if not each.get("same_as")]
    ends = ("value", "low", "high")
    losses, changes = (
        np.array([[(each[part] or {}).get(end) for end in ends] for each in candidates], float).T
        for part in ("error", "change")
    )
    names = tuple(each["name"] for each in candidates)
    return Forest(
        names=names,
        literature=tuple(each["literature"] for each in candidates),
        value=losses[0],
        low=losses[1],
        high=losses[2],
        change=changes[0],
        change_low=changes[1],
        change_high=changes[2],
        rough=np.array([each["state"] == "flagged" for each in candidates]),
        use=names.index(use),
        measure=expect["measure"],
        confidence=expect["confidence"],
    )


def forest_numbers(forest: Forest) -> Numbers:
    """Return how the losses and changes of a forest are written."""
    known = forest.value[np.isfinite(forest.value)]
    losses = map(_estimate, forest.value, forest.low, forest.high)
    changes = map(_estimate, forest.change, forest.change_low, forest.change_high)
    return Numbers(forest.measure, float(known[0]) if known.size else 0.0, losses, changes)


def _estimate(value: float, low: float, high: float) -> Estimate:
    return Estimate(float(value), float("nan"), float(low), float(high))
