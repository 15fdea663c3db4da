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

# what: (training, deployment, words, code, exit code)
CASES = {
    "label not there": (TRAIN, DEPLOY, ("--label", "yy"), "WB105", 2),
    "label missing in rows": (training(y=lambda r: r % 2 if r else ""), DEPLOY, Y, "WB106", 3),
    "one class": (training(y=lambda r: 0), DEPLOY, Y, "WB108", 3),
    "column missing": (TRAIN, table({"age": 45}), Y, "WB103", 3),
    "no shared column": (TRAIN, table({"a": 1, "b": 2}), Y, "WB133", 3),
    "type conflict": (TRAIN, table({"age": lambda r: "fifty", "bmi": 26}), Y, "WB104", 3),
    "infinite": (TRAIN, table({"age": lambda r: "inf" if r == 3 else r, "bmi": 26}), Y, "WB109", 3),
    "beyond single precision": (training(age=lambda r: f"{r}e38"), DEPLOY, Y, "WB109", 3),
    "a value that dwarfs the others": (
        training(age=lambda r: 1e15 if r == 3 else 40 + r % 9 / 10),
        DEPLOY,
        (*Y, "--ratio", "gaussian"),
        "WB707",
        3,
    ),
    "too few rows": (TRAIN, table({"age": 45, "bmi": 26}, n_rows=7), Y, "WB107", 3),
    "no rows": (TRAIN, b"age,bmi\n", Y, "WB102", 3),
    "empty": (TRAIN, b"", Y, None, 3),
    "rows of the training": (TRAIN, b"\n".join(TRAIN.split(b"\n")[:31]), Y, "WB112", 3),
    "a key": (
        training(visit=lambda r: r),
        table({"age": 45, "bmi": 26, "visit": lambda r: 1000 + r}),
        Y,
        "WB111",
        3,
    ),
    "ragged": (TRAIN, DEPLOY + b"1,2,3\n", Y, None, 3),
    "too short a row": (TRAIN, DEPLOY + b"1\n", Y, None, 3),
    "open quote": (TRAIN, DEPLOY + b'"1,2\n', Y, None, 3),
    "other delimiter": (TRAIN, DEPLOY.replace(b",", b"|"), Y, None, 3),
    "decimal comma": (
        TRAIN,
        b"age;bmi\n" + b"".join(b"4%d,5;2%d,1\n" % (r % 10, r % 7) for r in range(ROWS)),
        Y,
        None,
        3,
    ),
    "UTF-16": (TRAIN, DEPLOY.decode().encode("utf-16"), Y, "WB125", 3),
    "Latin-1": (TRAIN, DEPLOY.replace(b"bmi", b"gr\xf6\xdfe"), Y, None, 3),
    "NUL bytes": (TRAIN, DEPLOY.replace(b"\n4", b"\n\x004", 1), Y, None, 3),
    "duplicate columns": (TRAIN, DEPLOY.replace(b"age,bmi", b"age,age"), Y, None, 3),
    "unnamed column": (TRAIN, DEPLOY.replace(b"age,bmi", b"age,"), Y, None, 3),
    "ZIP": (TRAIN, b"PK\x03\x04" + bytes(100), Y, "WB121", 3),
    "truncated gzip": (TRAIN, gzip.compress(DEPLOY)[:-9], Y, None, 3),
    "a picture": (TRAIN, b"\x89PNG\r\n\x1a\n" + bytes(range(256)), Y, "WB121", 3),
    "unknown column to drop": (TRAIN, DEPLOY, (*Y, "--drop", "agee"), "WB105", 2),
    "unknown column to keep": (TRAIN, DEPLOY, (*Y, "--keep", "agee"), "WB105", 2),
    "label dropped": (TRAIN, DEPLOY, (*Y, "--drop", "y"), "WB134", 2),
    "nothing left": (TRAIN, DEPLOY, (*Y, "--drop", "age,bmi"), "WB133", 3),
    "own weights not there": (TRAIN, DEPLOY, (*Y, "--weight", "w"), "WB105", 2),
    "negative own weights": (
        training(w=lambda r: r - 5),
        DEPLOY,
        (*Y, "--weight", "w"),
        None,
        3,
    ),
    "text for regression": (
        training(y=lambda r: "ab"[r % 2]),
        DEPLOY,
        (*Y, "--task", "regression"),
        "WB136",
        2,
    ),
    "unknown model": (TRAIN, DEPLOY, (*Y, "--model", "liner"), "WB702", 2),
    "model that cannot be weighted": (
        TRAIN,
        DEPLOY,
        (*Y, "--model", "sklearn.neighbors:KNeighborsClassifier"),
        "WB701",
        2,
    ),
    "module that is not there": (TRAIN, DEPLOY, (*Y, "--model", "nowhere:Model"), "WB702", 2),
    "unknown metric": (TRAIN, DEPLOY, (*Y, "--metric", "errors"), "WB703", 2),
    "metric of the other task": (TRAIN, DEPLOY, (*Y, "--metric", "rmse"), "WB703", 2),
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
    assert code is None or code in codes
    errors = result.stderr[result.stderr.index("error WB") :]
    for problem in errors.strip().split("\n\n"):
        assert re.match(r"error WB\d{3}: ", problem)
        assert "\n  help: " in problem
    assert "Traceback" not in result.stderr
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(["train.csv", name])


def test_problems_of_both_files_come_together(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.csv").write_bytes(training(y=lambda r: 0))
    (tmp_path / "deploy.csv").write_bytes(b"age,bmi\n")
    result = run("adapt", "train.csv", "deploy.csv", "--label", "y")
    assert result.exit_code == 3
    assert "WB108" in result.stderr
    assert "WB102" in result.stderr
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
