"""A cluster of dask gives the numbers of one process, also when a worker dies in the middle.

All tests that need a cluster are here and share it, so that a run of the tests starts one.
"""

import os
import time

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from weighbridge import ImportanceWeighted, ImportanceWeightedCV, fit_ratio
from weighbridge.blocks import from_array, from_dask
from weighbridge.datasets import make_gaussian_shift
from weighbridge.exceptions import BlockError
from weighbridge.ratios import ULSIF, ClassifierRatio, GaussianRatio, KnownRatio
from weighbridge.search import BayesianSearch
from weighbridge.weighting import RIWERM

distributed = pytest.importorskip("distributed")
dask_cluster = pytest.importorskip("dask_cluster")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

CLOSE = 1e-10
N, N_TARGET, CHUNK = 4_000, 3_000, 400
X = np.random.default_rng(0).normal(size=(N, 2))
X_TARGET = np.random.default_rng(1).normal(0.4, 0.9, (N_TARGET, 2))
NAMES = ["a", "b"]

VARIANTS = {
    "plain": ULSIF(n_centres=20),
    "relative": ULSIF(0.3, n_centres=20, iterations=2, cv=3),
}


def few_in_memory():
    """Return a ratio whose samples do not fit; a local class goes to workers by value."""

    class FewInMemory(ULSIF):
        _most_rows = 1_200

    return FewInMemory(n_centres=20, choice_rows=1_000)


@pytest.fixture(scope="module")
def cluster():
    with dask_cluster.small_cluster() as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=30)  # one may just have died
        yield client


def frame(table, npartitions=7):
    return dd.from_pandas(pd.DataFrame(table, columns=NAMES), npartitions=npartitions)


def unknown(table):
    return frame(table).to_dask_array()


def array(table):
    return da.from_array(table, chunks=(CHUNK, 1))


def persisted(table):
    return array(table).persist()


def assert_alike(ratio, expected):
    assert (ratio.bandwidth_, ratio.ridge_) == (
        pytest.approx(expected.bandwidth_, rel=CLOSE),
        expected.ridge_,
    )
    np.testing.assert_allclose(ratio.scores_, expected.scores_, rtol=CLOSE)
    scale = np.abs(expected.coef_).max()
    np.testing.assert_allclose(ratio.coef_, expected.coef_, rtol=0, atol=CLOSE * scale)


@pytest.mark.parametrize(
    ("source", "variant"),
    [
        (array, "plain"),
        (persisted, "by content"),
        (frame, "relative"),
        pytest.param(array, "relative", marks=pytest.mark.more),
        pytest.param(unknown, "plain", marks=pytest.mark.more),
        pytest.param(frame, "by content", marks=pytest.mark.more),
    ],
)
def test_a_fit_on_a_cluster_is_that_of_one_process(source, variant, client):
    ratio = few_in_memory() if variant == "by content" else VARIANTS[variant]
    expected = fit_ratio(X, X_TARGET, ratio)
    rows, target = source(X), source(X_TARGET)
    found = fit_ratio(rows, target, ratio)
    assert_alike(found, expected)
    scores = found.score_samples(rows)
    assert isinstance(scores, da.Array)  # computed by the workers, later
    weights = np.exp(expected.score_samples(X))
    np.testing.assert_allclose(np.exp(scores.compute()), weights, atol=CLOSE)


@pytest.mark.more
@pytest.mark.parametrize("ratio", [GaussianRatio(), ClassifierRatio()])
def test_other_ratios_learn_on_a_cluster_too(ratio, client):
    expected = fit_ratio(from_array(X), from_array(X_TARGET), ratio).score_samples(X)
    found = fit_ratio(array(X), array(X_TARGET), ratio).score_samples(array(X))
    np.testing.assert_allclose(np.exp(found.compute()), np.exp(expected), rtol=1e-8)


@pytest.mark.more
def test_blocks_are_worked_on_by_the_workers(client):
    here = os.getpid()
    found = set(from_dask(array(X)).map(lambda block: os.getpid()))
    assert here not in found
    assert found <= set(client.run(os.getpid).values())
    assert from_dask(array(X)).sum(lambda block: block.table.sum(axis=0)) == pytest.approx(
        X.sum(axis=0), rel=1e-12
    )


def test_what_lies_beside_comes_along_to_the_workers(client):
    vector = np.arange(N, dtype=float)
    rows, expected = from_dask(array(X)), X.T @ vector
    for beside in (vector, da.from_array(vector, chunks=333), frame(vector[:, None] * [1, 2])["a"]):
        found = rows.sum(lambda block: block.table.T @ block.beside[0], beside)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_an_error_of_a_worker_names_block_and_rows_here(client):
    table = X.copy()
    table[7 * CHUNK + 5, 1] = np.inf
    ratio = ULSIF(n_centres=5)
    before = dict(vars(ratio))
    match = r"^In block 7 \(rows 2,800 to 3,199\): Got infinity in column '1'; replace it"
    with pytest.raises(BlockError, match=match):
        ratio._fit_blocks(from_dask(array(table)), from_dask(array(X_TARGET)))
    assert vars(ratio) == before


def log_ratio(X):
    return 0.7 * (np.asarray(X)[:, 0] - 5)


def labelled(n=2_000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)) * 3.0 ** np.arange(4) + 5
    return X, X @ np.arange(1, 5) + 0.3 * (X[:, 0] - 5) ** 2 + rng.normal(size=n)


@pytest.mark.more
def test_workers_do_the_sums_of_a_linear_model(client):
    X, y = labelled()
    rows = da.from_array(X, chunks=(500, 4))
    pipe = make_pipeline(StandardScaler(), Ridge())
    model = ImportanceWeightedCV(pipe, KnownRatio(log_ratio), random_state=0)
    ours, here = clone(model).fit(rows, y), clone(model).fit(from_array(X), y)
    np.testing.assert_allclose(ours.search_result_.values, here.search_result_.values, rtol=1e-10)
    np.testing.assert_allclose(ours.predict(rows).compute(), here.predict(X), rtol=1e-6)


@pytest.mark.filterwarnings("ignore")  # of lightgbm and distributed, on their own account
def test_an_estimator_of_dask_gets_dask_weights(client):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = labelled()
    rows, labels = da.from_array(X, chunks=(500, 4)), da.from_array(y, chunks=500)
    options = {"n_estimators": 5, "num_leaves": 4, "verbose": -1, "deterministic": True}
    inner = lightgbm.DaskLGBMRegressor(**options, client=client)
    known = KnownRatio(log_ratio)
    model = ImportanceWeighted(inner, known, weighting=RIWERM(0.5)).fit(rows, labels)
    theirs = ImportanceWeighted(
        lightgbm.LGBMRegressor(**options), known, weighting=RIWERM(0.5)
    ).fit(X, y)
    np.testing.assert_allclose(model.weights_, theirs.weights_, rtol=1e-12)
    np.testing.assert_allclose(model.predict(rows).compute(), theirs.predict(X), rtol=1e-6)


def searched(data):
    model = ImportanceWeightedCV(
        RandomForestRegressor(n_estimators=10),
        GaussianRatio(),
        search=BayesianSearch(25, tol=0),
        random_state=0,
        verbose=0,
    )
    return model.fit(data.X, data.y, X_target=data.X_target)


@pytest.mark.more
def test_a_search_over_joblibs_backend_is_that_of_one_process_bit_for_bit(client):
    data = make_gaussian_shift(200, 200, n_features=3, random_state=0)
    here = searched(data)
    with joblib.parallel_config("dask", n_jobs=-1):
        there = searched(data)
    assert len(here.search_result_.evaluations) == 25
    for one, other in zip(
        here.search_result_.evaluations, there.search_result_.evaluations, strict=True
    ):
        assert one.point == other.point
        np.testing.assert_array_equal(one.losses, other.losses)
        np.testing.assert_array_equal(one.predictions, other.predictions)
    assert here.best_weighting_.get_params() == there.best_weighting_.get_params()
    assert here.reason_ == there.reason_
    shares = [[share for _, share in model.mixture_] for model in (here, there)]
    assert shares[0] == shares[1]
    np.testing.assert_array_equal(here.weights_, there.weights_)
    np.testing.assert_array_equal(here.predict(data.X_target), there.predict(data.X_target))


needs_sigkill = pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL elsewhere")


class Killer(dask_cluster.Killer):
    """Kills a worker at work once a number of blocks have been read."""

    def __init__(self, cluster, folder, after):
        super().__init__(cluster)
        self._folder, self._after = folder, after
        self.read_before = None

    def run(self):
        while not self._over.wait(0.002):
            read = len(os.listdir(self._folder))
            if read >= self._after:
                self.read_before = read
                return super().run()
        return None

    @property
    def pid(self):
        return self._pids[self.killed]


def slow(table, folder):
    """Return an array of dask whose blocks take a while, and leave a file when they are read."""

    def read(block):
        time.sleep(0.01)
        with open(os.path.join(folder, f"{time.monotonic_ns()}-{os.getpid()}"), "w"):
            return block

    # told what comes out, dask does not try it here
    return da.from_array(table, chunks=(CHUNK, 2)).map_blocks(read, meta=np.empty((0, 0)))


# blocks of both samples: ten and eight
PER_PASS = N // CHUNK + -(-N_TARGET // CHUNK)


@needs_sigkill
@pytest.mark.more
@pytest.mark.parametrize("after", [1, PER_PASS + 5])
def test_a_worker_that_dies_in_the_middle_of_a_fit_changes_no_number(
    after, cluster, client, tmp_path
):
    ratio = few_in_memory()
    expected = fit_ratio(X, X_TARGET, ratio)
    rows, target = (from_dask(slow(table, str(tmp_path))) for table in (X, X_TARGET))
    with Killer(cluster, tmp_path, after) as killer:
        found = ratio._fit_blocks(rows, target)
        read = len(os.listdir(tmp_path))
    # it died, in the middle: blocks had been read before, and more were read after it
    assert killer.killed is not None
    assert after <= killer.read_before < read
    client.wait_for_workers(2, timeout=30)
    assert killer.pid not in client.run(os.getpid).values()
    with pytest.raises(ProcessLookupError):
        os.kill(killer.pid, 0)
    assert_alike(found, expected)


@needs_sigkill
@pytest.mark.more
def test_a_worker_that_dies_takes_no_rows_with_it(cluster, client, tmp_path):
    # half of the rows were kept by the worker that dies; they are made again
    expected = fit_ratio(X, X_TARGET, VARIANTS["plain"])
    rows, target = (slow(table, str(tmp_path)).persist() for table in (X, X_TARGET))
    distributed.wait([rows, target])
    kept = len(os.listdir(tmp_path))
    assert kept == PER_PASS
    with Killer(cluster, tmp_path, kept) as killer:
        found = fit_ratio(rows, target, VARIANTS["plain"])
    assert killer.killed is not None
    assert len(os.listdir(tmp_path)) > kept
    client.wait_for_workers(2, timeout=30)
    assert killer.pid not in client.run(os.getpid).values()
    assert_alike(found, expected)


@needs_sigkill
def test_scores_outlive_a_worker(cluster, client, tmp_path):
    ratio = fit_ratio(X, X_TARGET, VARIANTS["plain"])
    scores = ratio.score_samples(slow(X, str(tmp_path)))
    with Killer(cluster, tmp_path, len(os.listdir(tmp_path)) + 2) as killer:
        found = scores.compute()
    assert killer.killed is not None
    np.testing.assert_allclose(np.exp(found), np.exp(ratio.score_samples(X)), atol=CLOSE)
