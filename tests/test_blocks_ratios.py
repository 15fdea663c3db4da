"""Ratios on rows in blocks: the numbers of the fit in memory, whatever the source and blocks."""

import math
import warnings
from collections import Counter
from fractions import Fraction
from functools import partial, reduce
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import kstest, norm
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from weighbridge import fit_ratio
from weighbridge.blocks import as_rows, from_array, from_parquet
from weighbridge.ratios import (
    KLIEP,
    KMM,
    ULSIF,
    AutoRatio,
    ClassifierRatio,
    NearestNeighbourRatio,
)
from weighbridge.ratios._encoder import TableEncoder, _summary, column_sums, encoder_of
from weighbridge.ratios._kernel import FoldSums, distinct_rows
from weighbridge.ratios._sample import _ContentKeys, _draw, samples
from weighbridge.tables._row_keys import RowKeys, position_keys

pytest.importorskip("pyarrow")

# what is asked of blocks: sums of some thousand kernels, solved with a ridge of 1e-4 or more
CLOSE = 1e-10
N, N_TARGET, MOST = 3_000, 2_500, 1_200
NAMES = ["a", "b"]


def normals(n, n_target, d=2, seed=0, shift=0.4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(shift, 0.9, (n_target, d))


X, X_TARGET = normals(N, N_TARGET)


class FewInMemory(ULSIF):
    """Least squares with so few rows in memory that small samples do not fit."""

    _most_rows = MOST


VARIANTS = {
    "plain": ULSIF(n_centres=20),
    "relative": ULSIF(0.3, n_centres=20),
    "iterated": ULSIF(n_centres=20, iterations=3),
    "own folds": ULSIF(n_centres=20, cv=3),
    "few by content": FewInMemory(n_centres=20, choice_rows=1_000),
    "many centres": FewInMemory(n_centres=90, bandwidths=[1.0, 0.7], choice_rows=1_000),
    "relative by content": FewInMemory(0.2, n_centres=20, choice_rows=1_000, iterations=2),
    "all by content": FewInMemory(n_centres=20, choice_rows=None, cv=4),
}


@pytest.fixture(scope="module")
def in_memory():
    """Return the fits to the arrays, each made once."""
    return {name: fit_ratio(X, X_TARGET, ratio) for name, ratio in VARIANTS.items()}


def assert_alike(ratio, expected, tolerance=CLOSE):
    """Everything that a fit has learnt is the same to rounding."""
    np.testing.assert_allclose(ratio.bandwidths_, expected.bandwidths_, rtol=tolerance)
    np.testing.assert_allclose(ratio.centres_, expected.centres_, rtol=0, atol=tolerance)
    np.testing.assert_allclose(ratio.scores_, expected.scores_, rtol=tolerance)
    assert ratio.ridge_ == expected.ridge_
    assert ratio.bandwidth_ == pytest.approx(expected.bandwidth_, rel=tolerance)
    assert ratio.largest_ == pytest.approx(expected.largest_, rel=tolerance)
    assert ratio.log_prior_odds_ == pytest.approx(expected.log_prior_odds_, rel=1e-15)
    scale = np.abs(expected.coef_).max()
    np.testing.assert_allclose(ratio.coef_, expected.coef_, rtol=0, atol=tolerance * scale)


# --- least squares: every source, every block


def memory_map(table, path):
    np.save(f"{path}.npy", table)
    return from_array(np.load(f"{path}.npy", mmap_mode="r"), 501)


def files(table, path):
    path.mkdir()
    frame = pd.DataFrame(table, columns=NAMES)
    for k, start in enumerate(range(0, len(frame), 1_300)):
        frame[start : start + 1_300].to_parquet(path / f"{k}.parquet", row_group_size=170)
    return from_parquet(path, size=333)


def dask_array(table, path):
    return pytest.importorskip("dask.array").from_array(table, chunks=(700, 1))


def dask_frame(table, path):
    dd = pytest.importorskip("dask.dataframe")
    return dd.from_pandas(pd.DataFrame(table, columns=NAMES), npartitions=4)


SOURCES = {
    "array": lambda table, path: from_array(table, 250),
    "memory map": memory_map,
    "pandas": lambda table, path: from_array(pd.DataFrame(table, columns=NAMES), 400),
    "polars": lambda table, path: from_array(pl.DataFrame(table, schema=NAMES), 900),
    "files": files,
    "dask array": dask_array,
    "dask frame": dask_frame,
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_fit_in_memory(source, variant, in_memory, tmp_path):
    expected = in_memory[variant]
    rows, target = (
        SOURCES[source](table, tmp_path / str(k)) for k, table in enumerate((X, X_TARGET))
    )
    ratio = fit_ratio(rows, target, VARIANTS[variant])
    assert_alike(ratio, expected)
    found = ratio.score_samples(rows)
    assert isinstance(found, np.ndarray) != source.startswith("dask")  # computed later
    weights = np.exp(expected.score_samples(X))
    np.testing.assert_allclose(np.exp(np.asarray(found)), weights, atol=CLOSE)
    table = pd.DataFrame(X, columns=NAMES) if hasattr(ratio, "feature_names_in_") else X
    np.testing.assert_allclose(np.exp(ratio.score_samples(table)), weights, atol=CLOSE)


@pytest.mark.parametrize("variant", ["plain", "relative by content", "all by content"])
@given(size=st.integers(20, N + 9), size_target=st.integers(20, N_TARGET + 9))
@settings(max_examples=6)
def test_no_size_of_blocks_changes_the_fit(variant, in_memory, size, size_target):
    ratio = fit_ratio(from_array(X, size), from_array(X_TARGET, size_target), VARIANTS[variant])
    assert_alike(ratio, in_memory[variant])


@pytest.mark.parametrize("variant", ["plain", "few by content"])
def test_threads_do_not_change_the_fit(variant, in_memory):
    with threadpool_limits(3, user_api="blas"):
        ratio = fit_ratio(from_array(X, 100), from_array(X_TARGET, 90), VARIANTS[variant])
    assert_alike(ratio, in_memory[variant])


@pytest.mark.torch
@pytest.mark.parametrize("variant", VARIANTS)
def test_tensors_give_the_fit_in_memory(variant, in_memory):
    torch = pytest.importorskip("torch")
    rows, target = (from_array(torch.asarray(table), 640) for table in (X, X_TARGET))
    ratio = fit_ratio(rows, target, VARIANTS[variant])
    found = ratio.score_samples(rows)
    assert isinstance(found, torch.Tensor)
    weights = np.exp(in_memory[variant].score_samples(X))
    np.testing.assert_allclose(np.exp(found.numpy()), weights, atol=CLOSE)


def test_leaving_one_out_needs_all_rows_in_memory():
    few, few_target = X[:600], X_TARGET[:500]
    expected = fit_ratio(few, few_target, ULSIF(n_centres=20))
    ratio = fit_ratio(from_array(few, 70), from_array(few_target, 45), ULSIF(n_centres=20))
    assert_alike(ratio, expected)
    with pytest.raises(ValueError, match="Got cv='loo' for a sample of 3,000 rows"):
        fit_ratio(from_array(X), from_array(X_TARGET), FewInMemory(cv="loo"))


# --- more than 100,000 rows


def large_ratio(**options):
    return ULSIF(n_centres=8, bandwidths=[1.4, 0.8], ridges=[0.01, 0.1], **options)


LARGE, LARGE_TARGET = normals(100_900, 100_400, seed=2)


@pytest.fixture(scope="module")
def large():
    return fit_ratio(LARGE, LARGE_TARGET, large_ratio())


def parts_of(rows, target, seed=0, most=100_000):
    rows, target = as_rows(rows), as_rows(target)
    return samples(encoder_of(rows, target), rows, target, seed, most)


def test_rows_beyond_a_hundred_thousand_are_drawn_by_what_they_hold(large):
    for part in parts_of(LARGE, LARGE_TARGET):
        assert part.by_content
        assert not part.complete
        assert part.first.shape == (100_000, 2)
        assert (np.diff(part.first_keys) > 0).all()
    ratio = fit_ratio(from_array(LARGE, 7_001), from_array(LARGE_TARGET, 30_011), large_ratio())
    assert_alike(ratio, large)


def test_many_rows_of_files_and_of_dask_give_the_fit_in_memory(large, tmp_path):
    frames = [pd.DataFrame(table, columns=NAMES) for table in (LARGE, LARGE_TARGET)]
    for name, frame in zip("xt", frames, strict=True):
        frame.to_parquet(tmp_path / f"{name}.parquet", row_group_size=33_333)
    rows = [from_parquet(tmp_path / f"{name}.parquet", size=20_000) for name in "xt"]
    assert_alike(fit_ratio(*rows, large_ratio()), large)
    da = pytest.importorskip("dask.array")
    chunked = [da.from_array(table, chunks=(25_000, 2)) for table in (LARGE, LARGE_TARGET)]
    assert_alike(fit_ratio(*chunked, large_ratio()), large)


def test_an_order_of_many_rows_changes_nothing(large):
    rng = np.random.default_rng(3)
    shuffled = [from_array(rng.permutation(table)) for table in (LARGE, LARGE_TARGET)]
    assert_alike(fit_ratio(*shuffled, large_ratio()), large, tolerance=1e-8)


def test_units_of_many_rows_change_nothing(large):
    # by 1 row in some million a key depends on the unit; none of these
    other = [from_array(table * [1000, 2.54] + [0, 32]) for table in (LARGE, LARGE_TARGET)]
    ratio = fit_ratio(*other, large_ratio())
    assert_alike(ratio, large, tolerance=1e-8)


def test_there_are_no_more_folds_than_rows_to_choose_by():
    ratio = ULSIF(n_centres=3, bandwidths=[1.0], ridges=[0.1], choice_rows=1_000, cv=1_500)
    fitted = fit_ratio(from_array(LARGE), from_array(LARGE_TARGET), ratio)
    assert np.isfinite(fitted.scores_).all()


def test_samples_of_many_rows_can_change_places():
    forth = parts_of(LARGE, LARGE_TARGET)
    back = parts_of(LARGE_TARGET, LARGE)[::-1]
    for one, other in zip(forth, back, strict=True):
        np.testing.assert_array_equal(one.table, other.table)
        np.testing.assert_array_equal(one.first_keys, other.first_keys)


def repeated(n, p, seed):
    """Rows of which 27 different ones exist, so that every one occurs thousands of times."""
    return np.random.default_rng(seed).choice(3, size=(n, 3), p=p).astype(float)


def test_many_rows_that_are_mostly_repeated_are_drawn_by_their_numbers(tmp_path):
    table, target = repeated(100_700, [0.5, 0.3, 0.2], 0), repeated(100_300, [0.3, 0.3, 0.4], 1)
    parts = parts_of(table, target)
    assert not any(part.by_content or part.complete for part in parts)
    # both are uniform, and they are not the same
    keys = [part.sum(Stacked.of).keys for part in parts]
    assert all(kstest(part, "uniform").pvalue > 1e-3 for part in keys)
    assert abs(np.corrcoef(keys[0][:100_300], keys[1])[0, 1]) < 5 / math.sqrt(100_300)
    expected = fit_ratio(table, target, large_ratio())
    found = fit_ratio(from_array(table, 9_999), from_array(target, 70_000), large_ratio())
    assert_alike(found, expected)
    # the truth: a product of three ratios
    values = np.array([[0.0, 0, 0], [2, 2, 2], [0, 1, 2]])
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.3, 0.3, 0.4])
    truth = (q / p)[values.astype(int)].prod(axis=1)
    sharp = ULSIF(n_centres=27, bandwidths=[0.3], ridges=[1e-4], random_state=1)
    found = fit_ratio(from_array(table), from_array(target), sharp)
    # counts of 800 rows and more, a ridge, and centres that are some of the 27 rows
    np.testing.assert_allclose(np.exp(found.score_samples(values)), truth, rtol=0.2)


def test_many_rows_of_categories_give_the_fit_in_memory(tmp_path):
    tables = [
        pd.DataFrame(
            {
                "site": np.random.default_rng(seed).choice(["north", "east", "west"], n, p=p),
                "grade": np.random.default_rng(seed + 9).integers(0, 4, n),
            }
        )
        for seed, n, p in ((0, 100_300, [0.5, 0.3, 0.2]), (1, 2_000, [0.2, 0.3, 0.5]))
    ]
    for name, table in zip("xt", tables, strict=True):
        table.to_parquet(tmp_path / f"{name}.parquet")
    rows = [from_parquet(tmp_path / f"{name}.parquet", size=40_000) for name in "xt"]
    assert not parts_of(*rows)[0].by_content
    ratio = large_ratio()
    assert_alike(fit_ratio(*rows, ratio), fit_ratio(*tables, ratio))


# --- keys


class Stacked:
    """Numbers and keys of blocks, on top of each other."""

    def __init__(self, numbers, keys):
        self.numbers, self.keys = numbers, keys

    @classmethod
    def of(cls, numbers, keys):
        return cls(numbers, keys)

    def __add__(self, other):
        numbers = np.vstack([self.numbers, other.numbers])
        return Stacked(numbers, np.concatenate([self.keys, other.keys]))


def keys_of(table, seed=0, low=None, high=None):
    low, high = table.min(axis=0) if low is None else low, table.max(axis=0)
    return RowKeys(low, high, seed)(table)


GRID = np.stack(np.meshgrid(np.arange(200.0), np.arange(150.0)), axis=-1).reshape(-1, 2)
TABLES = {
    "normal": LARGE[:30_000],
    "one column": LARGE[:30_000, :1],
    "whole numbers": GRID,
    "line": np.linspace(0, 1, 30_000)[:, None] * [1.0, 3.0],
    "skew": np.exp(2 * LARGE[:30_000]),
}


@pytest.mark.parametrize("seed", [0, 1, 2**31 - 2])
@pytest.mark.parametrize("table", TABLES)
def test_keys_of_different_rows_are_uniform(table, seed):
    table = TABLES[table]
    keys = keys_of(table, seed)
    assert keys.min() >= 0
    assert keys.max() < 1
    # 15 tests at a level of 0.001 fail together in 1 of 70 choices of constants
    assert kstest(keys, "uniform").pvalue > 1e-3
    # neither they nor their low bits say anything of the rows, or of those of another seed
    bound = 5 / math.sqrt(len(table))
    for part in (keys, keys * 2**20 % 1):
        columns = np.column_stack([table, part, keys_of(table, seed + 1)])
        correlation = np.corrcoef(columns.T)[-2]
        correlation[-2] = 0
        assert (np.abs(correlation) < bound).all()
        assert abs(np.corrcoef(part[1:], part[:-1])[0, 1]) < bound


def test_keys_of_positions_are_uniform():
    for seed in range(5):
        keys = position_keys(np.arange(30_000) + 10**9, seed)
        assert kstest(keys, "uniform").pvalue > 1e-3
        assert np.unique(keys).size == keys.size


def test_folds_of_keys_have_the_sizes_of_chance():
    for n_folds in (2, 3, 5, 10):
        sizes = np.bincount((keys_of(LARGE) * n_folds).astype(int), minlength=n_folds)
        share = 1 / n_folds
        deviation = math.sqrt(len(LARGE) * share * (1 - share))
        assert (np.abs(sizes - len(LARGE) * share) < 4.5 * deviation).all()


def test_a_key_depends_on_the_row_alone():
    whole = keys_of(LARGE)
    order = np.random.default_rng(0).permutation(len(LARGE))
    shuffled = RowKeys(LARGE.min(axis=0), LARGE.max(axis=0), 0)
    np.testing.assert_array_equal(shuffled(LARGE[order]), whole[order])
    parts = [shuffled(LARGE[start : start + 7_777]) for start in range(0, len(LARGE), 7_777)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert shuffled(LARGE[:1]) == whole[:1]


def test_equal_rows_have_equal_keys_and_others_have_others():
    table = np.vstack([LARGE[:500], LARGE[:500]])
    keys = keys_of(table)
    np.testing.assert_array_equal(keys[:500], keys[500:])
    assert np.unique(keys).size == 500
    # a missing value is none of the numbers
    rows = np.array([[0, 1], [1, 1], [np.nan, 0], [1, np.nan], [np.nan, np.nan], [0.0, 0]])
    keys = RowKeys(np.zeros(2), np.ones(2), 0)(rows)
    assert np.unique(keys).size == len(rows)


def test_keys_do_not_depend_on_the_order_of_columns():
    np.testing.assert_array_equal(keys_of(LARGE[:100, ::-1]), keys_of(LARGE[:100]))


def test_hardly_any_key_depends_on_the_unit():
    # values next to the edge of two steps of 2^-30 of a range: 0.1 rows of 200,000 are expected
    changed = 0
    for seed in range(4):
        table = np.random.default_rng(seed).normal(size=(50_000, 2))
        changed += (keys_of(table * [1000, 2.54] + [0, 32]) != keys_of(table)).sum()
    assert changed <= 3


def test_a_constant_column_says_nothing_whatever_its_value():
    table = np.column_stack([LARGE[:100], np.full(100, 3.0), np.full(100, np.nan)])
    with np.errstate(all="raise"):
        low, high = np.fmin.reduce(table), np.fmax.reduce(table)
    keys = RowKeys(low, high, 0)(table)
    table[:, 2] = low[2] = high[2] = 1e300
    np.testing.assert_array_equal(RowKeys(low, high, 0)(table), keys)
    assert np.unique(keys).size == 100


# --- what is drawn


def test_rows_are_drawn_without_regard_to_what_they_hold():
    source, _ = parts_of(X, X_TARGET, most=MOST)
    assert source.first.shape[0] == MOST
    # rows of the sample are rows of the table, each once
    found = {tuple(row) for row in source.table}
    assert len(found) == MOST
    assert found <= {tuple(row) for row in X}
    for column in range(2):
        mean, error = source.table[:, column].mean(), math.sqrt(1 / MOST)
        assert abs(mean - X[:, column].mean()) < 4 * error


@pytest.mark.parametrize("share", [0.05, 0.3, 0.45])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_row_that_is_there_often_is_drawn_as_often_as_it_is_there(share, seed):
    table, target = normals(40_000, 40_000, seed=seed)
    table[: int(share * 40_000)] = 0.0
    target[: int(share * 20_000)] = 0.0
    parts = parts_of(table, target, seed=seed, most=10_000)
    for part, expected in zip(parts, (share, share / 2), strict=True):
        assert part.first.shape[0] == 10_000
        found = (part.table == 0).all(axis=1).mean()
        # of 10,000 rows a mass of less than 5 % is not told from chance, and may be left out
        error = 5 * math.sqrt(expected / 10_000) if expected > 0.1 else expected
        assert abs(found - expected) <= error


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rows_of_columns_with_long_tails_are_drawn_as_others_are(seed):
    # beside the largest values many rows are the same to nine digits, and have one key
    table, target = (np.exp(5 * part) for part in normals(40_000, 40_000, seed=seed))
    parts = parts_of(table, target, seed=seed, most=10_000)
    for part, whole in zip(parts, (table, target), strict=True):
        below = (part.table < np.quantile(whole, [0.1, 0.5, 0.9], axis=0)[:, None]).mean(axis=1)
        np.testing.assert_allclose(below, [[0.1] * 2, [0.5] * 2, [0.9] * 2], atol=4 * 0.005)


def test_no_more_rows_are_drawn_than_are_wanted_however_often_they_are_there():
    rows = from_array(np.ones((5_000, 1)), 100)
    encoder = encoder_of(rows, from_array(np.arange(4.0)))
    key_of = _ContentKeys(encoder, RowKeys(encoder.low, encoder.high, 0))
    drawn = rows.sum(partial(_draw, key_of, 1.1, 250))
    assert (len(drawn.table), len(drawn.keys), drawn.count) == (250, 250, 5_000)
    assert drawn.distinct.size == 1


@given(size=st.integers(30, 3_100))
@settings(max_examples=10)
def test_what_is_drawn_does_not_depend_on_blocks(size):
    expected = parts_of(X, X_TARGET, most=MOST)
    found = parts_of(from_array(X, size), from_array(X_TARGET, size // 2 + 1), most=MOST)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.table, other.table)
        np.testing.assert_array_equal(one.first_keys, other.first_keys)


# --- sums of columns, in exact arithmetic


def exact_sums(column):
    """Return mean, and sum of squared deviations, of the values that are there."""
    known = [Fraction(float(value)) for value in column if not np.isnan(value)]
    mean = sum(known, Fraction(0)) / max(len(known), 1)
    return len(known), mean, sum(((value - mean) ** 2 for value in known), Fraction(0))


def assert_exact(sums, table):
    n = len(table)
    assert sums.n == n
    eps = Fraction(1, 2**52)
    for j, column in enumerate(table.T):
        known, mean, square = exact_sums(column)
        assert sums.known[j] == known
        if not known:
            assert np.isnan([sums.low[j], sums.high[j]]).all()
            continue
        assert sums.low[j] == np.nanmin(column)
        assert sums.high[j] == np.nanmax(column)
        unit = Fraction(2) ** int(sums.exponent[j])
        largest = Fraction(float(np.nanmax(np.abs(column))))
        width = Fraction(float(sums.high[j])) - Fraction(float(sums.low[j]))
        assert abs(Fraction(float(sums.mean[j])) * unit - mean) <= 4 * n * eps * largest
        # a mean is known to the last digit of the largest value, and no deviation better
        bound = 8 * n * eps * (square + n * largest * (width + eps * largest))
        assert abs(Fraction(float(sums.square[j])) * unit**2 - square) <= bound


MAGNITUDES = st.sampled_from([0.0, 1e-320, 1e-300, 1e-150, 1e-3, 1.0, 7e5, 1e150, 1e300, -1e300])
VALUES = st.builds(lambda size, part: size * part, MAGNITUDES, st.floats(0.5, 1.5)) | st.just(
    math.nan
)


@given(
    column=st.lists(VALUES, min_size=1, max_size=25),
    cuts=st.lists(st.integers(0, 25), max_size=4),
    order=st.randoms(use_true_random=False),
)
def test_sums_of_columns_are_exact_in_any_order_of_any_blocks(column, cuts, order):
    table = np.array(column)[:, None]
    ends = [0, *sorted(min(cut, len(table)) for cut in cuts), len(table)]
    parts = [column_sums(table[a:b]) for a, b in pairwise(ends)]
    order.shuffle(parts)
    assert_exact(reduce(lambda one, other: one + other, parts), table)


HARD = np.column_stack(
    [
        np.linspace(-1e300, 1e300, 12),
        np.linspace(1e-300, 2e-300, 12),
        np.full(12, 0.1),
        [0.0] * 6 + [1e-300, 3e-300] * 3,
        [np.nan] * 6 + [1e-200, 3e-200] * 3,
        1e8 + np.arange(12.0),
        np.full(12, np.nan),
        [np.nan, 1.0] * 6,
    ]
)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 12])
def test_sums_of_hard_columns_are_exact_in_blocks_of_any_size(size):
    rows = from_array(HARD, size)
    assert_exact(rows.sum(lambda block: column_sums(block.table)), HARD)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6])
def test_columns_of_any_size_are_standardised_alike_in_all_blocks(size):
    whole = TableEncoder().fit_rows(from_array(HARD), from_array(HARD[::-1]))
    parts = TableEncoder().fit_rows(from_array(HARD, size), from_array(HARD[::-1], size))
    expected = whole.numbers(HARD)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(parts.numbers(HARD), expected, rtol=1e-7, atol=1e-12)


@given(size=st.integers(1, 400), step=st.integers(1, 90))
@settings(max_examples=20)
def test_the_rows_that_quartiles_are_guessed_from_do_not_depend_on_blocks(size, step):
    encoder = TableEncoder().fit_rows(from_array(X), from_array(X_TARGET))
    few = from_array(X[:350], size).sum(partial(_summary, encoder, step)).few
    np.testing.assert_array_equal(np.concatenate(few), X[:350:step])


def test_levels_are_counted_over_blocks():
    frame = pd.DataFrame({"x": np.where(np.arange(50) % 3 == 0, "p", "q"), "y": np.arange(50.0)})
    sums = from_array(frame, 7).sum(lambda block: Counter(block.table["x"]))
    assert sums == Counter(frame["x"])
    rows = from_array(frame, 7), from_array(frame, 11)
    encoder = TableEncoder().fit_rows(*rows)
    np.testing.assert_array_equal(encoder.levels[0], ["p", "q"])


# --- the equations of least squares, by hand


def by_hand(part, centres, bandwidth):
    """Return kernels of all rows of a sample at the centres, and the fold key of each row."""
    whole = part.sum(Stacked.of)
    distances = cdist(whole.numbers, centres, "sqeuclidean")
    return np.exp(-distances / (2 * bandwidth**2)), whole.keys, distances


SAMPLES = {
    "complete": {"most": 10_000},
    "by content": {"most": MOST},
    "the first of all": {"most": 10_000, "head": 1_000},
    "the first by content": {"most": MOST, "head": 1_000},
    "fewer than centres": {"most": 10_000, "head": 150},
}


@pytest.mark.parametrize("relative", [0.0, 0.3])
@pytest.mark.parametrize("kind", SAMPLES)
def test_sums_of_folds_are_those_of_explicit_kernels(kind, relative):
    options = dict(SAMPLES[kind])
    head = options.pop("head", None)
    parts = parts_of(from_array(X, 400), from_array(X_TARGET, 333), **options)
    # so many that the rows of the centres lie in several folds of the first rows
    centres, places = distinct_rows(parts[1].first, 250)
    if head is not None:
        parts = tuple(part.head(head) for part in parts)
    source, target = parts
    n_folds, bandwidths = 5, np.array([1.5, 0.6])
    found = FoldSums(centres, n_folds, relative, places).equations(source, target, bandwidths)
    for equations, bandwidth in zip(found, bandwidths, strict=True):
        kernel, keys, _ = by_hand(source, centres, bandwidth)
        kernel_target, keys_target, distances = by_hand(target, centres, bandwidth)
        G = [kernel_target[np.floor(keys_target * n_folds) == fold] for fold in range(n_folds)]
        # where a centre meets its own row there is the mean over the other rows instead of 1
        own = np.zeros_like(kernel_target, dtype=bool)
        rows, columns = np.nonzero(distances < 1e-20)
        own[rows, columns] = True
        assert (own.sum(axis=0) == (places < len(target.first))).all()
        others = np.where(own, 0.0, kernel_target).sum(axis=0) / (target.n - 1)
        replaced = np.where(own, others, kernel_target)
        for fold in range(n_folds):
            here = kernel[np.floor(keys * n_folds) == fold]
            there = replaced[np.floor(keys_target * n_folds) == fold]
            np.testing.assert_allclose(equations.H[fold], here.T @ here, rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(equations.h[fold], there.sum(axis=0), rtol=1e-9)
            assert (equations.sizes[0][fold], equations.sizes[1][fold]) == (len(here), len(there))
            if relative:
                expected = G[fold].T @ G[fold]
                np.testing.assert_allclose(equations.G[fold], expected, rtol=1e-10, atol=1e-10)


def scores_by_hand(source, target, centres, places, bandwidth, ridges, n_folds):
    """Return the held-out score of each ridge, and the equations of all rows."""
    kernel, keys, _ = by_hand(source, centres, bandwidth)
    other, keys_target, distances = by_hand(target, centres, bandwidth)
    own = distances < 1e-20
    other = np.where(own, np.where(own, 0.0, other).sum(axis=0) / (target.n - 1), other)
    scores = np.zeros((n_folds, len(ridges)))
    for fold in range(n_folds):
        at, at_target = (np.floor(part * n_folds) == fold for part in (keys, keys_target))
        H, h = _mean_of_products(kernel[~at]), other[~at_target].mean(axis=0)
        H_out, h_out = _mean_of_products(kernel[at]), other[at_target].mean(axis=0)
        for k, ridge in enumerate(ridges):
            theta = np.linalg.solve(H + ridge * np.eye(len(h)), h)
            scores[fold, k] = theta @ H_out @ theta / 2 - h_out @ theta
    return scores.mean(axis=0), _mean_of_products(kernel), other.mean(axis=0)


def _mean_of_products(kernel):
    return kernel.T @ kernel / len(kernel)


def test_the_choice_by_few_rows_and_the_fit_to_all_are_those_by_hand():
    ridges, bandwidths = np.array([0.003, 0.03, 0.3]), np.array([1.2, 0.6, 0.3])
    ratio = FewInMemory(n_centres=90, bandwidths=bandwidths, ridges=ridges, choice_rows=1_000)
    fitted = fit_ratio(from_array(X, 500), from_array(X_TARGET, 501), ratio)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    source, target = parts_of(X, X_TARGET, seed=seed, most=MOST)
    centres, places = distinct_rows(target.first, 90)
    few = source.head(1_000), target.head(1_000)
    expected = [scores_by_hand(*few, centres, places, each, ridges, 5)[0] for each in bandwidths]
    np.testing.assert_allclose(fitted.scores_, expected, rtol=1e-9)
    best = int(np.argmin(np.min(expected, axis=1)))
    assert fitted.bandwidth_ == bandwidths[best]
    scores, H, h = scores_by_hand(source, target, centres, places, bandwidths[best], ridges, 5)
    assert fitted.ridge_ == ridges[np.argmin(scores)]
    theta = np.linalg.solve(H + fitted.ridge_ * np.eye(len(h)), h)
    kernel = by_hand(source, centres, fitted.bandwidth_)[0]
    values = np.maximum(kernel @ theta, 1e-3)
    np.testing.assert_allclose(fitted.coef_, theta / max(values.mean(), 1), rtol=1e-7)


# --- the truth


@pytest.mark.parametrize("variant", ["plain", "few by content", "all by content"])
def test_the_ratio_of_two_normals_is_found_in_blocks(variant):
    table, target = normals(3_000, 3_000, d=1, seed=5, shift=0.5)
    truth = norm(0.5, 0.9).pdf(table[:, 0]) / norm.pdf(table[:, 0])

    def error(ratio):
        found = np.exp(ratio.score_samples(table))
        return np.mean((found / found.mean() - truth / truth.mean()) ** 2)

    in_memory = error(fit_ratio(table, target, ULSIF(n_centres=20)))
    assert in_memory < 0.02
    blocks = fit_ratio(from_array(table, 200), from_array(target, 300), VARIANTS[variant])
    # other folds and centres of the same rows: another error of the same size
    assert error(blocks) < (in_memory * (1 + 1e-6) if variant == "plain" else 2 * in_memory + 0.005)


# --- ratios that learn from rows in memory


def few_of(ratio, most=700):
    """Return a ratio that takes no more than so many rows into memory."""
    kind = type(ratio)
    few = type(f"Few{kind.__name__}", (kind,), {"_most_rows": most})
    few.__init__ = kind.__init__
    return few(**ratio.get_params(deep=False))


FOREST = RandomForestClassifier(10, min_samples_leaf=20, random_state=0)
IN_MEMORY = [
    KLIEP(n_centres=10),
    KMM(),
    NearestNeighbourRatio(),
    ClassifierRatio(FOREST),
    AutoRatio([("linear", ClassifierRatio()), ("least squares", ULSIF(n_centres=10))], cv=3),
]


@pytest.mark.parametrize("ratio", IN_MEMORY, ids=lambda ratio: type(ratio).__name__)
def test_small_samples_in_blocks_give_the_fit_in_memory(ratio):
    table, target = X[:900], X_TARGET[:800]
    expected = fit_ratio(table, target, ratio)
    found = fit_ratio(from_array(table, 111), from_array(target, 222), ratio)
    # the same rows in another order: sums and trees differ in the last digits
    scores = expected.score_samples(X)
    np.testing.assert_allclose(found.score_samples(from_array(X, 500)), scores, atol=1e-6)
    assert found.log_prior_odds_ == pytest.approx(math.log(800 / 900))


@pytest.mark.parametrize("ratio", IN_MEMORY, ids=lambda ratio: type(ratio).__name__)
def test_of_large_samples_some_rows_are_fitted_and_all_are_scored(ratio, tmp_path):
    few = few_of(ratio)
    source, target = from_array(X, 640), from_array(X_TARGET, 300)
    fitted = fit_ratio(source, target, few)
    scores = fitted.score_samples(source)
    assert scores.shape == (N,)
    np.testing.assert_allclose(scores, fitted.score_samples(X), rtol=1e-12, atol=1e-12)
    # what is fitted are the rows drawn by their keys: 700 of each, whatever the blocks
    again = fit_ratio(files(X, tmp_path / "x"), files(X_TARGET, tmp_path / "t"), few)
    np.testing.assert_allclose(again.score_samples(source), scores, rtol=1e-9, atol=1e-9)
    assert fitted.log_prior_odds_ == pytest.approx(math.log(N_TARGET / N))
    # and the ratio is one: more where the target is
    truth = norm(0.4, 0.9).logpdf(X).sum(axis=1) - norm.logpdf(X).sum(axis=1)
    assert np.corrcoef(scores, truth)[0, 1] > 0.6


class Noted(LogisticRegression):
    """A classifier that writes down how many rows it was given."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        Noted.seen.append(X.shape)
        return super().fit(X, y, sample_weight)


def test_a_classifier_of_the_users_sees_the_rows_drawn_and_no_others():
    Noted.seen.clear()
    fit_ratio(from_array(X, 640), from_array(X_TARGET), few_of(ClassifierRatio(Noted(), cv=2)))
    assert Noted.seen == [(700, 2), (700, 2)]  # halves of 700 rows of each sample


def test_automatic_ratios_say_how_many_rows_they_were_fitted_to():
    fitted = fit_ratio(from_array(X, 640), from_array(X_TARGET), few_of(IN_MEMORY[-1]))
    np.testing.assert_array_equal(fitted.n_rows_, [700, 700])


# --- names


@pytest.fixture
def named(tmp_path):
    """Write the samples, the target with its columns in another order; return a reader."""
    frames = {
        "x": pd.DataFrame(X, columns=NAMES),
        "t": pd.DataFrame(X_TARGET, columns=NAMES)[NAMES[::-1]],
        "other": pd.DataFrame(X_TARGET, columns=["a", "z"]),
        "more": pd.DataFrame(X_TARGET, columns=NAMES).assign(z=1.0),
    }
    for name, frame in frames.items():
        frame.to_parquet(tmp_path / f"{name}.parquet")
    return lambda name: from_parquet(tmp_path / f"{name}.parquet", size=700)


def test_columns_of_the_target_are_matched_by_name(named, in_memory):
    ratio = fit_ratio(named("x"), named("t"), VARIANTS["plain"])
    assert_alike(ratio, in_memory["plain"])
    assert list(ratio.feature_names_in_) == NAMES
    # and so are those of rows to be scored
    weights = np.exp(in_memory["plain"].score_samples(X_TARGET))
    np.testing.assert_allclose(np.exp(ratio.score_samples(named("t"))), weights, atol=CLOSE)
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame(X_TARGET, columns=NAMES)[NAMES[::-1]], npartitions=3)
    again = fit_ratio(dd.from_pandas(pd.DataFrame(X, columns=NAMES), npartitions=3), frame, ratio)
    assert_alike(again, in_memory["plain"])


def test_other_names_are_refused(named):
    ratio = ULSIF(n_centres=5)
    with pytest.raises(ValueError, match=r"missing \['b'\], unexpected \['z'\].*same features"):
        fit_ratio(named("x"), named("other"), ratio)
    with pytest.raises(ValueError, match=r"other columns than X: unexpected \['z'\]"):
        fit_ratio(named("x"), named("more"), ratio)
    fitted = fit_ratio(named("x"), named("t"), ratio)
    with pytest.raises(ValueError, match=r"Got columns \['b'\] that are not there"):
        fitted.score_samples(named("other"))


def test_other_numbers_of_columns_are_refused():
    with pytest.raises(ValueError, match="Got X with 2 columns and X_target with 1"):
        fit_ratio(from_array(X), from_array(X_TARGET[:, :1]), ULSIF())
    fitted = fit_ratio(from_array(X), from_array(X_TARGET), ULSIF(n_centres=5))
    with pytest.raises(ValueError, match="X has 1 features, but ULSIF is expecting 2"):
        fitted.score_samples(from_array(X[:, :1]))


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda X, columns: pl.DataFrame(X, columns)])
def test_a_data_frame_in_memory_goes_with_files_of_numbers(named, frame, in_memory):
    target = frame(X_TARGET, NAMES) if frame is not pd.DataFrame else frame(X_TARGET, columns=NAMES)
    table = frame(X, NAMES) if frame is not pd.DataFrame else frame(X, columns=NAMES)
    assert_alike(fit_ratio(named("x"), target, VARIANTS["plain"]), in_memory["plain"])
    assert_alike(fit_ratio(table, named("t"), VARIANTS["plain"]), in_memory["plain"])


def test_missing_numbers_of_a_data_frame_go_with_files(tmp_path):
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.array([1, None, 3] * (N // 3), dtype="Int64")})
    frame.to_parquet(tmp_path / "x.parquet")
    files = from_parquet(tmp_path / "x.parquet", size=700)
    target = frame[::2].assign(a=frame["a"][::2] + 1)
    ratio = ULSIF(n_centres=10)
    assert_alike(fit_ratio(files, target, ratio), fit_ratio(frame, target, ratio))


def test_text_beside_numbers_is_refused(named):
    text = pd.DataFrame(X_TARGET, columns=NAMES).assign(b="x")
    with pytest.raises(TypeError, match="Pass both as data frames, or both as arrays"):
        fit_ratio(named("x"), text, ULSIF())


def test_a_sample_of_fewer_than_two_rows_is_refused():
    for n in (0, 1):
        with pytest.raises(ValueError, match=f"Got X_target with {n} sample"):
            fit_ratio(from_array(X), from_array(X_TARGET[:n]), ULSIF())


def test_pipelines_are_refused_with_the_remedy():
    pipe = make_pipeline(StandardScaler(), ULSIF(n_centres=10))
    with pytest.raises(TypeError, match="Got rows in blocks for a Pipeline") as caught:
        fit_ratio(from_array(X), from_array(X_TARGET), pipe)
    assert "pass a ratio of weighbridge.ratios alone" in str(caught.value)
    assert "X.vector(ratio.score_samples)" in str(caught.value)
    # the remedy works
    rows, target = from_array(X, 700), from_array(X_TARGET, 700)
    fitted = fit_ratio(rows.first(500), target.first(500), clone(pipe))
    assert rows.vector(fitted.score_samples).shape == (N,)


def test_threads_leave_the_filters_of_warnings_alone(named):
    ratio = fit_ratio(named("x"), named("t"), ULSIF(n_centres=5))
    rows = from_array(X, 20)
    before = list(warnings.filters)
    with threadpool_limits(4, user_api="blas"):
        for _ in range(5):  # none warns of columns without names, which are errors here
            ratio.score_samples(rows)
    assert list(warnings.filters) == before
