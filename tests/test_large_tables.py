"""Jobs that learn from samples of large tables and weigh every row where it is."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from weighbridge import ImportanceWeighted, ImportanceWeightedCV, adapt, diagnose, fit_ratio
from weighbridge.datasets import make_clinic
from weighbridge.engines import sample
from weighbridge.exceptions import BlockError, InputError
from weighbridge.label_shift import LabelRatio
from weighbridge.ratios import GaussianRatio, KnownRatio

DATA = make_clinic(1500, 900, random_state=0)
TRAIN, DEPLOY = DATA.X.assign(readmitted=DATA.y), DATA.X_target
QUICK = {"label": "readmitted", "lam": 0.8, "alpha": 3.0, "ratio": "gaussian", "drop": ("site",)}
NUMBERS = ["age", "visits"]


@pytest.fixture
def folder(tmp_path):
    TRAIN.to_parquet(tmp_path / "train.parquet")
    DEPLOY.to_parquet(tmp_path / "deploy.parquet")
    return tmp_path


@pytest.fixture
def result():
    return adapt(TRAIN, DEPLOY, **QUICK)


def as_engine(frame):
    return ds.dataset(pa.Table.from_pandas(frame, preserve_index=False))


def test_adapt_gives_the_same_result_for_every_kind_of_table(result, folder):
    pl = pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    pairs = [
        (folder / "train.parquet", folder / "deploy.parquet"),
        (as_engine(TRAIN), as_engine(DEPLOY)),
        (duckdb.from_arrow(pa.Table.from_pandas(TRAIN)), as_engine(DEPLOY)),
    ]
    if hasattr(pl.LazyFrame, "collect_batches"):
        pairs.append((pl.from_pandas(TRAIN).lazy(), pl.from_pandas(DEPLOY).lazy()))
    for train, deploy in pairs:
        other = adapt(train, deploy, **QUICK)
        assert other.verdict.sentence == result.verdict.sentence
        np.testing.assert_allclose(other.weights, result.weights, rtol=1e-12)


def test_weigh_gives_training_rows_the_weights_of_the_result(result, folder):
    weighted = result.weigh(folder / "train.parquet").read_all().to_pandas()
    np.testing.assert_allclose(weighted["weight"], result.weights, rtol=1e-12)
    pd.testing.assert_frame_equal(weighted.drop(columns="weight"), TRAIN)


def test_weigh_and_predict_keep_the_kind_of_a_frame_and_its_row_labels(result):
    pl = pytest.importorskip("polars")
    shuffled = TRAIN.sample(frac=1, random_state=0)
    weighted = result.weigh(shuffled, name="w")
    expected = pd.Series(result.weights).reindex(shuffled.index)
    np.testing.assert_allclose(weighted["w"], expected, rtol=1e-12)
    assert weighted.index.equals(shuffled.index)
    predicted = result.predict(pl.from_pandas(DEPLOY))
    assert isinstance(predicted, pl.DataFrame)
    np.testing.assert_array_equal(predicted["prediction"], result.model.predict(DEPLOY))
    with pytest.raises(ValueError, match="already has a column 'age'"):
        result.weigh(TRAIN, name="age")


def test_adapt_learns_from_max_rows_and_weigh_covers_the_others(folder):
    result = adapt(folder / "train.parquet", folder / "deploy.parquet", **QUICK, max_rows=400)
    assert result.weights.size == 400
    notes = [each.message for each in result.findings if each.code == "WB139"]
    assert [note.partition(" rows")[0] for note in notes] == ["400 of the 1,500", "400 of the 900"]
    weighted = result.weigh(TRAIN)["weight"]
    positions = result.tables[0].positions
    np.testing.assert_allclose(weighted.to_numpy()[positions], result.weights, rtol=1e-12)
    assert abs(weighted.mean() - 1) < 0.1


def test_weights_file_numbers_the_rows_of_the_table(folder):
    result = adapt(folder / "train.parquet", DEPLOY, **QUICK, max_rows=400)
    written = pd.read_csv(result.save(folder / "out")["weights"])
    whole = result.weigh(folder / "train.parquet").read_all().to_pandas()
    at_rows = whole["weight"].to_numpy()[written["row"].to_numpy() - 1]
    np.testing.assert_allclose(written["weight"], at_rows, rtol=1e-12)
    drawn = adapt(as_engine(TRAIN), DEPLOY, **QUICK, max_rows=400)
    again = drawn.save(folder / "out")["weights"]
    assert list(pd.read_csv(again)) == ["weight", "log_ratio"]
    drawn.save(folder / "out")


@pytest.mark.parametrize("as_table", [lambda frame: frame, as_engine], ids=["frame", "engine"])
def test_labelled_deployment_rows_are_never_sampled_away(as_table):
    few = np.random.default_rng(0).choice(len(DEPLOY), 60, replace=False)
    labels = np.full(len(DEPLOY), np.nan)
    labels[few] = DATA.y_target[few]
    deploy = as_table(DEPLOY.assign(readmitted=labels))
    result = adapt(TRAIN, deploy, **QUICK, max_rows=300)
    assert next(iter(result.actual.values())).rows == 60
    assert 300 <= result.tables[1].sampled <= 360


def test_a_label_column_without_labels_does_no_harm():
    deploy = as_engine(DEPLOY.assign(readmitted=np.full(len(DEPLOY), np.nan)))
    result = adapt(TRAIN, deploy, **QUICK, max_rows=300)
    assert not result.actual
    assert result.tables[1].sampled == 300


def test_weigh_by_class_needs_the_label():
    classes = np.where(DATA.y == 1, "yes", "no")
    train = DATA.X[NUMBERS].assign(readmitted=classes)
    result = adapt(train, DEPLOY[NUMBERS], label="readmitted", shift="label", lam=0.8, alpha=3.0)
    np.testing.assert_allclose(result.weigh(train)["weight"], result.weights, rtol=1e-12)
    missing = train.assign(readmitted=train["readmitted"].where(train.index > 3, None))
    with pytest.raises(ValueError, match="4 of 1500 rows have no 'readmitted'"):
        result.weigh(missing)


def test_weigh_takes_the_ratio_from_its_column():
    ratio = np.exp(DATA.X["age"].to_numpy() / 50)
    train = TRAIN.assign(ratio=ratio)
    deploy = DEPLOY.assign(ratio=np.exp(DEPLOY["age"].to_numpy() / 50))
    result = adapt(train, deploy, **{**QUICK, "ratio": "ratio"})
    np.testing.assert_allclose(result.weigh(train)["weight"], result.weights, rtol=1e-12)


def test_diagnose_draws_rows_of_both_samples_and_says_so():
    report = diagnose(as_engine(DATA.X), as_engine(DEPLOY), max_rows=500)
    notes = [each.message for each in report.findings if each.code == "WB139"]
    assert [note.partition(" rows")[0] for note in notes] == ["500 of the 1,500", "500 of the 900"]
    model = ImportanceWeighted(LogisticRegression(), GaussianRatio())
    model.fit(DATA.X[NUMBERS], DATA.y, X_target=DEPLOY[NUMBERS])
    whole = diagnose(model, DATA.X[NUMBERS], DEPLOY[NUMBERS], y=DATA.y, max_rows=None)
    assert not any(each.code == "WB139" for each in whole.findings)


@pytest.mark.parametrize(
    "model",
    [ImportanceWeighted(LogisticRegression()), ImportanceWeightedCV(LogisticRegression())],
    ids=["fixed", "tuned"],
)
def test_estimators_refuse_tables_of_an_engine_and_name_sample(model):
    with pytest.raises(TypeError, match=r"Got X .*weighbridge\.engines\.sample"):
        model.fit(as_engine(DATA.X), DATA.y, X_target=DEPLOY)
    with pytest.raises(TypeError, match=r"Got X_target .*weighbridge\.engines\.sample"):
        model.fit(DATA.X, DATA.y, X_target=as_engine(DEPLOY))


def test_labels_beside_a_table_of_an_engine_are_refused():
    with pytest.raises(TypeError, match="with values beside it; draw rows into memory first"):
        fit_ratio(as_engine(DATA.X), as_engine(DEPLOY), LabelRatio(), y=DATA.y)
    with pytest.raises(TypeError, match="with max_rows=None"):
        fit_ratio(as_engine(DATA.X), as_engine(DEPLOY), max_rows=None)


def test_tables_of_an_engine_that_do_not_fit_are_refused_before_any_work(tmp_path):
    with pytest.raises(InputError, match='no column "readmitted"'):
        adapt(as_engine(DATA.X), as_engine(DEPLOY), **QUICK)
    with pytest.raises(InputError, match=r"WB1\d\d"):
        adapt(as_engine(TRAIN), as_engine(DEPLOY.rename(columns=str.upper)), **QUICK)
    with pytest.raises((InputError, ValueError), match=r"no rows|0 rows"):
        adapt(as_engine(TRAIN.head(0)), as_engine(DEPLOY), **QUICK)
    with pytest.raises(ValueError, match="X_target with other columns"):
        fit_ratio(as_engine(DATA.X), as_engine(DEPLOY[NUMBERS]))


def test_a_weight_that_fails_names_its_block(result, tmp_path):
    pa_table = pa.Table.from_pandas(TRAIN.drop(columns="age"), preserve_index=False)
    with pytest.raises(BlockError, match='without "age"'):
        result.weigh(ds.dataset(pa_table)).read_all()


def test_max_rows_must_be_large_enough():
    with pytest.raises(ValueError, match="max_rows=3"):
        adapt(TRAIN, DEPLOY, **QUICK, max_rows=3)
    with pytest.raises(ValueError, match="max_rows=3"):
        diagnose(KnownRatio(lambda X: np.zeros(len(X))), DATA.X, DEPLOY, max_rows=3)


@pytest.mark.parametrize("library", ["polars", "duckdb"])
def test_labels_that_are_nan_are_no_labels_in_any_engine(library):
    frame = pd.DataFrame({"x": np.arange(3000.0), "y": np.where(np.arange(3000) % 10, np.nan, 1.0)})
    engine = pytest.importorskip(library)
    pytest.importorskip("narwhals", minversion="2.1")  # Version 2.0 does not know DuckDB 1.5.
    table = pa.Table.from_pandas(frame, preserve_index=False)
    deploy = engine.from_arrow(table)
    deploy = deploy.lazy() if library == "polars" else deploy
    train = frame[:500].assign(y=np.arange(500.0))
    result = adapt(train, deploy, label="y", max_rows=1000, lam=0.5, alpha=3.0, ratio="gaussian")
    assert next(iter(result.actual.values())).rows == 300
    assert not result.pair.X_target.duplicated().any()
    (note,) = (finding.message for finding in result.findings if finding.code == "WB139")
    assert "with more of those that have a label" in note


@pytest.mark.parametrize("size", [100, 600])
def test_values_beside_the_rows_must_be_as_many_when_rows_are_drawn(size):
    X = DATA.X[NUMBERS][:300]
    with pytest.raises(ValueError, match=f"Got {size} values beside 300 rows of X"):
        diagnose(X, DEPLOY[NUMBERS], sample_weight=np.ones(size), max_rows=100)


@pytest.mark.parametrize("kind", [sp.coo_matrix, sp.bsr_array])
def test_rows_of_every_sparse_format_are_drawn(kind):
    X = np.random.default_rng(0).normal(size=(300, 2))
    ratio = fit_ratio(kind(X), kind(X[:200]), "ulsif", max_rows=100)
    assert ratio.rows_used_ == {"source": (100, 300), "target": (100, 200)}


def test_rows_of_nested_lists_keep_their_types_when_drawn():
    rows = [[float(k), "uv"[k % 2]] for k in range(300)]
    assert fit_ratio(rows, rows[:200], "gaussian", max_rows=250).rows_used_["source"] == (250, 300)


def test_a_table_without_rows_gets_a_column_of_numbers(result):
    assert result.weigh(TRAIN[:0])["weight"].dtype == float
    assert len(result.predict(DEPLOY[:0])) == 0
    with pytest.raises(ValueError, match="Got X without rows"):
        fit_ratio(as_engine(DATA.X[:0]), as_engine(DEPLOY))


def test_files_in_subfolders_are_read_by_an_engine_and_refused_by_adapt(result, folder):
    nested = folder / "all" / "site=north"
    nested.mkdir(parents=True)
    TRAIN.drop(columns="site").to_parquet(nested / "train.parquet")
    (folder / "all" / "README.txt").write_text("no table")
    assert set(sample(folder / "all", 10)["site"]) == {"north"}
    with pytest.raises(InputError, match="Parquet files in subfolders, which are not read"):
        adapt(folder / "all", DEPLOY, **QUICK)
