"""Tables and views of DuckDB files: ``file.duckdb::table`` wherever a table is named."""

import sys

import numpy as np
import pandas as pd
import pytest

from cli_runs import run, write_clinic
from weighbridge._tables import open_source, read_blocks, read_table
from weighbridge.blocks import as_rows
from weighbridge.exceptions import InputError

duckdb = pytest.importorskip("duckdb")


@pytest.fixture
def database(tmp_path, monkeypatch):
    """A file of the clinic's tables, beside these as CSV."""
    monkeypatch.chdir(tmp_path)
    write_clinic(tmp_path)
    with duckdb.connect("clinic.duckdb") as connection:
        for name in ("train", "deploy"):
            frame = pd.read_csv(f"{name}.csv")  # noqa: F841
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM frame")
        connection.execute("CREATE VIEW seen AS SELECT * FROM deploy")
    return tmp_path / "clinic.duckdb"


def test_a_table_and_a_view_are_read_as_the_file_they_came_from(database):
    for name, table in (("train", "train"), ("deploy", "deploy"), ("deploy", "seen")):
        expected, found = read_table(f"{name}.csv"), read_table(f"clinic.duckdb::{table}")
        pd.testing.assert_frame_equal(found.frame, expected.frame)
        assert found.rows == expected.rows
    # tables of one file are not one table
    assert read_table("clinic.duckdb::train").sha256 != found.sha256
    assert read_table("clinic.duckdb::deploy").sha256 == found.sha256


def test_blocks_and_places_are_those_of_the_table(database):
    frame = pd.read_csv("train.csv")
    column = frame.select_dtypes("number").columns[0]
    blocks = list(read_blocks("clinic.duckdb::train", {column: "numeric"}, rows=150))
    np.testing.assert_array_equal(pd.concat(blocks)[column], frame[column])
    source = open_source("clinic.duckdb::train")
    assert source.place(7) == "row 7"
    assert len(list(source.blocks([0], []))) >= 1
    assert source.share_read == 1.0


def test_a_file_with_two_colons_in_its_name_is_that_file(database):
    (database.parent / "a::b.csv").write_bytes((database.parent / "deploy.csv").read_bytes())
    assert read_table("a::b.csv").sha256 == read_table("deploy.csv").sha256


@pytest.mark.parametrize(
    ("name", "code", "match"),
    [
        ("clinic.duckdb", "WB121", "is a DuckDB database, which may hold many tables"),
        ("clinic.duckdb::trian", "WB101", 'has no table "trian"'),
        ("train.csv::train", "WB123", "cannot be read as a DuckDB file"),
        ("none.duckdb::train", "WB101", "there is no file"),
        ("clinic.duckdb::bad", "WB123", "it cannot be read any further .*half way"),
    ],
)
def test_what_is_no_table_is_refused_and_nothing_written(name, code, match, database):
    with duckdb.connect("clinic.duckdb") as connection:
        half = "CASE WHEN i = 900 THEN error('half way') ELSE i END AS a"
        connection.execute(f"CREATE VIEW bad AS SELECT {half} FROM range(1000) t(i)")
    if name != "none.duckdb::train":
        with pytest.raises(InputError, match=match) as caught:
            read_table(name)
        assert caught.value.problems[0].code == code
    before = sorted(database.parent.iterdir())
    for command in (("weights",), ("diagnose",), ("adapt", "--label", "readmitted")):
        result = run(command[0], name, "clinic.duckdb::deploy", *command[1:])
        assert result.exit_code in (2, 3)
        assert code in result.stdout + result.stderr
    assert sorted(database.parent.iterdir()) == before


def test_a_file_that_another_process_writes_says_so(database):
    code = "import duckdb, sys; c = duckdb.connect('clinic.duckdb'); print(1, flush=True); input()"
    import subprocess

    other = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with other:
        other.stdout.readline()
        with pytest.raises(InputError, match=r"(?s)WB123.* lock .*close it where it is open"):
            read_table("clinic.duckdb::train")
        other.communicate("\n")


def test_without_a_reader_it_says_what_to_install(database, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(InputError, match=r'(?s)WB124.*pip install "weighbridge\[duckdb\]"'):
        read_table("clinic.duckdb::train")


@pytest.mark.more
def test_every_command_writes_what_it_writes_for_csv(database):
    for kind, train, deploy in (
        ("csv", "train.csv", "deploy.csv"),
        ("db", "clinic.duckdb::train", "clinic.duckdb::seen"),
    ):
        words = (train, deploy, "--ratio", "gaussian")
        assert run("weights", *words, "--out", f"w{kind}.csv").exit_code == 0
        assert run("diagnose", train, deploy, "--label", "readmitted").exit_code == 0
        label = ("--label", "readmitted", "--out", f"out{kind}")
        assert run("adapt", *words, *label).exit_code == 0
        result = run("predict", f"out{kind}/model.skops", deploy, "--out", f"p{kind}.csv")
        assert result.exit_code == 0, result.output
    for name in ("w{}.csv", "p{}.csv", "out{}/weights.csv"):
        one, other = (pd.read_csv(name.format(kind)) for kind in ("csv", "db"))
        pd.testing.assert_frame_equal(one, other, rtol=1e-12)


def test_a_name_with_quotes_is_read_and_a_table_of_another_schema_is_not_there(tmp_path):
    file = tmp_path / "a.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute('CREATE TABLE "odd ""name""" AS SELECT 1 AS x')
        connection.execute("CREATE SCHEMA other; CREATE TABLE other.deep AS SELECT 1 AS x")
    assert as_rows(f'{file}::odd "name"').shape == (1, 1)
    with pytest.raises(InputError, match="WB101"):
        as_rows(f"{file}::deep")
