"""Which features tell the samples apart: together with the others, and alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from weighbridge._domain import (
    CrossFittedDomain,
    DomainModel,
    DomainRows,
    FoldAuc,
    binned,
    fold_auc,
    mean_log_odds,
    standard_error,
)
from weighbridge._findings import Record
from weighbridge._folds import one_thread
from weighbridge.diagnostics._features import table_columns
from weighbridge.tables import TableEncoder, check_count, distinct_values

Array = np.ndarray[Any, Any]

# Rows scored in all, features times shuffles: keeps wide tables within seconds.
MAX_SCORED = 600_000
# Most bins of a number by itself.
MAX_BINS = 64


@dataclass(frozen=True, repr=False)
class FeatureAttribution(Record):
    """How much of the shift is in one feature.

    Parameters
    ----------
    name : str
        Name of the column, or its position.
    fall : float
        Fall of the cross-fitted AUC when the feature is shuffled among held-out rows.
    standard_error : float
        Of the fall.
    alone : float
        How well the feature alone tells the samples apart, a cross-fitted AUC in [0.5, 1].

    Examples
    --------
    >>> from weighbridge.diagnostics import FeatureAttribution
    >>> print(FeatureAttribution("age", 0.131, 0.008, 0.74))
    age: AUC falls by 0.131 (0.008) without it, 0.740 by itself
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
    X: Any,
    X_target: Any,
    *,
    n_shuffles: int = 3,
    cv: int = 5,
    max_rows: int = 20_000,
    random_state: Any = 0,
) -> tuple[FeatureAttribution, ...]:
    """Attribute the shift to the features, those with most of it first.

    Parameters
    ----------
    n_shuffles : int, default=3
        Shuffles of each feature within each fold; their mean is shown.
    X, X_target, cv, max_rows, random_state
        As in `domain_auc`.

    Returns
    -------
    tuple of FeatureAttribution
        One for each feature, by falling ``fall``, those that fall alike by ``alone``.

    Notes
    -----
    ``fall`` belongs to the classifier of `domain_auc`: a feature is shuffled with its mark of
    missing values, or with all its levels, among the held-out rows of a fold, and the fold's model
    scores them again. Of two features that say the same, each can stand in for the other: they
    share the fall, and neither may have much of it. ``alone`` has no such gap: bins of the feature
    (or levels, or missing), the ratio of the samples in each from the other folds, and the AUC of
    the held-out rows. A feature with ``alone`` above 0.95 tells the samples apart by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.diagnostics import attribute_shift
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(size=(500, 3)), rng.normal(size=(500, 3))
    >>> X_target[:, 1] += 1
    >>> [feature.name for feature in attribute_shift(X, X_target) if feature.alone > 0.6]
    ['1']
    """
    rows = DomainRows(X, X_target, cv=cv, max_rows=max_rows, random_state=random_state)
    return attributed(CrossFittedDomain(rows), n_shuffles)


def attributed(domain: CrossFittedDomain, n_shuffles: int = 3) -> tuple[FeatureAttribution, ...]:
    """Return the attribution for a domain classifier that is fitted already."""
    check_count("n_shuffles", n_shuffles, 1)
    alone = _alone(domain)
    with one_thread():
        falls = _falls(domain, n_shuffles)
    found = [
        FeatureAttribution(name, *fall, by_itself)
        for name, fall, by_itself in zip(domain.rows.encoder.labels, falls, alone, strict=True)
    ]
    return tuple(sorted(found, key=lambda feature: (-round(feature.fall, 6), -feature.alone)))


def _falls(domain: CrossFittedDomain, n_shuffles: int) -> list[tuple[float, float]]:
    """Return the fall of the AUC without each feature, and its standard error."""
    rows = domain.rows
    kept = _some_of_each_fold(rows, n_shuffles)
    base = fold_auc(domain.log_odds, rows.codes, domain.weights, kept)
    rng = np.random.default_rng(rows.seed)
    held_out = [
        _HeldOut(rows, model, test, [rng.permutation(test.size) for _ in range(n_shuffles)])
        for model, test in zip(domain.models, kept, strict=True)
    ]
    scores = np.zeros((n_shuffles, rows.codes.size))
    falls = []
    for number_columns, tree_column in _columns_of_features(rows.encoder):
        for fold, test in zip(held_out, kept, strict=True):
            scores[:, test] = fold.shuffled(number_columns, tree_column)
        shuffled = [fold_auc(row, rows.codes, domain.weights, kept) for row in scores]
        falls.append(_fall(domain, base, shuffled, np.concatenate(kept)))
    return falls


def _some_of_each_fold(rows: DomainRows, n_shuffles: int) -> list[Array]:
    """Return held-out rows of each fold, as many of both samples as can be scored in time."""
    most = MAX_SCORED / (n_shuffles * len(rows.encoder.labels) * len(rows.folds))
    most = max(int(most) // 2, 50)
    return [
        np.concatenate([test[rows.codes[test] == code][:most] for code in (0, 1)])
        for test in rows.tests
    ]


def _columns_of_features(encoder: TableEncoder) -> list[tuple[Array, int]]:
    """Return for each feature its columns of `numbers` and its column of `for_trees`."""
    n_features = len(encoder.labels)
    if encoder.sparse:
        return [(np.array([j]), j) for j in range(n_features)]
    is_number = ~np.array(encoder.is_text)[encoder.order]
    numbers, texts = encoder.order[is_number], encoder.order[~is_number]
    owners = [numbers[encoder.varies], numbers[encoder.gappy]]
    owners += [np.full(len(v), j) for j, v in zip(texts, encoder.levels, strict=True)]
    owner = np.concatenate(owners)
    place = np.argsort(np.concatenate([numbers, texts]))
    return [(np.flatnonzero(owner == j), int(place[j])) for j in range(n_features)]


class _HeldOut:
    """Held-out rows of one fold, scored again with one feature taken from other rows."""

    def __init__(self, rows: DomainRows, model: DomainModel, test: Array, orders: list[Array]):
        self.model, self.n_shuffles = model, len(orders)
        self.numbers = rows.numbers[test]
        self.codes = None if rows.tree_codes is None else rows.tree_codes[test]
        self.other = np.concatenate(orders)  # one call for all shuffles
        self.again = np.tile(np.arange(test.size), len(orders))
        self.linear = model.linear_part(self.numbers)
        self.trees = model.tree_part(self.codes)

    def shuffled(self, number_columns: Array, tree_column: int) -> Array:
        """Return the log odds of each shuffle, in a row each."""
        linear = self.linear[self.again]
        if number_columns.size:  # a constant feature has none
            part = self.numbers[:, number_columns] @ self.model.coef[number_columns]
            part = np.asarray(part).ravel()
            linear = linear + part[self.other] - part[self.again]
        trees = None if self.trees is None else self.trees[self.again]
        if self.codes is not None and self.model.splits_by(tree_column):
            codes = self.codes[self.again]
            codes[:, tree_column] = self.codes[self.other, tree_column]
            trees = self.model.tree_part(codes)
        return mean_log_odds(linear, trees).reshape(self.n_shuffles, -1)


def _fall(
    domain: CrossFittedDomain, base: FoldAuc, shuffled: list[FoldAuc], used: Array
) -> tuple[float, float]:
    """Return the mean fall, and its standard error from the rows and from the shuffles."""
    falls = np.array([base.value - one.value for one in shuffled])
    influence = base.influence - np.mean([one.influence for one in shuffled], axis=0)
    if np.abs(influence).max() < 1e-12:  # a feature that no model uses
        return 0.0, 0.0
    of_rows = standard_error(influence[used], domain.rows.codes[used], domain.weights[used])
    of_shuffles = float(np.var(falls, ddof=1)) / falls.size if falls.size > 1 else 0.0
    return float(falls.mean()), math.sqrt(of_rows**2 + of_shuffles)


def _alone(domain: CrossFittedDomain) -> list[float]:
    """Return the cross-fitted AUC of each feature by itself, at least 1/2."""
    rows = domain.rows
    n_bins = int(np.clip(math.sqrt(rows.codes.size / 2), 2, MAX_BINS))
    found = []
    for column in table_columns(rows.table):
        bins = _bins(column, n_bins)
        scores = np.empty(rows.codes.size)
        for train, test in rows.folds:
            counts = [
                np.bincount(
                    bins[train],
                    np.where(rows.codes[train] == code, domain.weights[train], 0.0),
                    minlength=int(bins.max()) + 1,
                )
                for code in (0, 1)
            ]
            # half a row of each sample in each bin: a bin that no other fold has says nothing
            totals = [max(float(count.sum()), 1e-300) for count in counts]
            ratio = (counts[1] / totals[1] + 0.5 / train.size) / (
                counts[0] / totals[0] + 0.5 / train.size
            )
            scores[test] = ratio[bins[test]]
        auc = fold_auc(scores, rows.codes, domain.weights, rows.tests).value
        found.append(min(max(auc, 0.5), 1.0))
    return found


def _bins(column: Array, n_bins: int) -> Array:
    """Return the number of each row's bin or level; missing values have a separate one."""
    if column.dtype == object:
        distinct, places = distinct_values(column)
        missing = np.array([value is None for value in distinct])
        return np.where(missing[places], 0, 1 + places)
    places = binned(column, n_bins)
    return np.where(np.isnan(places), 0, places + 1).astype(int)
