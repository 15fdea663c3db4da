"""Attribute the shift to features: jointly with the others, and by each feature alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weighbridge._findings import Record
from weighbridge._folds import one_thread
from weighbridge.domain import CrossFittedDomain, binned, fold_auc, standard_error
from weighbridge.tables import stacked_features

# Features that are shuffled. More would take seconds, and nobody reads them all.
MAX_FEATURES = 100
N_SHUFFLES = 3
# Rows scored for all features and shuffles together.
MAX_SCORED = 600_000
# Most bins of a number alone.
MAX_BINS = 64


@dataclass(frozen=True, repr=False)
class FeatureAttribution(Record):
    """How much of the shift is in one feature.

    `fall` is the fall of the cross-fitted AUC, with its `standard_error`, if the feature with its
    missing values and all its levels is shuffled among the held-out rows of each fold. Two
    redundant features share the fall, since either can replace the other. `alone`, in [0.5, 1], has
    no such gap: it is the AUC of held-out rows by the ratio of the samples in each bin of the
    feature (or level, or missing values) in the other folds.
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


def attribute_domain(domain: CrossFittedDomain) -> tuple[FeatureAttribution, ...]:
    """Return the shift in each feature, or in the 100 with the largest AUC, largest fall first."""
    names, aucs = domain.rows.encoder.labels, _aucs_alone(domain)
    features = np.sort(np.argsort(-aucs, kind="stable")[:MAX_FEATURES])
    with one_thread():
        falls = _falls(domain, features)
    attribution = [
        FeatureAttribution(names[j], *fall, float(aucs[j]))
        for j, fall in zip(features, falls, strict=True)
    ]
    return tuple(sorted(attribution, key=lambda feature: (-round(feature.fall, 6), -feature.alone)))


def _falls(domain: CrossFittedDomain, features: np.ndarray) -> list[tuple[float, float]]:
    """Return the fall of the AUC without each feature, and its standard error."""
    rows, rng = domain.rows, np.random.default_rng(domain.rows.seed)
    most = max(MAX_SCORED // (2 * N_SHUFFLES * features.size * len(rows.folds)), 50)
    tests = [
        np.concatenate([test[rows.codes[test] == code][:most] for code in (0, 1)])
        for test in rows.tests
    ]
    scores = [_shuffled_scores(domain, k, test, features, rng) for k, test in enumerate(tests)]
    used = np.concatenate(tests)
    codes, weights = rows.codes[used], domain.weights[used]
    folds = np.split(np.arange(used.size), np.cumsum([test.size for test in tests])[:-1])
    auc, influence, _ = fold_auc(domain.log_odds[used], codes, weights, folds)
    falls = []
    for shuffles in np.concatenate(scores, axis=2):
        shuffled = [fold_auc(row, codes, weights, folds) for row in shuffles]
        change = influence - np.mean([i for _, i, _ in shuffled], axis=0)
        if np.abs(change).max() < 1e-12:  # No model uses the feature.
            falls.append((0.0, 0.0))
            continue
        differences = auc - np.array([value for value, _, _ in shuffled])
        variance = float(np.var(differences, ddof=1)) / N_SHUFFLES
        error = math.sqrt(standard_error(change, codes, weights) ** 2 + variance)
        falls.append((float(differences.mean()), error))
    return falls


def _shuffled_scores(
    domain: CrossFittedDomain,
    k: int,
    test: np.ndarray,
    features: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return the log odds of held-out rows of fold k, for each feature and shuffle of it."""
    rows, linear, trees = domain.rows, domain.linear_models[k], domain.tree_models[k]
    order = np.array([rng.permutation(test.size) for _ in range(N_SHUFFLES)])
    scores = np.tile(domain.linear[test], (features.size, N_SHUFFLES, 1))
    numbers, columns = rows.numbers[test], rows.encoder.columns_of_features()
    codes = None if rows.tree_codes is None else np.tile(rows.tree_codes[test], (N_SHUFFLES, 1))
    for j, score in zip(features, scores, strict=True):
        number_columns, tree_column = columns[j]
        if linear is not None:
            term = numbers[:, number_columns] @ linear.coef_[0][number_columns]
            score += term[order] - term
        if trees is not None and codes is not None:
            column = codes[:, tree_column].copy()
            codes[:, tree_column] = column[order.ravel()]
            score += trees.decision_function(codes).reshape(score.shape)
            score /= 2
            codes[:, tree_column] = column
    return scores


def _aucs_alone(domain: CrossFittedDomain) -> np.ndarray:
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
        aucs.append(auc)
    return np.clip(aucs, 0.5, 1.0)
