"""Standardised differences and variance ratios, against closed forms and plain loops."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.datasets import make_clinic
from weighbridge.diagnosis import BalanceTable, balance_table

SAMPLE, TARGET = [[1, -1], [2, 12]], [[3, 0], [4, 42]]


def columns(table):
    """The columns of a balance table, as users get them."""
    return pd.DataFrame(table.rows)


def clinic(n, n_target):
    """Two small tables with every kind of column."""
    data = make_clinic(n, n_target, random_state=0)
    tables = (data.X[["age", "site", "bmi"]], data.X_target[["age", "site", "bmi"]])
    return [table.assign(smoker=np.arange(len(table)) % 5 == 0) for table in tables]


def test_two_row_example():
    table = balance_table(SAMPLE, TARGET, [1, 2], denominator="target")
    expected = [(3.5 - 5 / 3) / math.sqrt(0.5), (21 - 23 / 3) / math.sqrt(882)]
    assert columns(table)["after"].to_numpy() == pytest.approx(expected)
    row = balance_table(SAMPLE, TARGET).rows[0]
    assert row.before == pytest.approx(2 / math.sqrt(0.5))
    assert row.after is row.mean_weighted is None


def test_numbers_equal_numpys_with_sparse_tables_too():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(300, 4)), rng.gamma(2, size=(200, 4))
    weights = rng.exponential(size=300)
    table = balance_table(X, X_target, weights)
    deviation = np.sqrt((X.var(axis=0, ddof=1) + X_target.var(axis=0, ddof=1)) / 2)
    weighted, target = np.average(X, axis=0, weights=weights), X_target.mean(axis=0)
    expected = {
        "mean_source": X.mean(axis=0),
        "mean_weighted": weighted,
        "before": (target - X.mean(axis=0)) / deviation,
        "after": (target - weighted) / deviation,
    }
    for name, values in expected.items():
        assert columns(table)[name].to_numpy() == pytest.approx(values), name
    sparse = balance_table(sp.csr_matrix(X), sp.csr_array(X_target), weights)
    assert sparse.to_dict() == table.to_dict()


def test_true_weights_balance():
    # N(0, 1) to N(1/2, 1): the difference of 1/2 vanishes within four standard errors.
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(20_000, 1)), rng.normal(0.5, size=(20_000, 1))
    row = balance_table(X, X_target, np.exp(0.5 * X[:, 0])).rows[0]
    assert row.before == pytest.approx(0.5, abs=4 * math.sqrt(2 / 20_000))
    assert abs(row.after) < 4 * math.sqrt(3 / 20_000)


@given(
    st.lists(st.integers(0, 2), min_size=2, max_size=40),
    st.lists(st.integers(0, 2), min_size=2, max_size=40),
)
def test_levels_are_shares_and_rare_ones_are_pooled(source, target):
    names = np.array(["a", "b", "c"], dtype=object)
    table = balance_table(names[source][:, None], names[target][:, None])
    frequent = [k for k in range(3) if (source + target).count(k) >= 10]
    expected = {f"0={names[k]}": (source.count(k), target.count(k)) for k in frequent}
    rest = [
        sum(codes.count(k) for k in range(3) if k not in frequent) for codes in (source, target)
    ]
    if sum(rest):
        expected["0=other"] = tuple(rest)
    assert {row.name for row in table.rows} == set(expected)
    for row in table.rows:
        p, q = (n / len(y) for n, y in zip(expected[row.name], (source, target), strict=True))
        assert (row.kind, row.feature) == ("level", "0")
        assert (row.mean_source, row.mean_target) == pytest.approx((p, q))
        sd = math.sqrt((p * (1 - p) + q * (1 - q)) / 2)
        limit = 0 if p == q else math.copysign(math.inf, q - p)
        assert row.before == pytest.approx((q - p) / sd if sd else limit)


def test_every_kind_of_column_with_weights():
    (X, X_target), weights = clinic(1000, 800), np.random.default_rng(5).exponential(size=1000)
    table = balance_table(X, X_target, weights)
    rows = {row.name: row for row in table.rows}
    sites = {f"site={site}": "level" for site in ("east", "north", "south", "west")}
    kinds = {"age": "number", **sites, "bmi": "number", "bmi missing": "missing"}
    assert {name: row.kind for name, row in rows.items()} == {**kinds, "smoker": "binary"}
    present = X["bmi"].notna()
    expected = {
        "bmi": np.average(X["bmi"][present], weights=weights[present]),
        "bmi missing": np.average(~present, weights=weights),
        "site=north": np.average(X["site"] == "north", weights=weights),
        "smoker": np.average(X["smoker"], weights=weights),
    }
    for name, mean in expected.items():
        assert rows[name].mean_weighted == pytest.approx(mean), name
    assert rows["bmi"].mean_source == pytest.approx(X["bmi"].mean())
    in_other_order = balance_table(X, X_target[["site", "smoker", "bmi", "age"]], weights)
    of_polars = balance_table(pl.from_pandas(X), pl.from_pandas(X_target), weights)
    assert in_other_order.to_dict() == of_polars.to_dict() == table.to_dict()


def test_names_of_pools_and_of_missing_values_are_unique():
    X = np.array([["other"]] * 20 + [["a"]] * 3 + [["b"]] * 4, dtype=object)
    assert [row.name for row in balance_table(X, X).rows] == ["0=other", "0=all other"]
    X = pd.DataFrame({"age": [1.0, np.nan, 2.0], "age missing": [0.0, 1.0, 2.0]})
    names = [row.name for row in balance_table(X, X).rows]
    assert names == ["age", "age is missing", "age missing"]


def test_table_does_not_grow_with_the_number_of_levels():
    text = np.array([f"v{k}" for k in range(200) for _ in range(10)], dtype=object)[:, None]
    assert len(balance_table(text, text)) == 51


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_scale_of_the_numbers_and_weights_does_not_matter(scale):
    rng = np.random.default_rng(0)
    X, X_target, weights = rng.normal(size=(50, 2)), rng.normal(1, 2, (40, 2)), rng.uniform(size=50)
    plain = columns(balance_table(X, X_target, weights))
    scaled = columns(balance_table(X * scale, X_target * scale, weights * scale))
    for name in ("before", "after"):
        np.testing.assert_allclose(scaled[name], plain[name], rtol=1e-9)
    np.testing.assert_allclose(scaled["mean_source"], plain["mean_source"] * scale, rtol=1e-9)


def test_largest_numbers_keep_their_digits():
    largest = np.finfo(float).max
    X = np.full((41, 1), largest)
    X[7] = np.nextafter(largest, 0)
    row = balance_table(X, X[::-1], np.arange(41)).rows[0]
    assert (row.mean_source, row.mean_weighted) == pytest.approx((largest, largest), rel=1e-15)


def test_constant_columns_differ_by_nothing_or_infinitely():
    # The sum of several 0.1 is not exactly a multiple of 0.1.
    X, X_target = np.full((7, 2), 0.1), np.full((11, 2), [0.1, 0.3])
    table = balance_table(X, X_target, np.arange(7))
    for name in ("before", "after"):
        assert columns(table)[name].tolist() == [0, math.inf]
    assert [row.mean_weighted for row in table.rows] == [0.1, 0.1]
    assert table.to_dict()["rows"][1]["before"] is None
    same = balance_table([["x"]] * 12, [["x"]] * 15, np.arange(1, 13) / 7)
    assert (same.rows[0].before, same.rows[0].after) == (0, 0)


def test_feature_without_values_in_one_sample_comes_last():
    X = np.array([[np.nan, 0.0], [np.nan, 1.5], [np.nan, 2.0]])
    table = balance_table(X, [[1.0, 3.0], [2.0, 4.0]], [1, 1, 1])
    assert math.isnan(table.rows[0].before)
    assert [row.name for row in table.largest()] == ["0 missing", "1", "0"]
    assert table.largest(0) == ()
    assert "–" in str(table)
    fields = table.to_dict()
    assert json.loads(json.dumps(fields, allow_nan=False)) == fields


def table_of(*before):
    """A table without weights whose rows have these differences."""
    row = balance_table([[1.0], [2.0]], [[3.0], [4.0]]).rows[0]
    return BalanceTable(tuple(replace(row, before=value) for value in before))


def test_text_names_the_largest_first_and_counts_the_rest():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(500, 20)), rng.normal(np.arange(20) / 20, size=(400, 20))
    table = balance_table(X, X_target)
    lines = str(table).splitlines()
    assert lines[1].split()[0] == "19"
    assert lines[1].endswith(f"+{table.rows[19].before:.2f}")
    assert (len(table), len(lines), "5 more" in lines[-1]) == (20, 17, True)
    text = table_of(0.9, 0.5, 0.4).text(1, more="all of {}")
    assert text.splitlines()[-1] == "  2 more: all of 3"
    assert str(BalanceTable(())).strip() == "no features to compare"
    signs = {0.87: "+0.87", -0.62: "−0.62", -0.001: "0.00", math.nan: "–", -1234.0: "−1e3"}
    assert [str(table_of(value)).split()[-1] for value in signs] == list(signs.values())


@pytest.mark.parametrize("weights", [None, np.arange(1, 1001)])
def test_text_fits_a_terminal(weights):
    X, X_target = clinic(1000, 800)
    for frame, n in ((X, 1000), (X_target, 800)):
        frame["a feature with a name\nthat goes on and on"] = np.arange(n) * 1e-7
        frame["far"] = 1e9 * (n - 999)
        frame["income"] = 31_576.3 + n
        frame["exact"] = 0.5 + 1e-3 * (n < 1000)
        frame["rare"] = np.arange(n) == 0
    text = str(balance_table(X, X_target, weights))
    assert max(map(len, text.splitlines())) <= 80
    for shown in (f"{100 * np.mean(X['site'] == 'north'):.0f} %", "0.1 %", "32,576", "∞"):
        assert shown in text
    narrow, wide = (table_of(1.0).text(width=width).splitlines()[1] for width in (80, 120))
    assert (len(narrow), len(wide)) == (80, 120)


def test_bad_input_raises():
    X, X_target = clinic(50, 50)
    for arguments, options, message in (
        ((SAMPLE, TARGET), {"denominator": "source"}, "'source', but expected 'pooled' or 'tar"),
        ((SAMPLE, TARGET, [1, 2, 3]), {}, r"weights of shape \(3,\), but expected \(2,\)"),
        ((SAMPLE, TARGET, [1, -2]), {}, "weights with a negative"),
        (([[1, np.inf], [2, 3]], TARGET), {}, "infinite values in column '1'"),
        ((X, X_target.drop(columns="age")), {}, "other columns than X"),
    ):
        with pytest.raises(ValueError, match=message):
            balance_table(*arguments, **options)
    with pytest.raises(ValueError, match="Got n=-1, but expected a whole number >= 0"):
        balance_table(SAMPLE, TARGET).largest(-1)
