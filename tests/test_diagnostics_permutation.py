"""The permutation test behind "no shift": exact level, power, and the ridge of scikit-learn."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import binom
from sklearn.linear_model import Ridge

from weighbridge.diagnostics import _permutation
from weighbridge.diagnostics._permutation import permutation_p_value
from weighbridge.tables import stacked_table


def p_value(X, X_target, **options):
    return permutation_p_value(*stacked_table(X, X_target), **options)


def rejections(draw, seeds):
    return sum(p_value(*draw(np.random.default_rng(seed))) <= 0.05 for seed in seeds)


def no_shift(rng):
    return rng.normal(size=(60, 3)), rng.normal(size=(40, 3))


def mean(rng):
    return rng.normal(size=(300, 5)), rng.normal(0.3, 1, size=(300, 5))


def variance(rng):
    return rng.normal(size=(300, 5)), 1.3 * rng.normal(size=(300, 5))


def rotated_correlation(rng):
    X, X_target = rng.normal(size=(300, 5)), rng.normal(size=(300, 5))
    for part, sign in ((X, 1), (X_target, -1)):
        part[:, 1] = 0.5 * sign * part[:, 0] + np.sqrt(0.75) * part[:, 1]
    return X, X_target


def categories(rng):
    levels = list("abcd")
    return tuple(
        pd.DataFrame({"k": rng.choice(levels, 300, p=p), "u": rng.normal(size=300)})
        for p in ([0.4, 0.3, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25])
    )


@pytest.mark.more
def test_without_shift_it_rejects_in_5_of_100_pairs():
    low, high = binom.ppf([0.001, 0.999], 100, 0.05)
    assert low <= rejections(no_shift, range(100)) <= high


@pytest.mark.parametrize("draw", [mean, variance, rotated_correlation, categories])
def test_shifts_of_many_kinds_are_found(draw):
    assert rejections(draw, range(3)) == 3


def test_p_value_is_one_in_200_for_separable_samples_and_one_without_variation():
    X = np.random.default_rng(0).normal(size=(50, 1))
    assert p_value(X, X + 100) == 1 / 200
    assert p_value(np.ones((20, 2)), np.ones((22, 2))) == 1


def test_row_order_does_not_matter():
    rng = np.random.default_rng(5)
    X, X_target = rng.normal(size=(80, 2)), rng.normal(0.3, 1, size=(70, 2))
    assert p_value(X, X_target) == p_value(X[::-1], X_target)


def test_wide_and_sparse_tables():
    X = sp.random(120, 700, 0.05, "csr", random_state=6)
    assert p_value(X[:60], X[60:]) > 0.01
    assert p_value(X[:60], 2 * X[60:]) < 0.05


def test_folds_keep_copies_together():
    X = np.repeat(np.random.default_rng(4).normal(size=(60, 2)), 2, axis=0)
    fold = _permutation._assign_folds(X, np.random.RandomState(0))
    assert (fold[::2] == fold[1::2]).all()
    assert np.bincount(fold).tolist() == [24] * 5


def test_scores_are_those_of_ridge_regression_in_each_fold():
    rng = np.random.default_rng(2)
    features, labels = rng.normal(size=(50, 4)) + 3, rng.integers(0, 2, (50, 3)).astype(float)
    fold = np.arange(50) % 5
    scores = _permutation._ridge_scores(features, labels, fold)
    for k in range(5):
        train = fold != k
        ridge = Ridge(alpha=_permutation.PENALTY * train.sum()).fit(features[train], labels[train])
        # Up to the intercept, which cancels within a fold.
        expected = features[~train] @ ridge.coef_.T
        np.testing.assert_allclose(scores[~train], expected, rtol=1e-8, atol=1e-10)


def test_statistic_is_the_correlation_within_folds():
    rng = np.random.default_rng(3)
    scores, labels = rng.normal(size=(30, 2)), rng.integers(0, 2, (30, 2)).astype(float)
    fold = np.arange(30) % 3
    statistics = _permutation._correlations(scores, labels, fold)
    for b in range(2):
        centred = [
            column - np.array([column[fold == k].mean() for k in range(3)])[fold]
            for column in (scores[:, b], labels[:, b])
        ]
        assert statistics[b] == pytest.approx(np.corrcoef(*centred)[0, 1])
