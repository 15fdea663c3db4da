"""The log ratio in both samples, counted on common bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from weighbridge.plotting._arguments import check_log_ratio

_BINS = 40
# Axes end at these quantiles, or at the largest log ratio of the training rows.
_ENDS = (0.005, 0.995)


@dataclass(frozen=True)
class OverlapHistogram:
    """The log ratio in both samples, as `compute_overlap` counts it.

    Parameters
    ----------
    edges : ndarray of shape (n_bins + 1,)
        Ends of the bins; `limit` is one of them. A bin contains its upper end, and rows beyond the
        first or last bin are counted in it.
    training, deployment : ndarray of shape (n_bins,)
        Shares of the rows of each sample.
    limit : float
        Largest log ratio of a training row.
    beyond : float
        Share of the deployment rows whose log ratio is larger.
    n_beyond : int
        Their number.

    Examples
    --------
    >>> from weighbridge.plotting import compute_overlap
    >>> compute_overlap([-1.0, 0.0, 0.5], [0.0, 0.4, 0.6, 2.0]).beyond
    0.5
    """

    edges: np.ndarray
    training: np.ndarray
    deployment: np.ndarray
    limit: float
    beyond: float
    n_beyond: int


def compute_overlap(log_ratio: Any, log_ratio_target: Any) -> OverlapHistogram:
    """Count the log ratio in both samples, and the target rows beyond all source rows.

    Parameters
    ----------
    log_ratio : array-like of shape (n_source,)
        Log ratios at the source rows; ``-inf`` is a ratio of 0.
    log_ratio_target : array-like of shape (n_target,)
        Log ratios at the target rows; ``inf`` is a row where no source row can be.

    Returns
    -------
    OverlapHistogram
        With shares that sum to 1 in each sample.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.plotting import compute_overlap
    >>> rng = np.random.default_rng(0)
    >>> log_ratio, log_ratio_target = rng.normal(-2, 2, 1000), rng.normal(2, 2, 1000)
    >>> overlap = compute_overlap(log_ratio, log_ratio_target)
    >>> print(f"{overlap.beyond:.0%} of the target rows lie beyond all source rows")
    15% of the target rows lie beyond all source rows
    """
    source = check_log_ratio(log_ratio, "log_ratio")
    target = check_log_ratio(log_ratio_target, "log_ratio_target")
    if not (source < np.inf).all():
        raise ValueError(
            "Got log_ratio with an infinite ratio at a source row, where the source density cannot "
            "be 0; correct the ratio, or leave that row out."
        )
    limit = float(source.max())
    edges = _edges(source, target, limit)
    n_beyond = int(np.sum(target > limit))
    return OverlapHistogram(
        edges,
        _shares(source, edges),
        _shares(target, edges),
        limit,
        n_beyond / target.size,
        n_beyond,
    )


def _edges(source: np.ndarray, target: np.ndarray, limit: float) -> np.ndarray:
    """Return equally spaced ends, the largest log ratio of the source among them."""
    finite = [part[np.isfinite(part)] for part in (source, target)]
    ends = np.array([np.quantile(part, _ENDS) for part in finite if part.size])
    if not np.isfinite(limit):
        raise ValueError(
            "Got a ratio of 0 at every source row: no source row lies where the target is, and "
            "there is nothing to draw. Check the ratio, and that both samples have the same units."
        )
    low, high = float(ends[:, 0].min()), max(limit, float(ends[:, 1].max()))
    beyond = bool((target > limit).any())
    if low == high and not beyond:  # the same ratio everywhere
        return np.array([limit - 0.5, limit + 0.5])
    width = (high - low) / _BINS or 0.5
    n_left = max(1, int(np.ceil((limit - low) / width - 1e-9)))
    n_right = int(np.ceil((high - limit) / width - 1e-9))
    if beyond:  # the quantiles may leave them out
        n_right = max(n_right, 1)
    return limit + width * np.arange(-n_left, n_right + 1)


def _shares(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the share of the rows in each bin, which contains its upper end."""
    places = np.searchsorted(edges[1:-1], values, side="left")
    return np.bincount(places, minlength=edges.size - 1) / values.size
