"""How features differ between two samples: standardised differences, and histograms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from weighbridge.diagnosis import BalanceTable
from weighbridge.pictures._picture import Picture, check_made
from weighbridge.tables import Feature, check_count, check_weights, read_features

# Rows of a love plot, and the differences that are commonly called balanced.
MOST_ROWS = 15
BALANCED = 0.1
# Features with at most this many values get a bar for each of them.
_MOST_VALUES = 30
# Levels with fewer rows in both samples together share a bar, so that no single row shows.
_RARE = 10
# Axes end at these quantiles, not at the extreme values.
_ENDS = (0.005, 0.995)
_MOST_BINS = 30
# With more steps than this in a bin it does not matter where in a step the bin ends.
_FINE = 50

# Known values of a sample and their shares of it.
_Sample = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class LovePlot(Picture):
    """Sizes of standardised differences, largest first, as `compute_love` sorts them.

    Parameters
    ----------
    names : tuple of str
        Features, levels of categories, missing values.
    before : ndarray of shape (n_rows,)
        Sizes of the differences without weights; infinite between two constants, NaN where a
        sample has no values.
    after : ndarray of shape (n_rows,) or None
        With weights, where there are any.
    n_left_out : int
        Rows of the table that are not here, since they differ less.

    Examples
    --------
    >>> from weighbridge.diagnosis import balance_table
    >>> from weighbridge.plotting import compute_love
    >>> compute_love(balance_table([[1.0, 0.0], [3.0, 1.0]], [[5.0, 0.0], [7.0, 1.0]])).names
    ('0', '1')
    """

    names: tuple[str, ...]
    before: np.ndarray
    after: np.ndarray | None
    n_left_out: int


def compute_love(table: BalanceTable, *, max_rows: int = MOST_ROWS) -> LovePlot:
    """Sort a balance table by the size of the differences before weighting.

    Parameters
    ----------
    table : BalanceTable
        From `weighbridge.diagnosis.balance_table`.
    max_rows : int, default=15
        How many of its rows are kept.

    Returns
    -------
    LovePlot
        Largest first.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.diagnosis import balance_table
    >>> from weighbridge.plotting import compute_love
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(size=(1000, 3)), rng.normal([0, 1, 0.3], size=(500, 3))
    >>> love = compute_love(balance_table(X, X_target), max_rows=2)
    >>> love.names, love.n_left_out
    (('1', '2'), 1)
    """
    check_made(table, BalanceTable, "table", "weighbridge.diagnosis.balance_table")
    if not len(table):
        raise ValueError("Got an empty balance table; there is nothing to draw.")
    check_count("max_rows", max_rows, 1)
    rows = table.largest(max_rows)
    before = np.abs([row.before for row in rows])
    is_weighted = any(row.after is not None for row in rows)
    after = np.abs([np.nan if row.after is None else row.after for row in rows])
    names = tuple(row.name for row in rows)
    return LovePlot(names, before, after if is_weighted else None, len(table) - len(rows))


@dataclass(frozen=True)
class FeatureHistogram(Picture):
    """One feature in both samples, as `compute_feature_histogram` counts it.

    Parameters
    ----------
    name : str
        The feature.
    values : ndarray of shape (n_values,) or None
        The values or levels, where there is a bar for each of them.
    edges : ndarray of shape (n_bins + 1,) or None
        Ends of the bins, where there are many values.
    training, deployment : ndarray of shape (n_values or n_bins,)
        Share of each value, or density in each bin, among the rows whose value is known.
    weighted : ndarray of the same shape, or None
        The same for weighted training rows, where there are weights.
    missing : dict of str to float
        Shares of rows without a value: ``training``, ``deployment`` and ``weighted``.

    Examples
    --------
    >>> from weighbridge.plotting import compute_feature_histogram
    >>> histogram = compute_feature_histogram([0, 0, 1, 1], [0, 1, 1, 1])
    >>> histogram.values, histogram.deployment
    (array([0., 1.]), array([0.25, 0.75]))
    """

    name: str
    values: np.ndarray | None
    edges: np.ndarray | None
    training: np.ndarray
    deployment: np.ndarray
    weighted: np.ndarray | None
    missing: dict[str, float]


def compute_feature_histogram(
    x: Any, x_target: Any, weights: Any = None, *, name: str = ""
) -> FeatureHistogram:
    """Count one feature in two samples, on bins that suit both.

    Parameters
    ----------
    x : array-like of shape (n_source,)
        The feature in the source sample: numbers or text, some of them perhaps missing.
    x_target : array-like of shape (n_target,)
        The same in the target sample.
    weights : array-like of shape (n_source,), optional
        Weights of the source rows, on any scale.
    name : str, default=""
        What the feature is called.

    Returns
    -------
    FeatureHistogram
        Shares by value where there are at most 30 values, and for text; else densities. Bins and
        numbers end at the quantiles 0.5 % and 99.5 % of the samples; rows beyond are counted in no
        bin, but in the total. Levels with fewer than 10 rows, and those beyond the 29 most
        frequent, share one bar, "other".

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.plotting import compute_feature_histogram
    >>> rng = np.random.default_rng(0)
    >>> histogram = compute_feature_histogram(rng.normal(size=2000), rng.normal(1, 1, size=1000))
    >>> mean = np.average(histogram.edges[:-1], weights=histogram.deployment)
    >>> print(histogram.edges.size, round(mean))
    21 1
    """
    columns = [np.asarray(each) for each in (x, x_target)]
    for label, column in zip(("x", "x_target"), columns, strict=True):
        if column.ndim != 1:
            raise ValueError(
                f"Got {label} of shape {column.shape}, but expected one feature: one value for "
                "each row. ShiftDisplay.from_samples takes whole tables."
            )
    (feature,) = read_features(*(column[:, None] for column in columns))
    named = Feature(name, feature.source, feature.target, feature.levels)
    return histogram_of(named, None if weights is None else check_weights(weights, len(columns[0])))


def histogram_of(feature: Feature, weights: np.ndarray | None) -> FeatureHistogram:
    """Count a feature; weights, where there are any, are checked."""
    gaps = feature.missing()
    even = [np.full(gap.size, 1 / gap.size) for gap in gaps]
    sides = {
        "training": (feature.source, even[0], gaps[0]),
        "deployment": (feature.target, even[1], gaps[1]),
    }
    if weights is not None:
        scaled = weights / weights.max()
        sides["weighted"] = (feature.source, scaled / scaled.sum(), gaps[0])
    missing = {side: float(own[gap].sum()) for side, (_, own, gap) in sides.items()}
    samples = {side: _known(*parts) for side, parts in sides.items()}
    values: np.ndarray | None
    edges = None
    if feature.levels is not None:
        values, samples = _levels(samples, feature.levels)
        places = np.arange(values.size)
    else:
        values, edges = _bins(samples["training"][0], samples["deployment"][0])
        places = values if values is not None else np.array([])
    if edges is None:
        drawn = {side: _shares(sample, places) for side, sample in samples.items()}
    else:
        drawn = {
            side: np.histogram(known, edges, weights=own)[0] / np.diff(edges)
            for side, (known, own) in samples.items()
        }
    shares = drawn["training"], drawn["deployment"], drawn.get("weighted")
    return FeatureHistogram(feature.name, values, edges, *shares, missing)


def _known(column: np.ndarray, own: np.ndarray, gap: np.ndarray) -> _Sample:
    """Return the values that are there, with shares that sum to 1."""
    left = own[~gap]
    total = left.sum()
    return column[~gap], left / total if total > 0 else left


def _shares(sample: _Sample, places: np.ndarray) -> np.ndarray:
    """Return the share of each of some sorted values."""
    known, own = sample
    if places.size == 0:
        return np.zeros(0)
    spot = np.minimum(np.searchsorted(places, known), places.size - 1)
    own = np.where(places[spot] == known, own, 0.0)
    return np.bincount(spot, weights=own, minlength=places.size)


def _levels(
    samples: dict[str, _Sample], levels: tuple[str, ...]
) -> tuple[np.ndarray, dict[str, _Sample]]:
    """Pool rare levels; return what the bars are called, and the new codes."""
    n = len(levels)
    counts = sum(np.bincount(samples[side][0], minlength=n) for side in ("training", "deployment"))
    frequent = np.flatnonzero(np.asarray(counts) >= _RARE)
    # a bar for the pool is needed where any level goes into it
    room = _MOST_VALUES if n == frequent.size <= _MOST_VALUES else _MOST_VALUES - 1
    order = np.argsort(-np.asarray(counts)[frequent], kind="stable")[:room]
    kept = np.sort(frequent[order])
    labels = [levels[place] for place in kept]
    if kept.size == n:
        return np.array(labels, dtype=object), samples
    new = np.full(n, kept.size)
    new[kept] = np.arange(kept.size)
    pool = "other" if "other" not in labels else "all other"
    recoded = {side: (new[codes], own) for side, (codes, own) in samples.items()}
    return np.array([*labels, pool], dtype=object), recoded


def _bins(source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the values themselves where there are few, else the ends of bins."""
    samples = [sample for sample in (source, target) if sample.size]
    if not samples:
        return np.zeros(0), None
    seen = np.unique(np.concatenate(samples))
    # whole values: an end between two of them would cut where there is nothing
    ends = np.array([np.quantile(sample, _ENDS, method="nearest") for sample in samples])
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    if seen.size <= _MOST_VALUES or low == high:
        return seen[(seen >= low) & (seen <= high)], None
    smallest = min(sample.size for sample in samples)
    n_bins = min(_MOST_BINS, max(5, round(2 * math.cbrt(smallest))))
    width = (high / 2 - low / 2) * 2 / n_bins
    step = _lattice_step(seen)
    if step is None or width > _FINE * step:
        return None, np.linspace(low, high, n_bins + 1)
    # bins of equally many steps: others would show combs that are not in the data
    width = step * max(1, round(width / step))
    n_bins = math.ceil((high - low + step) / width - 1e-9)
    edges = low - step / 2 + width * np.arange(n_bins + 1)
    edges[-1] = high + step / 2  # a last bin that is half empty would look like a fall
    return None, edges


def _lattice_step(seen: np.ndarray) -> float | None:
    """Return the step of rounded numbers; None for numbers that follow no step."""
    gaps = np.diff(seen)
    step = float(gaps.min())
    if not np.isfinite(gaps).all() or gaps.max() / step > 2**40:
        return None
    steps = gaps / step
    return step if np.abs(steps - np.rint(steps)).max() < 1e-3 else None
