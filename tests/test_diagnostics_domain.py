"""The domain classifier: AUC and its error against brute force, closed forms and repetition."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import ndtr

from weighbridge._domain import CrossFittedDomain, DomainRows, binned, domain_auc, fold_auc


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
    found = fold_auc(scores, codes, weights, tests)
    assert found.value == pytest.approx(brute_force_auc(scores, codes, weights, tests), abs=1e-12)


def test_influence_is_the_derivative_with_respect_to_the_weight_of_a_row():
    rng = np.random.default_rng(0)
    scores, codes, weights = rng.normal(size=40), np.tile([0, 1], 20), rng.uniform(0.5, 2, 40)
    tests = [np.arange(40)]
    influence = fold_auc(scores, codes, weights, tests).influence
    step = 1e-6
    for i in (0, 1, 17):
        more, less = weights.copy(), weights.copy()
        more[i] *= 1 + step
        less[i] *= 1 - step
        slope = fold_auc(scores, codes, more, tests).value
        slope = (slope - fold_auc(scores, codes, less, tests).value) / (2 * step)
        assert influence[i] == pytest.approx(slope, abs=1e-8)


def test_the_error_is_delongs_without_weights():
    # textbook form: variances of the placements over the numbers of rows
    rng = np.random.default_rng(1)
    scores, codes = rng.normal(size=60), np.repeat([0, 1], [25, 35])
    above = (scores[25:][None, :] > scores[:25][:, None]).astype(float)
    variance = above.mean(axis=1).var(ddof=1) / 25 + above.mean(axis=0).var(ddof=1) / 35
    found = fold_auc(scores, codes, np.ones(60), [np.arange(60)])
    assert found.standard_error == pytest.approx(math.sqrt(variance))


def test_the_error_of_weighted_scores_is_that_of_repetition():
    # fixed scores: the standard error must be the standard deviation over samples
    values, errors = [], []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        x, codes = rng.normal(size=300), np.repeat([0, 1], [180, 120])
        x[180:] += 1
        weights = np.where(codes == 0, np.exp(0.5 * x), 1.0)
        found = fold_auc(x, codes, weights, [np.arange(300)])
        values.append(found.value)
        errors.append(found.standard_error)
    # a standard deviation of 400 draws has a relative error of 1 / sqrt(800) = 3.5 %
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.12)
    # exp(x / 2) moves the source to N(.5, 1), up to the O(1/n) bias of a ratio of means
    expected = ndtr(0.5 / math.sqrt(2))
    assert abs(np.mean(values) - expected) < 4 * np.std(values) / 20 + 0.003


def test_one_row_with_all_the_weight_and_perfect_separation_are_not_certain():
    codes, scores = np.repeat([0, 1], 20), np.r_[np.zeros(20), np.ones(20)]
    assert fold_auc(scores, codes, np.ones(40), [np.arange(40)]).standard_error == pytest.approx(
        0.5 / 20
    )
    weights = np.r_[1.0, np.full(19, 1e-12), np.ones(20)]
    assert fold_auc(scores, codes, weights, [np.arange(40)]).standard_error > 0.49


def test_no_fold_with_both_samples_says_nothing():
    found = fold_auc(np.arange(4.0), np.array([0, 0, 1, 1]), np.ones(4), [np.arange(2)])
    assert found.value == 0.5
    assert found.standard_error == 0.5


def test_identical_samples_have_one_half_exactly():
    X = np.random.default_rng(0).normal(size=(300, 3))
    assert domain_auc(X, X.copy()).value == pytest.approx(0.5, abs=1e-12)


def test_the_auc_of_a_shifted_normal():
    # N(0, 1) against N(1, 1): no classifier has more than Phi(1 / sqrt 2)
    best = ndtr(1 / math.sqrt(2))
    for seed in range(5):
        rng = np.random.default_rng(seed)
        found = domain_auc(rng.normal(size=(1500, 1)), rng.normal(1, 1, (1500, 1)))
        assert abs(found.value - best) < 4 * found.standard_error + 0.01  # what learning costs


def test_a_change_of_variance_is_found_by_trees():
    rng = np.random.default_rng(0)
    assert domain_auc(rng.normal(size=(1500, 2)), 2 * rng.normal(size=(1500, 2))).low > 0.6


def test_the_true_weights_remove_the_difference_and_wrong_ones_make_one():
    rng = np.random.default_rng(3)
    X, X_target = rng.normal(size=(2000, 2)), rng.normal([1, 0], 1, size=(2000, 2))
    before = domain_auc(X, X_target)
    after = domain_auc(X, X_target, np.exp(X[:, 0] - 0.5))
    assert before.low > 0.7
    assert after.low < 0.5 < after.high
    assert domain_auc(X, X_target, np.exp(-X[:, 0])).value > before.value


def test_the_unit_of_the_weights_does_not_matter():
    rng = np.random.default_rng(4)
    X, X_target = rng.normal(size=(200, 2)), rng.normal(size=(150, 2))
    weights = np.exp(X[:, 0])
    assert domain_auc(X, X_target, weights) == domain_auc(X, X_target, weights * 2.0**500)


def test_row_order_does_not_matter():
    rng = np.random.default_rng(5)
    X, X_target = rng.normal(size=(120, 2)), rng.normal(0.5, 1, size=(90, 2))
    order = rng.permutation(120)
    weights = np.exp(X[:, 0])
    assert domain_auc(X, X_target, weights) == domain_auc(X[order], X_target, weights[order])


@pytest.mark.parametrize("n", [8, 60])
def test_tables_of_any_kind(n):
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"x": rng.normal(size=2 * n), "k": rng.choice(["a", "b"], 2 * n)})
    frame.loc[::5, "x"] = np.nan
    for table in (frame, frame[["x"]].to_numpy(), sp.random(2 * n, 30, 0.3, "csr", random_state=6)):
        parts = (table[:n], table[n:])
        assert 0 <= domain_auc(*parts).value <= 1


def test_large_samples_are_represented_by_some_rows():
    rng = np.random.default_rng(7)
    rows = DomainRows(rng.normal(size=(500, 2)), rng.normal(size=(40, 2)), max_rows=100)
    assert np.bincount(rows.codes).tolist() == [100, 40]
    weights = np.arange(500.0) + 1
    picked = rows.of_source(weights)[rows.codes == 0]
    np.testing.assert_allclose(
        picked / picked.max(), (rows.places[:100] + 1) / (rows.places[:100] + 1).max()
    )


def test_weight_in_one_fold_only_learns_nothing_and_stays_uncertain():
    rng = np.random.default_rng(8)
    rows = DomainRows(rng.normal(size=(60, 2)), rng.normal(size=(60, 2)))
    found = CrossFittedDomain(rows, np.eye(60)[0]).auc()
    assert found.low == 0
    assert found.high == 1


def test_bins_keep_the_order_few_values_and_gaps():
    column = np.array([3.0, 1, 1, np.nan, 2])
    np.testing.assert_array_equal(binned(column, 8), [3, 1, 1, np.nan, 2])
    many = np.random.default_rng(9).normal(size=1000)
    places = binned(many, 10)
    assert np.unique(places).size == 10
    assert np.bincount(places.astype(int)).min() >= 99
    assert (np.diff(places[np.argsort(many)]) >= 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 95}, "Got confidence=95.0, but expected a number between 0 and 1"),
        ({"cv": 1}, "Got cv=1"),
        ({"max_rows": 2}, "Got max_rows=2"),
        ({"weights": np.ones(3)}, r"Got weights of shape \(3,\) for 20 rows"),
        ({"weights": np.full(20, -1.0)}, "Got weights with a negative value"),
        ({"weights": np.zeros(20)}, "Got weights of zero for every row"),
    ],
)
def test_errors(options, message):
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match=message):
        domain_auc(X, X + 1, **options)


def test_weights_only_on_rows_that_were_not_drawn_are_refused():
    X = np.random.default_rng(0).normal(size=(400, 1))
    rows = DomainRows(X, X + 1, max_rows=10)
    weights = np.ones(400)
    weights[rows.places[:10]] = 0
    with pytest.raises(ValueError, match="zero for every source row drawn; raise max_rows"):
        rows.of_source(weights)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "shift"), [(100, 0.0), (300, 0.0), (300, 0.6)])
def test_the_interval_holds_its_centre_as_often_as_it_says(n, shift):
    # without shift the centre is 1/2; with shift it is the mean AUC, which learning keeps below the
    # best possible one
    found = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        found.append(domain_auc(rng.normal(size=(n, 3)), rng.normal([shift, 0, 0], 1, (n, 3))))
    centre = np.mean([one.value for one in found]) if shift else 0.5
    covered = np.mean([one.low <= centre <= one.high for one in found])
    # 300 repetitions of 95 %: standard error 1.3 %
    assert 0.91 <= covered <= 0.99
