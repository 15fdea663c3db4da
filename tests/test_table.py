"""From tables to numbers: scales, gaps, categories, dates."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from weighbridge.tables import TableEncoder
from weighbridge.tables._columns import column_labels, distinct_values, read_columns, take_rows
from weighbridge.tables._row_keys import canonical_order


def encoded(X, codes=None):
    codes = np.arange(X.shape[0]) % 2 if codes is None else codes
    return TableEncoder().fit(X, codes).numbers(X)


def test_both_samples_count_alike_in_the_scale():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, 1000), rng.normal(3, 2, 10)])[:, None]
    codes = np.repeat([0, 1], [1000, 10])
    z = encoded(X, codes)
    means = [z[codes == k].mean() for k in (0, 1)]
    assert sum(means) == pytest.approx(0, abs=1e-12)
    squares = [(z[codes == k] ** 2).mean() for k in (0, 1)]
    assert np.mean(squares) == pytest.approx(1)


def test_gaps_become_means_and_are_marked():
    X = np.array([[1.0, 5.0], [3.0, np.nan], [1.0, 7.0], [3.0, 6.0]])
    z = encoded(X)
    assert z.shape == (4, 3)
    assert z[1, 1] == 0
    assert z[:, 2].tolist() == [0, 1, 0, 0]
    assert np.isfinite(z).all()


def test_levels_are_equally_far_apart_and_rare_ones_share_one():
    X = pd.DataFrame({"city": ["a"] * 10 + ["b"] * 10 + ["c", "d"]})
    z = encoded(X)
    assert z.shape == (22, 3)
    assert ((z[0] - z[10]) ** 2).sum() == 2
    np.testing.assert_array_equal(z[20], z[21])
    encoder = TableEncoder().fit(X, np.arange(22) % 2)
    np.testing.assert_array_equal(encoder.numbers(pd.DataFrame({"city": ["zz"]}))[0], z[20])
    few = TableEncoder().fit(X[:20], np.arange(20) % 2)
    assert few.numbers(pd.DataFrame({"city": ["zz"]})).sum() == 0


def test_identifiers_do_not_become_thousands_of_columns():
    X = pd.DataFrame({"id": [f"row {i}" for i in range(3000)]})
    assert encoded(X).shape[1] <= 51


def test_columns_of_every_kind_are_read_alike():
    dates = pd.to_datetime(["2020-01-01", None, "2020-01-03"])
    frame = pd.DataFrame(
        {
            "float": [1.5, np.nan, 2.5],
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "flag": [True, False, True],
            "text": ["x", None, "y"],
            "category": pd.Categorical(["u", None, "v"]),
            "date": dates,
            "objects": np.array([1, None, 2.5], dtype=object),
        }
    )
    read = read_columns(frame)
    kinds = [column.dtype.kind for column in read]
    assert kinds == ["f", "f", "f", "O", "O", "f", "f"]
    for column in read[:2] + read[5:]:
        assert np.isnan(column).tolist() == [False, True, False]
    assert [value is None for value in read[3]] == [False, True, False]
    assert [value is None for value in read[4]] == [False, True, False]
    other = read_columns(pl.from_pandas(frame.drop(columns="objects")))
    for one, two in zip(read[:5], other[:5], strict=True):
        np.testing.assert_array_equal(one, two)


def test_text_where_numbers_were_is_refused():
    encoder = TableEncoder().fit(np.eye(4), np.array([0, 1, 0, 1]))
    with pytest.raises(ValueError, match=r"Got text \('high'\) in column '0'.*held numbers in fit"):
        encoder.numbers(np.array([["high", 1, 2, 3]], dtype=object))


def test_trees_see_numbers_with_gaps_and_codes():
    X = pd.DataFrame({"city": ["a", "b"] * 20, "x": [np.nan, 2.0] * 20})
    encoder = TableEncoder().fit(X, np.arange(40) % 2)
    seen = encoder.for_trees(X)
    assert np.isnan(seen[0, 0])
    assert seen[:2, 1].tolist() == [0, 1]
    assert encoder.categorical.tolist() == [False, True]
    assert np.isnan(encoder.for_trees(pd.DataFrame({"city": ["new"], "x": [1.0]}))[0, 1])


def test_trees_see_gaps_below_the_values_where_these_are_few():
    X = np.full((40, 3), np.nan)
    X[0, 1], X[:, 2] = -3.0, np.arange(40.0)
    encoder = TableEncoder().fit(X, np.arange(40) % 2)
    seen = encoder.for_trees(X)
    assert np.isfinite(seen).all()
    assert np.ptp(seen[:, 0]) == 0
    assert (seen[1:, 1] < -3.0).all()
    np.testing.assert_array_equal(seen[:, 2], X[:, 2])


@pytest.mark.parametrize("value", [np.finfo(float).max, -np.finfo(float).max, 1e-300])
def test_gaps_lie_below_values_of_any_size(value):
    X = np.full((10, 1), np.nan)
    X[0] = value
    seen = TableEncoder().fit(X, np.arange(10) % 2).for_trees(X)
    assert np.isfinite(seen).all()
    assert seen[1, 0] < seen[0, 0] or value == -np.finfo(float).max  # nothing lies below that


def test_names_of_a_frame_that_are_no_text_are_written_as_text():
    X = pd.DataFrame(np.eye(3), columns=[3, 1, 2])
    assert column_labels(X) == ["3", "1", "2"]
    assert column_labels(np.eye(3)) == ["0", "1", "2"]
    assert list(take_rows(X, np.array([2, 0])).index) == [2, 0]


def test_complex_numbers_are_refused():
    with pytest.raises(TypeError, match="Got complex numbers; pass real and imaginary part"):
        read_columns(np.eye(3) + 1j)
    with pytest.raises(TypeError, match="Got complex numbers"):
        read_columns(pd.DataFrame({"z": [1j, 2.0]}))


def test_infinity_is_refused_by_the_name_of_its_column():
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, np.inf]})
    with pytest.raises(ValueError, match="Got infinity in column 'b'; replace it by a number"):
        TableEncoder().fit(X, np.array([0, 1]))


def test_sparse_rows_are_scaled_and_stay_sparse():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200, 4)) < 0.3, rng.normal(size=(200, 4)) * [1, 10, 0, 1], 0.0)
    z = encoded(sp.csr_array(X))
    assert sp.issparse(z)
    assert (z.toarray()[:, 2] == 0).all()
    np.testing.assert_allclose(z.toarray().std(axis=0)[[0, 1, 3]], 1, atol=0.05)
    with pytest.raises(ValueError, match="sparse matrix with NaN"):
        encoded(sp.csr_array(np.array([[np.nan, 1.0], [1.0, 0.0]])))


def test_order_depends_on_content_only():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=50), "b": rng.choice(["x", "y", None], 50)})
    shuffled = X.sample(frac=1, random_state=1)
    one = X.iloc[canonical_order(X)].reset_index(drop=True)
    two = shuffled.iloc[canonical_order(shuffled)].reset_index(drop=True)
    pd.testing.assert_frame_equal(one, two)
    dense = np.where(rng.random((40, 3)) < 0.5, rng.random((40, 3)), 0.0)
    order = rng.permutation(40)
    np.testing.assert_array_equal(
        dense[canonical_order(dense)], dense[order][canonical_order(dense[order])]
    )


def test_distinct_values_and_places_give_a_column_back():
    column = np.array(["b", None, "a", "b", "a\0", "1"], dtype=object)
    distinct, places = distinct_values(column)
    assert distinct[places].tolist() == column.tolist()
    assert len(set(distinct.tolist())) == distinct.size == 5


@pytest.mark.parametrize("dtype", ["object", "string", "category"])
def test_text_is_read_alike_however_pandas_holds_it(dtype):
    text = [*(["b", "a"] * 60), None, "c"]
    frame = pd.DataFrame({"x": pd.Series(text, dtype=dtype)})
    (column,) = read_columns(frame)
    assert column.tolist() == text


def test_objects_that_are_not_all_text_keep_their_words():
    """The kind of a column of Python objects is found from its first values."""
    frame = pd.DataFrame({"x": pd.Series([*(["a"] * 200), 1.0, True, None], dtype=object)})
    (column,) = read_columns(frame)
    assert column.tolist() == [*(["a"] * 200), "1.0", "True", None]
