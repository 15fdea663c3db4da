"""What comes out of a table is what was written into it."""

import csv
import datetime
import decimal
import gzip
import io
import math
import random

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from weighbridge._tables import _csv, guess_task, read_blocks, read_table
from weighbridge._tables._read import RowPool
from weighbridge._tables._table import MISSING, kind_of
from weighbridge.exceptions import InputError


def read(path, content, **settings):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path, **settings)


def kinds(table):
    return {column.name: column.kind for column in table.columns}


# Cells of any text that UTF-8 can hold; NUL cannot be in a file of text.
CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@settings(deadline=None, max_examples=60)
@given(
    rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=12),
    delimiter=st.sampled_from(",;\t"),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    bom=st.booleans(),
    packed=st.booleans(),
)
def test_any_text_is_read_back_exactly(rows, delimiter, end, bom, packed, tmp_path_factory):
    """A cell comes back as written, as a number if all of its column are, as None if missing."""
    text = io.StringIO()
    # every cell in quotes, as otherwise a row of empty cells is a blank line to some readers
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerows([("x", "y"), *rows])
    content = text.getvalue().encode("utf-8-sig" if bom else "utf-8")
    path = tmp_path_factory.mktemp("t") / "a.csv"
    table = read(path, gzip.compress(content) if packed else content)
    for name, cells in zip("xy", zip(*rows, strict=True), strict=True):
        column = table.frame[name].tolist()
        if table.column(name).kind == "category":
            assert column == [None if c.strip() in MISSING else c for c in cells]
            assert any(kind_of(c) not in ("missing", "number", "infinite") for c in cells)
        else:
            assert all(
                math.isnan(v) if c.strip() in MISSING else v == float(c)
                for v, c in zip(column, cells, strict=True)
            )


@settings(deadline=None)
@given(values=st.lists(st.floats(allow_nan=False), min_size=20, max_size=40))
def test_numbers_are_read_to_the_last_bit(values, tmp_path_factory):
    """What repr writes is read as the same double, infinity included."""
    rows = "".join(f"{value!r},0\n" for value in values)
    table = read(tmp_path_factory.mktemp("t") / "a.csv", "x,y\n" + rows)
    assert table.frame["x"].to_numpy().tobytes() == np.array(values).tobytes()


# What readers of CSV disagree about: in cells, and between them.
NUMBERS = ["1", "-2.5", "007", "+7", "1e5", "12345678901234567890", "0.1", "", "NA", "nan"]
WORDS = [
    "a",
    "b c",
    "é",
    " ",
    "NA ",
    "inf",
    "1e999",
    "NAN",
    "1_000",
    "true",
    "1,5",
    "\ufeff5",
    "\x1c8",
]
TROUBLE = [
    '"',
    '""',
    'a"b',
    '"a\nb"',
    ' "a"',
    "\r",
    "\n",
    "\n\n",
    "\n  \n",
    ",",
    "\0",
    "\udc80",
    "\ufeff",
]


def any_csv(rng):
    """Return the bytes of a file: columns of numbers, words or both, and now and then trouble."""
    pools = [rng.choice([NUMBERS, WORDS, NUMBERS + WORDS, ["true", "false"]]) for _ in range(3)]
    text = io.StringIO()
    end, quoting = rng.choice(["\n", "\n", "\r\n"]), rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    writer = csv.writer(text, delimiter=rng.choice(",;"), lineterminator=end, quoting=quoting)
    writer.writerow(["x", "y", "z"])
    writer.writerows([rng.choice(pool) for pool in pools] for _ in range(rng.randrange(40)))
    content = text.getvalue()
    for _ in range(rng.choice([0, 0, 1, 2])):
        at = rng.randrange(len(content) + 1)
        content = content[:at] + rng.choice(TROUBLE) + content[at:]
    return content.encode("utf-8", "surrogateescape")


def outcome(path, **settings):
    """Return all that reading gives, ready to be compared; of an error its words."""
    try:
        table = read_table(path, **settings)
    except InputError as error:
        return str(error)
    columns = {name: repr(table.frame[name].tolist()) for name in table.names}
    tallies = [
        (t.counts, {k: row for k, (row, _) in t.first.items()}) for t in table.tallies.values()
    ]
    return columns, table.columns, tallies, table.rows, table.sha256


@pytest.mark.parametrize("seed", range(200))
def test_what_pandas_reads_is_what_the_walk_reads(seed, tmp_path, monkeypatch):
    """The same table or the same error, whatever the file and wherever its chunks end."""
    rng = random.Random(seed)
    path = tmp_path / "a.csv"
    path.write_bytes(any_csv(rng))
    settings = {"max_rows": rng.choice([None, 5])}
    monkeypatch.setattr(_csv, "FIRST_BYTES", rng.choice([20, 100, 1 << 16]))
    monkeypatch.setattr(_csv, "BLOCK", rng.choice([10, 50, 1 << 20]))
    fast = outcome(path, **settings)
    monkeypatch.setattr(_csv.CsvSource, "_regular_blocks", refuse)
    assert outcome(path, **settings) == fast


def refuse(source, columns, text):
    raise _csv._IrregularError


def test_a_regular_file_is_never_walked(tmp_path, monkeypatch):
    """Quotes, missing values, other line ends, and text that comes late are all regular."""
    monkeypatch.setattr(_csv.CsvSource, "_walk", refuse)
    rows = "".join(f'{i:05d},"site ""{i % 3}""\r\nwest",NA\r\n' for i in range(20_000))
    table = read(tmp_path / "a.csv", "\ufeffx,y,z\r\n" + rows + "last,b,1.5\r\n\r\n")
    assert kinds(table) == {"x": "category", "y": "category", "z": "numeric"}
    assert table.frame["y"][4] == 'site "1"\r\nwest'


@pytest.mark.parametrize("cell", ["", "NA", "NaN", "nan", "null", "NULL", " ", "NA "])
def test_missing_cells_leave_a_column_of_numbers(cell, tmp_path):
    table = read(tmp_path / "a.csv", f"x,y\n1,a\n{cell},b\n")
    assert kinds(table) == {"x": "numeric", "y": "category"}
    assert np.isnan(table.frame["x"][1])
    assert table.columns[0].missing == 0.5


@pytest.mark.parametrize(
    "cell", ["None", "none", "N/A", "-", "NAN", "-nan", "true", "1_000", "0x1", "١٢", "1e", "."]
)
def test_nothing_else_is_missing_or_a_number(cell, tmp_path):
    table = read(tmp_path / "a.csv", f"x,y\n1,a\n{cell},b\n")
    assert table.frame["x"].tolist() == ["1", cell]


def test_column_that_turns_to_text_late_is_text_from_the_start(tmp_path):
    """Blocks before the first text are not lost: leading zeros come back as written."""
    rows = "".join(f"{i:05d},{i}\n" for i in range(9_000))
    table = read(tmp_path / "a.csv", "x,y\n" + rows + "last,1\n")
    assert kinds(table) == {"x": "category", "y": "numeric"}
    assert table.frame["x"].tolist() == [f"{i:05d}" for i in range(9_000)] + ["last"]
    assert table.tallies["x"].first_text == (9_000, "last")


def test_blank_lines_are_no_rows_and_lines_are_counted_as_in_an_editor(tmp_path):
    table = read(tmp_path / "a.csv", '\nx,y\n\n1,"a\nb"\n   \n2,c\n')
    assert table.frame["y"].tolist() == ["a\nb", "c"]
    assert [table.place(row) for row in (0, 1)] == ["line 4", "line 7"]


def test_one_column_is_a_table_and_its_blank_lines_are_empty_cells(tmp_path):
    """Rows of the file stay rows; blank lines at its end are none."""
    table = read(tmp_path / "a.csv", "\nage\n41\n\n52\n\n\n")
    assert np.isnan(table.frame["age"][1])
    assert table.frame["age"].tolist()[::2] == [41.0, 52.0]
    assert [table.place(row) for row in range(3)] == ["line 3", "line 4", "line 5"]


def test_words_with_spaces_are_one_column(tmp_path):
    table = read(tmp_path / "a.csv", "blood pressure\nvery high\nlow\n")
    assert table.names == ["blood pressure"]


def test_delimiter_in_quotes_is_none(tmp_path):
    table = read(tmp_path / "a.csv", '"a,b,c";d\n1;2\n')
    assert table.names == ["a,b,c", "d"]


def test_delimiter_that_fits_the_rows_wins_a_tie(tmp_path):
    assert read(tmp_path / "a.csv", "income,net;age\n1;2\n").names == ["income,net", "age"]


def test_file_is_known_by_its_content_and_its_hash_is_that_on_disk(tmp_path):
    import hashlib

    packed = gzip.compress(b"x,y\n1,2\n")
    table = read(tmp_path / "no_suffix", packed)
    assert table.frame["x"].tolist() == [1.0]
    assert table.sha256 == hashlib.sha256(packed).hexdigest()


def test_names_that_count_the_columns_are_a_header(tmp_path):
    assert read(tmp_path / "a.csv", "0,1,2\n5,6,7\n").names == ["0", "1", "2"]


# ---------------------------------------------------------------- samples


def test_every_set_of_rows_is_equally_likely():
    """A simple random sample: all 10 pairs of 5 rows come equally often, in the table's order."""
    counts = dict.fromkeys(((i, j) for i in range(5) for j in range(i + 1, 5)), 0)
    for seed in range(4_000):
        pool = RowPool(2, seed)
        for block in np.split(np.arange(5.0), [1, 4]):
            pool.add([block])
        positions, columns = pool.finish()
        assert columns[0].tolist() == positions.tolist()
        counts[tuple(positions.tolist())] += 1
    # fixed seeds, so the probability of a false alarm is spent once and for all
    assert stats.chisquare(list(counts.values())).pvalue > 0.01


def test_sample_does_not_depend_on_blocks_and_never_holds_much_more():
    values = np.arange(10_000.0)
    samples = []
    for step in (7, 1_000, 10_000):
        pool = RowPool(100, 3)
        for start in range(0, 10_000, step):
            pool.add([values[start : start + step]])
            assert pool._held <= 2 * 100 + step
        samples.append(pool.finish()[1][0].tolist())
    assert samples[0] == samples[1] == samples[2]
    assert len(samples[0]) == 100


def test_sampled_table_knows_its_rows_and_judges_columns_by_all_of_them(tmp_path):
    rows = "".join(f"{i},a\n" for i in range(5_000))
    table = read(tmp_path / "a.csv", "x,y\n" + rows + "word,b\n", max_rows=50, seed=1)
    assert (table.rows, table.sampled, len(table.frame)) == (5_001, 50, 50)
    assert table.column("x").kind == "category"
    assert table.frame["x"].tolist() == [str(i) for i in table.positions]
    again = read_table(tmp_path / "a.csv", max_rows=50, seed=1)
    assert again.positions.tolist() == table.positions.tolist()


def test_sample_larger_than_the_table_is_the_table(tmp_path):
    table = read(tmp_path / "a.csv", "x,y\n1,a\n2,b\n", max_rows=50)
    assert (table.sampled, table.frame["x"].tolist()) == (2, [1.0, 2.0])


# ---------------------------------------------------------------- blocks


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(1, 70))
def test_blocks_put_together_are_the_table(n, rows):
    """No row is lost, doubled or moved, whatever the size of the blocks."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        path.write_text("x,y,z\n" + "".join(f"{i},{i % 3},z\n" for i in range(n)))
        blocks = list(read_blocks(path, {"y": "category", "x": "numeric"}, rows=rows))
    assert all(len(block) == rows for block in blocks[:-1])
    whole = pd.concat(blocks)
    assert list(whole.columns) == ["y", "x"]
    assert whole["x"].tolist() == list(map(float, range(n)))
    assert whole["y"].tolist() == [str(i % 3) for i in range(n)]


def test_blocks_of_parquet_are_those_of_csv(tmp_path):
    frame = pd.DataFrame({"x": np.arange(10.0), "y": [f"{i}" for i in range(10)]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet", index=False)
    features = {"x": "numeric", "y": "category"}
    files = (tmp_path / "a.csv", tmp_path / "a.parquet")
    one, two = (list(read_blocks(f, features, rows=4)) for f in files)
    for a, b in zip(one, two, strict=True):
        pd.testing.assert_frame_equal(a, b)


def test_numbers_in_parquet_are_levels_where_training_had_text(tmp_path):
    pd.DataFrame({"x": [1.0, 2.0, None], "z": 0}).to_parquet(tmp_path / "a.parquet", index=False)
    blocks = read_blocks(tmp_path / "a.parquet", {"x": "category"})
    assert next(iter(blocks))["x"].tolist() == ["1", "2", None]


def test_blocks_say_how_far_they_are(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + f"1,{'a' * 40}\n" * 100_000)
    blocks = read_blocks(path, {"x": "numeric"}, rows=10_000)
    shares = [blocks.share_read for _ in blocks]
    assert shares == sorted(shares)
    assert 0 < shares[0] < 1
    assert shares[-1] == 1


def test_bad_value_in_a_block_is_counted_to_the_end(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "1,2\n" * 9_000 + "one,2\n" + "1,2\n" * 9_000 + "two,inf\n")
    blocks = read_blocks(path, {"x": "numeric", "y": "numeric"}, rows=1_000)
    with pytest.raises(InputError) as caught:
        list(blocks)
    text = str(caught.value)
    assert 'line 9,002: "one"   (2 of 18,002 values)' in text
    assert '"y" has 1 infinite value in' in text
    assert [problem.code for problem in caught.value.problems] == ["WB104", "WB109"]


def test_blocks_name_columns_that_are_not_there(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("Age,y\n1,2\n")
    with pytest.raises(InputError, match='no column "age", which training had') as caught:
        read_blocks(path, {"age": "numeric"})
    assert 'nearest: "Age"' in str(caught.value)


def test_block_without_rows_is_refused(tmp_path):
    with pytest.raises(ValueError, match="Got rows=0"):
        read_blocks(tmp_path / "a.csv", {}, rows=0)


# ---------------------------------------------------------------- frames and Parquet

DAY = datetime.date(2024, 3, 1)
DAYS = (DAY - datetime.date(1970, 1, 1)).days
TYPED = {
    "whole": [1, 2, None],
    "truth": [True, None, False],
    "day": [DAY, None, DAY],
    "money": [decimal.Decimal("1.5"), decimal.Decimal("2.5"), None],
    "word": ["a", None, "1"],
    "nothing": [None, None, None],
}
EXPECTED = {
    "whole": [1.0, 2.0, None],
    "truth": ["True", None, "False"],
    "day": [DAYS, None, DAYS],
    "money": [1.5, 2.5, None],
    "word": ["a", None, "1"],
    "nothing": [None, None, None],
}


def check_typed(table):
    found = {
        name: [None if v is None or v != v else v for v in table.frame[name]]
        for name in table.frame.columns
    }
    assert found == EXPECTED
    assert [n for n, k in kinds(table).items() if k == "category"] == ["truth", "word"]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_every_library_give_the_same_table(library):
    table = read_table(library(TYPED), "train")
    check_typed(table)
    assert table.place(2) == "row 2"
    assert table.sha256 == read_table(pl.DataFrame(TYPED), "other").sha256


def test_parquet_gives_the_table_of_the_frame(tmp_path):
    pq.write_table(pa.table(TYPED), tmp_path / "a.parquet")
    check_typed(read_table(tmp_path / "a.parquet"))


def test_categories_and_times_of_a_frame(tmp_path):
    moment = pd.Timestamp("2024-03-01 12:00")
    frame = pd.DataFrame(
        {"level": pd.Categorical(["a", None, "b"]), "when": [moment, pd.NaT, moment]}
    )
    frame.to_parquet(tmp_path / "a.parquet", index=False)
    for table in (
        read_table(frame, "train"),
        read_table(tmp_path / "a.parquet"),
    ):
        assert table.frame["level"].tolist() == ["a", None, "b"]
        assert table.frame["when"].tolist()[::2] == [DAYS + 0.5, DAYS + 0.5]


def test_levels_that_are_numbers_are_the_same_text_with_and_without_missing_values():
    """Otherwise a level of deployment would be one that training has never seen."""
    for levels in ([1, 2, 1], [1, 2, None]):
        frame = pd.DataFrame({"level": pd.Categorical(levels), "x": 0.5})
        table = read_table(frame, "train")
        assert table.frame["level"].tolist()[:2] == ["1", "2"]


def test_hash_of_a_frame_changes_with_every_value():
    frames = [
        pd.DataFrame({"x": [1.0, np.nan], "y": ["a", "b"]}),
        pd.DataFrame({"x": [1.0, 2.0], "y": ["a", "b"]}),
        pd.DataFrame({"x": [1.0, np.nan], "y": ["a", None]}),
        pd.DataFrame({"x": [1.0, np.nan], "z": ["a", "b"]}),
    ]
    hashes = {read_table(frame, "train").sha256 for frame in frames}
    assert len(hashes) == len(frames)


def test_names_that_are_numbers_become_text():
    assert read_table(pd.DataFrame([[1, 2]]), "train").names == ["0", "1"]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (pd.DataFrame({"x": [[1, 2], [3]]}), "WB130"),
        (pd.DataFrame({"x": [{"a": 1}, {"a": 2}]}), "WB130"),
        (pl.DataFrame({"x": [[1, 2], [3]]}), "WB130"),
        (pl.DataFrame({"x": [b"1", b"2"]}), "WB130"),
        (pd.DataFrame({"x": [1j, 2j]}), "WB130"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "WB129"),
        (pd.DataFrame([[1, 2]], columns=["x", ""]), "WB129"),
        (pd.DataFrame({"x": []}), "WB102"),
        (pd.DataFrame(), "WB119"),
    ],
)
def test_frame_that_is_no_table_is_named(data, code):
    with pytest.raises(InputError) as caught:
        read_table(data, "train")
    assert [problem.code for problem in caught.value.problems] == [code]


@pytest.mark.parametrize("data", [np.eye(3), [[1, 2]], 7])
def test_only_frames_and_paths_are_tables(data):
    with pytest.raises(TypeError, match="expected a data frame or the path of a file"):
        read_table(data, "train")


def test_nested_columns_of_parquet_are_named(tmp_path):
    pq.write_table(pa.table({"x": [1, 2], "tags": [["a"], []]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r'WB130: "tags" in .* more than one value in a cell'):
        read_table(tmp_path / "a.parquet")


def test_row_labels_without_a_name_are_named(tmp_path):
    pd.DataFrame({"x": [1, 2]}, index=["a", "b"]).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"WB129: .* column without a name: number 2 of 2"):
        read_table(tmp_path / "a.parquet")


def test_parquet_whose_pages_are_damaged_is_named(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": list(range(10_000))}), path, compression="gzip")
    content = bytearray(path.read_bytes())
    content[100:400] = b"\xff" * 300
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"WB123: .* damaged Parquet"):
        read_table(path)


# ---------------------------------------------------------------- tasks


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([0, 1], "classification"),
        ([0.0, 1.0], "classification"),
        (list(range(20)), "classification"),
        (list(range(21)), "regression"),
        ([0.0, 0.5], "regression"),
        ([-1, 1], "classification"),
    ],
)
def test_task_follows_the_values(y, task):
    assert guess_task(np.array(y)) == task
