"""Bad inputs at the command line: each its code, exit code and help, and nothing is written."""

import gzip
import os
import re

import numpy as np
import pytest

from cli_runs import run, valid

ROWS = 40


def table(columns, n_rows=ROWS, seed=0):
    """Return a CSV with these columns: numbers, or functions of the row."""
    rng = np.random.default_rng(seed)
    made = {
        name: [each(row) if callable(each) else f"{rng.normal(each):.3f}" for row in range(n_rows)]
        for name, each in columns.items()
    }
    lines = [",".join(made), *(",".join(map(str, row)) for row in zip(*made.values(), strict=True))]
    return ("\n".join(lines) + "\n").encode()


def label(row):
    return row % 2


def training(seed=0, **columns):
    return table({"age": 40, "bmi": 25, "y": label} | columns, seed=seed)


TRAIN = training()
DEPLOY = table({"age": 45, "bmi": 26}, seed=1)
Y = ("--label", "y")

# Other files are in test_tables_files.py, pairs in test_tables_pair.py, arguments in
# test_adaptation.py. What: (training, deployment, words, code, exit code)
CASES = {
    "label not there": (TRAIN, DEPLOY, ("--label", "yy"), "WB105", 2),
    "column missing": (TRAIN, table({"age": 45}), Y, "WB103", 3),
    "type conflict": (TRAIN, table({"age": lambda r: "fifty", "bmi": 26}), Y, "WB104", 3),
    "beyond single precision": (training(age=lambda r: f"{r}e38"), DEPLOY, Y, "WB109", 3),
    "a value that dwarfs the others": (
        training(age=lambda r: 1e15 if r == 3 else 40 + r % 9 / 10),
        DEPLOY,
        (*Y, "--ratio", "gaussian"),
        "WB707",
        3,
    ),
    "too few rows": (TRAIN, table({"age": 45, "bmi": 26}, n_rows=7), Y, "WB107", 3),
    "empty": (TRAIN, b"", Y, "WB119", 3),
    "rows of the training": (TRAIN, b"\n".join(TRAIN.split(b"\n")[:31]), Y, "WB112", 3),
    "a key": (
        training(visit=lambda r: r),
        table({"age": 45, "bmi": 26, "visit": lambda r: 1000 + r}),
        Y,
        "WB111",
        3,
    ),
    "ragged": (TRAIN, DEPLOY + b"1,2,3\n", Y, "WB127", 3),
    "truncated gzip": (TRAIN, gzip.compress(DEPLOY)[:-9], Y, "WB122", 3),
    "a picture": (TRAIN, b"\x89PNG\r\n\x1a\n" + bytes(range(256)), Y, "WB121", 3),
    "label dropped": (TRAIN, DEPLOY, (*Y, "--drop", "y"), "WB134", 2),
    "own weights not there": (TRAIN, DEPLOY, (*Y, "--weight", "w"), "WB105", 2),
    "unknown model": (TRAIN, DEPLOY, (*Y, "--model", "liner"), "WB702", 2),
    "unknown metric": (TRAIN, DEPLOY, (*Y, "--metric", "errors"), "WB703", 2),
    "unknown ratio": (TRAIN, DEPLOY, (*Y, "--ratio", "ulsi"), "WB704", 2),
    "alpha beyond numbers": (TRAIN, DEPLOY, (*Y, "--alpha", "inf"), "WB705", 2),
}


@pytest.mark.parametrize("case", CASES)
def test_a_bad_input_has_a_code_an_exit_code_and_help_and_leaves_nothing(
    case, tmp_path, monkeypatch
):
    train, deploy, words, code, exit_code = CASES[case]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.csv").write_bytes(train)
    name = "deploy.csv.gz" if deploy[:2] == b"\x1f\x8b" else "deploy.csv"
    (tmp_path / name).write_bytes(deploy)
    result = run("adapt", "train.csv", name, *words, "--json")
    assert result.exit_code == exit_code, result.stderr
    failure = valid(result.stdout)["failure"]
    assert failure["exit_code"] == exit_code
    codes = [each["code"] for each in failure["findings"]]
    assert code in codes
    errors = result.stderr[result.stderr.index("error WB") :]
    for problem in errors.strip().split("\n\n"):
        assert re.match(r"error WB\d{3}: ", problem)
        assert "\n  help: " in problem
    assert "Traceback" not in result.stderr
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(["train.csv", name])


def test_files_that_are_not_there_come_together(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.csv").write_bytes(TRAIN)
    (tmp_path / "deploy.csv").write_bytes(DEPLOY)
    result = run("adapt", "trian.csv", "dploy.csv", "--label", "y")
    assert result.exit_code == 2
    assert result.stderr.count("error WB101") == 2
    assert "help: train.csv" in result.stderr
    assert "help: deploy.csv" in result.stderr


@pytest.mark.parametrize("command", ["adapt", "diagnose", "weights"])
def test_folders_and_pipes_are_no_tables(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.csv").write_bytes(TRAIN)
    (tmp_path / "folder").mkdir()
    names = ["folder"]
    if hasattr(os, "mkfifo"):  # Windows has no such pipes
        os.mkfifo(tmp_path / "pipe")
        names.append("pipe")
    words = Y if command == "adapt" else ()
    for name in names:
        result = run(command, "train.csv", name, *words, "--json")
        assert result.exit_code in (2, 3)
        assert valid(result.stdout)["failure"]["findings"]
    assert {each.name for each in tmp_path.iterdir()} == {"train.csv", *names}
