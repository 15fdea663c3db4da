"""Data frames of dask on two worker processes. The guide page on large tables trains LightGBM."""

import importlib
import os
import sys

import numpy as np
import pandas as pd
import pytest

from engines import laws
from weighbridge import adapt
from weighbridge.engines import sample, with_column
from weighbridge.exceptions import BlockError

dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(params=["workers", "threads"])
def scheduler(request):
    """Compute on the workers, or on threads of this process."""
    return request.getfixturevalue("client") if request.param == "workers" else None


def as_dask(frame=None):
    return dd.from_pandas(laws.rows() if frame is None else frame, npartitions=4)


def concat(*frames):
    return dd.from_map(lambda frame: frame, frames, meta=laws.rows(1).iloc[:0])


def collect(table):
    assert isinstance(table, dd.DataFrame)
    pd.testing.assert_series_equal(table.dtypes, table.compute().dtypes)
    return table.compute()


def test_sample_is_uniform(client):
    laws.check_sample(as_dask)


def test_with_column_equals_the_function_of_the_frame(scheduler):
    laws.check_new_columns(as_dask, collect)


def test_with_column_is_lazy(client, tmp_path):
    laws.check_lazy(as_dask, tmp_path)


def test_with_column_names_the_partition_that_fails(client):
    laws.check_faults(as_dask, collect, "partition 3")


def test_bad_arguments_are_refused(client):
    laws.check_refusals(as_dask, lambda: as_dask(laws.rows().head(0)))


def test_row_labels_and_names_of_columns_are_kept(client):
    frame = laws.rows().sample(frac=1, random_state=0).rename(columns={"x": 7})
    table = dd.from_pandas(frame, npartitions=2, sort=False)
    pd.testing.assert_index_equal(with_column(table, "new", len_of).compute().index, frame.index)
    assert list(sample(table, 5)) == list(frame)


def len_of(frame):
    return np.full(len(frame), len(frame))


def test_partitions_may_be_empty_or_all_missing(client):
    frame = laws.rows(200)
    empty, missing = frame.head(0), frame.assign(x=np.nan)
    for nothing in (missing, missing.astype({"x": object}).assign(x=None)):
        mixed = concat(frame, frame.assign(x="text"))
        laws.check_partitions(
            lambda table: table.compute(),
            concat(empty, frame, empty),
            concat(frame, nothing),
            mixed,
        )


def test_a_query_that_fails_gives_its_cause(client):
    def no_scale(frame):
        raise ZeroDivisionError("no scale")

    table = as_dask().map_partitions(no_scale, meta=laws.rows(1).iloc[:0])
    with pytest.raises(BlockError, match="could not be sampled: ZeroDivisionError: no scale"):
        sample(table)


def test_a_table_of_other_columns_is_refused_by_adapt(client):
    with pytest.raises(ValueError, match='no column "y"'):
        adapt(as_dask(), as_dask(), label="y")
    with pytest.raises(ValueError, match="z"):
        adapt(as_dask(), as_dask(laws.rows().drop(columns=["x", "z"])), label="kind")


def forget():
    """Make weighbridge unknown to this worker."""
    has_it = [path for path in sys.path if os.path.isdir(os.path.join(path, "weighbridge"))]
    sys.path[:] = [path for path in sys.path if path not in has_it]
    for name in [name for name in sys.modules if name.partition(".")[0] == "weighbridge"]:
        del sys.modules[name]
    importlib.invalidate_caches()


def test_a_worker_without_weighbridge_is_named():
    settings = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        client.run(forget)
        for verb in (sample, lambda table: with_column(table, "new", len)):
            with pytest.raises(BlockError, match=r"tcp://.* has no weighbridge\. Install"):
                verb(as_dask())
