"""Diagnostics that are sums: the same numbers in memory, in blocks of any size, and by hand."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from weighbridge.blocks import as_rows, from_array, from_dask, from_parquet
from weighbridge.diagnostics import (
    balance_table,
    calibration,
    design_effect,
    effective_sample_size,
    pareto_k,
    perplexity,
    summarize_weights,
)
from weighbridge.diagnostics._sums import Moments, RowWeights, WeightSums, text_sums
from weighbridge.exceptions import BlockError

pytest.importorskip("pyarrow")

N, N_TARGET = 230, 170
SIZES = st.integers(1, N + 10)
# a block of a data frame, and more so a task of dask, costs a millisecond or more
LARGER_SIZES = st.integers(25, N + 10)
FEW = settings(max_examples=10)
SUMMED = [effective_sample_size, design_effect, perplexity]


def clinic(n, shift, seed):
    """A table of every kind of column; the first 40 rows hold no `lab` and no `ward`."""
    rng = np.random.default_rng(seed)
    gappy = rng.uniform(size=(3, n)) < 0.15
    gappy[1:, :40] = True
    return pd.DataFrame(
        {
            "age": rng.normal(40 + 10 * shift, 12, n),
            "site": pd.Categorical(rng.choice(["north", "east", "west"], n)),
            "bmi": np.where(gappy[0], np.nan, rng.normal(27 + shift, 4, n)),
            "smoker": rng.uniform(size=n) < 0.2 + 0.1 * shift,
            "lab": np.where(gappy[1], np.nan, rng.gamma(2, 1e-9, n)),
            "ward": np.where(gappy[2], None, rng.choice(list("abcdefghijkl"), n)),
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, n), unit="D"),
            "fixed": 0.1,
        }
    )


X, X_TARGET = clinic(N, 0, 0), clinic(N_TARGET, 1, 1)
WEIGHTS = np.random.default_rng(2).exponential(size=N) ** 3
NUMBERS, NUMBERS_TARGET = (part[["age", "bmi", "lab", "fixed"]] for part in (X, X_TARGET))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables in files: two Parquet parts of each sample, and arrays."""
    folder = tmp_path_factory.mktemp("tables")
    for name, table in (("x", X), ("t", X_TARGET), ("nx", NUMBERS), ("nt", NUMBERS_TARGET)):
        (folder / name).mkdir()
        table[:90].to_parquet(folder / name / "part-0.parquet")
        table[90:].to_parquet(folder / name / "part-1.parquet")
        if name.startswith("n"):
            np.save(folder / f"{name}.npy", table.to_numpy())
    return folder


def array_by_dask(values, chunks):
    return pytest.importorskip("dask.array").from_array(values, chunks=chunks)


def frame_by_dask(table, size):
    return pytest.importorskip("dask.dataframe").from_pandas(table, chunksize=size)


# numbers in the folder, in blocks of some size
SOURCES = {
    "array": lambda path, size: from_array(np.load(f"{path}.npy"), size),
    "memmap": lambda path, size: from_array(np.load(f"{path}.npy", mmap_mode="r"), size),
    "parquet": lambda path, size: from_parquet(path, size=size),
    "dask array": lambda path, size: array_by_dask(np.load(f"{path}.npy"), (size, 2)),
}
# tables of every kind
DOORS = {
    "parquet": lambda folder, name, size: from_parquet(folder / name, size=size),
    "frame": lambda folder, name, size: from_array(TABLES[name], size),
    "dask frame": lambda folder, name, size: frame_by_dask(TABLES[name], size),
}
TABLES = {"x": X, "t": X_TARGET}
# one number for each row
VECTORS = {
    "array": from_array,
    "series": lambda values, size: from_array(pd.Series(values, name="w"), size),
    "dask array": array_by_dask,
    "dask column": lambda values, size: from_dask(array_by_dask(values[:, None], size)),
    "dask series": lambda values, size: frame_by_dask(pd.Series(values), size),
}


def assert_same(found, expected):
    """Names and kinds are the same; means and differences agree to rounding.

    Differences count in standard deviations, and a mean is off by some last bits of itself. Dates
    are days since 1970, 760 standard deviations from 0 here: that much larger is the error.
    """
    dates = any(row.name == "seen" for row in expected.rows)
    tolerance = 1e-11 if dates else 1e-12
    assert [(row.name, row.kind) for row in found.rows] == [
        (row.name, row.kind) for row in expected.rows
    ]
    plain, other = expected.table(), found.table()
    for name in ("before", "after"):
        assert other[name] == pytest.approx(plain[name], rel=tolerance, abs=tolerance, nan_ok=True)
    for name in ("mean_source", "mean_target", "mean_weighted"):
        assert other[name] == pytest.approx(plain[name], rel=tolerance, abs=0, nan_ok=True)
    for name in ("variance_ratio_before", "variance_ratio_after"):
        assert other[name] == pytest.approx(plain[name], rel=10 * tolerance, abs=0, nan_ok=True)


# --- one formula, exactly ------------------------------------------------------------------------

VALUES = st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(0, 1)), min_size=2, max_size=12)
CUTS = st.lists(st.integers(0, 12), max_size=4)


def stretches(array, cuts):
    """Cut an array at some places, some of them the same: stretches may be empty."""
    return np.split(array, sorted(min(cut, len(array)) for cut in cuts))


@given(VALUES, CUTS, st.booleans())
def test_moments_of_stretches_are_those_of_rational_arithmetic(pairs, cuts, is_weighted):
    values, weights = (np.array(part) for part in zip(*pairs, strict=True))
    if not is_weighted:
        weights = np.ones(values.size)
    shares = [Fraction(float(w)) for w in weights]
    total = sum(shares)
    assume(total > 1e-3)
    shares = [share / total for share in shares]
    mean = sum(s * Fraction(float(x)) for s, x in zip(shares, values, strict=True))
    squares = sum(s * (Fraction(float(x)) - mean) ** 2 for s, x in zip(shares, values, strict=True))
    spread = 1 - sum(s * s for s in shares)
    assume(spread > 1e-9)

    found = Moments()
    for part, own in zip(stretches(values, cuts), stretches(weights, cuts), strict=True):
        found = found + Moments.of(part, RowWeights(own, 0) if is_weighted else None)
    largest = float(np.abs(values).max())
    assert found.mean == pytest.approx(float(mean), abs=1e-14 * largest)
    # a mean off by its last bits adds the square of that to the squares
    slack = (4e-16 * largest) ** 2 / float(spread)
    assert found.variance == pytest.approx(float(squares / spread), rel=1e-12, abs=slack)
    assert found.total == pytest.approx(float(total), rel=1e-14)


@given(st.lists(st.floats(1e-3, 1), min_size=1, max_size=12), CUTS, st.integers(-900, 900))
def test_weight_sums_of_stretches_are_those_of_rational_arithmetic(weights, cuts, power):
    exact = [Fraction(w) for w in weights]
    worth = sum(exact) ** 2 / sum(w * w for w in exact)
    shares = [float(w / sum(exact)) for w in exact]
    entropy = -math.fsum(s * math.log(s) for s in shares)
    sums = WeightSums.of(np.zeros(0))
    for part in stretches(np.ldexp(weights, power), cuts):
        sums = sums + WeightSums.of(part)
    assert sums.effective_sample_size == pytest.approx(float(worth), rel=1e-13)
    assert sums.design_effect == pytest.approx(len(weights) / float(worth), rel=1e-13)
    assert sums.perplexity == pytest.approx(math.exp(entropy), rel=1e-13)


def test_weights_of_blocks_may_differ_by_any_power_of_10():
    # the second block alone counts: 3 and 4 are worth 49/25 rows
    weights = np.array([1e-300, 5e-324, 0.0, 0.0, 3e300, 4e300, 1e-200, 0.0])
    for size in range(1, 9):
        rows = from_array(weights, size)
        assert effective_sample_size(rows) == pytest.approx(49 / 25, rel=1e-14)
        assert design_effect(rows) == pytest.approx(8 * 25 / 49, rel=1e-14)
        entropy = -(3 / 7 * math.log(3 / 7) + 4 / 7 * math.log(4 / 7))
        assert perplexity(rows) == pytest.approx(math.exp(entropy), rel=1e-14)


# --- the balance table ---------------------------------------------------------------------------


def test_in_memory_numbers_are_those_of_the_formulas():
    table = {row.name: row for row in balance_table(X, X_TARGET, WEIGHTS).rows}
    for name in ("age", "bmi", "lab"):
        there = X[name].notna().to_numpy()
        values, own = X[name].to_numpy()[there], WEIGHTS[there]
        target = X_TARGET[name].dropna().to_numpy()
        deviation = math.sqrt((values.var(ddof=1) + target.var(ddof=1)) / 2)
        mean = math.fsum(own * values) / math.fsum(own)
        variance = math.fsum(own * (values - mean) ** 2) / (
            math.fsum(own) - math.fsum(own**2) / math.fsum(own)
        )
        row = table[name]
        assert row.mean_weighted == pytest.approx(mean, rel=1e-13)
        assert row.before == pytest.approx((target.mean() - values.mean()) / deviation, rel=1e-11)
        assert row.after == pytest.approx((target.mean() - mean) / deviation, rel=1e-11)
        assert row.variance_ratio_after == pytest.approx(target.var(ddof=1) / variance, rel=1e-11)
    p = np.average(X["site"] == "east", weights=WEIGHTS)
    assert table["site=east"].mean_weighted == pytest.approx(p, rel=1e-13)
    p = np.average(X["lab"].isna(), weights=WEIGHTS)
    assert table["lab missing"].mean_weighted == pytest.approx(p, rel=1e-13)


@pytest.mark.parametrize("source", SOURCES)
@FEW
@given(size=SIZES, size_target=SIZES)
def test_numbers_in_blocks_of_any_size(folder, source, size, size_target):
    rows = SOURCES[source](folder / "nx", size)
    target = SOURCES[source](folder / "nt", size_target)
    in_memory = balance_table(NUMBERS, NUMBERS_TARGET, WEIGHTS, denominator="target")
    if source != "parquet":  # arrays have no names
        in_memory = balance_table(
            NUMBERS.to_numpy(), NUMBERS_TARGET.to_numpy(), WEIGHTS, denominator="target"
        )
    assert_same(balance_table(rows, target, WEIGHTS, denominator="target"), in_memory)


@pytest.mark.parametrize("door", DOORS)
@FEW
@given(size=LARGER_SIZES, size_target=LARGER_SIZES)
def test_tables_of_every_kind_in_blocks_of_any_size(folder, door, size, size_target):
    rows, target = (DOORS[door](folder, name, n) for name, n in (("x", size), ("t", size_target)))
    own = np.random.default_rng(3).uniform(size=N_TARGET)
    found = balance_table(rows, target, WEIGHTS, target_weights=own)
    assert_same(found, balance_table(X, X_TARGET, WEIGHTS, target_weights=own))


@pytest.mark.parametrize("door", [*DOORS, "memory"])
def test_samples_may_come_by_different_doors(folder, door):
    rows = X if door == "memory" else DOORS[door](folder, "x", 70)
    in_memory = balance_table(X, X_TARGET, WEIGHTS)
    assert_same(balance_table(rows, from_parquet(folder / "t", size=60), WEIGHTS), in_memory)
    if door != "memory":
        assert_same(balance_table(rows, X_TARGET, WEIGHTS), in_memory)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("vector", VECTORS)
def test_weights_in_blocks_of_their_own(folder, door, vector):
    rows, weights = DOORS[door](folder, "x", 70), VECTORS[vector](WEIGHTS, 31)
    assert_same(balance_table(rows, X_TARGET, weights), balance_table(X, X_TARGET, WEIGHTS))


@pytest.mark.parametrize("weights", [WEIGHTS.tolist(), pd.Series(WEIGHTS), 1e300 * WEIGHTS])
def test_weights_in_memory_on_any_scale(weights):
    in_memory = balance_table(X, X_TARGET, WEIGHTS)
    assert_same(balance_table(from_array(X, 50), X_TARGET, weights), in_memory)


def test_without_weights_there_is_no_after():
    found = balance_table(from_array(X, 50), X_TARGET)
    assert_same(found, balance_table(X, X_TARGET))
    assert {row.after for row in found.rows} == {None}


def test_constant_columns_are_constant_exactly_in_any_blocks():
    # 0.1 summed up is not exactly a multiple of 0.1
    X, X_target = np.full((7, 2), 0.1), np.full((11, 2), [0.1, 0.3])
    for size in (1, 2, 3, 20):
        table = balance_table(from_array(X, size), from_array(X_target, size), np.arange(7))
        assert table.table()["before"].tolist() == [0, math.inf]
        assert table.table()["after"].tolist() == [0, math.inf]
        assert [row.mean_weighted for row in table.rows] == [0.1, 0.1]


@pytest.mark.parametrize("scale", [1e300, 1e-300, 5e-324])
def test_no_scale_of_the_numbers_matters_in_any_blocks(scale):
    # whole multiples of the smallest double are exact; a block of zeros has no scale of its own
    whole = np.r_[np.zeros(20), np.arange(1.0, 31.0)][:, None]
    target = np.arange(2.0, 27.0)[:, None]
    plain = balance_table(whole, target, np.arange(50)).table()
    for size in (3, 20, 50):
        rows = from_array(whole * scale, size)
        scaled = balance_table(rows, target * scale, np.arange(50)).table()
        for name in ("before", "after", "variance_ratio_before", "variance_ratio_after"):
            assert scaled[name] == pytest.approx(plain[name], rel=1e-12)


def test_numbers_next_to_the_largest_double_have_a_mean():
    largest = np.finfo(float).max
    X = np.full((41, 1), largest)
    X[7] = np.nextafter(largest, 0)
    for rows in (X, from_array(X, 5)):
        row = balance_table(rows, X[::-1], np.arange(41)).rows[0]
        assert row.mean_source == pytest.approx(largest, rel=1e-15)
        assert row.mean_weighted == pytest.approx(largest, rel=1e-15)


def test_blocks_of_very_different_size_of_numbers():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=50) * 1e-200, rng.normal(size=50) * 1e200, np.zeros(20)][:, None]
    X_target = rng.normal(1e200, 1e200, size=(60, 1))
    for size in (10, 50, 64):
        assert_same(
            balance_table(from_array(X, size), X_target, np.arange(120)),
            balance_table(X, X_target, np.arange(120)),
        )


def test_a_share_is_one_exactly_where_a_level_is_everywhere():
    X = pd.DataFrame({"site": ["x"] * 12})
    same = balance_table(from_array(X, 5), X, np.arange(1, 13) / 7)
    assert (same.rows[0].before, same.rows[0].after, same.rows[0].mean_weighted) == (0, 0, 1)


def test_one_row_with_all_the_weight_has_no_variance():
    only = np.zeros(N)
    only[100] = 7.0
    for rows in (NUMBERS, from_array(NUMBERS, 30)):
        row = balance_table(rows, NUMBERS_TARGET, only).rows[0]
        assert row.mean_weighted == NUMBERS["age"][100]
        assert math.isnan(row.variance_ratio_after)


def test_most_weight_on_one_row_leaves_the_variance_its_digits():
    # shares 1 - e and e on values 0 and 1: e (1 - e) / (1 - (1 - e)**2 - e**2) = 1/2 for any e
    X, X_target = np.array([[0.0], [1.0], [0.3]]), np.array([[0.0], [2.0], [1.0]])
    for rows in (X, from_array(X, 1)):
        row = balance_table(rows, X_target, [1.0, 1e-13, 0.0]).rows[0]
        assert row.variance_ratio_after == pytest.approx(1 / 0.5, rel=1e-10)


# --- gaps in blocks ------------------------------------------------------------------------------


def test_empty_partitions_add_nothing():
    table = frame_by_dask(X, 58)
    holes = table[table["age"] > X["age"].to_numpy()[:60].max() - 1e-9]
    kept = X[X["age"] > X["age"].to_numpy()[:60].max() - 1e-9]
    assert 0 in holes.map_partitions(len).compute().tolist()
    assert_same(balance_table(holes, X_TARGET), balance_table(kept, X_TARGET))


def test_blocks_without_any_value_of_a_column():
    # the first 40 rows have neither `lab` nor `ward`
    in_memory = balance_table(X, X_TARGET, WEIGHTS)
    for size in (20, 40):
        assert_same(balance_table(from_array(X, size), X_TARGET, WEIGHTS), in_memory)
    # and a column without any value at all has a row of its own, as in memory
    empty = X.assign(lab=np.nan, ward=None)
    found = balance_table(from_array(empty, 40), X_TARGET, WEIGHTS)
    assert_same(found, balance_table(empty.astype({"ward": X["ward"].dtype}), X_TARGET, WEIGHTS))
    assert math.isnan({row.name: row for row in found.rows}["lab"].before)


def test_a_block_of_weight_zero_adds_only_to_the_plain_numbers():
    own = WEIGHTS.copy()
    own[:60] = 0
    assert_same(balance_table(from_array(X, 30), X_TARGET, own), balance_table(X, X_TARGET, own))


def test_a_column_that_is_binary_in_some_blocks_only_is_a_number():
    X = np.array([[0.0], [1.0], [1.0], [0.5], [0.0], [1.0]])
    found = balance_table(from_array(X, 3), X)
    assert found.rows[0].kind == "number"
    assert_same(found, balance_table(X, X))
    assert balance_table(from_array(X[:3], 1), X[:2]).rows[0].kind == "binary"


# --- columns -------------------------------------------------------------------------------------


@pytest.mark.parametrize("door", DOORS)
def test_columns_are_matched_by_name(folder, door):
    order = ["site", "fixed", "smoker", "bmi", "lab", "seen", "ward", "age"]
    rows = DOORS[door](folder, "x", 100)
    in_memory = balance_table(X, X_TARGET)
    assert_same(balance_table(rows, X_TARGET[order]), in_memory)
    target = as_rows(DOORS[door](folder, "t", 64))
    assert_same(balance_table(rows, target.select(order)), in_memory)


def test_other_columns_are_named():
    rows = from_array(X, 50)
    with pytest.raises(ValueError, match=r"other columns than X: missing \['age'\]"):
        balance_table(rows, X_TARGET.drop(columns="age"))
    with pytest.raises(ValueError, match=r"unexpected \['city'\]"):
        balance_table(rows, from_array(X_TARGET.assign(city="a"), 50))
    with pytest.raises(TypeError, match="Got X with column names and X_target without"):
        balance_table(from_array(NUMBERS, 50), NUMBERS_TARGET.to_numpy())
    with pytest.raises(TypeError, match="Got X_target with column names and X without"):
        balance_table(from_array(NUMBERS.to_numpy(), 50), NUMBERS_TARGET)
    with pytest.raises(ValueError, match="X with 4 columns and X_target with 3"):
        balance_table(from_array(NUMBERS.to_numpy(), 50), NUMBERS_TARGET.to_numpy()[:, :3])


def test_few_rows_are_refused_as_in_memory():
    with pytest.raises(
        ValueError, match="Got X_target with 1 row; comparing samples takes at least 2"
    ):
        balance_table(from_array(X, 50), X_TARGET[:1])


# --- errors of blocks ----------------------------------------------------------------------------


@pytest.mark.parametrize("door", DOORS)
def test_weights_of_another_length_name_both_lengths(folder, door):
    rows = DOORS[door](folder, "x", 50)
    for weights in (WEIGHTS[:-1], from_array(WEIGHTS[:-1], 40)):
        with pytest.raises(ValueError, match=r"weights of shape \(229,\), but expected \(230,\)"):
            balance_table(rows, X_TARGET, weights)


def test_a_block_with_text_in_a_column_of_numbers_is_named():
    mixed = X[["age"]].astype(object)
    mixed.loc[120, "age"] = "forty"
    with pytest.raises(BlockError, match=r"In block 2 \(rows 100 to 149\): Got text .*'age'"):
        balance_table(from_array(mixed, 50), X_TARGET[["age"]])
    first = X[["ward"]].dropna().reset_index(drop=True).astype(object)
    first.loc[100:] = 3.0
    with pytest.raises(BlockError, match=r"Got numbers \(3\.0\) in column 'ward', which holds tex"):
        balance_table(from_array(first, 100), X_TARGET[["ward"]])


def test_a_partition_of_another_type_than_dask_says_is_named():
    delayed = pytest.importorskip("dask").delayed
    frame = pytest.importorskip("dask.dataframe")
    text = X[["age"]].astype(object)
    text.loc[120, "age"] = "forty"
    parts = [delayed(part) for part in (X[["age"]], text)]
    rows = frame.from_delayed(parts, meta=X[["age"]][:0], verify_meta=False)
    with pytest.raises(BlockError, match=r"In block 1 \(rows 230 to 459\): .*'forty'"):
        balance_table(rows, X_TARGET[["age"]])


def test_text_in_one_sample_and_numbers_in_the_other_are_refused():
    with pytest.raises(TypeError, match="column 'age' as numbers in X and as text in X_target"):
        balance_table(from_array(X[["age"]], 50), X_TARGET[["age"]].astype(str))
    with pytest.raises(TypeError, match="column 'seen' as dates in X and as numbers in X_target"):
        balance_table(from_array(X[["seen"]], 50), X_TARGET[["age"]].set_axis(["seen"], axis=1))


def test_infinity_names_the_block_the_column_and_the_sample():
    infinite = NUMBERS_TARGET.copy()
    infinite.loc[130, "bmi"] = np.inf
    with pytest.raises(BlockError, match=r"In block 2 .*infinite values in column 'bmi' of X_targ"):
        balance_table(from_array(NUMBERS, 50), from_array(infinite, 60))


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (np.nan, BlockError, r"In block 1 .*NaN or infinite values in 1 of 50 rows"),
        (-2.0, BlockError, r"In block 1 .*negative value \(-2\)"),
        ("a", BlockError, r"In block 1 .*expected numbers"),
    ],
)
def test_what_are_no_weights_names_the_block(bad, error, message):
    weights = WEIGHTS.astype(object)
    weights[70] = bad
    weights = from_array(weights if bad == "a" else weights.astype(float), 50)
    for measure in SUMMED:
        with pytest.raises(error, match=message):
            measure(weights)
    with pytest.raises(error, match=message):
        balance_table(from_array(X, 50), X_TARGET, weights)


def test_weights_that_are_all_zero_or_a_table_are_refused():
    zero = from_array(np.zeros(N), 50)
    with pytest.raises(ValueError, match="weights of zero for every row"):
        balance_table(from_array(X, 50), X_TARGET, zero)
    table = from_array(np.ones((N, 2)), 50)
    with pytest.raises(ValueError, match=r"weights of shape \(230, 2\), but expected one number"):
        balance_table(from_array(X, 50), X_TARGET, table)
    for measure in (*SUMMED, pareto_k, summarize_weights):
        with pytest.raises(ValueError, match="weights of zero for every row"):
            measure(zero)
        with pytest.raises(ValueError, match=r"shape \(230, 2\), but expected one number"):
            measure(table)
        with pytest.raises(ValueError, match=r"shape \(0,\), but expected one number"):
            measure(from_array(np.zeros(0)))


def test_a_column_of_keys_is_no_category():
    halves = tuple(range(600_000)), tuple(range(600_000, 1_200_000))
    first, second = (text_sums("id", np.arange(600_000), half, None) for half in halves)
    with pytest.raises(ValueError, match="column 'id' with more than 1,000,000 different texts"):
        first + second


# --- weights and ratios --------------------------------------------------------------------------


@pytest.mark.parametrize("vector", VECTORS)
@FEW
@given(size=LARGER_SIZES)
def test_weights_are_worth_the_same_in_blocks_of_any_size(vector, size):
    rows = VECTORS[vector](WEIGHTS, size)
    for measure in SUMMED:
        assert measure(rows) == pytest.approx(measure(WEIGHTS), rel=1e-12)


@pytest.mark.parametrize("vector", VECTORS)
def test_weights_to_be_sorted_are_read_into_memory(vector):
    rows = VECTORS[vector](WEIGHTS, 50)
    assert pareto_k(rows) == pareto_k(WEIGHTS)
    assert summarize_weights(rows) == summarize_weights(WEIGHTS)


@pytest.mark.parametrize("vector", VECTORS)
@FEW
@given(size=LARGER_SIZES)
def test_the_identities_of_a_ratio_are_the_same_in_blocks_of_any_size(vector, size):
    rng = np.random.default_rng(0)
    log_ratio, log_ratio_target = rng.normal(-0.5, 1, N), rng.normal(0.5, 1, N_TARGET)
    log_ratio[3] = -np.inf
    expected = calibration(log_ratio, log_ratio_target)
    found = calibration(*(VECTORS[vector](part, size) for part in (log_ratio, log_ratio_target)))
    for name in ("mean_source", "mean_target", "d2_source", "d2_target"):
        mean, in_memory = getattr(found, name), getattr(expected, name)
        for field in ("value", "standard_error", "low", "high"):
            assert getattr(mean, field) == pytest.approx(getattr(in_memory, field), rel=1e-12)


def test_ratios_of_blocks_may_be_of_any_size():
    # exp(400) alone counts, exp(800) is beyond doubles, and -inf everywhere is a mean of 0
    source = np.array([-900.0, -np.inf, -np.inf, 400.0, -3.0, 0.0])
    for size in (1, 2, 3, 6):
        found = calibration(from_array(source, size), from_array(source[3:], size))
        assert found.mean_source.value == pytest.approx(math.exp(400) / 6, rel=1e-12)
        assert found.mean_source.standard_error == pytest.approx(math.exp(400) / 6, rel=1e-12)
        assert found.d2_source.value == math.inf
        assert found.d2_target.value == pytest.approx(math.exp(400) / 3, rel=1e-12)
        zero = calibration(from_array(np.full(4, -np.inf), size), from_array(source, size))
        assert zero.mean_source.value == zero.d2_source.standard_error == 0
        assert zero.mean_target.value == math.inf


def test_what_are_no_log_ratios_names_the_block():
    good = from_array(np.zeros(60), 20)
    bad = np.zeros(60)
    bad[25] = np.nan
    with pytest.raises(
        BlockError, match=r"In block 1 .*log_ratio_target with NaN or \+inf in 1 of"
    ):
        calibration(good, from_array(bad, 20))
    with pytest.raises(BlockError, match=r"In block 0 .*log_ratio with text in it"):
        calibration(from_array(np.array(["a"] * 30, dtype=object), 20), good)
    with pytest.raises(ValueError, match=r"log_ratio of shape \(1,\).*two or more source rows"):
        calibration(from_array(np.zeros(1)), good)


@pytest.mark.torch
def test_rows_of_tensors_are_read_block_by_block():
    torch = pytest.importorskip("torch")
    numbers, target = (np.array(part.dropna()) for part in (NUMBERS, NUMBERS_TARGET))
    rows = from_array(torch.asarray(numbers), 50)
    weights = np.arange(len(numbers))
    found = balance_table(rows, from_array(torch.asarray(target)), torch.asarray(weights))
    assert_same(found, balance_table(numbers, target, weights))
    on_device = from_array(torch.asarray(weights), 40)
    assert effective_sample_size(on_device) == pytest.approx(effective_sample_size(weights))
