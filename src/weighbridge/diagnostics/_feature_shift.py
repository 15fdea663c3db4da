"""Features that are distributed differently in the two samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from weighbridge._findings import Record
from weighbridge.diagnostics._features import Feature, read_features

# Numbers with no more different values than this are compared value by value.
FEW_VALUES = 20
# Rows that each sample must be expected to have of a level, for the chi-squared law to hold.
ENOUGH_ROWS = 5
# Share of the rows that may be pooled before all levels are compared by permutations, the number
# of these, and how many draws of a level are made in all.
MOST_POOLED = 0.1
N_PERMUTATIONS, FEWEST_PERMUTATIONS = 999, 199
MOST_DRAWN = 2_000_000
# Samples up to this size get the exact law of the Kolmogorov-Smirnov distance.
EXACT_ROWS = 300


@dataclass(frozen=True, repr=False)
class FeatureShift(Record):
    """How far one feature differs between the samples, as `feature_shift` finds it.

    Parameters
    ----------
    name : str
        The feature, or the feature and ``missing``.
    distance : float
        Between 0 (same distribution) and 1 (nothing in common): the largest difference of the two
        distribution functions for numbers, total variation for categories. NaN where nothing can be
        compared: one sample has no values, or each level is in one row only.
    test : {"kolmogorov-smirnov", "chi-squared", "fisher", "permutation", "none"}
        Where the p-value is from.
    p_value : float
        Of the feature alone; never 0.
    p_adjusted : float
        Corrected for the number of features tested.

    Examples
    --------
    >>> from weighbridge.diagnostics import FeatureShift
    >>> print(FeatureShift("age", 0.31, "kolmogorov-smirnov", 2e-9, 1.6e-8))
    age: distance 0.31, adjusted p-value 1.6e-08 (kolmogorov-smirnov)
    """

    name: str
    distance: float
    test: str
    p_value: float
    p_adjusted: float

    def __str__(self) -> str:
        if math.isnan(self.distance):
            return f"{self.name}: not compared, no values in one sample or different in every row"
        return (
            f"{self.name}: distance {self.distance:.2f}, adjusted p-value {self.p_adjusted:.2g} "
            f"({self.test})"
        )


def feature_shift(X: Any, X_target: Any, *, correction: str = "holm") -> tuple[FeatureShift, ...]:
    """Compare the samples feature by feature.

    Numbers are compared by the Kolmogorov-Smirnov test, categories and numbers of at most 20
    different values by the chi-squared test. Whether a value is missing is a separate feature,
    ``bmi missing``; the rest of the tests looks at the values that are there.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_source, n_features)
        Source rows.
    X_target : same type, of shape (n_target, n_features)
        Target rows; columns of data frames are matched by name.
    correction : {"holm", "fdr"}, default="holm"
        Of the p-values. Holm's bounds the probability that any feature is named wrongly, whatever
        the features have to do with each other; Benjamini and Hochberg's bounds the expected share
        of wrong ones among those named, for features that do not work against each other.

    Returns
    -------
    tuple of FeatureShift
        Largest distance first.

    Notes
    -----
    The distance of categories counts every level; among rare levels chance alone makes one, and the
    p-value tells whether there is more. For the chi-squared test, levels of which a sample is
    expected to have fewer than 5 rows are pooled, and pooled with the rarest of the others if that
    is still too few. Where more than a tenth of the rows would be pooled, the chi-squared statistic
    of all levels is compared with that of 999 permutations (199 to 998 beyond 2,000 levels), and
    the p-value is no smaller than 1/1,000. Two levels that are too rare for the chi-squared law are
    compared by Fisher's exact test. A category that is different in every row cannot be compared.
    Ties make the Kolmogorov-Smirnov test careful: its p-values are then too
    large, never too small. A p-value below the smallest positive number (2e-308) is that number.

    One feature at a time is not all: features that agree each by itself can still be related
    differently in the two samples, which `two_sample_test` sees.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.diagnostics import feature_shift
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(size=(500, 3)), rng.normal([0, 0.5, 0], size=(400, 3))
    >>> shifts = feature_shift(X, X_target)
    >>> shifts[0].name, shifts[0].p_adjusted < 0.001, shifts[1].p_adjusted > 0.05
    ('1', True, True)
    """
    from scipy import stats  # slow to import

    if correction not in ("holm", "fdr"):
        raise ValueError(f"Got correction={correction!r}, but expected 'holm' or 'fdr'.")
    tested = [
        entry for feature in read_features(X, X_target) for entry in _tests_of_feature(feature)
    ]
    p_values = np.maximum([p for *_, p in tested], np.finfo(float).tiny)
    adjusted = _holm(p_values) if correction == "holm" else stats.false_discovery_control(p_values)
    shifts = [
        FeatureShift(name, distance, test, float(p), float(q))
        for (name, distance, test, _), p, q in zip(tested, p_values, adjusted, strict=True)
    ]
    return tuple(sorted(shifts, key=lambda s: 1.0 if math.isnan(s.distance) else -s.distance))


_Entry = tuple[str, float, str, float]


def _tests_of_feature(feature: Feature) -> list[_Entry]:
    """Return name, distance, test and p-value for the values and for whether they are missing."""
    gaps = feature.missing()
    entries = []
    source, target = (
        values[~gap] if gap.any() else values
        for values, gap in zip((feature.source, feature.target), gaps, strict=True)
    )
    if not source.size or not target.size:
        entries.append((feature.name, math.nan, "none", 1.0))
    elif feature.levels is not None:
        entries.append((feature.name, *_compare_levels(source, target)))
    else:
        entries.append((feature.name, *_compare_numbers(source, target)))
    if gaps[0].any() or gaps[1].any():
        entries.append((feature.gap_name, *_compare_levels(*(gap.astype(int) for gap in gaps))))
    return entries


def _compare_numbers(source: np.ndarray, target: np.ndarray) -> tuple[float, str, float]:
    from scipy import stats  # slow to import

    # a look at some rows saves a sort of all
    few = np.unique(np.concatenate([source[:1000], target[:1000]]))
    if few.size <= FEW_VALUES:
        few, codes = np.unique(np.concatenate([source, target]), return_inverse=True)
        if few.size <= FEW_VALUES:
            return _compare_levels(codes[: source.size], codes[source.size :])
    exact = max(source.size, target.size) <= EXACT_ROWS
    found = stats.ks_2samp(source, target, method="exact" if exact else "asymp")
    return float(found.statistic), "kolmogorov-smirnov", float(found.pvalue)


def _compare_levels(source: np.ndarray, target: np.ndarray) -> tuple[float, str, float]:
    from scipy import stats  # slow to import

    n_levels = int(max(source.max(), target.max())) + 1
    counts = np.array([np.bincount(part, minlength=n_levels) for part in (source, target)])
    counts = counts[:, counts.any(axis=0)]
    shares = counts / counts.sum(axis=1, keepdims=True)
    distance = min(float(np.abs(shares[0] - shares[1]).sum() / 2), 1.0)
    n_rare = counts[:, _fewest_expected(counts) < ENOUGH_ROWS].sum()
    if counts.shape[1] > 2 and n_rare / counts.sum() > MOST_POOLED:
        if counts.sum(axis=0).max() == 1:  # a name, which no other row can have
            return math.nan, "none", 1.0
        return distance, "permutation", _permutation_p_value(counts)
    counts = _pooled(counts)
    if counts.shape[1] == 1:
        return distance, "chi-squared", 1.0
    if _fewest_expected(counts).min() < ENOUGH_ROWS:
        return distance, "fisher", float(stats.fisher_exact(counts).pvalue)
    return distance, "chi-squared", float(stats.chi2_contingency(counts, correction=False).pvalue)


def _pooled(counts: np.ndarray) -> np.ndarray:
    """Pool levels that are too rare for the chi-squared law; at most two are left too rare."""
    counts = counts[:, np.argsort(-counts.sum(axis=0), kind="stable")]
    expected = _fewest_expected(counts)
    n_kept = int(np.sum(expected >= ENOUGH_ROWS))
    if counts.shape[1] <= 2 or n_kept == counts.shape[1]:
        return counts
    if expected[n_kept:].sum() < ENOUGH_ROWS:
        n_kept -= 1  # the rarest of the others joins them
    n_kept = max(n_kept, 1)
    return np.column_stack([counts[:, :n_kept], counts[:, n_kept:].sum(axis=1)])


def _permutation_p_value(counts: np.ndarray) -> float:
    """Return the share of permutations of the samples whose chi-squared statistic is as large."""
    totals = np.sort(counts.sum(axis=0))[::-1]
    sizes = counts.sum(axis=1)
    smaller = int(np.argmin(sizes))
    n_draws = int(np.clip(MOST_DRAWN // totals.size, FEWEST_PERMUTATIONS, N_PERMUTATIONS))
    expected = totals * (sizes[smaller] / sizes.sum())
    order = np.argsort(-counts.sum(axis=0), kind="stable")
    # up to a factor that permutations do not change
    given = float(np.sum((counts[smaller][order] - expected) ** 2 / totals))
    rng = np.random.default_rng(0)
    as_large = 1
    for _ in range(n_draws):
        drawn = rng.multivariate_hypergeometric(totals, sizes[smaller], method="marginals")
        # equal statistics stay equal, whatever their last bits
        as_large += float(np.sum((drawn - expected) ** 2 / totals)) >= given * (1 - 1e-12)
    return as_large / (n_draws + 1)


def _fewest_expected(counts: np.ndarray) -> np.ndarray:
    """Return for each level the rows that the smaller sample is expected to have of it."""
    sizes = counts.sum(axis=1)
    return np.asarray(counts.sum(axis=0) * (sizes.min() / sizes.sum()))


def _holm(p_values: np.ndarray) -> np.ndarray:
    order = np.argsort(p_values)
    steps = p_values[order] * np.arange(p_values.size, 0, -1)
    adjusted = np.empty(p_values.size)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
