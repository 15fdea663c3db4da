"""The two-sample test: exact level, power, and the ridge against scikit-learn's."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier

from weighbridge.diagnostics import _two_sample
from weighbridge.diagnostics._two_sample import two_sample_test


def rejections(draw, seeds, **options):
    return sum(
        two_sample_test(*draw(np.random.default_rng(seed)), **options).p_value <= 0.05
        for seed in seeds
    )


def no_shift(rng):
    return rng.normal(size=(60, 3)), rng.normal(size=(40, 3))


@pytest.mark.more
def test_without_shift_it_rejects_as_often_as_it_says():
    low, high = binom.ppf([0.001, 0.999], 100, 0.05)
    assert low <= rejections(no_shift, range(100)) <= high


@pytest.mark.slow
def test_without_shift_it_rejects_between_3_and_7_percent_of_400_seeds():
    assert 0.03 <= rejections(no_shift, range(400)) / 400 <= 0.07


def test_a_classifier_of_the_user_is_refitted_for_each_permutation():
    # a full tree knows its training rows by heart: it must not judge rows that it has seen
    tree = DecisionTreeClassifier(random_state=0)
    # if it did, it would reject always
    low, high = binom.ppf([0.001, 0.999], 20, 0.05)
    count = rejections(no_shift, range(20), classifier=tree, n_permutations=19, cv=2)
    assert low <= count <= high
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(60, 2)), rng.normal(1.5, 1, size=(60, 2))
    for classifier in (tree, LogisticRegression()):
        assert (
            two_sample_test(X, X_target, classifier=classifier, n_permutations=19).p_value == 0.05
        )


def mean(rng):
    return rng.normal(size=(300, 5)), rng.normal(0.3, 1, size=(300, 5))


def variance(rng):
    return rng.normal(size=(300, 5)), 1.3 * rng.normal(size=(300, 5))


def rotated_correlation(rng):
    X, X_target = rng.normal(size=(300, 5)), rng.normal(size=(300, 5))
    for part, sign in ((X, 1), (X_target, -1)):
        part[:, 1] = 0.5 * sign * part[:, 0] + np.sqrt(0.75) * part[:, 1]
    return X, X_target


def two_peaks(rng):
    X, X_target = rng.normal(size=(300, 5)), rng.normal(size=(300, 5))
    X_target[:, 0] = np.sign(X_target[:, 0]) + 0.2 * rng.normal(size=300)
    return X, X_target


def categories(rng):
    levels = list("abcd")
    return tuple(
        pd.DataFrame({"k": rng.choice(levels, 300, p=p), "u": rng.normal(size=300)})
        for p in ([0.4, 0.3, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25])
    )


@pytest.mark.slow
@pytest.mark.parametrize("draw", [mean, variance, rotated_correlation, two_peaks, categories])
def test_it_finds_shifts_of_many_kinds(draw):
    assert rejections(draw, range(100)) / 100 > 0.9


@pytest.mark.parametrize("draw", [mean, variance, rotated_correlation, two_peaks])
def test_it_finds_a_plain_shift(draw):
    assert rejections(draw, range(3)) == 3


def test_the_p_value_is_never_zero_and_counts_the_labels_themselves():
    X = np.random.default_rng(0).normal(size=(50, 1))
    found = two_sample_test(X, X + 100, n_permutations=39)
    assert found.p_value == 1 / 40
    assert found.n_rows == 100
    assert 0.9 < found.statistic <= 1


def test_a_table_without_variation_is_no_evidence():
    assert two_sample_test(np.ones((10, 2)), np.ones((12, 2))).p_value == 1


def test_identical_samples_are_no_evidence():
    X = np.random.default_rng(1).normal(size=(200, 3))
    assert two_sample_test(X, X.copy()).p_value > 0.05


def test_the_shared_factorisation_is_ridge_regression_in_each_fold():
    rng = np.random.default_rng(2)
    features, labels = rng.normal(size=(50, 4)) + 3, rng.integers(0, 2, (50, 3)).astype(float)
    fold = np.arange(50) % 5
    scores = _two_sample._ridge_scores(features, labels, fold)
    for k in range(5):
        train = fold != k
        ridge = Ridge(alpha=_two_sample.PENALTY * train.sum()).fit(features[train], labels[train])
        # up to the intercept, which within a fold says nothing
        expected = features[~train] @ ridge.coef_.T
        np.testing.assert_allclose(scores[~train], expected, rtol=1e-8, atol=1e-10)


def test_the_statistic_is_the_correlation_within_folds():
    rng = np.random.default_rng(3)
    scores, labels = rng.normal(size=(30, 2)), rng.integers(0, 2, (30, 2)).astype(float)
    fold = np.arange(30) % 3
    found = _two_sample._correlations(scores, labels, fold)
    for b in range(2):
        centred = [
            column - np.array([column[fold == k].mean() for k in range(3)])[fold]
            for column in (scores[:, b], labels[:, b])
        ]
        assert found[b] == pytest.approx(np.corrcoef(*centred)[0, 1])


def test_folds_keep_copies_together_and_do_not_know_the_samples():
    X = np.repeat(np.random.default_rng(4).normal(size=(60, 2)), 2, axis=0)
    fold = _two_sample._label_free_folds(X, 5, np.random.RandomState(0))
    assert (fold[::2] == fold[1::2]).all()
    assert np.bincount(fold).tolist() == [24] * 5


def test_more_folds_than_rows_still_find_a_shift():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(100, 2)), rng.normal(1, 1, size=(90, 2))
    assert two_sample_test(X, X_target, cv=200).p_value == 1 / 200


def test_row_order_does_not_matter():
    rng = np.random.default_rng(5)
    X, X_target = rng.normal(size=(80, 2)), rng.normal(0.3, 1, size=(70, 2))
    assert two_sample_test(X, X_target) == two_sample_test(X[::-1], X_target)


def test_wide_and_sparse_tables_and_large_samples():
    rng = np.random.default_rng(6)
    X = sp.random(120, 700, 0.05, "csr", random_state=6)
    assert two_sample_test(X[:60], X[60:]).p_value > 0.01
    assert two_sample_test(X[:60], 2 * X[60:]).p_value < 0.05
    wide = rng.normal(size=(60, 30))  # squares without products
    assert two_sample_test(wide[:30], 3 * wide[30:]).p_value < 0.05
    assert two_sample_test(rng.normal(size=(300, 2)), wide[:, :2], max_rows=50).n_rows == 100


def test_to_dict_and_text():
    found = _two_sample.TwoSampleTest(0.1, 0.2, 19, 60)
    assert found.to_dict() == {
        "statistic": 0.1,
        "p_value": 0.2,
        "n_permutations": 19,
        "n_rows": 60,
    }


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_permutations": 0}, ValueError, "Got n_permutations=0"),
        ({"cv": 1}, ValueError, "Got cv=1"),
        ({"max_rows": 1}, ValueError, "Got max_rows=1"),
        ({"classifier": LogisticRegression}, TypeError, "Got the class LogisticRegression"),
        ({"classifier": Ridge()}, TypeError, "Got classifier of type Ridge, but expected"),
    ],
)
def test_errors(options, error, message):
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(error, match=message):
        two_sample_test(X, X + 1, **options)
