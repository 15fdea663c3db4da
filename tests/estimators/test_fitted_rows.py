"""Rows that a model was fitted to, recognised in any container, and rows equal by chance."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import Ridge

from conformal_problems import SHIFT, regression
from weighbridge import ImportanceWeighted, ImportanceWeightedCV
from weighbridge._estimators import FittedRows


def test_share_of_fitted_rows_in_any_container():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    X[:, 1:] *= X[:, 1:] > 0
    rows = FittedRows(X)
    half = np.vstack([X[:50], X[:50] + 0.001])
    frame = pd.DataFrame(half, columns=["a", "b", "c"])
    for container in (half, sp.csr_array(half), frame, pl.from_pandas(frame), half.tolist()):
        assert rows.share(container) == 0.5
    assert FittedRows(X, np.r_[np.ones(20), np.zeros(80)]).share(X) == 0.2
    text = pd.DataFrame({"site": ["north", "south", None], "age": [1.0, np.nan, 3.0]})
    assert FittedRows(text).share(text[::-1]) == 1
    assert FittedRows(text[:1]).holds(text).tolist() == [True, False, False]
    assert FittedRows(np.empty((0, 0))).share(X) == 0


def test_equal_rows_by_chance_are_no_reason_to_refuse():
    # independent rows of a table with so many different ones are never refused in 1,500 tables;
    # the same rows again are found, unless most rows are alike anyway
    for n, n_new in ((50, 50), (500, 100), (200, 1000)):
        for values in (3, 30, 300, 3000, 10**9):
            refused, found = 0, 0
            for seed in range(100):
                rng = np.random.default_rng([seed, values, n])
                table = np.floor(values * rng.beta(1, 3, size=(n + n_new, 1)))
                rows = FittedRows(table[:n])
                refused += rows.known_beyond_chance(table[n:]) > 0
                found += rows.known_beyond_chance(table[:n]) == n
            assert refused == 0
            assert found == 100 or values <= 300


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, pd.DataFrame])
def test_rows_are_recognised_as_float32(container):
    X, new = (np.random.default_rng(seed).normal(size=(200, 3)) for seed in (0, 1))
    double, single = container(X), container(X.astype(np.float32))
    for rows, again in ((double, single), (single, double), (double, double), (single, single)):
        assert FittedRows(rows).known_beyond_chance(again) == 200
        assert FittedRows(rows).known_beyond_chance(container(new)) == 0
    assert FittedRows(double).share(single) == 0  # exactly


def test_columns_are_matched_by_name_or_else_by_position():
    named = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3)), columns=["a", "b", "c"])
    numbered = named.set_axis([3, 1, 2], axis=1)
    assert FittedRows(numbered).share(numbered[[1, 2, 3]]) == 1
    assert FittedRows(named).share(numbered) == 1


def test_rows_equal_in_float32_only_are_not_recognised():
    # Many counters beyond 2**24, large numbers and small differences are equal in float32.
    for start, step in ((10**9, 1), (10**40, 10**36), (1.0, 1e-9)):
        table = (start + step * np.arange(1000.0))[:, None]
        fitted, new = np.split(np.random.default_rng(0).permutation(table), 2)
        assert FittedRows(fitted).known_beyond_chance(new) == 0
        assert FittedRows(fitted).known_beyond_chance(fitted) == 500


def test_the_fitted_rows_survive_pickling_and_not_cloning():
    X, y = regression(100, 0)
    for model in (ImportanceWeighted(Ridge(), SHIFT), ImportanceWeightedCV(Ridge(), SHIFT)):
        pickled = pickle.loads(pickle.dumps(model.fit(X, y)))
        assert pickled._fitted_rows.share(X) == 1
        assert not hasattr(clone(pickled), "_fitted_rows")
