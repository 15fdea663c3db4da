"""Rows in blocks: every law for every source, whatever the size of its blocks."""

import subprocess
import sys
import threading
import time
import weakref
from collections import Counter, namedtuple
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context, get_config
from threadpoolctl import threadpool_limits

from weighbridge.blocks import (
    Block,
    LocalRows,
    Rows,
    as_rows,
    from_array,
    from_dask,
    from_parquet,
    is_blocks,
)
from weighbridge.blocks._local import blas_threads
from weighbridge.exceptions import BlockError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

N, NAMES = 53, ["a", "b", "c"]
# whole numbers: sums have no rounding, so that every source gives the same to the last bit
TABLE = np.random.default_rng(0).integers(-999, 999, (N, 3)).astype(float)
VECTOR = np.arange(N) * 3.0 + 1
FRAME = pd.DataFrame(TABLE, columns=NAMES)

LOCAL_ARRAYS = ["array", "memory map"]
FRAMES = ["pandas", "polars"]
FILES = ["file", "files", "folder", "pattern"]
LOCAL = [*LOCAL_ARRAYS, *FRAMES, *FILES]
DASK = ["dask array", "dask unknown", "dask frame", "dask with gaps"]
TORCH = pytest.param("torch", marks=pytest.mark.torch)
NAMED = [*FRAMES, *FILES, "dask frame", "dask with gaps"]
SOURCES = [*LOCAL, *DASK, TORCH]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The table in files: one of odd row groups, and four parts, one of them without rows."""
    folder = tmp_path_factory.mktemp("rows")
    np.save(folder / "table.npy", TABLE)
    FRAME.to_parquet(folder / "whole.parquet", row_group_size=7)
    (folder / "parts").mkdir()
    ends, groups = [0, 20, 20, 21, N], [3, 1, 1, 11]
    for k, (start, stop) in enumerate(pairwise(ends)):
        path = folder / "parts" / f"part-{k}.parquet"
        FRAME[start:stop].to_parquet(path, row_group_size=groups[k])
    return folder


def rows_of(source, folder, size=8):
    """Return the table as rows of blocks that have, where that can be said, this size."""
    parts = folder / "parts"
    makers = {
        "array": lambda: from_array(TABLE, size),
        "memory map": lambda: from_array(np.load(folder / "table.npy", mmap_mode="r"), size),
        "pandas": lambda: from_array(FRAME.set_index(FRAME.index[::-1]), size),
        "polars": lambda: from_array(pl.DataFrame(TABLE, schema=NAMES), size),
        "file": lambda: from_parquet(folder / "whole.parquet", size=size),
        "files": lambda: from_parquet(sorted(map(str, parts.iterdir())), size=size),
        "folder": lambda: from_parquet(str(parts), size=size),
        "pattern": lambda: from_parquet(str(parts / "*-?.parquet"), size=size),
        "torch": lambda: from_array(pytest.importorskip("torch").asarray(TABLE), size),
    }
    return makers[source]() if source in makers else from_dask(dask_of(source, size))


def dask_of(source, size):
    """Return the table as a collection of dask; its blocks are those of the local sources."""
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    if source == "dask array":
        return da.from_array(TABLE, chunks=(size, 2))
    frame = dd.from_pandas(FRAME, chunksize=size, sort=False)
    if source == "dask unknown":
        return frame.to_dask_array()
    if source == "dask frame":
        return frame
    delayed = pytest.importorskip("dask").delayed
    parts = [FRAME[start : start + size] for start in range(0, N, size)]
    parts = [piece for part in parts for piece in (FRAME[:0], part)] + [FRAME[:0]] * 2
    return dd.from_delayed([delayed(part) for part in parts], meta=FRAME[:0])


def plain(table):
    """Return a table of any kind as an array."""
    return table.numpy() if hasattr(table, "numpy") else np.asarray(table)


def compute(vector):
    return vector.compute() if hasattr(vector, "compute") else plain(vector)


# --- the laws of every source


@pytest.mark.parametrize("source", SOURCES)
def test_shape_and_names_are_those_of_the_table(source, folder):
    rows = rows_of(source, folder)
    assert isinstance(rows, Rows)
    assert is_blocks(rows)
    assert as_rows(rows) is rows
    assert (rows.shape, len(rows), rows.n_rows, rows.n_columns) == ((N, 3), N, N, 3)
    assert rows.names == (NAMES if source in NAMED else None)


@pytest.mark.parametrize("source", SOURCES)
def test_blocks_are_stretches_of_the_table_in_order(source, folder):
    rows = rows_of(source, folder, size=8)
    blocks = list(rows.map(lambda block: block))
    assert [block.start for block in blocks] == list(range(0, N, 8))
    for block in blocks:
        assert isinstance(block, Block)
        assert block.n_rows <= 8
        assert block.beside == ()
        expected = TABLE[block.start : block.start + 8]
        np.testing.assert_array_equal(plain(block.table), expected)
        assert isinstance(block.table, np.ndarray) or not rows.numeric


@pytest.mark.parametrize("source", SOURCES)
def test_rows_can_be_asked_again(source, folder):
    rows = rows_of(source, folder)
    first, second = (rows.sum(lambda block: plain(block.table).sum(axis=0)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


Pair = namedtuple("Pair", "count total")


def parts_of_sums(block):
    table = plain(block.table)
    return {
        "rows": block.n_rows,
        "pair": Pair(block.n_rows, table.sum()),
        "nested": [table.T @ table, (table.sum(axis=0),)],
    }


@pytest.mark.parametrize("source", SOURCES)
def test_sums_are_added_part_by_part(source, folder):
    found = rows_of(source, folder).sum(parts_of_sums)
    assert found["rows"] == N
    assert found["pair"] == Pair(N, TABLE.sum())
    np.testing.assert_array_equal(found["nested"][0], TABLE.T @ TABLE)
    np.testing.assert_array_equal(found["nested"][1][0], TABLE.sum(axis=0))
    assert (type(found["nested"]), type(found["nested"][1])) == (list, tuple)


@pytest.mark.parametrize("source", SOURCES)
def test_what_is_in_some_blocks_only_is_in_the_sum(source, folder):
    rows = rows_of(source, folder)
    starts = list(range(0, N, 8))
    assert rows.sum(lambda block: {block.start: 1, "all": 1}) == {
        "all": len(starts),
        **dict.fromkeys(starts, 1),
    }
    assert rows.sum(lambda block: Counter([block.start])) == Counter(starts)


@pytest.mark.parametrize("source", SOURCES)
def test_a_vector_is_put_together_in_the_order_of_the_rows(source, folder):
    rows = rows_of(source, folder)
    found = rows.vector(lambda table: plain(table)[:, 0] - plain(table)[:, 2])
    assert isinstance(found, np.ndarray) != source.startswith("dask")  # not yet computed
    assert found.shape == (N,)
    np.testing.assert_array_equal(compute(found), TABLE[:, 0] - TABLE[:, 2])


@pytest.mark.parametrize("source", SOURCES)
def test_an_entry_of_a_vector_may_be_a_row_of_numbers_or_a_text(source, folder):
    rows = rows_of(source, folder)
    pairs = rows.vector(lambda table: plain(table)[:, :2] * 2)
    assert pairs.shape == (N, 2)
    np.testing.assert_array_equal(compute(pairs), TABLE[:, :2] * 2)
    signs = rows.vector(lambda table: np.where(plain(table)[:, 0] > 0, "above", "not"))
    np.testing.assert_array_equal(compute(signs), np.where(TABLE[:, 0] > 0, "above", "not"))


@pytest.mark.torch
def test_a_vector_of_tensors_is_a_tensor(folder):
    torch = pytest.importorskip("torch")
    found = rows_of("torch", folder).vector(lambda table: table[:, 0])
    assert isinstance(found, torch.Tensor)
    np.testing.assert_array_equal(found.numpy(), TABLE[:, 0])


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("n", [0, 1, 8, 9, 20, N - 1, N, N + 1, 10**6])
def test_the_first_rows_are_the_first_rows(source, n, folder):
    found = rows_of(source, folder).first(n)
    assert tuple(found.shape) == (min(n, N), 3)
    np.testing.assert_array_equal(plain(found), TABLE[:n])


@pytest.mark.parametrize("source", [*NAMED])
@pytest.mark.parametrize("columns", [["c", "a"], ["b"], ["c", "b", "a"], "b"])
def test_columns_are_selected_in_the_order_asked_for(source, columns, folder):
    rows = rows_of(source, folder).select(columns)
    places = [NAMES.index(name) for name in columns]
    assert rows.names == list(columns)
    assert rows.shape == (N, len(columns))
    np.testing.assert_array_equal(plain(rows.first(N)), TABLE[:, places])
    again = rows.select([columns[-1]])
    np.testing.assert_array_equal(plain(again.first(N)), TABLE[:, places[-1:]])
    with pytest.raises(ValueError, match="not there"):
        again.select([*set(NAMES) - {columns[-1]}])


BESIDE = {
    "vector": (lambda: VECTOR, VECTOR),
    "list": (VECTOR.tolist, VECTOR),
    "series": (lambda: pd.Series(VECTOR, index=range(N, 0, -1)), VECTOR),
    "matrix": (lambda: TABLE[:, :2], TABLE[:, :2]),
    "one column": (lambda: VECTOR[:, None], VECTOR[:, None]),
}


@pytest.mark.parametrize("kind", BESIDE)
@pytest.mark.parametrize("source", SOURCES)
def test_blocks_carry_their_stretch_of_an_array(source, kind, folder):
    made, expected = BESIDE[kind]
    for block in rows_of(source, folder).map(lambda block: block, made(), VECTOR):
        rows = slice(block.start, block.start + block.n_rows)
        np.testing.assert_array_equal(block.beside[0], expected[rows], strict=True)
        np.testing.assert_array_equal(block.beside[1], VECTOR[rows], strict=True)


def _pairs(rows, other):
    """Return what lies beside the rows, put together."""
    parts = list(rows.map(lambda block: plain(block.beside[0]), other))
    assert len(parts) > 1
    return np.concatenate(parts)


@pytest.mark.parametrize("other", [*LOCAL, TORCH])
@pytest.mark.parametrize("source", ["array", "pandas", "folder"])
@pytest.mark.parametrize("size", [5, 8, 13])
def test_blocks_carry_their_stretch_of_other_rows(source, other, size, folder):
    rows, beside = rows_of(source, folder, 8), rows_of(other, folder, size)
    np.testing.assert_array_equal(_pairs(rows, beside), TABLE)
    if beside.names is not None:  # one column is a vector
        found = _pairs(rows, beside.select(["b"]))
        np.testing.assert_array_equal(found, TABLE[:, 1])


@pytest.mark.parametrize("other", DASK[::-1])
@pytest.mark.parametrize("source", DASK)
@pytest.mark.parametrize("size", [5, 8, 60])
def test_dask_blocks_carry_their_stretch_of_collections_in_other_chunks(
    source, other, size, folder
):
    rows, beside = rows_of(source, folder, 8), dask_of(other, size)
    np.testing.assert_array_equal(_pairs(rows, beside), TABLE)
    np.testing.assert_array_equal(_pairs(rows, from_dask(beside)), TABLE)
    column = beside["b"] if hasattr(beside, "columns") else beside[:, 1]
    np.testing.assert_array_equal(_pairs(rows, column), TABLE[:, 1])
    np.testing.assert_array_equal(_pairs(rows, from_dask(column)), TABLE[:, 1])


@pytest.mark.parametrize("source", LOCAL)
@given(size=st.integers(1, N + 5), size_beside=st.integers(1, N + 5), n=st.integers(0, N + 5))
@settings(max_examples=15)
def test_no_result_depends_on_the_size_of_the_blocks(source, folder, size, size_beside, n):
    rows, beside = rows_of(source, folder, size), rows_of(source, folder, size_beside)
    _check_all(rows, beside, n)


@pytest.mark.parametrize("source", DASK)
@given(size=st.integers(4, N + 5), size_beside=st.integers(4, N + 5), n=st.integers(0, N + 5))
@settings(max_examples=5)
def test_no_result_of_dask_depends_on_the_size_of_the_blocks(source, folder, size, size_beside, n):
    _check_all(rows_of(source, folder, size), rows_of(source, folder, size_beside), n)


def _check_all(rows, beside, n):
    np.testing.assert_array_equal(plain(rows.first(n)), TABLE[:n])
    total = rows.sum(_products, beside, VECTOR)
    np.testing.assert_array_equal(total, TABLE.T @ (TABLE * VECTOR[:, None]))
    found = rows.vector(lambda table, vector: plain(table)[:, 1] * vector, VECTOR)
    np.testing.assert_array_equal(compute(found), TABLE[:, 1] * VECTOR)


def _products(block):
    beside, vector = block.beside
    return plain(block.table).T @ (plain(beside) * vector[:, None])


# --- tables without rows


EMPTY = {
    "array": lambda folder: from_array(TABLE[:0]),
    "pandas": lambda folder: from_array(FRAME[:0]),
    "polars": lambda folder: from_array(pl.DataFrame(TABLE, schema=NAMES)[:0]),
    "file": lambda folder: from_parquet(folder / "parts" / "part-1.parquet"),
    "files": lambda folder: from_parquet([folder / "parts" / "part-1.parquet"] * 3),
    "dask array": lambda folder: from_dask(dask_of("dask array", 8)[:0]),
    "dask frame": lambda folder: from_dask(dask_of("dask frame", 8).query("a > 1e9")),
    "torch": lambda folder: from_array(pytest.importorskip("torch").zeros((0, 3))),
}


@pytest.mark.parametrize("source", [*list(EMPTY)[:-1], TORCH])
def test_a_table_without_rows_is_one_empty_block(source, folder):
    rows = EMPTY[source](folder)
    nothing = np.zeros(0)
    assert rows.shape == (0, 3)
    assert [block.start for block in rows.map(lambda block: block)] == [0]
    assert tuple(rows.first(5).shape) == (0, 3)
    assert rows.sum(lambda block: plain(block.table).sum()) == 0
    assert rows.sum(lambda block: block.beside[0].sum() + len(block.beside[0]), nothing) == 0
    assert rows.vector(lambda table, part: plain(table)[:, 0] + part, nothing).shape == (0,)
    with pytest.raises(BlockError, match=r"^In block 0 \(no rows\).*: a word$"):
        rows.sum(_fails)


def _fails(block):
    raise ValueError("a word")


# --- what Parquet files and frames may hold


def test_numbers_of_every_type_are_floats_with_nan_where_there_is_none(tmp_path):
    types = {
        "i": pa.array([1, None, 3], pa.int64()),
        "u": pa.array([1, 2, None], pa.uint8()),
        "b": pa.array([True, None, False], pa.bool_()),
        "h": pa.array([np.float16(0.5), None, np.float16(2)], pa.float16()),
        "d": pa.array([Decimal("1.25"), None, Decimal("-2.50")], pa.decimal128(9, 2)),
        "f": pa.array([None, float("inf"), float("nan")], pa.float32()),
    }
    pq.write_table(pa.table(types), tmp_path / "x.parquet")
    rows = from_parquet(tmp_path / "x.parquet", size=2)
    assert rows.numeric
    nan = np.nan
    expected = np.array(
        [[1, 1, 1, 0.5, 1.25, nan], [nan, 2, nan, nan, nan, np.inf], [3, nan, 0, 2, -2.5, nan]]
    )
    found = rows.first(3)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, expected)


def test_a_file_with_text_or_dates_gives_data_frames(tmp_path):
    table = pa.table(
        {
            "text": ["x", None, "z", "x"],
            "day": pa.array([1, 2, None, 4], pa.date32()),
            "level": pa.array(["p", "q", "p", None]).dictionary_encode(),
            "number": [1.0, None, 3.0, 4.0],
        }
    )
    for part in range(2):
        pq.write_table(table[2 * part : 2 * part + 2], tmp_path / f"{part}.parquet")
    rows = from_parquet(tmp_path, size=3)
    assert not rows.numeric
    assert [len(table) for table in rows.map(lambda block: block.table)] == [3, 1]
    found = rows.first(4)
    assert list(found.columns) == ["text", "day", "level", "number"]
    assert found["text"].fillna("none").tolist() == ["x", "none", "z", "x"]
    assert found["level"].astype(object).fillna("none").tolist() == ["p", "q", "p", "none"]
    # numbers alone are an array again
    assert isinstance(rows.select(["number"]).first(2), np.ndarray)


def test_columns_are_read_in_the_order_asked_for_whatever_their_names(tmp_path):
    table = pa.table({"a": [1, 2], "a.b": [3, 4], "": [5, 6]})
    pq.write_table(table, tmp_path / "x.parquet")
    rows = from_parquet(tmp_path / "x.parquet", columns=["", "a"])
    assert rows.names == ["", "a"]
    np.testing.assert_array_equal(rows.first(2), [[5, 1], [6, 2]])


def test_columns_of_files_are_matched_by_name(tmp_path):
    FRAME[:10].to_parquet(tmp_path / "0.parquet")
    FRAME[["c", "a", "b"]][10:].to_parquet(tmp_path / "1.parquet")
    np.testing.assert_array_equal(from_parquet(tmp_path, size=7).first(N), TABLE)


def test_masked_values_are_missing_ones():
    rows = from_array(np.ma.masked_less(TABLE.astype(int), 0), size=10)
    np.testing.assert_array_equal(rows.first(N), np.where(TABLE < 0, np.nan, TABLE))


@pytest.mark.parametrize(
    "column", [VECTOR, VECTOR.tolist(), pd.Series(VECTOR), pl.Series("v", VECTOR)]
)
def test_a_vector_is_a_table_of_one_column(column):
    rows = as_rows(column)
    assert rows.shape == (N, 1)
    np.testing.assert_array_equal(plain(rows.first(N)), VECTOR[:, None])


def test_names_that_are_no_text_are_no_names():
    frame = pd.DataFrame(TABLE)
    assert from_array(frame).names is None
    dd = pytest.importorskip("dask.dataframe")
    rows = from_dask(dd.from_pandas(frame, npartitions=3))
    assert (rows.names, rows.shape) == (None, (N, 3))
    np.testing.assert_array_equal(rows.first(N), TABLE)
    with pytest.raises(TypeError, match="rows without names"):
        rows.select(["0"])


def test_missing_numbers_of_pandas_own_types_are_nan_in_dask_too():
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"i": pd.array([1, None, 3], "Int64"), "f": [0.5, 1.5, 2.5]})
    rows = from_dask(dd.from_pandas(frame, npartitions=2))
    assert rows.numeric
    np.testing.assert_array_equal(rows.first(3), [[1, 0.5], [np.nan, 1.5], [3, 2.5]])


def test_only_what_comes_in_blocks_is_told_to():
    assert not any(map(is_blocks, [TABLE, FRAME, [[1.0]], pl.DataFrame(TABLE), None]))
    assert is_blocks(from_array(TABLE))
    dask = pytest.importorskip("dask")
    frame = dask_of("dask frame", 8)
    assert all(map(is_blocks, [dask_of("dask array", 8), frame, frame["a"]]))
    # these have everything that is asked of them, and no rows
    assert not any(map(is_blocks, [dask.delayed(TABLE), frame["a"].sum()]))


# --- threads and memory


class Recorded(LocalRows):
    """A source that counts the blocks that are alive."""

    names, n_columns, numeric = None, 2, True

    def __init__(self, n_rows, size):
        self._n, self.size = n_rows, size
        self.alive = self.most = 0

    @property
    def n_rows(self):
        return self._n

    def select(self, columns):
        raise NotImplementedError

    def stretches(self, size):
        for start in range(0, self._n, size):
            self.alive += 1
            self.most = max(self.most, self.alive)
            yield self._tracked(start, min(start + size, self._n))

    def _tracked(self, start, stop):
        table = np.arange(start, stop, dtype=float)[:, None] * np.ones(2)
        weakref.finalize(table, self._gone)
        return table

    def _gone(self):
        self.alive -= 1


@pytest.mark.parametrize("threads", [1, 3])
def test_no_more_than_a_few_blocks_are_alive(threads):
    rows = Recorded(400, 10)
    with threadpool_limits(threads, user_api="blas"):
        total = rows.sum(lambda block: block.table.sum(axis=0))
        np.testing.assert_array_equal(total, np.full(2, 400 * 399 / 2))
        # one for each thread and one that waits, one that is read, and the one just finished
        assert rows.most <= threads + 3
        slow = rows.vector(lambda table: (time.sleep(0.001), table[:, 0].copy())[1])
        np.testing.assert_array_equal(slow, np.arange(400.0))
        assert rows.most <= threads + 3
        # whoever takes their time with the results has no more in memory
        for result in rows.map(lambda block: float(block.table[0, 0])):
            time.sleep(0.001)
            assert result % 10 == 0
        assert rows.most <= threads + 3
    assert rows.alive == 0


def test_results_come_in_order_though_several_threads_work():
    rows, seen = from_array(np.arange(60.0), size=3), set()
    pauses = np.random.default_rng(1).uniform(0, 0.01, 20)

    def slowly(block):
        seen.add(threading.get_ident())
        time.sleep(pauses[block.start // 3])
        return block.start

    with threadpool_limits(4, user_api="blas"):
        assert list(rows.map(slowly)) == list(range(0, 60, 3))
    assert 1 < len(seen) <= 4
    assert threading.get_ident() not in seen


def test_one_thread_of_linear_algebra_is_one_thread_for_blocks():
    rows = from_array(np.arange(60.0), size=3)
    with threadpool_limits(1):
        found = set(rows.map(lambda block: threading.get_ident()))
    assert found == {threading.get_ident()}


@pytest.mark.torch
def test_a_device_has_threads_of_its_own(folder):
    with threadpool_limits(4, user_api="blas"):
        found = set(rows_of("torch", folder).map(lambda block: threading.get_ident()))
    assert found == {threading.get_ident()}


def test_each_thread_of_blocks_has_one_of_linear_algebra():
    rows = from_array(np.arange(60.0), size=3)
    with threadpool_limits(3, user_api="blas"):
        assert set(rows.map(lambda block: blas_threads())) == {1}
        assert blas_threads() == 3


def test_threads_of_linear_algebra_are_put_back_however_an_iteration_ends():
    rows = from_array(np.arange(60.0), size=3)
    with threadpool_limits(3, user_api="blas"):
        with pytest.raises(BlockError):
            rows.sum(_fails)
        assert blas_threads() == 3
        left = rows.map(lambda block: block.start)
        assert next(left) == 0
        del left
        assert blas_threads() == 3
        # two at a time: the first one ends before the second
        pairs = zip(rows.map(lambda b: b.start), rows.map(lambda b: b.start), strict=False)
        assert all(one == other for one, other in pairs)
        del pairs
        assert blas_threads() == 3


def test_an_iteration_that_is_left_reads_no_further():
    rows = Recorded(4000, 10)
    assert rows.first(15).shape == (15, 2)
    started = []
    counted = rows.stretches

    def noted(size):
        for table in counted(size):
            started.append(1)
            yield table

    rows.stretches = noted
    with threadpool_limits(3, user_api="blas"):
        rows.first(15)
    # two blocks are wanted; each of three threads may have one, one is read ahead
    assert len(started) <= 2 + 3 + 1


def test_maps_within_maps_work():
    rows = from_array(np.arange(60.0), size=3)
    inner = from_array(np.arange(10.0), size=2)
    with threadpool_limits(3, user_api="blas"):
        total = rows.sum(lambda block: inner.sum(lambda each: each.table.sum()) * block.n_rows)
    assert total == 45 * 60


# --- errors


def _fails_at(value):
    def function(block):
        if (plain(block.table)[:, 0] == value).any():
            raise ValueError(f"Got {value}.")
        return block.n_rows

    return function


@pytest.mark.parametrize("source", SOURCES)
def test_the_error_of_a_function_names_block_and_rows(source, folder):
    row = 27  # in the fourth block of eight, which starts at 24
    value = TABLE[row, 0]
    assert (TABLE[:, 0] == value).sum() == 1
    number = 7 if source == "dask with gaps" else 3
    of = {"file": " of whole.parquet", "files": " of part-3.parquet"}
    of |= dict.fromkeys(["folder", "pattern"], of["files"])
    message = f"In block {number} (rows 24 to 31){of.get(source, '')}: Got {value}."
    rows = rows_of(source, folder)
    for run in (rows.sum, lambda function: list(rows.map(function))):
        with pytest.raises(BlockError) as caught:
            run(_fails_at(value))
        assert str(caught.value) == message
        assert isinstance(caught.value, ValueError)
    with threadpool_limits(3, user_api="blas"), pytest.raises(BlockError) as caught:
        rows.sum(_fails_at(value))
    assert str(caught.value) == message


def test_a_block_across_files_names_the_first_and_the_last(folder):
    rows = rows_of("folder", folder, size=30)
    with pytest.raises(BlockError, match=r"0 \(rows 0 to 29\) of part-0.parquet to part-3.parquet"):
        rows.sum(_fails_at(TABLE[1, 0]))


def test_large_numbers_of_rows_have_commas():
    rows = from_array(np.arange(5000.0), size=2000)
    with pytest.raises(BlockError, match=r"In block 1 \(rows 2,000 to 3,999\): Got 3000"):
        rows.sum(_fails_at(3000))


@pytest.mark.parametrize("source", ["array", "folder", "dask array"])
def test_what_is_no_fault_of_the_rows_comes_out_as_it_is(source, folder):
    rows = rows_of(source, folder)
    with pytest.raises(ZeroDivisionError):
        rows.sum(lambda block: 1 // 0)
    with pytest.raises(BlockError, match=r"In block \d \(rows .*: no column 'z'"):
        rows.sum(lambda block: {}["z"])
    with pytest.raises(BlockError, match=r"In block \d \(rows .*: unsupported operand"):
        rows.sum(lambda block: block.table + {})


@pytest.mark.parametrize("source", SOURCES)
def test_a_vector_needs_an_entry_for_each_row(source, folder):
    rows = rows_of(source, folder)
    with pytest.raises(BlockError, match=r"Got a function that returns 3 for [58] rows"):
        compute(rows.vector(lambda table: plain(table)[0] if len(table) > 1 else [0.0]))
    with pytest.raises(BlockError, match="Got a function that returns one number for"):
        compute(rows.vector(lambda table: plain(table).sum()))


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("n", [0, 1, N - 1, N + 1])
def test_what_lies_beside_must_have_an_entry_for_each_row(source, n, folder):
    rows = rows_of(source, folder)
    message = f"Got {n} entries for {N} rows; there must be one for each row"
    with pytest.raises(ValueError, match=message):
        rows.sum(lambda block: 1, np.zeros(n))
    others = [np.zeros((n, 2)), from_array(np.zeros((n, 2)))]
    if source in DASK:
        others[1] = dask_zeros(n)
    for other in others:
        with pytest.raises(ValueError, match=message):
            rows.vector(lambda table, part: table[:, 0], other)


def dask_zeros(n):
    return pytest.importorskip("dask.array").zeros((n, 2), chunks=(4, 1))


def test_a_number_is_no_vector(folder):
    for source in ("array", "dask array"):
        with pytest.raises(ValueError, match="Got 1 entries for 53 rows"):
            rows_of(source, folder).sum(lambda block: 1, 5.0)


def test_dask_rows_and_those_of_this_process_do_not_lie_beside_each_other(folder):
    collection = dask_of("dask array", 8)
    for other in (collection, from_dask(collection), dask_of("dask unknown", 8)):
        with pytest.raises(TypeError, match="Got rows of dask or Spark together with rows of this"):
            rows_of("array", folder).sum(lambda block: 1, other)
    with pytest.raises(TypeError, match="Got rows of this process together with dask"):
        from_dask(collection).sum(lambda block: 1, rows_of("array", folder))


@pytest.mark.parametrize("size", [0, -1, 2.5, True, "8"])
def test_sizes_of_blocks_are_checked(size, folder):
    for made in (
        lambda: from_array(TABLE, size),
        lambda: from_parquet(folder / "whole.parquet", size=size),
    ):
        with pytest.raises(ValueError, match=r"Got size=.*expected the number of rows of a block"):
            made()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("n", [-1, 2.5, True, None])
def test_numbers_of_first_rows_are_checked(source, n, folder):
    with pytest.raises(ValueError, match=r"Got n=.*expected a number of rows, at least 0"):
        rows_of(source, folder).first(n)


@pytest.mark.parametrize("source", NAMED)
def test_columns_are_checked(source, folder):
    rows = rows_of(source, folder)
    with pytest.raises(ValueError, match=r"columns \['z'\] that are not there; the columns are"):
        rows.select(["a", "z"])
    for wanted in ([], ["a", "a"]):
        with pytest.raises(ValueError, match="expected one or more, all different"):
            rows.select(wanted)


@pytest.mark.parametrize("source", ["array", "memory map", "dask array", TORCH])
def test_an_array_has_no_names_to_select(source, folder):
    with pytest.raises(TypeError, match="Got column names for rows without names"):
        rows_of(source, folder).select(["a"])


def test_columns_of_files_are_checked(folder):
    with pytest.raises(ValueError, match=r"Got columns \['z'\] that are not there"):
        from_parquet(folder / "parts", columns=["z"])
    with pytest.raises(ValueError, match="expected one or more, all different"):
        from_parquet(folder / "parts", columns=[])


def test_paths_are_checked(folder, tmp_path):
    for path in (tmp_path / "none.parquet", tmp_path, tmp_path / "*.parquet", [tmp_path / "x"]):
        with pytest.raises(FileNotFoundError, match="where there is no Parquet file; pass a file"):
            from_parquet(path)
    for nothing in ([], None):
        with pytest.raises(ValueError, match="Got no path; pass a Parquet file"):
            from_parquet(nothing)
    with pytest.raises(BlockError, match=r"table\.npy is not a Parquet file, or is damaged"):
        from_parquet(folder / "table.npy")


def test_tables_have_two_dimensions():
    with pytest.raises(ValueError, match="Got an array of 3 dimensions, but expected 2"):
        from_array(np.zeros((2, 2, 2)))
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="Got a dask array of 3 dimensions, but expected 2"):
        from_dask(da.zeros((2, 2, 2)))


def test_only_collections_of_dask_come_in_by_its_door():
    with pytest.raises(TypeError, match="Got ndarray, but expected a dask array or data frame"):
        from_dask(TABLE)
    dask = pytest.importorskip("dask")
    with pytest.raises(TypeError, match="but expected a dask array or data frame"):
        from_dask(dask.delayed(TABLE))


# --- what is installed, and what is imported


def _run(lines):
    return subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True)


def test_rows_import_no_library_that_they_may_not_need():
    found = _run(
        "import sys, numpy as np, sklearn.utils\n"
        "before = set(sys.modules)\n"  # scikit-learn imports some of them where they are
        "import weighbridge.blocks as blocks\n"
        "rows = blocks.from_array(np.zeros((3, 2)))\n"
        "rows.sum(lambda block: block.n_rows), blocks.is_blocks(3), blocks.as_rows([[1.0]])\n"
        "heavy = {'dask', 'distributed', 'pyarrow', 'torch', 'pandas', 'polars'}\n"
        "print(sorted(heavy & (set(sys.modules) - before)), 'dask' in sys.modules)"
    )
    assert (found.stdout.strip(), found.returncode) == ("[] False", 0), found.stderr


@pytest.mark.more
def test_files_without_pyarrow_say_what_to_install(folder):
    found = _run(
        "import sys; sys.modules['pyarrow'] = None\n"
        "from weighbridge.blocks import from_parquet\n"
        f"from_parquet({str(folder / 'whole.parquet')!r})"
    )
    assert found.returncode == 1
    assert found.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: Parquet files need the package pyarrow: "
        'pip install "weighbridge[parquet]"'
    )


@pytest.mark.more
def test_rows_of_this_process_do_not_need_dask(folder):
    found = _run(
        "import sys; sys.modules['dask'] = None; import numpy as np\n"
        "from weighbridge.blocks import as_rows, from_dask, from_parquet, is_blocks\n"
        f"rows = from_parquet({str(folder / 'parts')!r}, size=8)\n"
        "print(is_blocks(rows), rows.shape, as_rows(np.zeros((3, 2))).shape)\n"
        "print(rows.sum(lambda block: len(block.beside[0]), np.zeros(53)))\n"
        "from_dask(np.zeros((3, 2)))"
    )
    assert found.stdout.split("\n")[:2] == ["True (53, 3) (3, 2)", "53"]
    assert "TypeError: Got ndarray, but expected a dask array" in found.stderr


def test_settings_of_scikit_learn_reach_the_threads():
    rows = from_array(np.zeros((100, 2)), size=10)
    with config_context(working_memory=77), threadpool_limits(2):
        assert set(rows.map(lambda block: get_config()["working_memory"])) == {77}
    assert get_config()["working_memory"] == 1024


@pytest.mark.parametrize("size", [1, 7, 100])
def test_a_sample_is_drawn_once_each_and_is_the_same_in_other_blocks(size):
    X = np.arange(200.0).reshape(100, 2)
    found = from_array(X, size).sample(30)
    np.testing.assert_array_equal(found, from_array(X).sample(30))
    assert found.shape == (30, 2)
    assert (np.diff(found[:, 0]) > 0).all()
    np.testing.assert_array_equal(from_array(X, size).sample(1000), X)


def test_every_row_is_drawn_as_often():
    rows, counts = from_array(np.arange(20.0)[:, None], 6), np.zeros(20)
    for seed in range(2000):
        counts[rows.sample(5, seed)[:, 0].astype(int)] += 1
    # 500 expected, standard deviation 19.4: five of them for the largest of 20
    assert np.abs(counts - 500).max() < 5 * 19.4


def test_rows_say_what_they_are():
    assert repr(from_array(np.zeros((3, 2)))) == "<ArrayRows of 2 columns>"
    frame = pd.DataFrame({"a": [1.0], "b": [2.0]})
    assert repr(as_rows(frame)) == "<ArrayRows of 2 columns, a, b>"
