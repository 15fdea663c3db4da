"""Parquet files and folders, Arrow data, DuckDB and polars."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from engines import laws
from weighbridge.engines import sample, with_column
from weighbridge.exceptions import BlockError


def as_arrow(frame=None):
    return pa.Table.from_pandas(laws.rows() if frame is None else frame, preserve_index=False)


def as_polars(frame=None):
    pl = pytest.importorskip("polars")
    if not hasattr(pl.LazyFrame, "collect_batches"):
        pytest.skip("this polars cannot stream")
    return pl.from_arrow(as_arrow(frame)).lazy()


def as_duckdb(frame=None):
    return pytest.importorskip("duckdb").from_arrow(as_arrow(frame))


MAKE = {
    "table": as_arrow,
    "dataset": lambda frame=None: ds.dataset(as_arrow(frame)),
    "filtered": lambda frame=None: ds.dataset(as_arrow(frame)).filter(ds.field("row") >= 0),
    "reader": lambda frame=None: as_arrow(frame).to_reader(300),
    "duckdb": as_duckdb,
    "polars": as_polars,
}


@pytest.fixture(params=[*MAKE, "file", "folder"])
def make_table(request, tmp_path):
    if request.param in MAKE:
        return MAKE[request.param]

    def make(frame=None):
        table = as_arrow(frame)
        if request.param == "file":
            pq.write_table(table, tmp_path / "rows.parquet", row_group_size=300)
            return tmp_path / "rows.parquet"
        (tmp_path / "rows").mkdir(exist_ok=True)
        for number in range(4):
            pq.write_table(table.slice(500 * number, 500), tmp_path / f"rows/{number}.parquet")
        return str(tmp_path / "rows")

    return make


def read(reader):
    assert isinstance(reader, pa.RecordBatchReader)
    return reader.read_all().to_pandas()


def test_sample_is_uniform(make_table):
    laws.check_sample(make_table)


def test_with_column_equals_the_function_of_the_frame(make_table):
    laws.check_new_columns(make_table, read)


def test_with_column_names_the_batch_that_fails(make_table):
    faults = [laws.too_few, laws.fails]
    laws.check_faults(make_table, read, "the batch.* that starts at row", functions=faults)


def test_values_of_another_type_name_their_batch():
    place, faults = "the batch that starts at row 1,800", [laws.changes_type]
    laws.check_faults(MAKE["reader"], read, place, functions=faults)


def test_bad_arguments_are_refused(make_table):
    laws.check_refusals(make_table, lambda: make_table(laws.rows().head(0)))


def test_with_column_computes_the_first_batch_alone(tmp_path):
    (tmp_path / "seen").mkdir()
    batches = [as_arrow(laws.rows()).slice(i, 500) for i in range(0, laws.N_ROWS, 500)]
    reader = pa.RecordBatchReader.from_batches(
        batches[0].schema, (b for batch in batches for b in batch.to_batches())
    )
    laws.check_lazy(lambda: reader, tmp_path / "seen")


def test_new_columns_are_read_by_duckdb_polars_and_write_dataset(tmp_path):
    pl, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    expected = 2 * laws.rows()["x"].to_numpy()

    def reader():
        return with_column(as_arrow(), "new", laws.FUNCTIONS[float])

    np.testing.assert_array_equal(pl.from_arrow(reader())["new"].to_numpy(), expected)
    np.testing.assert_array_equal(duckdb.from_arrow(reader()).df()["new"], expected)
    ds.write_dataset(reader(), tmp_path / "out", format="parquet")
    np.testing.assert_array_equal(pd.read_parquet(tmp_path / "out")["new"], expected)


def test_row_labels_of_pandas_are_no_column_for_the_function():
    frame = laws.rows().sample(frac=1, random_state=0)
    table = pa.Table.from_pandas(frame)
    assert "__index_level_0__" in table.column_names
    assert list(sample(table, 5)) == list(frame)
    result = with_column(table, "new", lambda block: np.full(len(block), block.shape[1]))
    assert set(result.read_all()["new"].to_pylist()) == {4}


def write(folder, *tables):
    folder.mkdir()
    for number, columns in enumerate(tables):
        pq.write_table(pa.table(columns), folder / f"{number}.parquet")
    return folder


def test_files_may_be_empty_all_missing_or_of_other_numbers(tmp_path):
    missing = pa.array([None, None], pa.float64())
    columns = [{"x": pa.array([], pa.int64())}, {"x": [1, 2]}, {"x": missing}, {"x": [0.5]}]
    folder = write(tmp_path / "rows", *columns)
    result = with_column(folder, "new", lambda frame: frame["x"].isna())
    assert result.read_all()["new"].to_pylist() == [False, False, True, True, False]
    assert sample(folder)["x"].isna().sum() == 2


@pytest.mark.parametrize(
    ("columns", "cause"),
    [({"x": ["a"]}, "incompatible types: int64 vs string"), ({"y": [1]}, r"has \['x', 'y'\]")],
)
def test_files_that_differ_are_named(tmp_path, columns, cause):
    folder = write(tmp_path / "rows", {"x": [1, 2]}, columns)
    with pytest.raises(BlockError, match=rf"(?s)1\.parquet and .*0\.parquet must.*{cause}"):
        sample(folder)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    folder = write(tmp_path / "rows", {"x": [1, 2]}, {"x": [3, 4]})
    (folder / "1.parquet").write_bytes(b"PAR1 cut")
    with pytest.raises(BlockError, match=r"rows could not be opened as Parquet|1\.parquet"):
        sample(folder)
    with pytest.raises(BlockError, match="could not be opened as Parquet"):
        sample(tmp_path / "missing.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BlockError, match=r"The folder has no \.parquet files"):
        sample(tmp_path / "empty")


def test_a_query_that_fails_gives_its_cause(tmp_path):
    duckdb, table = pytest.importorskip("duckdb"), as_polars()
    import polars as pl

    with pytest.raises(BlockError, match="could not be read: Conversion"):
        sample(duckdb.sql("select 'a'::int + range as x from range(10)"))
    with pytest.raises(BlockError, match=r"could not be (read|sampled): InvalidOperationError"):
        sample(table.with_columns(pl.col("kind").cast(pl.Int64)))


def test_a_reader_that_was_read_is_refused():
    reader = as_arrow().to_reader()
    assert len(sample(reader)) == laws.N_ROWS
    with pytest.raises(ValueError, match="was read before"):
        sample(reader)


def test_a_table_in_memory_is_refused():
    with pytest.raises(TypeError, match=r"Got a table of type pandas\.DataFrame, but expected"):
        sample(laws.rows())
