"""A permutation test of whether both samples come from one distribution.

The statistic is the correlation, within folds, of the label of the sample with the held-out scores
of a ridge regression. Its features are standardised numbers x, their squares and products,
``sin(2 x)`` and ``cos(2 x)``, and random Fourier features. Everything that depends on the labels is
repeated for every permutation. If the rows are independent and from one distribution, the given
labels are one permutation among others, and ``P(p <= a) <= a`` for any number of rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from weighbridge.tables import RowScores, TableEncoder, canonical_order, take_rows

Array = np.ndarray[Any, Any]

# Columns beyond which random combinations represent them, and beyond which there are only
# squares, no products.
MAX_COLUMNS = 300
MAX_PRODUCT_COLUMNS = 20
N_FOURIER = 200
# Penalty of the squared coefficients for each row; all features together have variance 1.
PENALTY = 0.03
# Rows from which the median distance is computed.
DISTANCE_ROWS = 1000
N_PERMUTATIONS = 199
N_FOLDS = 5
# A larger sample is represented by that many random rows.
MAX_ROWS = 10_000


def permutation_p_value(table: Any, codes: Array, *, random_state: Any = 0) -> float:
    """Return the share of permutations, the given labels included, with as large a statistic."""
    rng = check_random_state(random_state)
    table, codes = _draw_rows(table, codes, rng)
    fold = _assign_folds(table, rng)
    labels = np.empty((codes.size, N_PERMUTATIONS + 1))
    labels[:, 0] = codes
    for b in range(1, N_PERMUTATIONS + 1):
        labels[:, b] = rng.permutation(codes)
    statistics = _correlations(_ridge_scores(_features(table, rng), labels, fold), labels, fold)
    return float((statistics >= statistics[0]).mean())


def _draw_rows(table: Any, codes: Array, rng: Any) -> tuple[Any, Array]:
    """Return at most `MAX_ROWS` rows of each sample, in an order that depends on their values."""
    samples = [np.flatnonzero(codes == code) for code in (0, 1)]
    drawn = [s if s.size <= MAX_ROWS else rng.permutation(s)[:MAX_ROWS] for s in samples]
    index = np.concatenate(drawn)
    table, codes = take_rows(table, index), codes[index]
    order = canonical_order(table)
    return take_rows(table, order), codes[order]


def _assign_folds(table: Any, rng: Any) -> Array:
    """Return the fold of each row; equal rows share one unless too many are equal."""
    group = RowScores(table).group
    size = np.bincount(group)
    if size.max() > group.size / (4 * N_FOLDS):  # categories, not copies
        group = np.arange(group.size)
    n_groups = int(group.max()) + 1
    fold = np.empty(n_groups, dtype=int)
    fold[rng.permutation(n_groups)] = np.arange(n_groups) % N_FOLDS
    return np.asarray(fold[group])


def _features(table: Any, rng: Any) -> Array:
    """Return the features, of total variance 1."""
    # The encoder must not see the labels of the samples.
    encoder = TableEncoder().fit(table, np.arange(table.shape[0]) % 2)
    numbers = encoder.numbers(table)
    if numbers.shape[1] > MAX_COLUMNS:
        numbers = numbers @ rng.normal(size=(numbers.shape[1], MAX_COLUMNS))
    numbers = numbers.toarray() if sp.issparse(numbers) else np.asarray(numbers)
    numbers = _standardised(numbers)
    d = numbers.shape[1]
    left, right = np.triu_indices(d) if d <= MAX_PRODUCT_COLUMNS else (np.arange(d),) * 2
    bandwidth = _median_distance(numbers, rng)
    angles = numbers @ (rng.normal(size=(d, N_FOURIER)) / bandwidth)
    angles += rng.uniform(0, 2 * np.pi, N_FOURIER)
    # A few rows far away must not decide alone.
    bounded = np.clip(numbers, -4, 4)
    waves = np.hstack([np.sin(2 * bounded), np.cos(2 * bounded)])
    kinds = [bounded, bounded[:, left] * bounded[:, right], waves, np.cos(angles)]
    return np.hstack([_equal_variance(columns, len(kinds)) for columns in kinds])


def _standardised(columns: Array) -> Array:
    columns = columns - columns.mean(axis=0)
    deviation = columns.std(axis=0)
    varies = deviation > 1e-10
    return np.asarray(columns[:, varies] / deviation[varies])


def _equal_variance(columns: Array, n_kinds: int) -> Array:
    """Return columns of total variance ``1 / n_kinds``."""
    columns = _standardised(columns)
    return columns / math.sqrt(n_kinds * max(columns.shape[1], 1))


def _median_distance(numbers: Array, rng: Any) -> float:
    some = numbers[rng.permutation(numbers.shape[0])[:DISTANCE_ROWS]]
    squares = np.square(some - np.roll(some, 1, axis=0)).sum(axis=1)
    apart = squares[squares > 0]
    return math.sqrt(float(np.median(apart))) if apart.size else 1.0


def _ridge_scores(features: Array, labels: Array, fold: Array) -> Array:
    """Return held-out scores of ridge regression, for all columns of labels at once."""
    scores = np.empty_like(labels)
    gram, products = features.T @ features, features.T @ labels
    sums, label_sums = features.sum(axis=0), labels.sum(axis=0)
    for k in range(int(fold.max()) + 1):
        test = fold == k
        held_out, n = features[test], fold.size - int(test.sum())
        # Sums over the training rows are sums over all rows, less those over held-out rows.
        mean = (sums - held_out.sum(axis=0)) / n
        label_mean = (label_sums - labels[test].sum(axis=0)) / n
        inner = gram - held_out.T @ held_out - n * np.outer(mean, mean)
        inner[np.diag_indices_from(inner)] += PENALTY * n
        cross = products - held_out.T @ labels[test] - n * np.outer(mean, label_mean)
        scores[test] = held_out @ np.linalg.solve(inner, cross)
    return scores


def _correlations(scores: Array, labels: Array, fold: Array) -> Array:
    """Return the correlation of each column of scores with its labels, both centred in folds."""
    product, of_scores, of_labels = (np.zeros(labels.shape[1]) for _ in range(3))
    for k in range(int(fold.max()) + 1):
        score, label = scores[fold == k], labels[fold == k]
        score, label = score - score.mean(axis=0), label - label.mean(axis=0)
        product += np.einsum("ij,ij->j", score, label)
        of_scores += np.einsum("ij,ij->j", score, score)
        of_labels += np.einsum("ij,ij->j", label, label)
    spread = np.sqrt(of_scores * of_labels)
    flat = spread <= 1e-12 * max(float(spread.max()), 1e-300)
    correlations = np.where(flat, 0.0, product / np.where(flat, 1.0, spread))
    return np.round(correlations, 12)  # Equal statistics must stay equal.
