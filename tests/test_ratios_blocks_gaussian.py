"""The ratio of two normal distributions on rows in blocks."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn.covariance import LedoitWolf, ledoit_wolf_shrinkage

from weighbridge import fit_ratio
from weighbridge.blocks import from_array, from_parquet
from weighbridge.exceptions import BlockError
from weighbridge.ratios import GaussianRatio

SHARED = pytest.mark.parametrize("shared", [False, True])


class FewInMemory(GaussianRatio):
    """The ratio with so few rows in memory that small samples do not fit."""

    _most_rows = 100


def two_samples(n_source=500, n_target=400, d=4, seed=0):
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(d, d)) / np.sqrt(d)
    return rng.normal(size=(n_source, d)) @ mix, rng.normal(size=(n_target, d)) @ mix * 0.9 + 0.1


def in_memory(shared, d=4):
    return fit_ratio(*two_samples(d=d), GaussianRatio(shared=shared))


@SHARED
@given(size=st.integers(1, 600), size_target=st.integers(1, 600))
@settings(max_examples=20)
def test_blocks_of_any_size_give_what_the_table_in_memory_gives(shared, size, size_target):
    X, X_target = two_samples()
    rows, rows_target = from_array(X, size=size), from_array(X_target, size=size_target)
    ratio = fit_ratio(rows, rows_target, FewInMemory(shared=shared))
    expected = in_memory(shared)
    np.testing.assert_allclose(ratio.shrinkage_, expected.shrinkage_, rtol=1e-10)
    np.testing.assert_allclose(ratio.score_samples(rows), expected.score_samples(X), atol=1e-11)


@SHARED
@pytest.mark.parametrize("door", ["memmap", "parquet", "dask array", "dask frame"])
def test_every_source_of_rows_gives_the_same(door, shared, tmp_path):
    tables = two_samples()
    rows = [as_source(door, table, tmp_path / str(k)) for k, table in enumerate(tables)]
    ratio = fit_ratio(*rows, FewInMemory(shared=shared))
    found = ratio.score_samples(rows[0])
    assert isinstance(found, np.ndarray) != ("dask" in door)  # computed later
    expected = in_memory(shared).score_samples(tables[0])
    np.testing.assert_allclose(np.asarray(found), expected, atol=1e-11)


def as_source(door, table, path):
    if door == "memmap":
        np.save(f"{path}.npy", table)
        return from_array(np.load(f"{path}.npy", mmap_mode="r"), size=70)
    if door == "dask array":
        return pytest.importorskip("dask.array").from_array(table, chunks=(90, 2))
    frame = pd.DataFrame(table, columns=list("abcd"))
    if door == "dask frame":
        return pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=4)
    frame.to_parquet(f"{path}.parquet", row_group_size=120)
    return from_parquet(f"{path}.parquet", size=50)


def with_gaps_and_levels(n, shift, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50 + 5 * shift, 10, n),
            "height": rng.normal(size=n),
            "town": pd.Categorical(
                rng.choice(["a", "b", "c"], n, p=[0.5 - shift / 5, 0.3, 0.2 + shift / 5])
            ),
        }
    )
    frame.loc[rng.random(n) < 0.1 + shift / 10, "height"] = np.nan
    return frame


def test_gaps_and_categories_come_in_blocks_too(tmp_path):
    tables = [with_gaps_and_levels(500, 0, 1), with_gaps_and_levels(400, 1, 2)]
    expected = fit_ratio(*tables, GaussianRatio()).score_samples(tables[0])
    dd = pytest.importorskip("dask.dataframe")
    sources = [[dd.from_pandas(table, npartitions=3) for table in tables]]
    for k, table in enumerate(tables):
        table.to_parquet(tmp_path / f"{k}.parquet")
    sources.append([from_parquet(tmp_path / f"{k}.parquet", size=37) for k in (0, 1)])
    for rows in sources:
        ratio = fit_ratio(*rows, FewInMemory())
        np.testing.assert_allclose(np.asarray(ratio.score_samples(rows[0])), expected, atol=1e-11)
        # rows in memory are scored by the same ratio
        np.testing.assert_allclose(ratio.score_samples(tables[0]), expected, atol=1e-11)


@pytest.mark.filterwarnings("ignore::weighbridge.exceptions.WeightWarning")
@SHARED
@pytest.mark.parametrize(
    ("n_source", "n_target", "d"), [(200, 150, 1), (200, 150, 4), (50, 30, 60), (30, 40, 200)]
)
def test_shrinkage_is_that_of_ledoit_and_wolf(n_source, n_target, d, shared):
    tables = two_samples(n_source, n_target, d)
    ratio = fit_ratio(
        *(from_array(table, size=17) for table in tables), GaussianRatio(shared=shared)
    )
    rows = [ratio.encoder_.numbers(table) for table in tables]
    centred = [part - part.mean(axis=0) for part in rows]
    if shared:
        # rows of the two samples count alike
        n = n_source + n_target
        both = [part * np.sqrt(n / (2 * len(part))) for part in centred]
        centred = [np.concatenate(both)] * 2
    expected = [ledoit_wolf_shrinkage(part, assume_centered=True) for part in centred]
    np.testing.assert_allclose(ratio.shrinkage_, expected, rtol=1e-12, atol=1e-15)


def test_log_ratio_is_that_of_two_shrunk_normal_densities():
    X, X_target = two_samples()
    ratio = fit_ratio(from_array(X, size=60), from_array(X_target, size=60), FewInMemory())
    rows = [ratio.encoder_.numbers(part) for part in (X, X_target)]
    fitted = [LedoitWolf().fit(part) for part in rows]
    source, target = (
        multivariate_normal(one.location_, one.covariance_).logpdf(rows[0]) for one in fitted
    )
    np.testing.assert_allclose(ratio.score_samples(X), target - source, rtol=1e-10, atol=1e-10)


@pytest.mark.filterwarnings("ignore::weighbridge.exceptions.WeightWarning")
@SHARED
def test_more_columns_than_rows_come_in_blocks_too(shared):
    X, X_target = two_samples(30, 40, 100)
    expected = fit_ratio(X, X_target, GaussianRatio(shared=shared)).score_samples(X)
    rows = [from_array(part, size=7) for part in (X, X_target)]
    found = fit_ratio(*rows, GaussianRatio(shared=shared)).score_samples(rows[0])
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_more_rows_come_nearer_to_the_true_ratio():
    rng = np.random.default_rng(0)
    d = 8
    X, X_target = rng.normal(size=(120_000, d)), rng.normal(0.2, 0.9, size=(120_000, d))
    new = rng.normal(size=(5000, d))
    truth = (0.5 * new**2 - 0.5 * ((new - 0.2) / 0.9) ** 2 - np.log(0.9)).sum(axis=1)
    rows = [from_array(part) for part in (X, X_target)]
    found = fit_ratio(*rows, GaussianRatio()).score_samples(new)
    error = np.mean((np.exp(found) - np.exp(truth)) ** 2) / np.var(np.exp(truth))
    assert error < 0.01
    assert np.corrcoef(found, truth)[0, 1] > 0.999


def test_a_tensor_is_fetched_block_by_block():
    torch = pytest.importorskip("torch")
    X, X_target = two_samples()
    rows = [from_array(torch.asarray(part), size=70) for part in (X, X_target)]
    found = fit_ratio(*rows, FewInMemory()).score_samples(rows[0])
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, in_memory(False).score_samples(X), atol=1e-11)


def test_a_block_with_infinity_is_named():
    X, X_target = two_samples()
    X[123, 2] = np.inf
    with pytest.raises(BlockError, match=r"block 2.*Got infinity in column '2'"):
        fit_ratio(from_array(X, size=60), from_array(X_target), GaussianRatio())
