"""The domain classifier: its AUC and error against brute force, closed forms and repetition."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import ndtr

from weighbridge.domain import CrossFittedDomain, DomainRows, binned, fold_auc


def domain_auc(X, X_target, weights=None):
    return CrossFittedDomain(DomainRows(X, X_target), weights).auc()


def brute_force_auc(scores, codes, weights, tests):
    wins = pairs = 0.0
    for test in tests:
        for i in test[codes[test] == 0]:
            for j in test[codes[test] == 1]:
                weight = weights[i] * weights[j]
                pairs += weight
                wins += weight * ((scores[j] > scores[i]) + (scores[j] == scores[i]) / 2)
    return wins / pairs


@given(
    arrays(float, 12, elements=st.integers(0, 4).map(float)),
    arrays(float, 12, elements=st.floats(0.1, 3)),
)
def test_auc_counts_all_pairs_of_a_fold(scores, weights):
    codes, tests = np.tile([0, 1, 1], 4), [np.arange(6), np.arange(6, 12)]
    auc, _, _ = fold_auc(scores, codes, weights, tests)
    assert auc == pytest.approx(brute_force_auc(scores, codes, weights, tests), abs=1e-12)


def test_influence_is_the_derivative_with_respect_to_the_weight_of_a_row():
    rng = np.random.default_rng(0)
    scores, codes, weights = rng.normal(size=40), np.tile([0, 1], 20), rng.uniform(0.5, 2, 40)
    tests = [np.arange(40)]
    _, influence, _ = fold_auc(scores, codes, weights, tests)
    step = 1e-6
    for i in (0, 1, 17):
        aucs = []
        for factor in (1 + step, 1 - step):
            changed = weights.copy()
            changed[i] *= factor
            aucs.append(fold_auc(scores, codes, changed, tests)[0])
        assert influence[i] == pytest.approx((aucs[0] - aucs[1]) / (2 * step), abs=1e-8)


def test_error_without_weights_is_delongs():
    # In its textbook form: variances of the placements over the numbers of rows.
    rng = np.random.default_rng(1)
    scores, codes = rng.normal(size=60), np.repeat([0, 1], [25, 35])
    above = (scores[25:][None, :] > scores[:25][:, None]).astype(float)
    variance = above.mean(axis=1).var(ddof=1) / 25 + above.mean(axis=0).var(ddof=1) / 35
    _, _, error = fold_auc(scores, codes, np.ones(60), [np.arange(60)])
    assert error == pytest.approx(math.sqrt(variance))


def test_error_of_weighted_scores_is_that_of_repetition():
    values, errors = [], []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        x, codes = rng.normal(size=300), np.repeat([0, 1], [180, 120])
        x[180:] += 1
        weights = np.where(codes == 0, np.exp(0.5 * x), 1.0)
        value, _, error = fold_auc(x, codes, weights, [np.arange(300)])
        values.append(value)
        errors.append(error)
    # The standard deviation of 400 draws has a relative error of 1 / sqrt(800) = 3.5 %.
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.12)
    # exp(x / 2) moves the source to N(0.5, 1), up to the O(1/n) bias of a ratio of means.
    expected = ndtr(0.5 / math.sqrt(2))
    assert abs(np.mean(values) - expected) < 4 * np.std(values) / 20 + 0.003


def test_extreme_weights_scores_and_folds_are_not_certain():
    codes, scores = np.repeat([0, 1], 20), np.r_[np.zeros(20), np.ones(20)]
    everything = [np.arange(40)]
    assert fold_auc(scores, codes, np.ones(40), everything)[2] == pytest.approx(0.5 / 20)
    weights = np.r_[1.0, np.full(19, 1e-12), np.ones(20)]
    assert fold_auc(scores, codes, weights, everything)[2] > 0.49
    auc, _, error = fold_auc(scores, codes, np.ones(40), [np.arange(2)])
    assert (auc, error) == (0.5, 0.5)
    rng = np.random.default_rng(8)
    one_row = domain_auc(rng.normal(size=(60, 2)), rng.normal(size=(60, 2)), np.eye(60)[0])
    assert (one_row.low, one_row.high) == (0, 1)


def test_auc_of_known_samples():
    X = np.random.default_rng(0).normal(size=(300, 3))
    assert domain_auc(X, X.copy()).value == pytest.approx(0.5, abs=1e-12)
    # N(0, 1) against N(1, 1): no classifier has more than Phi(1 / sqrt 2).
    best = ndtr(1 / math.sqrt(2))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        auc = domain_auc(rng.normal(size=(1500, 1)), rng.normal(1, 1, (1500, 1)))
        assert abs(auc.value - best) < 4 * auc.standard_error + 0.01
    # Only trees find a change of variance.
    assert domain_auc(rng.normal(size=(1500, 2)), 2 * rng.normal(size=(1500, 2))).low > 0.6


def test_true_weights_remove_the_difference_and_wrong_ones_make_one():
    rng = np.random.default_rng(3)
    X, X_target = rng.normal(size=(2000, 2)), rng.normal([1, 0], 1, size=(2000, 2))
    before = domain_auc(X, X_target)
    after = domain_auc(X, X_target, np.exp(X[:, 0] - 0.5))
    assert before.low > 0.7
    assert after.low < 0.5 < after.high
    assert domain_auc(X, X_target, np.exp(-X[:, 0])).value > before.value
    few, fewer, weights, order = X[:120], X_target[:90], np.exp(X[:120, 0]), rng.permutation(120)
    auc = domain_auc(few, fewer, weights)
    assert domain_auc(few, fewer, weights * 2.0**500) == auc
    assert domain_auc(few[order], fewer, weights[order]) == auc


@pytest.mark.parametrize("n", [8, 60])
def test_tables_of_any_kind(n):
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"x": rng.normal(size=2 * n), "k": rng.choice(["a", "b"], 2 * n)})
    frame.loc[::5, "x"] = np.nan
    for table in (frame, frame[["x"]].to_numpy(), sp.random(2 * n, 30, 0.3, "csr", random_state=6)):
        assert 0 <= domain_auc(table[:n], table[n:]).value <= 1


def test_large_samples_are_represented_by_random_rows_with_their_weights():
    X = np.random.default_rng(7).normal(size=(500, 2))
    rows = DomainRows(X, X[:40] + 1, max_rows=100)
    assert np.bincount(rows.codes).tolist() == [100, 40]
    weights = np.arange(500.0) + 1
    drawn = rows.with_weights(weights)[rows.codes == 0]
    expected = weights[rows.indices[:100]]
    np.testing.assert_allclose(drawn, expected / expected.max())
    weights[rows.indices[:100]] = 0
    with pytest.raises(ValueError, match="zero for every source row drawn; raise max_rows"):
        rows.with_weights(weights)


def test_bins_keep_the_order_few_values_and_gaps():
    column = np.array([3.0, 1, 1, np.nan, 2])
    np.testing.assert_array_equal(binned(column, 8), [3, 1, 1, np.nan, 2])
    many = np.random.default_rng(9).normal(size=1000)
    bins = binned(many, 10)
    assert np.unique(bins).size == 10
    assert np.bincount(bins.astype(int)).min() >= 99
    assert (np.diff(bins[np.argsort(many)]) >= 0).all()


def test_bad_weights_raise():
    X = np.random.default_rng(0).normal(size=(20, 2))
    for weights, message in (
        (np.ones(3), r"Got weights of shape \(3,\) for 20 rows"),
        (np.full(20, -1.0), "Got weights with a negative value"),
        (np.zeros(20), "Got weights of zero for every row"),
    ):
        with pytest.raises(ValueError, match=message):
            domain_auc(X, X + 1, weights)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "shift"), [(100, 0.0), (300, 0.0), (300, 0.6)])
def test_interval_has_nominal_coverage_of_its_centre(n, shift):
    # With a shift, the centre is the mean AUC, which learning keeps below the best possible one.
    aucs = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        aucs.append(domain_auc(rng.normal(size=(n, 3)), rng.normal([shift, 0, 0], 1, (n, 3))))
    centre = np.mean([auc.value for auc in aucs]) if shift else 0.5
    covered = np.mean([auc.low <= centre <= auc.high for auc in aucs])
    # 300 repetitions of 95 % have a standard error of 1.3 %.
    assert 0.91 <= covered <= 0.99
