"""Standardised differences and variance ratios, against closed forms and plain loops."""

import dataclasses
import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.diagnostics import BalanceRow, BalanceTable, balance_table, balance_text

SAMPLE, TARGET = [[1, -1], [2, 12]], [[3, 0], [4, 42]]


def clinic(n, shift, seed):
    """A small table of every kind of column."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.normal(40 + 10 * shift, 12, n),
            "site": rng.choice(
                ["north", "east", "west"], n, p=[0.5 - 0.3 * shift, 0.2, 0.3 + 0.3 * shift]
            ),
            "bmi": np.where(rng.uniform(size=n) < 0.05 + 0.1 * shift, np.nan, rng.normal(27, 4, n)),
            "smoker": rng.uniform(size=n) < 0.2,
        }
    )


@pytest.mark.parametrize(
    ("denominator", "expected"),
    [("target", [2.8284271, 0.6846589]), ("pooled", [2.8284271, 0.9249594])],
)
def test_differences_of_the_two_row_example(denominator, expected):
    table = balance_table(SAMPLE, TARGET, [1, 2], target_weights=[1, 2], denominator=denominator)
    assert table.table()["after"] == pytest.approx(expected, abs=5e-8)


def test_numbers_against_numpy():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(300, 4)), rng.gamma(2, size=(200, 4))
    weights = rng.exponential(size=300)
    found = balance_table(X, X_target, weights).table()
    deviation = np.sqrt((X.var(axis=0, ddof=1) + X_target.var(axis=0, ddof=1)) / 2)
    weighted = np.average(X, axis=0, weights=weights)
    assert found["mean_source"] == pytest.approx(X.mean(axis=0))
    assert found["mean_weighted"] == pytest.approx(weighted)
    assert found["before"] == pytest.approx((X_target.mean(axis=0) - X.mean(axis=0)) / deviation)
    assert found["after"] == pytest.approx((X_target.mean(axis=0) - weighted) / deviation)
    # numpy's covariance knows the same small-sample correction for importance weights
    variances = [np.cov(X[:, j], aweights=weights) for j in range(4)]
    assert found["variance_ratio_before"] == pytest.approx(
        X_target.var(0, ddof=1) / X.var(0, ddof=1)
    )
    assert found["variance_ratio_after"] == pytest.approx(X_target.var(0, ddof=1) / variances)


def test_the_true_weights_balance():
    # N(0, 1) -> N(1/2, 1): the difference of 1/2 vanishes within four standard errors
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(20_000, 1)), rng.normal(0.5, size=(20_000, 1))
    row = balance_table(X, X_target, np.exp(0.5 * X[:, 0])).rows[0]
    assert row.before == pytest.approx(0.5, abs=4 * math.sqrt(2 / 20_000))
    assert abs(row.after) < 4 * math.sqrt(3 / 20_000)
    assert row.variance_ratio_after == pytest.approx(1, abs=0.05)


@given(
    st.lists(st.integers(0, 2), min_size=2, max_size=40),
    st.lists(st.integers(0, 2), min_size=2, max_size=40),
)
def test_levels_are_shares_with_their_own_deviation(source, target):
    names = np.array(["a", "b", "c"], dtype=object)
    table = balance_table(names[source][:, None], names[target][:, None])
    kept = [k for k in range(3) if (source + target).count(k) >= 10]
    expected = {f"0={names[k]}": (source.count(k), target.count(k)) for k in kept}
    rest = [sum(part.count(k) for k in range(3) if k not in kept) for part in (source, target)]
    if sum(rest):
        expected["0=other"] = tuple(rest)
    assert {row.name for row in table.rows} == set(expected)
    for row in table.rows:
        p, q = (n / len(part) for n, part in zip(expected[row.name], (source, target), strict=True))
        assert (row.kind, row.feature) == ("level", "0")
        assert (row.mean_source, row.mean_target) == pytest.approx((p, q))
        spread = math.sqrt((p * (1 - p) + q * (1 - q)) / 2)
        if spread > 0:
            assert row.before == pytest.approx((q - p) / spread)
        else:
            assert row.before == (0 if p == q else math.copysign(math.inf, q - p))
        assert row.variance_ratio_before is None


def test_every_kind_of_column():
    weights = np.random.default_rng(5).exponential(size=1000)
    X, X_target = clinic(1000, 0, 0), clinic(800, 1, 1)
    table = balance_table(X, X_target, weights)
    kinds = {row.name: row.kind for row in table.rows}
    assert kinds == {
        "age": "number",
        "site=east": "level",
        "site=north": "level",
        "site=west": "level",
        "bmi": "number",
        "bmi missing": "missing",
        "smoker": "binary",
    }
    rows = {row.name: row for row in table.rows}
    there = X["bmi"].notna()
    assert rows["bmi"].mean_source == pytest.approx(X["bmi"].mean())
    assert rows["bmi"].mean_weighted == pytest.approx(
        np.average(X["bmi"][there], weights=weights[there])
    )
    assert rows["bmi missing"].mean_weighted == pytest.approx(np.average(~there, weights=weights))
    north = np.average(X["site"] == "north", weights=weights)
    assert rows["site=north"].mean_weighted == pytest.approx(north)
    assert rows["smoker"].mean_target == pytest.approx(X_target["smoker"].mean())


def test_frames_of_another_library_and_order_of_columns_do_not_matter():
    X, X_target = clinic(300, 0, 0), clinic(200, 1, 1)
    plain = balance_table(X, X_target)
    assert balance_table(X, X_target[["site", "smoker", "bmi", "age"]]) == plain
    polars = balance_table(pl.from_pandas(X), pl.from_pandas(X_target))
    assert polars.to_dict() == plain.to_dict()


def test_sparse_matrices_are_read_as_their_arrays():
    rng = np.random.default_rng(0)
    X, X_target = (rng.poisson(0.3, (n, 5)).astype(float) for n in (200, 150))
    sparse = balance_table(sp.csr_matrix(X), sp.csr_array(X_target))
    assert sparse.to_dict() == balance_table(X, X_target).to_dict()


def test_rare_levels_are_pooled_also_beside_a_level_of_that_name():
    X = np.array([["other"]] * 20 + [["a"]] * 3 + [["b"]] * 4, dtype=object)
    names = [row.name for row in balance_table(X, X).rows]
    assert names == ["0=other", "0=all other"]


def test_a_table_does_not_grow_with_the_number_of_levels():
    text = np.array([f"v{k}" for k in range(200) for _ in range(10)], dtype=object)[:, None]
    assert len(balance_table(text, text)) == 51


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_no_scale_of_the_numbers_or_weights_matters(scale):
    rng = np.random.default_rng(0)
    X, X_target, weights = rng.normal(size=(50, 2)), rng.normal(1, 2, (40, 2)), rng.uniform(size=50)
    plain = balance_table(X, X_target, weights).table()
    scaled = balance_table(X * scale, X_target * scale, weights * scale).table()
    for name in ("before", "after", "variance_ratio_before", "variance_ratio_after"):
        assert scaled[name] == pytest.approx(plain[name], rel=1e-9)
    assert scaled["mean_source"] == pytest.approx(plain["mean_source"] * scale, rel=1e-9)


def test_numbers_next_to_the_largest_double_have_a_mean():
    largest = np.finfo(float).max
    X = np.full((41, 1), largest)
    X[7] = np.nextafter(largest, 0)
    row = balance_table(X, X[::-1], np.arange(41)).rows[0]
    assert row.mean_source == pytest.approx(largest, rel=1e-15)
    assert row.mean_weighted == pytest.approx(largest, rel=1e-15)


def test_one_row_with_all_the_weight_has_no_variance():
    X = np.random.default_rng(0).normal(size=(30, 1))
    row = balance_table(X, X + 1, np.eye(30)[10] * 7).rows[0]
    assert row.mean_weighted == X[10, 0]
    assert math.isnan(row.variance_ratio_after)


def test_most_weight_on_one_row_leaves_the_variance_its_digits():
    # shares 1 - e and e on values 0 and 1: e (1 - e) / (1 - (1 - e)**2 - e**2) = 1/2 for any e
    X, X_target = np.array([[0.0], [1.0], [0.3]]), np.array([[0.0], [2.0], [1.0]])
    row = balance_table(X, X_target, [1.0, 1e-13, 0.0]).rows[0]
    assert row.variance_ratio_after == pytest.approx(1 / 0.5, rel=1e-10)


def test_constant_columns():
    # 0.1 summed up is not exactly a multiple of 0.1
    X, X_target = np.full((7, 2), 0.1), np.full((11, 2), [0.1, 0.3])
    table = balance_table(X, X_target, np.arange(7))
    assert table.table()["before"].tolist() == [0, math.inf]
    assert table.table()["after"].tolist() == [0, math.inf]
    assert [row.mean_weighted for row in table.rows] == [0.1, 0.1]
    assert table.to_dict()["rows"][1]["before"] is None
    same = balance_table([["x"]] * 12, [["x"]] * 15, np.arange(1, 13) / 7)
    assert (same.rows[0].before, same.rows[0].after) == (0, 0)


def test_a_feature_without_values_in_one_sample_comes_last():
    X = np.array([[np.nan, 0.0], [np.nan, 1.5], [np.nan, 2.0]])
    table = balance_table(X, [[1.0, 3.0], [2.0, 4.0]])
    assert math.isnan(table.rows[0].before)
    assert table.largest()[-1].name == "0"
    assert table.largest()[0].name == "0 missing"
    assert "–" in str(table)


def test_without_weights_there_is_no_after():
    row = balance_table(SAMPLE, TARGET).rows[0]
    assert row.after is row.mean_weighted is row.variance_ratio_after is None


def test_own_weights_of_the_target_count_before_as_well():
    row = balance_table(SAMPLE, TARGET, target_weights=[1, 2]).rows[0]
    assert row.mean_target == pytest.approx(11 / 3)
    assert row.before == pytest.approx((11 / 3 - 1.5) / math.sqrt(0.5))


def test_json_holds_neither_nan_nor_infinity():
    X = np.array([[np.nan, 1.0], [np.nan, 1.0]])
    fields = balance_table(X, [[1.0, 2.0], [2.0, 2.0]], [1, 1]).to_dict()
    assert json.loads(json.dumps(fields, allow_nan=False)) == fields


def test_the_text_names_the_largest_first_and_counts_the_rest():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(500, 20)), rng.normal(np.arange(20) / 20, size=(400, 20))
    table = balance_table(X, X_target)
    lines = str(table).splitlines()
    assert lines[1].split()[0] == "19"
    assert lines[1].endswith(f"+{table.rows[19].before:.2f}")
    assert "5 more" in lines[-1]
    assert len(table) == 20
    assert len(lines) == 17


def row(before=1.0, **fields):
    """Return a row of a table without weights."""
    numbers = dict.fromkeys(f.name for f in dataclasses.fields(BalanceRow))
    fields = {"name": "age", "kind": "number", "mean_source": 1.0, "mean_target": 2.0, **fields}
    return BalanceRow(**{**numbers, **fields, "before": before})


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.87, "+0.87"), (-0.62, "−0.62"), (-0.001, "0.00"), (math.nan, "–"), (-1234.0, "−1e3")],
)
def test_differences_have_a_sign_unless_they_are_none(value, text):
    assert balance_text([row(value)]).split()[-1] == text


def test_wider_terminals_get_longer_bars_and_no_more_columns():
    narrow, wide = (balance_text([row()], width=width).splitlines()[1] for width in (80, 120))
    assert len(narrow) == 80
    assert len(wide) == len(narrow) + 40


def test_what_is_not_shown_is_counted_with_its_largest_difference_and_how_to_see_it():
    text = balance_text([row(0.9), row(0.5), row(0.4)], most=1, how="all of {}")
    assert " 2 more up to 0.50: all of 3 " in text.splitlines()[-1]


@pytest.mark.parametrize("weights", [None, np.arange(1, 1001)])
def test_the_text_fits_a_terminal(weights):
    X, X_target = clinic(1000, 0, 0), clinic(800, 1, 1)
    for part, n in ((X, 1000), (X_target, 800)):
        part["a feature with a name\nthat goes on and on"] = np.arange(n) * 1e-7
        part["far"] = 1e9 * (n - 999)
        part["income"] = 31_576.3 + n
        part["exact"] = 0.5 + 1e-3 * (n < 1000)
        part["rare"] = np.arange(n) == 0
    text = str(balance_table(X, X_target, weights))
    assert max(map(len, text.splitlines())) <= 80
    assert f"{100 * np.mean(X['site'] == 'north'):.0f} %" in text
    assert "0.1 %" in text
    assert "32,576" in text
    assert "∞" in text


def test_a_column_called_like_the_gaps_of_another_keeps_its_name():
    X = pd.DataFrame({"age": [1.0, np.nan, 2.0], "age missing": [0.0, 1.0, 2.0]})
    names = [row.name for row in balance_table(X, X).rows]
    assert names == ["age", "age is missing", "age missing"]


def test_a_table_without_rows_has_a_text():
    assert str(BalanceTable((), "pooled")).strip() == "no features to compare"


def test_no_negative_number_of_rows_is_the_largest():
    table = balance_table(np.eye(3), np.eye(3))
    assert table.largest(0) == ()
    with pytest.raises(ValueError, match="Got n=-1, but expected a whole number >= 0"):
        table.largest(-1)


def test_errors():
    with pytest.raises(ValueError, match="denominator='source', but expected 'pooled' or 'target'"):
        balance_table(SAMPLE, TARGET, denominator="source")
    with pytest.raises(ValueError, match=r"weights of shape \(3,\), but expected \(2,\)"):
        balance_table(SAMPLE, TARGET, [1, 2, 3])
    with pytest.raises(ValueError, match="target_weights with a negative"):
        balance_table(SAMPLE, TARGET, target_weights=[1, -2])
    with pytest.raises(ValueError, match="infinite values in column '1'"):
        balance_table([[1, np.inf], [2, 3]], TARGET)
    with pytest.raises(ValueError, match="other columns than X"):
        balance_table(clinic(50, 0, 0), clinic(50, 0, 0).drop(columns="age"))
