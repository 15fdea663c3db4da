"""The ratio and its weights in numbers: histograms, reliability, and a Lorenz curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from weighbridge._findings import wilson
from weighbridge.domain import CrossFittedDomain
from weighbridge.pictures._picture import Picture, check_log_ratio
from weighbridge.tables import check_confidence, check_count, check_weights

# Weights below 1/1024 of the mean differ in nothing that matters; they share the first bar.
_SMALLEST_OCTAVE = -10
_MOST_BINS = 30


@dataclass(frozen=True)
class WeightHistogram(Picture):
    """Numbers of rows by size of their weight, as `compute_weight_histogram` counts them.

    Parameters
    ----------
    edges : ndarray of shape (n_bins + 1,)
        Ends of the bins, equally far apart in logarithms; weights have mean 1.
    counts : ndarray of shape (n_bins,)
        Numbers of rows.
    n_below : int
        Rows of the first bin that lie below it, those of weight 0 among them.

    Examples
    --------
    >>> from weighbridge.plotting import compute_weight_histogram
    >>> compute_weight_histogram([1, 1, 1, 1]).counts
    array([4])
    """

    edges: np.ndarray
    counts: np.ndarray
    n_below: int


@dataclass(frozen=True)
class LorenzCurve(Picture):
    """Share of the weight on the rows with the largest weights, as `compute_lorenz` finds it.

    Parameters
    ----------
    rows, weight : ndarray of shape (n_points,)
        The rows with the largest weights, as a share of all rows, carry this share of the weight.
    half : float
        Smallest share of rows that carries half of the weight.

    Examples
    --------
    >>> from weighbridge.plotting import compute_lorenz
    >>> compute_lorenz([1, 1, 1, 5]).half
    0.25
    """

    rows: np.ndarray
    weight: np.ndarray
    half: float


def compute_weight_histogram(weights: Any) -> WeightHistogram:
    """Count rows by size of their weight, in bins that are equally wide in logarithms.

    Parameters
    ----------
    weights : array-like of shape (n_rows,)
        Weights >= 0, on any scale; they are brought to mean 1.

    Returns
    -------
    WeightHistogram
        With 1 in the middle of a bin, at most about 30 bins, and all rows counted: those below
        1/1024 in the first bin.

    Examples
    --------
    >>> from weighbridge.plotting import compute_weight_histogram
    >>> histogram = compute_weight_histogram([0, 1, 1, 2])
    >>> histogram.counts.sum(), histogram.n_below
    (np.int64(4), 1)
    """
    scaled = check_weights(weights)
    scaled = scaled / scaled.max()
    scaled /= scaled.mean()
    octaves = np.log2(scaled[scaled > 0])
    low, high = max(octaves.min(), _SMALLEST_OCTAVE), octaves.max()
    most = min(_MOST_BINS, max(6, 2 * math.cbrt(scaled.size)))
    width = 1 / 8
    while (high - low) / width > most:
        width *= 2
    first, last = math.floor(low / width + 0.5), math.floor(high / width + 0.5)
    ends = (np.arange(first, last + 2) - 0.5) * width
    counts, _ = np.histogram(np.clip(octaves, ends[0], ends[-1]), ends)
    counts[0] += scaled.size - octaves.size
    edges = 2.0**ends
    return WeightHistogram(edges, counts, int(np.sum(scaled < edges[0])))


def compute_lorenz(weights: Any, *, n_points: int = 200) -> LorenzCurve:
    """Say which share of the weight the rows with the largest weights carry.

    It is the Lorenz curve with the largest weights first: a curve above the diagonal, on which the
    share of rows that carries half of the weight can be read off directly.

    Parameters
    ----------
    weights : array-like of shape (n_rows,)
        Weights >= 0, on any scale.
    n_points : int, default=200
        About this many points of the curve are kept; they are exact.

    Returns
    -------
    LorenzCurve
        From (0, 0) to (1, 1).

    Examples
    --------
    >>> from weighbridge.plotting import compute_lorenz
    >>> compute_lorenz([1, 1, 1, 5]).weight
    array([0.   , 0.625, 0.75 , 0.875, 1.   ])
    """
    check_count("n_points", n_points, 2)
    falling = np.sort(check_weights(weights))[::-1]
    carried = np.concatenate([[0.0], np.cumsum(falling / falling[0])])
    carried /= carried[-1]
    n = falling.size
    half = int(np.searchsorted(carried, 0.5))
    even = np.linspace(0, n, n_points)
    # the curve is steepest at its start
    steep = np.geomspace(1, n, n_points)
    kept = np.unique(np.concatenate([np.rint(even), np.rint(steep), [half]]).astype(int))
    return LorenzCurve(kept / n, carried[kept], half / n)


_LOG_RATIO_BINS = 40
# Axes end at these quantiles, or at the largest log ratio of the training rows.
_ENDS = (0.005, 0.995)
# Steps of a reliability curve; fewer rows in one would show chance.
_MOST_STEPS = 20
_LEAST_ROWS = 25


@dataclass(frozen=True)
class OverlapHistogram(Picture):
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
    shares = _shares(source, edges), _shares(target, edges)
    return OverlapHistogram(edges, *shares, limit, n_beyond / target.size, n_beyond)


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
    width = (high - low) / _LOG_RATIO_BINS or 0.5
    n_left = max(1, int(np.ceil((limit - low) / width - 1e-9)))
    n_right = int(np.ceil((high - limit) / width - 1e-9))
    if beyond:  # the quantiles may leave them out
        n_right = max(n_right, 1)
    return limit + width * np.arange(-n_left, n_right + 1)


def _shares(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the share of the rows in each bin, which contains its upper end."""
    places = np.searchsorted(edges[1:-1], values, side="left")
    return np.bincount(places, minlength=edges.size - 1) / values.size


@dataclass(frozen=True)
class ReliabilityCurve(Picture):
    """Predicted and observed share of deployment rows, as `compute_reliability` finds them.

    Parameters
    ----------
    predicted : ndarray of shape (n_steps,)
        Mean chance of deployment that was predicted for the rows of a step.
    observed : ndarray of shape (n_steps,)
        Share of deployment rows among them; it never falls.
    low, high : ndarray of shape (n_steps,)
        Interval of that share.
    largest_gap : float
        Largest difference of predicted and observed.

    Examples
    --------
    >>> from weighbridge.plotting import compute_reliability
    >>> compute_reliability([0.2, 0.2, 0.8, 0.8], [0, 0, 1, 1]).observed
    array([0.5])
    """

    predicted: np.ndarray
    observed: np.ndarray
    low: np.ndarray
    high: np.ndarray
    largest_gap: float


def compute_reliability(
    chance: Any, is_target: Any = None, *, confidence: float = 0.95
) -> ReliabilityCurve:
    """Compare predicted chances of being a target row with what rows are.

    Both samples count alike, whatever their sizes, as they do for the classifier that made the
    chances. Rows are put into at most 20 bins of equally many by their chance; neighbouring bins
    whose shares fall are joined until they rise (isotonic regression). The intervals are Wilson's
    for the rows of each step.

    Parameters
    ----------
    chance : array-like of shape (n_rows,), or fitted domain classifier
        Chances for rows that the classifier was not fitted on, with equal samples in mind.
    is_target : array-like of shape (n_rows,), optional
        1 for target rows, 0 for source rows; not needed for a domain classifier, which knows.
    confidence : float, default=0.95
        Of the intervals.

    Returns
    -------
    ReliabilityCurve
        One entry for each step, in order of the chance.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.plotting import compute_reliability
    >>> rng = np.random.default_rng(0)
    >>> chance = rng.uniform(size=20_000)
    >>> is_target = rng.uniform(size=20_000) < chance
    >>> compute_reliability(chance, is_target).largest_gap < 0.05
    True
    >>> compute_reliability(chance**2, is_target).largest_gap > 0.2
    True
    """
    confidence = check_confidence(confidence)
    if isinstance(chance, CrossFittedDomain):
        chance, is_target = expit(chance.log_odds), chance.rows.codes
    chance, is_target = _checked(chance, is_target)
    totals = np.array([np.sum(~is_target), np.sum(is_target)], dtype=float)
    counts, sums = _binned(chance, is_target)
    counts, sums = _joined(counts, sums)
    n = counts.sum(axis=1)
    plain = counts[:, 1] / n
    observed = _balanced(plain, totals)
    # both samples count one half
    share = counts / totals
    predicted = (sums / totals).sum(axis=1) / share.sum(axis=1)
    low, high = (_balanced(bound, totals) for bound in wilson(plain, n, confidence))
    gap = float(np.abs(observed - predicted).max())
    return ReliabilityCurve(predicted, observed, low, high, gap)


def _checked(chance: Any, is_target: Any) -> tuple[np.ndarray, np.ndarray]:
    chance = np.asarray(chance, dtype=np.float64)
    if is_target is None:
        raise TypeError(
            "Got chances without is_target; say which rows are target rows (1) and which are "
            "source rows (0)."
        )
    codes = np.asarray(is_target)
    if chance.ndim != 1 or chance.shape != codes.shape:
        raise ValueError(
            f"Got chance of shape {chance.shape} and is_target of shape {codes.shape}, but "
            "expected one number of each for every row."
        )
    if not ((chance >= 0) & (chance <= 1)).all():
        raise ValueError("Got chances outside [0, 1] or NaN; log odds need scipy.special.expit.")
    if not np.isin(codes, (0, 1)).all() or np.unique(codes).size < 2:
        raise ValueError(
            "Got is_target with values other than 0 and 1, or only one of them; both samples are "
            "needed."
        )
    return chance, codes.astype(bool)


def _binned(chance: np.ndarray, is_target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of rows and sums of chances by bin, for source and target."""
    n_bins = int(min(_MOST_STEPS, max(1, chance.size // _LEAST_ROWS)))
    edges = np.unique(np.quantile(chance, np.arange(1, n_bins) / n_bins))
    place = np.searchsorted(edges, chance, side="left")
    n = edges.size + 1
    sides = (~is_target, is_target)
    counts = np.stack([np.bincount(place[side], minlength=n) for side in sides], axis=1)
    sums = np.stack([np.bincount(place[side], chance[side], n) for side in sides], axis=1)
    filled = counts.sum(axis=1) > 0
    return counts[filled], sums[filled]


def _joined(counts: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Join neighbours until the share of target rows rises from bin to bin."""
    blocks: list[tuple[np.ndarray, np.ndarray]] = []
    for count, total in zip(counts, sums, strict=True):
        blocks.append((count, total))
        # shares of target rows, compared by whole numbers, without rounding
        while len(blocks) > 1 and (
            blocks[-2][0][1] * blocks[-1][0].sum() >= blocks[-1][0][1] * blocks[-2][0].sum()
        ):
            last = blocks.pop()
            blocks[-1] = (blocks[-1][0] + last[0], blocks[-1][1] + last[1])
    return np.array([count for count, _ in blocks]), np.array([total for _, total in blocks])


def _balanced(plain: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Turn shares of target rows into those of samples that are equally large."""
    return np.asarray(plain * totals[0] / (plain * totals[0] + (1 - plain) * totals[1]))
