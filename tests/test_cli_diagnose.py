"""``weighbridge diagnose``, ``report`` and ``explain``."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from cli_runs import COLUMNS, run, runner, valid, within_80_columns, write_clinic
from weighbridge.cli._app import app


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("diagnose")
    write_clinic(folder)
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="module")
def done(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return run("diagnose", "train.csv", "deploy.csv", "--report", "page.html")


def test_it_says_whether_the_files_differ_where_and_how_far(done):
    assert done.exit_code == 0
    assert done.stdout.startswith("\nShift moderate, overlap enough\n")
    auc, worth = r"AUC 0\.\d\d \[0\.\d\d, 0\.\d\d\]", r"full ratio: \d+ effective rows of 400"
    assert re.search(f"{auc}   {worth}", done.stdout)
    rows = re.findall(r"^  (\S+) .*?   (█+) .*[+−]\d\.\d\d$", done.stdout, re.MULTILINE)
    assert rows[0][0] == "age"
    lengths = [len(bar) for _, bar in rows]
    assert lengths == sorted(lengths, reverse=True)
    assert "weighbridge adapt ... --label NAME" in done.stdout
    assert within_80_columns(done.output)


def test_a_column_of_training_alone_is_left_out_and_that_is_said(done):
    assert 'train.csv also has "readmitted", which deploy.csv does not have' in done.stdout


def test_a_label_is_set_aside_without_a_word(here):
    result = run("diagnose", "train.csv", "deploy.csv", "--label", "readmitted", "--json")
    found = valid(result.stdout)
    assert found["inputs"]["label"] == "readmitted"
    assert [each["name"] for each in found["inputs"]["features"]] == COLUMNS
    assert "WB138" not in {each["code"] for each in found["findings"]}
    assert "pictures" not in found


def test_a_label_that_is_not_there_is_refused_with_the_nearest(here):
    result = run("diagnose", "train.csv", "deploy.csv", "--label", "readmited", "--json")
    assert result.exit_code == 2
    assert valid(result.stdout)["failure"]["findings"][0]["code"] == "WB105"
    assert "nearest: readmitted" in result.stderr


def test_the_page_holds_the_result_and_can_be_drawn_again(here, done):
    assert (here / "page.html").exists()
    result = run("report", "page.html", "--out", "again.html", "--json")
    assert result.exit_code == 0
    assert valid(result.stdout)["files"] == {"report": "again.html"}
    assert (here / "again.html").read_bytes() == (here / "page.html").read_bytes()


def test_where_the_locale_is_not_utf_8_everything_is_ascii(here):
    words = ["diagnose", "train.csv", "deploy.csv"]
    result = runner(charset="ascii").invoke(app, words)
    assert result.exit_code == 0
    assert result.stdout_bytes.isascii()
    assert b"####" in result.stdout_bytes
    assert result.stderr_bytes.isascii()
    assert b"400 x 4 and 300 x 3" in result.stderr_bytes


def test_all_features_on_demand_and_conditions_of_shift(here):
    words = ("diagnose", "train.csv", "deploy.csv", "--all", "--fail-if", "shift", "--quiet")
    result = run(*words, "--drop", "age")
    assert "diagnose --all" not in result.stdout
    assert "  age " not in result.stdout
    assert (result.exit_code == 1) == ("--fail-if shift" in result.stderr)


def test_equal_files_differ_in_nothing(here, tmp_path):
    data = pd.read_csv("train.csv")[COLUMNS]
    data.iloc[:200].to_csv(tmp_path / "a.csv", index=False)
    data.iloc[200:].to_csv(tmp_path / "b.csv", index=False)
    result = run("diagnose", tmp_path / "a.csv", tmp_path / "b.csv", "--fail-if", "shift")
    assert result.exit_code == 0
    assert result.stdout.startswith("\nNo shift found")


@pytest.mark.more
def test_names_of_every_kind_stay_on_their_line_and_in_80_columns(here, tmp_path):
    rng = np.random.default_rng(0)
    names = [
        "<script>alert(1)</script>",
        '=HYPERLINK("x")',
        "line\nbreak",
        "\x1b[31mred",
        "a" * 200,
        "עברית",
        '🙂,quote"d',
    ]
    for file, shift in (("a.csv", 0.0), ("b.csv", 1.0)):
        values = rng.normal(shift, 1, size=(100, len(names)))
        pd.DataFrame(values, columns=names).to_csv(tmp_path / file, index=False)
    words = (tmp_path / "a.csv", tmp_path / "b.csv", "--quiet")
    result = run("diagnose", *words)
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert within_80_columns(result.stdout)
    assert result.stdout.count("\n  line") <= 1
    weights = run("weights", *words, "--out", tmp_path / "weights.csv")
    assert weights.exit_code == 0
    assert "\x1b" not in weights.stdout


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "damaged"),
        ('{"schema": "other/1"}', "schema"),
        ("<html></html>", "neither"),
        ("", "not a result"),
        (b"\xff\xfe", "UTF-8"),
    ],
)
def test_a_page_is_drawn_from_a_result_of_ours_only(tmp_path, monkeypatch, content, words):
    monkeypatch.chdir(tmp_path)
    content = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "result.json").write_bytes(content)
    result = run("report", "result.json", "--json")
    assert result.exit_code == 3
    assert words in result.stderr
    assert valid(result.stdout)["failure"]["findings"][0]["code"] == "WB144"
    assert [each.name for each in tmp_path.iterdir()] == ["result.json"]


@pytest.mark.parametrize("code", ["WB301", "wb100", "902"])
def test_a_code_is_explained_in_25_lines_of_80_columns(code):
    result = run("explain", code)
    assert result.exit_code == 0
    assert result.stdout.startswith("WB")
    assert len(result.stdout.splitlines()) <= 25
    assert within_80_columns(result.stdout)
    assert json.loads(run("explain", code, "--json").stdout)["page"] == result.stdout.rstrip("\n")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("weights", "train.csv", "deploy.csv"), "the result of `weighbridge weights`"),
        (("adapt", "train.csv", "deploy.csv", "--label", "yy"), "the result of a run that failed"),
    ],
)
def test_a_result_without_a_page_is_named_as_such(tmp_path, monkeypatch, words, reason):
    monkeypatch.chdir(tmp_path)
    write_clinic(tmp_path, 100, 60)
    (tmp_path / "result.json").write_text(run(*words, "--json").stdout)
    before = {each.name for each in tmp_path.iterdir()}
    result = run("report", "result.json", "--json")
    assert result.exit_code == 3
    assert f"result.json is {reason}" in " ".join(result.stderr.split())
    assert valid(result.stdout)["failure"]["findings"][0]["code"] == "WB147"
    assert {each.name for each in tmp_path.iterdir()} == before
