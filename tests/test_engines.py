"""Rows on Spark, Ibis and Ray: the numbers of the fit in memory, or a clear error."""

import os
import signal
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression, Ridge

from weighbridge import ImportanceWeightedCV, fit_ratio
from weighbridge.blocks import from_array, from_ibis, from_ray, from_spark
from weighbridge.diagnostics import balance_table
from weighbridge.exceptions import BlockError
from weighbridge.ratios import ULSIF, ClassifierRatio, GaussianRatio
from weighbridge.weighting import RIWERM

# Spark, Ibis and Ray warn on their own account
pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]

CLOSE = 1e-10
N, N_TARGET = 3_000, 2_500
RNG = np.random.default_rng(0)
X, X_TARGET = RNG.normal(size=(N, 2)), RNG.normal(0.4, 0.9, (N_TARGET, 2))
Y = X @ [1.0, 2.0] + 0.3 * X[:, 0] ** 2 + RNG.normal(size=N)
NAMES = ["a", "b 2"]
FRAME = pd.DataFrame(X, columns=NAMES).assign(y=Y)
TARGET = pd.DataFrame(X_TARGET, columns=NAMES)
RATIOS = [ULSIF(n_centres=20), GaussianRatio(), ClassifierRatio()]


def session(master):
    sql = pytest.importorskip("pyspark.sql")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "3",
        "spark.log.level": "OFF",
    }
    return sql.SparkSession.builder.master(master).config(map=options).getOrCreate()


@pytest.fixture(scope="module")
def spark():
    found = session("local[2]")
    yield found
    found.stop()


def frame_of(spark, table, parts=3):
    """A DataFrame of partitions, an empty one among them."""
    schema = spark.createDataFrame(table[:1]).schema
    # a missing text is None to Spark, and not NaN
    plain = table.astype(object).where(table.notna(), None)
    values = list(map(tuple, plain.to_numpy().tolist()))
    frame = spark.createDataFrame(spark.sparkContext.parallelize(values, parts), schema)
    return frame.filter("a > 1e9").union(frame)


@pytest.fixture(scope="module")
def rows(spark):
    return from_spark(frame_of(spark, FRAME).cache(), NAMES)


@pytest.fixture(scope="module")
def target(spark):
    return from_spark(frame_of(spark, TARGET, 2))


def test_rows_of_spark_are_those_of_the_frame(rows):
    assert rows.shape == (N, 2)
    assert rows.numeric
    np.testing.assert_array_equal(rows.first(1_500), X[:1_500])
    np.testing.assert_array_equal(rows.vector(lambda table: table[:, 0]), X[:, 0])
    np.testing.assert_array_equal(rows.select(["a"]).first(N), X[:, :1])
    np.testing.assert_array_equal(rows.sample(50), from_array(X).sample(50))
    found = rows.sum(lambda block: block.table.T @ block.beside[0], Y)
    np.testing.assert_allclose(found, X.T @ Y, rtol=1e-12)


def test_blocks_are_worked_on_by_the_workers(rows):
    assert os.getpid() not in set(rows.map(lambda block: os.getpid()))


@pytest.mark.parametrize("ratio", RATIOS)
def test_spark_gives_the_fit_in_memory(ratio, rows, target):
    found = fit_ratio(rows, target, ratio).score_samples(rows)
    expected = fit_ratio(from_array(X), from_array(X_TARGET), ratio).score_samples(X)
    np.testing.assert_allclose(np.exp(found), np.exp(expected), atol=CLOSE)


def test_the_ridge_surface_of_spark_is_that_in_memory(rows, target):
    model = ImportanceWeightedCV(Ridge(), ULSIF(n_centres=20), random_state=0)
    labels = from_spark(rows.frame, ["y"])
    found = model.fit(rows, labels, X_target=target).search_result_.values
    predicted = model.predict(rows)
    model.fit(from_array(X), Y, X_target=from_array(X_TARGET))
    np.testing.assert_allclose(found, model.search_result_.values, rtol=CLOSE)
    np.testing.assert_allclose(predicted, model.predict(X), rtol=1e-8)


def test_balance_on_spark_is_that_in_memory(rows, target):
    weights = np.linspace(0, 2, N)
    beside = from_spark(rows.frame.sparkSession.createDataFrame(pd.DataFrame({"w": weights})))
    for vector in (weights, beside):
        found = balance_table(rows, target, vector)
        assert str(found) == str(balance_table(FRAME[NAMES], TARGET, weights))


def test_text_and_gaps_on_spark_give_the_fit_in_memory(spark):
    site = np.where(X[:, 0] > 0, "north", "west").astype(object)
    site[::50] = None
    table = pd.DataFrame({"site": site, "a": X[:, 1]})
    rows = from_spark(frame_of(spark, table))
    assert not rows.numeric
    other = table[:1_000]
    ratio = fit_ratio(rows, from_spark(frame_of(spark, other, 2)), ClassifierRatio())
    expected = fit_ratio(from_array(table), from_array(other), ClassifierRatio())
    np.testing.assert_allclose(ratio.score_samples(rows), expected.score_samples(table), atol=CLOSE)
    weighted = rows.with_weights(ratio).toPandas()["weight"].to_numpy()
    np.testing.assert_allclose(weighted, RIWERM(1).weights(ratio.score_samples(rows)), rtol=1e-8)


def test_a_frame_without_rows_is_one_block(spark):
    for table in (FRAME, FRAME.assign(y="x")):
        rows = from_spark(frame_of(spark, table).filter("a > 1e9"))
        assert rows.shape == (0, 3)
        assert rows.sum(lambda block: block.n_rows) == 0


@pytest.mark.parametrize("weighting", [None, RIWERM(0.8)])
def test_weights_are_a_column_that_estimators_of_spark_take(weighting, rows, target):
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.regression import LinearRegression as SparkRegression

    ratio = fit_ratio(rows, target, ULSIF(n_centres=20))
    weighted = rows.with_weights(ratio, weighting)
    expected = (weighting or RIWERM(1)).weights(ratio.score_samples(rows))
    found = weighted.toPandas()
    assert list(found.columns) == [*NAMES, "y", "weight"]
    np.testing.assert_allclose(found["weight"], expected, rtol=CLOSE)
    np.testing.assert_array_equal(found["y"], Y)
    plain = weighted.toDF("a", "b", "y", "weight")
    features = VectorAssembler(inputCols=["a", "b"], outputCol="features").transform(plain)
    theirs = SparkRegression(labelCol="y", weightCol="weight", solver="normal").fit(features)
    ours = LinearRegression().fit(X, Y, sample_weight=expected)
    np.testing.assert_allclose(theirs.coefficients.toArray(), ours.coef_, rtol=1e-8)
    with pytest.raises(ValueError, match="'y', which is a column already"):
        rows.with_weights(ratio, name="y")


# --- faults


def test_an_error_in_a_block_names_its_rows_and_partition(spark, target):
    table = FRAME[NAMES].copy()
    table.iloc[2_000, 1] = np.inf
    ratio = ULSIF(n_centres=5)
    before = dict(vars(ratio))
    rows = from_spark(frame_of(spark, table))
    match = r"^In block 0 \(rows 2,000 to 2,999\) of partition 5: Got infinity in column"
    with pytest.raises(BlockError, match=match):
        ratio._fit_blocks(rows, target)
    assert vars(ratio) == before


def test_a_query_that_fails_half_way_is_told(spark):
    frame = spark.range(0, 1_000, 1, 2)
    rows = from_spark(frame.selectExpr("if(id = 700, raise_error('half way'), id) AS a"))
    with pytest.raises(BlockError, match=r"Spark could not read all rows, .*half way"):
        fit_ratio(rows, rows, ULSIF())


def test_partitions_with_other_rows_in_a_later_pass_are_an_error(spark):
    seed = iter(range(9))

    class Changing:
        """The DataFrame of another seed every time."""

        columns = ("a",)
        schema = spark.range(1).selectExpr("rand() AS a").schema

        def select(self, *names):
            return spark.range(0, 500, 1, 2).selectExpr(f"rand({next(seed)}) AS a").select(*names)

    with pytest.raises(BlockError, match=r"^In partition 0: Got other rows .* keep them \(cache"):
        from_spark(Changing()).sum(lambda block: block.n_rows)


def dies(path):
    """A function of a block that kills its worker, the first time that it is called."""

    def work(block):  # noqa: RET503
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return block.table.sum(axis=0)
        os.kill(os.getpid(), signal.SIGKILL)

    return work


def test_a_killed_worker_is_an_error_where_spark_does_not_try_again(rows, tmp_path):
    with pytest.raises(BlockError, match=r"or lost a worker: .*Python worker exited unexpectedly"):
        rows.sum(dies(str(tmp_path / "dead")))
    np.testing.assert_allclose(rows.sum(dies(str(tmp_path / "dead"))), X.sum(axis=0), rtol=1e-12)


def test_weights_that_a_killed_worker_did_not_make_are_not_written(rows, target, tmp_path):
    class Deadly(GaussianRatio):
        def score_samples(self, X):
            if os.path.exists(tmp_path / "fitted"):
                os.kill(os.getpid(), signal.SIGKILL)
            return super().score_samples(X)

    ratio = fit_ratio(from_array(X), from_array(X_TARGET), GaussianRatio())
    ratio.__class__ = Deadly
    weighted = rows.with_weights(ratio)
    (tmp_path / "fitted").touch()
    with pytest.raises(Exception, match="Python worker exited unexpectedly"):
        weighted.toDF("a", "b", "y", "weight").write.parquet(str(tmp_path / "weighted"))
    assert not list(tmp_path.glob("weighted/*.parquet"))


def test_a_killed_worker_changes_no_number_where_spark_tries_again(spark, tmp_path):
    # in a process of its own: a process has one Spark
    code = f"""
import numpy as np, pandas as pd
from test_engines import FRAME, NAMES, X, dies, frame_of, session
from weighbridge.blocks import from_spark
spark = session("local[2, 4]")
rows = from_spark(frame_of(spark, FRAME), NAMES)
np.testing.assert_allclose(rows.sum(dies({str(tmp_path / "dead")!r})), X.sum(axis=0), rtol=1e-12)
"""
    import subprocess

    folder = os.path.dirname(__file__)
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2_000:]
    assert (tmp_path / "dead").exists()


# --- Ibis and Ray


def ibis_rows(table):
    ibis = pytest.importorskip("ibis")
    return from_ibis(ibis.polars.connect().create_table("t", table))


@pytest.fixture(scope="module")
def ray():
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    yield ray
    ray.shutdown()


@pytest.mark.parametrize("ratio", RATIOS)
def test_ibis_gives_the_fit_in_memory(ratio):
    same(ibis_rows(FRAME[NAMES]), ibis_rows(TARGET), ratio)


@pytest.mark.parametrize("ratio", RATIOS)
def test_ray_gives_the_fit_in_memory(ratio, ray):
    rows, target = (
        from_ray(
            ray.data.from_arrow(
                [pa.Table.from_pandas(each[:900]), pa.Table.from_pandas(each[900:])]
            )
        )
        for each in (FRAME[NAMES], TARGET)
    )
    same(rows, target, ratio)


def same(rows, target, ratio):
    assert rows.shape == (N, 2)
    np.testing.assert_array_equal(rows.select(NAMES[1:]).first(N), X[:, 1:])
    found = fit_ratio(rows, target, ratio).score_samples(rows)
    expected = fit_ratio(from_array(X), from_array(X_TARGET), ratio).score_samples(X)
    np.testing.assert_allclose(np.exp(found), np.exp(expected), atol=CLOSE)
