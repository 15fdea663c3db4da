"""Rows of engines that give Arrow batches: the numbers of the fit in memory, or a clear error."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from weighbridge import fit_ratio
from weighbridge.blocks import (
    as_rows,
    from_array,
    from_batches,
    from_duckdb,
    from_parquet,
    from_polars,
)
from weighbridge.exceptions import BlockError, InputError
from weighbridge.ratios import ULSIF, ClassifierRatio, GaussianRatio

pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")

CLOSE = 1e-10
N, N_TARGET = 3_000, 2_500
RNG = np.random.default_rng(0)
X, X_TARGET = RNG.normal(size=(N, 2)), RNG.normal(0.4, 0.9, (N_TARGET, 2))
Y = X @ [1.0, 2.0] + 0.3 * X[:, 0] ** 2 + RNG.normal(size=N)
NAMES = ["a", 'b "2"']
needs_batches = pytest.mark.skipif(
    not hasattr(pl.LazyFrame, "collect_batches"), reason="needs polars 1.34"
)


def table_of(array):
    return pa.table(dict(zip(NAMES, array.T, strict=False)))


def stream(array):
    return from_batches(table_of(array), size=333)


def listed(array):
    return from_batches(table_of(array).to_batches(max_chunksize=170), size=501)


def called(array):
    """A function that makes a generator of batches, tables and frames of several libraries."""

    def batches():
        table = table_of(array)
        for number, start in enumerate(range(0, len(array), 450)):
            part = table.slice(start, 450)
            kinds = part, part.to_batches()[0], pl.from_arrow(part), part.to_pandas()
            yield kinds[number % 4]

    return from_batches(batches, size=256)


def relation(array):
    return from_duckdb(duckdb.connect().from_arrow(table_of(array)))


def query(array):
    connection = duckdb.connect()
    connection.register("given", table_of(array))
    connection.execute("CREATE TABLE kept AS SELECT * FROM given")
    return from_duckdb('SELECT a, "b ""2""" FROM kept', connection)


def lazy(array):
    if not hasattr(pl.LazyFrame, "collect_batches"):
        pytest.skip("needs polars 1.34")
    return from_polars(pl.from_arrow(table_of(array)).lazy())


SOURCES = [stream, listed, called, relation, query, lazy]
RATIOS = [ULSIF(n_centres=20), GaussianRatio(), ClassifierRatio()]


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("source", SOURCES)
def test_every_engine_gives_the_fit_in_memory(source, ratio):
    rows, target = source(X), source(X_TARGET)
    assert rows.shape == (N, 2)
    assert rows.names == NAMES
    found = fit_ratio(rows, target, ratio).score_samples(rows)
    expected = fit_ratio(from_array(X), from_array(X_TARGET), ratio).score_samples(X)
    np.testing.assert_allclose(np.exp(found), np.exp(expected), atol=CLOSE)


@pytest.mark.parametrize("source", SOURCES)
def test_columns_are_chosen_where_the_rows_are(source):
    rows = source(X).select([NAMES[1]])
    np.testing.assert_array_equal(rows.first(N), X[:, 1:])
    beside = source(X).select(["a"])
    found = rows.sum(lambda block: block.table[:, 0] @ block.beside[0], beside)
    assert found == pytest.approx(X[:, 0] @ X[:, 1], rel=1e-12)
    with pytest.raises(ValueError, match=r"columns \['z'\] that are not there"):
        rows.select(["z"])


@pytest.mark.parametrize("source", [stream, relation, query, lazy])
def test_a_source_without_rows_has_its_columns(source):
    rows = source(X[:0])
    assert rows.shape == (0, 2)
    assert rows.sum(lambda block: block.n_rows) == 0


def test_text_numbers_and_gaps_are_those_of_parquet(tmp_path):
    table = pa.table({"site": ["n", None, "w"], "flag": [True, None, False], "n": [1, None, 3]})
    pd.DataFrame(table.to_pandas()).to_parquet(tmp_path / "x.parquet")
    pa.parquet.write_table(table, tmp_path / "x.parquet")
    expected = from_parquet(tmp_path / "x.parquet")
    for rows in (from_batches(table, size=2), from_duckdb(duckdb.from_arrow(table))):
        pd.testing.assert_frame_equal(rows.first(3), expected.first(3))
        numbers = rows.select(["flag", "n"])
        assert numbers.numeric
        np.testing.assert_array_equal(numbers.first(3), expected.select(["flag", "n"]).first(3))


# --- what cannot be read again


@pytest.mark.parametrize(
    "once",
    [
        lambda: iter([table_of(X)]),
        lambda: (b for b in [table_of(X)]),
        lambda: table_of(X).to_reader(),
    ],
)
def test_what_can_be_read_only_once_is_refused_and_its_maker_taken(once):
    with pytest.raises(TypeError, match=r"read only once; .* pass a function that makes batches"):
        from_batches(once())
    assert from_batches(once).n_rows == N


@pytest.mark.parametrize("given", [3, None, object()])
def test_what_gives_no_batches_is_refused(given):
    with pytest.raises(TypeError, match=r"gives no Arrow batches; .* pass a function"):
        from_batches(given)


def test_what_is_no_batch_is_named():
    with pytest.raises(BlockError, match="got a dict among the batches, not Arrow data"):
        from_batches([{"a": [1]}])
    with pytest.raises(ValueError, match="Got no batch; there must be one with columns"):
        from_batches([])


def changing(*passes):
    """Rows of a source that gives another table in each pass; the last one from then on."""
    left = list(passes)
    return from_batches(lambda: left.pop(0) if len(left) > 1 else left[0], size=100)


def whole(n=1_000, **columns):
    return pa.table({"a": np.arange(float(n)), **columns})


@pytest.mark.parametrize("step", [1, 100, 131_072])
def test_other_rows_in_a_later_pass_are_an_error(step):
    # whole numbers that change places at powers of two, as row groups do
    values = np.arange(2.0 * step) % 7
    values[:step] = 3
    same, other = (pa.table({"a": part}) for part in (values, np.roll(values, step)))
    rows = changing(same, same, same, other)
    assert rows.sum(lambda block: block.n_rows) == 2 * step
    with pytest.raises(BlockError, match=r"^In block 0 \(from row 0\): Got other rows than when"):
        rows.sum(lambda block: block.n_rows)


@pytest.mark.parametrize("n", [0, 70, 900, 950, 1_001, 1_200])
def test_fewer_or_more_rows_in_a_later_pass_are_an_error(n):
    rows = changing(whole(), whole(), whole(n))
    with pytest.raises(BlockError, match=r"Got other rows than when they were first read\. Every"):
        rows.vector(lambda table, other: other, np.zeros(1_000))


def test_texts_in_another_order_are_an_error():
    text = np.array(["n", "w"] * 500, dtype=object)
    rows = changing(whole(site=text), whole(site=text), whole(site=text[::-1]))
    with pytest.raises(BlockError, match="Got other rows"):
        rows.sum(lambda block: block.n_rows)


def test_blocks_of_another_size_are_compared_at_the_end():
    changed = np.arange(1_000.0)
    changed[40] = -1
    rows = changing(whole(), whole(), pa.table({"a": changed}))
    with pytest.raises(BlockError, match="Got other rows"):
        from_array(np.zeros(1_000), 77).sum(lambda block: 0, rows)


def test_a_query_without_an_order_of_its_own_is_found_out():
    connection = duckdb.connect()
    rows = from_duckdb("SELECT random() AS a FROM range(5000)", connection)
    with pytest.raises(BlockError, match=r"sort them by a key, .* or write them to Parquet files"):
        fit_ratio(rows, rows, ULSIF())


# --- faults


def unchanged(fit, ratio, match):
    before = dict(vars(ratio))
    with pytest.raises(BlockError, match=match):
        fit(ratio)
    assert vars(ratio) == before


def test_a_query_that_fails_half_way_is_told_and_fits_nothing():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT i::DOUBLE AS a FROM range(300000) t(i)")
    half = "SELECT CASE WHEN a = 250000 THEN error('half way') ELSE a END AS a FROM t"
    target, rows = from_duckdb("FROM t", connection.cursor()), from_duckdb(half, connection)
    match = r"^In block \d .*of the source: it cannot be read any further \(\w+: .*half way\)"
    unchanged(lambda ratio: ratio._fit_blocks(rows, target), ULSIF(), match)
    assert from_duckdb("FROM t", connection).n_rows == 300_000  # it is as good as before


def test_a_query_that_cannot_start_is_told():
    with pytest.raises(BlockError, match=r"^the source: it cannot be read .*\(\w+: .*at once\)"):
        from_duckdb("SELECT error('at once')::DOUBLE AS a").n_rows  # noqa: B018


@needs_batches
@pytest.mark.filterwarnings("ignore")  # of polars, about functions in Python
def test_a_lazy_frame_that_fails_half_way_is_told():
    def fails(series):
        if series.max() > 150_000:
            raise ZeroDivisionError("half way")
        return series

    frame = pl.LazyFrame({"a": np.arange(200_000.0)})
    broken = frame.with_columns(pl.col("a").map_batches(fails, pl.Float64))
    with pytest.raises(
        BlockError, match=r"of the source: it cannot be read any further .*half way"
    ):
        from_polars(broken).sum(lambda block: block.n_rows)


@pytest.mark.parametrize(
    ("odd", "match"),
    [
        ({"z": [1.0]}, r"batch \d+ has no column 'a', which the first batch has \(1 of 1 are"),
        ({"a": ["x"]}, r"batch \d+ has column 'a' as .*string, and the first batch as double; it"),
    ],
)
def test_a_batch_with_other_columns_half_way_is_named(odd, match):
    batches = [pa.table({"a": np.zeros(40)})] * 5 + [pa.table(odd)]
    rows = from_batches(batches, size=30)
    where = r"^In block 6 \(from row 200\) of the source: "
    unchanged(lambda ratio: ratio._fit_blocks(rows, stream(X[:, :1])), ULSIF(), where + match)


def test_an_error_in_a_block_names_its_rows():
    rows = from_batches(table_of(np.where(np.arange(N) == 700, np.inf, X.T).T), size=100)
    unchanged(
        lambda ratio: ratio._fit_blocks(rows, stream(X_TARGET)),
        ULSIF(),
        r"^In block 7 \(rows 700 to 799\): Got infinity in column 'a'",
    )


# --- file.duckdb::table


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(path) as connection:
        connection.register("given", table_of(X))
        connection.execute("CREATE TABLE patients AS SELECT * FROM given")
        connection.execute("CREATE VIEW older AS SELECT * FROM patients WHERE a > 0")
    return path


def test_a_path_with_a_table_is_rows_of_it(database):
    rows = as_rows(f"{database}::patients")
    np.testing.assert_array_equal(rows.first(N), X)
    assert as_rows(f"{database}::older").n_rows == (X[:, 0] > 0).sum()
    with duckdb.connect(database, read_only=True) as connection:  # so others can read it too
        assert connection.table("patients").shape == (N, 2)


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("clinic.duckdb::patient", r'WB101: .*clinic\.duckdb has no table "patient".*"patients"'),
        ("clinic.duckdb::zzz", r'WB101: .* has no table "zzz"\.[^$]*it has "older", "patients"'),
        ("notes.txt::patients", r"WB123: .*notes\.txt cannot be read as a DuckDB file \("),
        ("no.duckdb::patients", r"WB101: .*no\.duckdb is not there"),
    ],
)
def test_what_is_no_table_of_a_database_is_named(name, match, database):
    (database.parent / "notes.txt").write_text("a,b\n1,2\n" * 3_000)
    with pytest.raises(InputError, match=rf"(?s){match}"):
        as_rows(database.parent / name)
