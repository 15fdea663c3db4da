"""Damaged, odd and interrupted rows: the message says where, and a ratio is whole or not at all."""

import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from weighbridge import fit_ratio
from weighbridge.blocks import ArrayRows, as_rows, from_array, from_dask, from_parquet
from weighbridge.blocks._sources import ParquetRows
from weighbridge.exceptions import BlockError
from weighbridge.ratios import KLIEP, ULSIF, AutoRatio, ClassifierRatio, GaussianRatio

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

PART, N_PARTS, SIZE = 400, 5, 150
N = PART * N_PARTS
NAMES = ["a", "b"]
TABLE = np.random.default_rng(0).normal(size=(N, 2))
TARGET = np.random.default_rng(1).normal(0.3, 1, (300, 2))
FRAME = pd.DataFrame(TABLE, columns=NAMES)
FRAME_TARGET = pd.DataFrame(TARGET, columns=NAMES)

RATIOS = [
    ULSIF(n_centres=5),
    ULSIF(0.3, n_centres=5, cv=3),
    GaussianRatio(),
    ClassifierRatio(),
    KLIEP(n_centres=5),
    AutoRatio([("linear", ClassifierRatio())], cv=2),
]


@pytest.fixture
def folder(tmp_path):
    """Five files of 400 rows, without compression and with a checksum for each page."""
    for k in range(N_PARTS):
        write(tmp_path, k, pa.Table.from_pandas(FRAME[k * PART : (k + 1) * PART]))
    return tmp_path


def write(folder, k, table, **options):
    options = {"compression": "none", "write_page_checksum": True} | options
    pq.write_table(table, folder / f"part-{k}.parquet", row_group_size=130, **options)


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path, group, column, ahead=200):
    """Change bytes in the middle of a page of data."""
    place = pq.read_metadata(path).row_group(group).column(column).data_page_offset + ahead
    content = bytearray(path.read_bytes())
    content[place : place + 8] = bytes(255 - byte for byte in content[place : place + 8])
    path.write_bytes(content)


def assert_not_fitted(ratio, before):
    assert vars(ratio) == before
    with pytest.raises(NotFittedError):
        ratio.score_samples(TABLE)


def fails(ratio, rows, match, error=BlockError, target=None):
    """The fit fails with this message, and leaves the ratio as it was."""
    ratio = clone(ratio)
    before = dict(vars(ratio))
    with pytest.raises(error, match=match) as caught:
        ratio._fit_blocks(rows, from_array(TARGET) if target is None else target)
    assert_not_fitted(ratio, before)
    return caught.value


# --- damaged files


def test_a_file_cut_off_in_the_middle_of_a_folder_is_named_at_once(folder):
    truncate(folder / "part-2.parquet")
    with pytest.raises(BlockError, match=r"^part-2\.parquet is not a Parquet file, or is damaged"):
        from_parquet(folder)


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_file_cut_off_before_a_fit_is_named(ratio, folder):
    rows = from_parquet(folder, size=SIZE)
    truncate(folder / "part-2.parquet")
    # 800 rows were read before; the sixth block holds row 800
    match = r"^In block 5 \(from row 800\) of part-2\.parquet: the file cannot be read any further"
    fails(ratio, rows, match)


def test_a_file_that_is_gone_is_named(folder):
    rows = from_parquet(folder, size=SIZE)
    (folder / "part-4.parquet").unlink()
    fails(ULSIF(), rows, r"^In block 10 \(from row 1,600\) of part-4\.parquet: .* write or copy")


@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("ratio", RATIOS)
def test_a_page_whose_bytes_have_changed_is_found_by_its_checksum(ratio, column, folder):
    flip(folder / "part-2.parquet", 1, column)
    # of 150 rows that are read at a time the last 20 are broken
    match = r"^In block 5 \(from row 800\) of part-2\.parquet: the file cannot be read any further"
    fails(ratio, from_parquet(folder, size=SIZE), match)


@pytest.mark.parametrize("compression", ["zstd", "snappy"])
def test_a_compressed_page_whose_head_is_broken_is_found_without_a_checksum(folder, compression):
    table = pa.Table.from_pandas(FRAME[:PART])
    write(folder, 3, table, compression=compression, write_page_checksum=False)
    flip(folder / "part-3.parquet", 0, 0, ahead=0)
    match = r"^In block 8 \(from row 1,200\) of part-3\.parquet: the file cannot be read any"
    fails(ULSIF(), from_parquet(folder, size=SIZE), match)


class CutLater(ParquetRows):
    """Files of which one is cut off after some passes over them."""

    passes = 0

    def stretches(self, size):
        self.passes += 1
        if self.passes == self.last:
            truncate(self.victim)
        return super().stretches(size)


def _cut_later(folder, last):
    rows = CutLater(sorted(map(str, folder.glob("*.parquet"))), size=SIZE)
    rows.last, rows.victim = last, folder / "part-1.parquet"
    return rows


@pytest.mark.parametrize("ratio", RATIOS[:3])
def test_a_file_cut_off_in_any_pass_of_a_fit_is_named(ratio, folder, tmp_path_factory):
    whole = _cut_later(folder, 0)
    fitted = fit_ratio(whole, from_array(TARGET), ratio)
    assert whole.passes >= 2
    for last in range(1, whole.passes):  # fit_ratio has one pass more: it compares columns
        copied = tmp_path_factory.mktemp("copied")
        shutil.copytree(folder, copied, dirs_exist_ok=True)
        fails(ratio, _cut_later(copied, last), r"of part-1\.parquet: the file cannot be read")
    # scores need the files as well
    scored = _cut_later(folder, 1)
    with pytest.raises(BlockError, match=r"\(from row 400\) of part-1\.parquet"):
        fitted.score_samples(scored)


# --- files and partitions that are not like the others


def test_a_file_with_other_columns_is_named(folder):
    write(folder, 3, pa.table({"a": [1.0], "z": [2.0]}))
    with pytest.raises(BlockError) as caught:
        from_parquet(folder)
    assert str(caught.value) == (
        "part-3.parquet has no column 'b', which part-0.parquet has (1 of 2 are missing); all "
        "must have the same columns."
    )
    # columns that are not read may be missing, and there may be more
    assert from_parquet(folder, columns=["a"]).shape == (N - PART + 1, 1)


@pytest.mark.parametrize(
    "column", [pa.array(["x", "y"]), pa.array([1, 2], pa.timestamp("s")), pa.array([[1], [2]])]
)
def test_a_file_with_text_or_dates_where_others_have_numbers_is_named(folder, column):
    write(folder, 4, pa.table({"a": [1.0, 2.0], "b": column}))
    with pytest.raises(BlockError, match=r"part-4\.parquet has column 'b' as .*, and part-0"):
        from_parquet(folder)
    assert from_parquet(folder, columns=["a"]).n_rows == N - PART + 2


def test_a_file_with_other_numbers_is_like_the_others(folder):
    write(folder, 4, pa.table({"b": [True, False], "a": pa.array([3, None], pa.int8())}))
    rows = from_parquet(folder, size=SIZE)
    np.testing.assert_array_equal(rows.first(N)[-2:], [[3, 1], [np.nan, 0]])


def odd_partition(odd):
    """A data frame of dask of eight partitions, the sixth of which is odd."""
    dask = pytest.importorskip("dask")
    dd = pytest.importorskip("dask.dataframe")
    parts = [FRAME[start : start + 250] for start in range(0, N, 250)]
    parts[5] = odd
    delayed = [dask.delayed(part) for part in parts]
    return dd.from_delayed(delayed, meta=FRAME[:0], verify_meta=False)


@pytest.mark.parametrize(
    "odd",
    [
        FRAME[:250].rename(columns={"b": "z"}),
        FRAME[["b", "a"]][:250],
        FRAME[["a"]][:250],
        FRAME[:250].assign(c=1.0),
    ],
)
@pytest.mark.parametrize("ratio", RATIOS[::2])
def test_a_partition_with_other_columns_than_dask_was_told_is_named(ratio, odd):
    match = rf"^In block 5 \(rows 1,250 to 1,499\): Got a part with columns \[{odd.columns[0]!r}"
    fails(ratio, from_dask(odd_partition(odd)), match)


def test_a_chunk_with_other_columns_than_dask_was_told_is_named():
    dask = pytest.importorskip("dask")
    da = pytest.importorskip("dask.array")
    chunks = [
        da.from_delayed(dask.delayed(np.zeros((9, width))), (9, 2), dtype=float)
        for width in (2, 2, 3)
    ]
    rows = from_dask(da.concatenate(chunks))
    with pytest.raises(BlockError, match=r"In block 2 \(rows 18 to 26\): Got a part with columns"):
        rows.sum(lambda block: block.table.sum())


def test_a_partition_with_text_where_dask_was_told_of_numbers_is_named():
    odd = FRAME[:250].astype(object).assign(b="x")
    rows = from_dask(odd_partition(odd))
    fails(ULSIF(), rows, r"^In block 5 \(rows 1,250 to 1,499\): could not convert string to float")


# --- values that are no numbers


def with_value(value, row, column):
    table = TABLE.copy()
    table[row, column] = value
    return table


def array(table, folder):
    return from_array(table, SIZE)


def memory_map(table, folder):
    np.save(folder / "table.npy", table)
    return from_array(np.load(folder / "table.npy", mmap_mode="r"), SIZE)


def frame(table, folder):
    return from_array(pd.DataFrame(table, columns=NAMES), SIZE)


def file(table, folder):
    pd.DataFrame(table, columns=NAMES).to_parquet(folder / "x.parquet")
    return from_parquet(folder / "x.parquet", size=SIZE)


def dask_array(table, folder):
    return pytest.importorskip("dask.array").from_array(table, chunks=(SIZE, 1))


def dask_frame(table, folder):
    dd = pytest.importorskip("dask.dataframe")
    return dd.from_pandas(pd.DataFrame(table, columns=NAMES), chunksize=SIZE)


@pytest.mark.parametrize("source", [array, memory_map, frame, file, dask_array, dask_frame])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_named_with_its_block_and_column(source, value, tmp_path):
    rows = source(with_value(value, 7 * SIZE + 3, 1), tmp_path)
    name = 1 if source in (array, memory_map, dask_array) else "b"
    of = r" of x\.parquet" if source is file else ""
    match = rf"^In block 7 \(rows 1,050 to 1,199\){of}: Got infinity in column '{name}'; replace it"
    target = FRAME_TARGET if name == "b" else TARGET
    for ratio in RATIOS:
        fails(ratio, as_rows(rows), match, target=as_rows(target))
        with pytest.raises(BlockError, match=match):
            fit_ratio(rows, target, ratio)
    # the second sample is looked at as well
    with pytest.raises(BlockError, match=match):
        fit_ratio(FRAME if name == "b" else TABLE, rows, ULSIF())


@pytest.mark.parametrize("source", [array, file, dask_array, dask_frame])
def test_infinity_in_rows_to_be_scored_is_named(source, tmp_path):
    rows = source(with_value(np.inf, 7 * SIZE + 3, 1), tmp_path)
    ratio = ULSIF(n_centres=5)._fit_blocks(from_array(TABLE, SIZE), from_array(TARGET))
    with pytest.raises(BlockError, match=r"^In block 7 \(rows 1,050 to 1,199\).*[iI]nfinity"):
        np.asarray(ratio.score_samples(rows))


@pytest.mark.torch
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("ratio", RATIOS[:2])
def test_what_is_no_number_in_a_tensor_is_named(ratio, value):
    torch = pytest.importorskip("torch")
    rows = from_array(torch.asarray(with_value(value, 7 * SIZE + 3, 1)), SIZE)
    target = from_array(torch.asarray(TARGET))
    match = r"^In block 7 \(rows 1,050 to 1,199\): Got NaN or infinite values in a Tensor; .*NumPy"
    fails(ratio, rows, match, target=target)
    fitted = fit_ratio(from_array(torch.asarray(TABLE), SIZE), target, ratio)
    with pytest.raises(BlockError, match=r"^In block 7 \(rows 1,050 to 1,199\): Got NaN or inf"):
        fitted.score_samples(rows)


def test_a_column_whose_outliers_are_all_there_is_is_refused(tmp_path):
    rows = array(with_value(1e250, 1_000, 0), tmp_path)
    fails(ULSIF(), rows, "Column '0' holds values so far from its others", error=ValueError)


# --- interrupted, and fitted before


class Interrupted(ArrayRows):
    """Rows whose reader is stopped by the user in the middle of a pass."""

    passes, last = 0, None

    def stretches(self, size):
        self.passes += 1
        for number, table in enumerate(super().stretches(size)):
            if (self.passes, number) == (self.last, 2):
                raise KeyboardInterrupt
            yield table


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_fit_that_the_user_stops_in_any_pass_leaves_the_ratio_as_it_was(ratio):
    counted = Interrupted(TABLE, SIZE)
    fit_ratio(counted, from_array(TARGET), ratio)
    assert counted.passes >= 2
    for last in range(1, counted.passes):  # as above
        rows = Interrupted(TABLE, SIZE)
        rows.last = last
        fails(ratio, rows, None, error=KeyboardInterrupt)
    rows = Interrupted(TARGET, 50)
    rows.last = 1
    fails(ratio, from_array(TABLE), None, error=KeyboardInterrupt, target=rows)


def test_a_fit_on_dask_that_the_user_stops_leaves_the_ratio_as_it_was():
    dask = pytest.importorskip("dask")
    da = pytest.importorskip("dask.array")

    def stopped(block, block_info=None):
        if block_info[0]["chunk-location"][0] == 4:
            raise KeyboardInterrupt
        return block

    rows = da.from_array(TABLE, chunks=(SIZE, 2)).map_blocks(stopped, dtype=float)
    with dask.config.set(scheduler="synchronous"):
        fails(ULSIF(n_centres=5), from_dask(rows), None, error=KeyboardInterrupt)


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_ratio_that_was_fitted_before_stays_so_when_another_fit_fails(ratio):
    ratio = fit_ratio(from_array(TABLE, SIZE), from_array(TARGET), ratio)
    before, scores = dict(vars(ratio)), ratio.score_samples(TABLE)
    broken = from_array(with_value(np.inf, N - 1, 0), SIZE)
    with pytest.raises(BlockError):
        ratio._fit_blocks(broken, from_array(TARGET))
    assert vars(ratio).keys() == before.keys()
    assert all(vars(ratio)[name] is value for name, value in before.items())
    np.testing.assert_array_equal(ratio.score_samples(TABLE), scores)
