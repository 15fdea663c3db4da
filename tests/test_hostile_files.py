"""Files that are hostile, damaged, in use, or nowhere to be written: told in time, nothing lost."""

import csv
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hostile
from cli_runs import run, write_clinic
from weighbridge import adapt
from weighbridge._files import is_ours
from weighbridge._tables import TableWriter
from weighbridge.adaptation import load_model
from weighbridge.exceptions import InputError
from weighbridge.report import read_result

# Linux: a limit on memory that holds, its peak, and a folder in which nobody makes a file
needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="needs Linux, or what has its /proc"
)


@pytest.mark.more
@needs_proc
def test_hostile_files_are_refused_in_little_time_and_memory_and_nothing_in_them_runs(tmp_path):
    folder = tmp_path / "hostile"
    folder.mkdir()
    hostile.make(folder)
    done = subprocess.run(
        [sys.executable, hostile.__file__, folder], capture_output=True, text=True, check=True
    )
    answer = json.loads(done.stdout)
    assert len(answer["found"]) >= 30
    wrong = [
        (name, exit_code, seconds, said)
        for name, exit_code, seconds, said in answer["found"]
        if exit_code not in (2, 3) or seconds > 5 or "error WB" not in said or "WB901" in said
    ]
    assert wrong == []
    assert answer["megabytes"] < 1000
    left = {each.name for each in tmp_path.iterdir()}
    assert left == {"hostile", "good.csv", "good.parquet", "many.parquet"}


def test_a_model_says_its_true_sizes_before_it_is_read(tmp_path):
    zeros, _, _ = hostile.deflated([bytes(hostile.MB)] * 4)
    told = hostile.archive(
        (b"a.npy", zeros, 100, hostile.zlib.crc32(bytes(101))),
        hostile.plain(b"schema.json", b"{}"),
    )
    (tmp_path / "model.skops").write_bytes(told)
    with pytest.raises(InputError, match="is not of the size that the archive says"):
        load_model(tmp_path / "model.skops")
    (tmp_path / "model.skops").write_bytes(hostile.archive((b"a", b"", 1 << 31, 0)))
    with pytest.raises(InputError, match="its 1 parts unpack to 2,048 MB"):
        load_model(tmp_path / "model.skops")


@pytest.mark.parametrize("flags", [0, 1])
def test_an_archive_that_cannot_be_opened_is_not_ours(flags, tmp_path):
    name, stream, size, crc = hostile.plain(b"schema.json", b'"weighbridge model/1"')
    broken = stream if flags else bytes(len(stream))
    path = tmp_path / "model.skops"
    path.write_bytes(hostile.archive((name, broken, size, crc, 8, flags)))
    assert not is_ours(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", '"weighbridge model/1"')
    assert is_ours(path)


CELLS = ["a\r=1+1", "a\nb", "\r=1+1", "\t=1+1", "\n=1+1", "＝1+1", "-3", "a", ' "q", ']


def test_cells_with_line_ends_are_quoted_and_formulas_behind_them_are_text(tmp_path):
    path = tmp_path / "predictions.csv"
    with TableWriter(path, ["row", "=a\r=b"]) as table:
        table.write([np.arange(len(CELLS)), np.array(CELLS, dtype=object)])
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["row", "'=a\r=b"]
    shown = [f"'{cell}" if cell[0] in "\r\t\n＝" else cell for cell in CELLS]
    assert rows == [[str(i), cell] for i, cell in enumerate(shown)]
    assert pd.read_csv(path).shape == (len(CELLS), 2)
    # every line ends as it did
    assert path.read_bytes().endswith(b"\n")
    assert b'0,"a\r=1+1"\n1,' in path.read_bytes()


def test_damaged_pages_of_parquet_are_not_read_as_good(tmp_path):
    path = tmp_path / "train.parquet"
    table = pa.table({"a": np.random.default_rng(0).normal(size=2000)})
    plain = {"use_dictionary": False, "compression": "none", "write_page_checksum": True}
    pq.write_table(table, path, **plain)
    content = bytearray(path.read_bytes())
    content[8000] ^= 1
    path.write_bytes(content)
    table.to_pandas().to_csv(tmp_path / "deploy.csv", index=False)
    found = run("weights", path, tmp_path / "deploy.csv", "--out", tmp_path / "w.csv")
    assert (found.exit_code, "WB123" in found.stderr) == (3, True)


@pytest.mark.more
def test_names_that_are_not_utf_8_are_read_and_written(tmp_path):
    folder = Path(os.fsdecode(bytes(tmp_path) + b"/n\xff"))
    folder.mkdir()
    train, deploy = (folder / os.fsdecode(name) for name in (b"t\xff.csv", b"d\xff.parquet"))
    data = write_clinic(folder, 120, 80)
    (folder / "train.csv").rename(train)
    deploy.write_bytes(data.X_target[["age", "bmi", "site"]].to_parquet())
    result = adapt(train, deploy, label="readmitted", lam=1)
    files = result.save(folder / "out", table="parquet")
    stored = read_result(files["result"])
    assert stored["inputs"]["train"]["file"] == str(train)
    assert stored["files"] == files
    assert len(pd.read_parquet(io.BytesIO(Path(files["weights"]).read_bytes()))) == 120
    assert read_result(files["report"])["command"] == "adapt"
    assert load_model(files["model"]).label == "readmitted"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_clinic(tmp_path, 60, 60)
    return tmp_path


ADAPT = ["adapt", "train.csv", "deploy.csv", "--label", "readmitted"]


@pytest.mark.parametrize(
    ("out", "said"),
    [
        pytest.param("/proc/x", "/proc/x cannot be written: no such file", marks=needs_proc),
        ("a" * 300, "cannot be written: file name too long"),
        ("new/" + "a" * 300, "cannot be written: file name too long"),
        ("a/" * 2100, "cannot be written: file name too long"),
        ("train.csv/x", "train.csv is a file, not a folder"),
        ("train.csv", "train.csv is a file, not a folder"),
        ("", "Invalid value for '--out': it is empty"),
    ],
)
def test_a_place_that_cannot_be_written_is_told_before_the_work(out, said, here):
    found = run(*ADAPT, "--out", out)
    assert found.exit_code == 2
    assert said in " ".join(found.stderr.split())
    assert "read  " not in found.stderr
    assert {each.name for each in here.iterdir()} == {"train.csv", "deploy.csv"}


@pytest.mark.parametrize(
    "words",
    [
        ["weights", "train.csv", "deploy.csv", "--out", "a" * 252 + ".csv"],
        ["diagnose", "train.csv", "deploy.csv", "--report", f"{'a' * 300}.html"],
        ["diagnose", "train.csv", "deploy.csv", "--report", f"a.{'h' * 250}"],
        ["diagnose", "train.csv", "deploy.csv", "--report", ""],
        ["demo", "--out", ""],
        pytest.param(["demo", "--out", "/proc/x"], marks=needs_proc),
    ],
)
def test_so_it_is_for_every_command(words, here):
    found = run(*words)
    assert found.exit_code == 2
    assert "too long" in found.stderr or "empty" in found.stderr or "/proc/x" in found.stderr
    assert {each.name for each in here.iterdir()} == {"train.csv", "deploy.csv"}


def test_a_run_that_fails_leaves_no_folder_behind(here):
    (here / "deploy.csv").write_text("age,bmi,site\n")
    assert run(*ADAPT, "--out", "new/folder").exit_code == 3
    assert {each.name for each in here.iterdir()} == {"train.csv", "deploy.csv"}


HOLD = "import time; from pathlib import Path; from weighbridge._files import sole_writer\n"
HOLD += "with sole_writer(Path('out')): print('held', flush=True); time.sleep(60)"


def test_a_folder_is_written_by_one_run_at_a_time_and_a_killed_one_holds_nothing(here):
    pytest.importorskip("fcntl", reason="Windows locks no folder")
    command = [sys.executable, "-c", HOLD]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        for words in (ADAPT, ["demo"]):
            found = run(*words, "--out", "out")
            assert found.exit_code == 2
            assert "another run of weighbridge is writing into out" in found.stderr
        assert list((here / "out").iterdir()) == []
        other.kill()
    (here / "deploy.csv").write_text("age,bmi,site\n")
    assert "WB102" in run(*ADAPT, "--out", "out").stderr  # it goes on to the tables


HEAD = '{"schema": "weighbridge/1", "command": "adapt", "verdict": '


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "[" * 100_000,
        HEAD + "1" * 10_000 + "}",
        HEAD + '{"sentence": 3}, "answers": [[]]}',
        HEAD + '{"sentence": "x", "use": "tuned"}, "expect": {"candidates": 5}}',
        HEAD + '{"sentence": "x"}, "pictures": {"balance": 7}}',
        HEAD + '{"sentence": "x"}, "shift": "none"}',
        HEAD + '{"sentence": 1e999}}',
    ],
)
def test_a_damaged_result_is_told_and_no_page_is_drawn(text, tmp_path):
    path = tmp_path / "result.json"
    path.write_text(text)
    found = run("report", path)
    assert (found.exit_code, "WB144" in found.stderr) == (3, True), found.stderr
    assert list(tmp_path.iterdir()) == [path]
