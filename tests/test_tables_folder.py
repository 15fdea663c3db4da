"""Tables in folders of Parquet files."""

import numpy as np
import pandas as pd
import pytest

from cli_runs import run, write_clinic
from weighbridge._tables import open_source, read_blocks, read_table
from weighbridge._tables._parquet import parquet_files
from weighbridge.exceptions import InputError

pytest.importorskip("pyarrow")


def write_parts(folder, table, n_parts):
    """Write a table in parts of different sizes, named as dask names them."""
    folder.mkdir()
    ends = np.linspace(0, len(table), n_parts + 1).astype(int)
    for number in range(n_parts):
        part = table.iloc[ends[number] : ends[number + 1]]
        part.to_parquet(folder / f"part.{number}.parquet", index=False)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    site = rng.choice(["north", "west"], 130)
    return pd.DataFrame({"age": rng.normal(size=130), "site": site, "row": np.arange(130.0)})


def test_parts_are_one_table_in_the_order_of_their_numbers(tmp_path, table):
    write_parts(tmp_path / "parts", table, 12)
    (tmp_path / "parts" / "_metadata.parquet").write_text("of whoever wrote them")
    (tmp_path / "parts" / "notes.txt").write_text("")
    assert len(parquet_files(str(tmp_path / "parts"))) == 12
    found = read_table(tmp_path / "parts")
    assert found.frame["row"].tolist() == list(range(130))
    assert found.frame["site"].tolist() == table["site"].tolist()
    kinds = {"row": "numeric", "site": "category"}
    blocks = list(read_blocks(tmp_path / "parts", kinds, rows=50))
    assert [len(block) for block in blocks] == [50, 50, 30]
    assert pd.concat(blocks)["row"].tolist() == list(range(130))


def test_columns_of_parts_may_be_in_any_order_but_must_be_the_same(tmp_path, table):
    write_parts(tmp_path / "parts", table, 2)
    last = tmp_path / "parts" / "part.1.parquet"
    pd.read_parquet(last)[["row", "site", "age"]].to_parquet(last, index=False)
    assert read_table(tmp_path / "parts").frame["row"].tolist()[-1] == 129
    pd.read_parquet(last).drop(columns="age").to_parquet(last, index=False)
    with pytest.raises(InputError, match=r'part.1.parquet and part.0.parquet differ in "age"'):
        read_table(tmp_path / "parts")


def test_a_row_is_found_in_its_part(tmp_path, table):
    write_parts(tmp_path / "parts", table, 2)
    source = open_source(str(tmp_path / "parts"))
    assert source.place(0) == "part.0.parquet row 0"
    assert source.place(64) == "part.0.parquet row 64"
    assert source.place(65) == "part.1.parquet row 0"


def test_a_folder_without_parquet_is_no_table(tmp_path):
    with pytest.raises(InputError, match="is a folder; one file is needed"):
        read_table(tmp_path)


@pytest.mark.more
def test_weights_and_predictions_take_folders_and_write_what_they_write_for_files(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    write_clinic(tmp_path)
    tables = {name: pd.read_csv(f"{name}.csv") for name in ("train", "deploy")}
    for name, table in tables.items():
        table.to_parquet(f"{name}.parquet", index=False)
        write_parts(tmp_path / name, table, 3)
    for suffix in (".parquet", ""):
        words = (f"train{suffix}", f"deploy{suffix}", "--ratio", "gaussian")
        result = run("weights", *words, "--out", f"w{suffix}.csv")
        assert result.exit_code == 0, result.output
        label = ("--label", "readmitted", "--out", f"out{suffix}")
        assert run("adapt", *words, *label).exit_code == 0
        words = (f"out{suffix}/model.skops", f"deploy{suffix}", "--out", f"p{suffix}.csv")
        assert run("predict", *words).exit_code == 0
    for name in ("w{}.csv", "p{}.csv", "out{}/model.skops"):
        one, other = (tmp_path / name.format(suffix) for suffix in (".parquet", ""))
        assert one.read_bytes() == other.read_bytes()
