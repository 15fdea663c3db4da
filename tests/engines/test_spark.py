"""Data frames of Spark on two cores of a real JVM."""

import sys
from pathlib import Path

import numpy as np
import pytest

from engines import laws
from weighbridge import adapt
from weighbridge.engines import sample, with_column
from weighbridge.exceptions import BlockError

pytestmark = pytest.mark.engines


@pytest.fixture(scope="module")
def spark():
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    monkeypatch.undo()


@pytest.fixture
def as_spark(spark):
    def make(frame=None):
        frame = laws.rows() if frame is None else frame
        schema = "row long, x double, z double, kind string"
        return spark.createDataFrame(frame, schema).coalesce(1).repartitionByRange(4, "row")

    return make


def collect(table):
    return table.toArrow().to_pandas().sort_values("row", ignore_index=True)


def test_sample_is_uniform(as_spark):
    table = as_spark().cache()
    laws.check_sample(lambda: table, draws=8)


def test_with_column_equals_the_function_of_the_frame(as_spark):
    laws.check_new_columns(as_spark, collect)


def test_with_column_is_lazy(as_spark, tmp_path):
    laws.check_lazy(as_spark, tmp_path)


def test_with_column_names_the_batch_that_fails(as_spark):
    from pyspark.errors import PythonException

    laws.check_faults(as_spark, collect, r"batch 0 of partition \d", (BlockError, PythonException))


def test_bad_arguments_are_refused(as_spark):
    laws.check_refusals(as_spark, lambda: as_spark(laws.rows().head(0)))


def test_partitions_may_be_empty_or_all_missing(as_spark):
    table = as_spark(laws.rows(200))
    for nothing in (table.filter("row < 0"), table.selectExpr("row", "null x", "z", "kind")):
        result = with_column(table.union(nothing), "new", lambda frame: frame["x"].isna())
        assert [bool(row.new) for row in result.collect()] == [
            row.x is None for row in result.collect()
        ]
        assert len(sample(table.union(nothing), 50)) == 50


def test_a_query_that_fails_gives_its_cause(as_spark):
    table = as_spark().selectExpr("cast(kind as int) as number")
    for verb in (sample, lambda table: with_column(table, "new", len)):
        with pytest.raises(BlockError, match=r"could not be .*CAST_INVALID_INPUT"):
            verb(table)


def test_a_worker_without_weighbridge_is_told_to_install_it(spark, as_spark, tmp_path, monkeypatch):
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    table = as_spark()
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(bare))
    with pytest.raises(BlockError, match=r"(?s)needs weighbridge.*No module named 'weighbridge'"):
        with_column(table, "new", laws.FUNCTIONS[float])


def patients(n, mean, spread, seed):
    """Return patients for whom low and high values of x are dangerous."""
    rng = np.random.default_rng(seed)
    frame = laws.rows(n, seed)[["row"]]
    frame["x"] = rng.normal(mean, spread, n)
    frame["ill"] = (rng.random(n) < 1 / (1 + np.exp(-6 * (np.abs(frame["x"]) - 1.2)))).astype(int)
    return frame.drop(columns="row")


def test_weights_improve_the_learner_of_spark_on_a_misspecified_problem(spark):
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import VectorAssembler

    train, deploy = patients(30_000, 0.0, 1.0, 0), patients(20_000, 1.4, 0.5, 1)
    table = spark.createDataFrame(train).repartition(4).cache()
    result = adapt(table, spark.createDataFrame(deploy[["x"]]), label="ill", max_rows=5000)
    features = VectorAssembler(inputCols=["x"], outputCol="features")
    weighted = features.transform(result.weigh(table)).cache()
    test = features.transform(spark.createDataFrame(deploy))
    assert weighted.count() == len(train)

    def error(**settings):
        model = LogisticRegression(labelCol="ill", **settings).fit(weighted)
        return model.transform(test).filter("prediction != ill").count() / len(deploy)

    assert error(weightCol="weight") < 0.2 < 0.3 < error()
