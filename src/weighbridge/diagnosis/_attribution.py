"""Attribute the shift to features: jointly with the others, and by each feature alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from weighbridge._findings import Record
from weighbridge._folds import one_thread
from weighbridge.domain import CrossFittedDomain, DomainRows, binned, fold_auc, standard_error
from weighbridge.tables import check_count, stacked_features

# Rows scored for all features and shuffles together, which keeps wide tables within seconds.
MAX_SCORED = 600_000
# Most bins of a number alone.
MAX_BINS = 64


@dataclass(frozen=True, repr=False)
class FeatureAttribution(Record):
    """How much of the shift is in one feature.

    `fall` is the fall of the cross-fitted AUC if the feature is shuffled among held-out rows, with
    its `standard_error`; `alone` is the cross-fitted AUC of the feature alone, in [0.5, 1].
    """

    name: str
    fall: float
    standard_error: float
    alone: float

    def __str__(self) -> str:
        return (
            f"{self.name}: AUC falls by {max(self.fall, 0.0):.3f} ({self.standard_error:.3f}) "
            f"without it, {self.alone:.3f} by itself"
        )


def attribute_shift(
    X: ArrayLike,
    X_target: ArrayLike,
    *,
    n_shuffles: int = 3,
    cv: int = 5,
    max_rows: int = 20_000,
    random_state: int | np.random.RandomState | None = 0,
) -> tuple[FeatureAttribution, ...]:
    """Attribute the shift to the features, those with most of it first.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_source, n_features)
        Source rows.
    X_target : same type, of shape (n_target, n_features)
        Target rows. Columns of data frames are matched by name.
    n_shuffles : int, default=3
        Shuffles of each feature within each fold, over which the fall is averaged.
    cv : int, default=5
        Number of folds.
    max_rows : int, default=20_000
        A larger sample is represented by this many random rows.
    random_state : int, RandomState instance or None, default=0
        Draws rows, assigns folds, and shuffles.

    Returns
    -------
    tuple of FeatureAttribution
        ``name``, ``fall``, ``standard_error`` (of the fall) and ``alone`` of each feature, by
        falling ``fall`` and then by ``alone``.

    Notes
    -----
    ``fall`` is that of a cross-fitted classifier that distinguishes the samples, if a feature, with
    its missing values and all its levels, is shuffled among the held-out rows of each fold. Two
    redundant features share the fall, since either can replace the other. ``alone`` has no such
    gap: it is the AUC of held-out rows by the ratio of the samples in each bin of the feature (or
    level, or missing values) in the other folds. A feature with ``alone`` above 0.95 distinguishes
    the samples by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.diagnosis import attribute_shift
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(size=(500, 3)), rng.normal(size=(500, 3))
    >>> X_target[:, 1] += 1
    >>> [feature.name for feature in attribute_shift(X, X_target) if feature.alone > 0.6]
    ['1']
    """
    check_count("n_shuffles", n_shuffles, 1)
    rows = DomainRows(X, X_target, cv=cv, max_rows=max_rows, random_state=random_state)
    return attribute_domain(CrossFittedDomain(rows), n_shuffles)


def attribute_domain(
    domain: CrossFittedDomain, n_shuffles: int = 3
) -> tuple[FeatureAttribution, ...]:
    """Return the attribution for a fitted domain classifier."""
    with one_thread():
        falls = _falls(domain, n_shuffles)
    features = zip(domain.rows.encoder.labels, falls, _aucs_alone(domain), strict=True)
    attribution = [FeatureAttribution(name, *fall, auc) for name, fall, auc in features]
    return tuple(sorted(attribution, key=lambda feature: (-round(feature.fall, 6), -feature.alone)))


def _falls(domain: CrossFittedDomain, n_shuffles: int) -> list[tuple[float, float]]:
    """Return the fall of the AUC without each feature, and its standard error."""
    rows, rng = domain.rows, np.random.default_rng(domain.rows.seed)
    tests = _scored_rows(rows, n_shuffles)
    orders = [np.array([rng.permutation(test.size) for _ in range(n_shuffles)]) for test in tests]
    numbers = [rows.numbers[test] for test in tests]
    auc, influence, _ = fold_auc(domain.log_odds, rows.codes, domain.weights, tests)
    scores, used = np.zeros((n_shuffles, rows.codes.size)), np.concatenate(tests)
    falls = []
    for number_columns, tree_column in rows.encoder.columns_of_features():
        for k, (test, order) in enumerate(zip(tests, orders, strict=True)):
            term = numbers[k][:, number_columns] @ domain.coefficients[k][number_columns]
            scores[:, test] = domain.linear[test] + term[order] - term
            model = domain.tree_models[k]
            if model is not None and rows.tree_codes is not None:
                codes = np.tile(rows.tree_codes[test], (n_shuffles, 1))
                codes[:, tree_column] = rows.tree_codes[test, tree_column][order.ravel()]
                trees = model.decision_function(codes).reshape(order.shape)
                scores[:, test] = (scores[:, test] + trees) / 2
        shuffled = [fold_auc(row, rows.codes, domain.weights, tests) for row in scores]
        change = influence - np.mean([i for _, i, _ in shuffled], axis=0)
        if np.abs(change).max() < 1e-12:  # No model uses the feature.
            falls.append((0.0, 0.0))
            continue
        differences = auc - np.array([value for value, _, _ in shuffled])
        error = standard_error(change[used], rows.codes[used], domain.weights[used])
        if n_shuffles > 1:
            error = math.sqrt(error**2 + float(np.var(differences, ddof=1)) / n_shuffles)
        falls.append((float(differences.mean()), error))
    return falls


def _scored_rows(rows: DomainRows, n_shuffles: int) -> list[np.ndarray]:
    """Return held-out rows of each fold, as many of each sample as can be scored in time."""
    budget = MAX_SCORED / (n_shuffles * len(rows.encoder.labels) * len(rows.folds))
    most = max(int(budget) // 2, 50)
    return [
        np.concatenate([test[rows.codes[test] == code][:most] for code in (0, 1)])
        for test in rows.tests
    ]


def _aucs_alone(domain: CrossFittedDomain) -> list[float]:
    """Return the cross-fitted AUC of each feature alone, at least 1/2."""
    rows, codes = domain.rows, domain.rows.codes
    n_bins = int(np.clip(math.sqrt(codes.size / 2), 2, MAX_BINS))
    aucs = []
    for feature in stacked_features(rows.table, codes):
        values = np.concatenate([feature.source, feature.target])
        bins = values if feature.levels is not None else binned(values, n_bins)
        bins = np.where(np.concatenate(feature.missing()), 0, bins + 1).astype(int)
        scores = np.empty(codes.size)
        for train, test in rows.folds:
            counts = [
                np.bincount(bins[train[codes[train] == code]], minlength=bins.max() + 1)
                for code in (0, 1)
            ]
            # Half a row of each sample in each bin: a bin without training rows has a ratio of 1.
            source, target = (count / count.sum() + 0.5 / train.size for count in counts)
            scores[test] = (target / source)[bins[test]]
        auc, _, _ = fold_auc(scores, codes, domain.weights, rows.tests)
        aucs.append(min(max(auc, 0.5), 1.0))
    return aucs
