"""Do both samples come from one distribution? A classifier, and permutations of the labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import check_random_state

from weighbridge._findings import Record
from weighbridge._pass_weights import answer_of
from weighbridge.ratios import TableEncoder, stacked_table
from weighbridge.tables import RowScores, canonical_order, check_count, take_rows

Array = np.ndarray[Any, Any]

# Columns beyond which random combinations represent them, and beyond which there are only
# squares, no products.
MAX_COLUMNS = 300
MAX_PRODUCT_COLUMNS = 20
N_FOURIER = 200
# Penalty of the squared coefficients for each row; all features together have variance 1.
PENALTY = 0.03
# Rows from which the median distance is found, and the fewest that a fold can compare.
DISTANCE_ROWS, ROWS_IN_FOLD = 1000, 4


@dataclass(frozen=True, repr=False)
class TwoSampleTest(Record):
    """Result of a two-sample test.

    Parameters
    ----------
    statistic : float
        Correlation of held-out scores with the sample a row is from; 0 or less without shift.
    p_value : float
        Share of permutations, the given labels among them, whose statistic is as large.
    n_permutations : int
        Number of permutations.
    n_rows : int
        Number of rows of both samples that were used.

    Examples
    --------
    >>> from weighbridge.diagnostics import TwoSampleTest
    >>> print(TwoSampleTest(0.31, 0.005, 199, 600))
    p = 0.005 (correlation 0.31, 199 permutations of 600 rows)
    """

    statistic: float
    p_value: float
    n_permutations: int
    n_rows: int

    def __str__(self) -> str:
        return (
            f"p = {self.p_value:.3g} (correlation {self.statistic:.2g}, {self.n_permutations} "
            f"permutations of {self.n_rows:,} rows)"
        )


def two_sample_test(
    X: Any,
    X_target: Any,
    *,
    classifier: Any = None,
    n_permutations: int = 199,
    cv: int = 5,
    max_rows: int = 10_000,
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> TwoSampleTest:
    """Test whether source and target rows come from one distribution.

    Parameters
    ----------
    X, X_target
        As in `domain_auc`.
    classifier : classifier, optional
        Sees the rows as they are, has ``decision_function`` or ``predict_proba``, and is fitted
        anew in every fold of every permutation. Default: least squares on fixed features (see
        Notes).
    n_permutations : int, default=199
        The p-value is a multiple of ``1 / (n_permutations + 1)``.
    cv : int, default=5
        Number of folds; at most one for every four rows, which are compared with each other.
    max_rows : int, default=10_000
        A sample with more rows is represented by that many of them, drawn at random.
    n_jobs : int, optional
        Permutations in parallel, by joblib; for a classifier of yours.
    random_state : int, RandomState instance or None, default=0
        Draws rows, folds, features and permutations.

    Returns
    -------
    TwoSampleTest
        Statistic and p-value, which is never 0.

    Notes
    -----
    Everything that knows which sample a row is from is repeated for every permutation of these
    labels; encoding, features and folds do not know it. If the rows are independent and from one
    distribution, the labels as they are are therefore one permutation among others, and
    ``P(p <= a) <= a`` exactly, for any classifier and any number of rows. Copies of rows made by
    oversampling are not independent, and count as evidence.

    The default classifier is ridge regression of the label on standardised numbers x, their squares
    and products (no products beyond 20 columns), ``sin(2 x)`` and ``cos(2 x)`` of each, which see a
    change of one column's shape, and 200 random Fourier features of all together with the median
    distance as bandwidth; each of the four kinds has the same total variance. With a penalty that
    is fixed, all permutations of a fold share one factorisation and are one matrix product. Beyond
    300 columns, 300 random combinations of them take their place.

    The statistic is the correlation, within folds, of held-out score and label: the difference of
    the mean scores over their spread. It costs one product a permutation where an AUC costs a sort,
    and uses how far apart scores are, not only their order.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.diagnostics import two_sample_test
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (300, 5)), rng.normal(0.3, 1, (300, 5))
    >>> two_sample_test(X, X_target).p_value
    0.005
    """
    check_count("n_permutations", n_permutations, 1)
    check_count("cv", cv, 2)
    check_count("max_rows", max_rows, 10)
    _check_classifier(classifier)
    rng = check_random_state(random_state)
    table, codes = _some_rows(X, X_target, max_rows, rng)
    fold = _label_free_folds(table, cv, rng)
    labels = np.empty((codes.size, n_permutations + 1))
    labels[:, 0] = codes
    for b in range(1, n_permutations + 1):
        labels[:, b] = rng.permutation(codes)
    if classifier is None:
        scores = _ridge_scores(_features(table, rng), labels, fold)
    else:
        columns = Parallel(n_jobs=n_jobs)(
            delayed(_classifier_scores)(classifier, table, column, fold) for column in labels.T
        )
        scores = np.column_stack(columns)
    statistics = _correlations(scores, labels, fold)
    p_value = float((statistics >= statistics[0]).mean())
    return TwoSampleTest(float(statistics[0]), p_value, int(n_permutations), int(codes.size))


def _some_rows(X: Any, X_target: Any, max_rows: int, rng: Any) -> tuple[Any, Array]:
    """Return the rows of both samples, in an order that depends on what they hold."""
    stacked, codes = stacked_table(X, X_target)
    samples = [np.flatnonzero(codes == code) for code in (0, 1)]
    kept = [s if s.size <= max_rows else rng.permutation(s)[:max_rows] for s in samples]
    places = np.concatenate(kept)
    table, codes = take_rows(stacked, places), codes[places]
    order = canonical_order(table)
    return take_rows(table, order), codes[order]


def _label_free_folds(table: Any, cv: int, rng: Any) -> Array:
    """Return the fold of each row; equal rows share one unless too many are equal."""
    group = RowScores(table).group
    size = np.bincount(group)
    if size.max() > group.size / (4 * cv):  # categories, not copies
        group = np.arange(group.size)
    n_groups = int(group.max()) + 1
    most = max(2, group.size // ROWS_IN_FOLD)
    dealt: Array = np.empty(n_groups, dtype=int)
    dealt[rng.permutation(n_groups)] = np.arange(n_groups) % min(cv, n_groups, most)
    return np.asarray(dealt[group])


def _features(table: Any, rng: Any) -> Array:
    """Return the features of the default classifier, of total variance 1."""
    # any labels do that are not those of the samples
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
    # a few rows far away must not decide alone
    bounded = np.clip(numbers, -4, 4)
    waves = np.hstack([np.sin(2 * bounded), np.cos(2 * bounded)])
    blocks = [bounded, bounded[:, left] * bounded[:, right], waves, np.cos(angles)]
    return np.hstack([_share(block, len(blocks)) for block in blocks])


def _standardised(block: Array) -> Array:
    block = block - block.mean(axis=0)
    deviation = block.std(axis=0)
    varies = deviation > 1e-10
    return np.asarray(block[:, varies] / deviation[varies])


def _share(block: Array, n_blocks: int) -> Array:
    block = _standardised(block)
    return block / math.sqrt(n_blocks * max(block.shape[1], 1))


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
        # what the training rows have is what all have, less the held-out rows
        mean = (sums - held_out.sum(axis=0)) / n
        label_mean = (label_sums - labels[test].sum(axis=0)) / n
        inner = gram - held_out.T @ held_out - n * np.outer(mean, mean)
        inner[np.diag_indices_from(inner)] += PENALTY * n
        cross = products - held_out.T @ labels[test] - n * np.outer(mean, label_mean)
        scores[test] = held_out @ np.linalg.solve(inner, cross)
    return scores


def _classifier_scores(classifier: Any, table: Any, labels: Array, fold: Array) -> Array:
    """Return held-out scores of a classifier for one column of labels."""
    scores = np.zeros(labels.size)
    for k in range(int(fold.max()) + 1):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        if np.ptp(labels[train]) == 0:  # a handful of rows: nothing to learn from
            continue
        model = clone(classifier).fit(take_rows(table, train), labels[train].astype(int))
        held_out = take_rows(table, test)
        if hasattr(model, "decision_function"):
            scores[test] = answer_of(model, "decision_function", held_out)
        else:
            scores[test] = answer_of(model, "predict_proba", held_out)[:, 1]
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
    found = np.where(flat, 0.0, product / np.where(flat, 1.0, spread))
    return np.round(found, 12)  # equal statistics stay equal, whatever their last bits


def _check_classifier(classifier: Any) -> None:
    if isinstance(classifier, type):
        raise TypeError(
            f"Got the class {classifier.__name__}, but expected an object: write "
            f"{classifier.__name__}()."
        )
    scores = hasattr(classifier, "decision_function") or hasattr(classifier, "predict_proba")
    if classifier is not None and not (hasattr(classifier, "fit") and scores):
        raise TypeError(
            f"Got classifier of type {type(classifier).__name__}, but expected a classifier with "
            "decision_function or predict_proba, or None."
        )
