"""Squares and products: as they are made, as they are multiplied, and what is fitted to them."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from weighbridge.ratios._logistic import PENALTIES, fit_logistic_path
from weighbridge.tables import Quadratic, QuadraticRows

BOTH = pytest.mark.parametrize("products", [True, False])


def some_numbers(n=300, d=4, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[:, 1] = X[:, 1] > 0  # a level, whose square says nothing new
    X[:, 2] = 3.0  # and a constant, which says nothing
    return X


def by_hand(X, products):
    pairs = itertools.combinations_with_replacement(range(X.shape[1]), 2)
    pairs = list(pairs) if products else [(j, j) for j in range(X.shape[1])]
    return np.column_stack([X, *(X[:, i] * X[:, j] for i, j in pairs)])


@BOTH
def test_features_are_the_columns_then_their_products_each_with_mean_0_and_deviation_1(products):
    X = some_numbers()
    raw, found = by_hand(X, products), Quadratic(products).fit(X).transform(X)
    deviation = raw.std(axis=0)
    varies = deviation > 1e-9
    np.testing.assert_allclose(
        found[:, varies], ((raw - raw.mean(axis=0))[:, varies] / deviation[varies]), atol=1e-12
    )
    assert not found[:, ~varies].any()


@BOTH
def test_a_product_is_the_same_whether_the_features_are_made_or_not(products):
    # rows of several blocks
    X, new = some_numbers(), some_numbers(30_000, seed=1)
    quadratic = Quadratic(products).fit(X)
    made, rows = quadratic.transform(new), QuadraticRows(new, quadratic)
    assert rows.shape == made.shape
    rng = np.random.default_rng(2)
    coefficients, values = rng.normal(size=(made.shape[1], 3)), rng.normal(size=(len(new), 2))
    np.testing.assert_allclose(rows @ coefficients, made @ coefficients, atol=1e-10)
    np.testing.assert_allclose(rows @ coefficients[:, 0], made @ coefficients[:, 0], atol=1e-10)
    np.testing.assert_allclose(rows.moments(values), made.T @ values, atol=1e-8)
    np.testing.assert_allclose(rows.moments(values[:, 0]), made.T @ values[:, 0], atol=1e-8)
    some = rng.permutation(len(new))[:50]
    np.testing.assert_allclose(rows[some] @ coefficients, made[some] @ coefficients, atol=1e-10)


@pytest.mark.parametrize("kind", ["dense", "sparse", "factored"])
def test_the_path_is_that_of_logistic_regression(kind):
    X = some_numbers(500)
    quadratic = Quadratic().fit(X)
    made = quadratic.transform(X)
    codes = (np.random.default_rng(1).normal(size=500) < X[:, 0] * X[:, 3]).astype(int)
    given = {"dense": made, "sparse": sp.csr_array(made), "factored": QuadraticRows(X, quadratic)}
    model = LogisticRegression(max_iter=1000, warm_start=True)
    found = fit_logistic_path(given[kind], codes)
    assert len(found) == len(PENALTIES)
    for C, ours in zip(PENALTIES, found, strict=True):
        model.set_params(C=C).fit(made, codes)
        # the same steps of the same solver: far closer than its tolerance of 1e-4
        expected = model.decision_function(made)
        np.testing.assert_allclose(ours.decision_function(given[kind]), expected, atol=1e-7)
