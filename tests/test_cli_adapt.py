"""``weighbridge adapt``: what it prints, what it writes, what it leaves alone."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from cli_runs import COLUMNS, run, valid, within_80_columns, write_clinic
from weighbridge.adaptation import load_model

FILES = ["model.skops", "report.html", "result.json", "weights.csv"]
ADAPT = ("adapt", "train.csv", "deploy.csv", "--label", "readmitted")


def listing(folder):
    return sorted(each.name for each in folder.iterdir())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("adapt")


@pytest.fixture(scope="module")
def done(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_clinic(folder)
        return run(*ADAPT)


@pytest.fixture
def here(folder, done, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def test_the_answer_is_on_standard_output_and_the_narration_on_standard_error(done):
    assert done.exit_code == 0
    narrated = [line.split()[0] for line in done.stderr.splitlines()]
    assert narrated == ["weighbridge", "read", "shift", "bridge", "verify", "label", "write"]
    assert "label    readmitted (2 classes, " in done.stderr
    assert not set(narrated[1:]) & {line.split(" ")[0] for line in done.stdout.splitlines()}
    assert "\r" not in done.stderr
    assert "\x1b" not in done.output


def test_the_sentence_comes_first_then_five_answers_then_the_comparison(here, done):
    text = done.stdout
    result = json.loads((here / "weighbridge-out" / "result.json").read_text())
    sentence, answers, table, *_ = text.strip("\n").split("\n\n")
    assert " ".join(sentence.split()) == result["verdict"]["sentence"]
    words = ["Shift", "Matters", "Overlap", "Weighting", "Expect"]
    assert re.findall(r"^  (\w+)", answers, re.MULTILINE) == words
    names = ["none", "full", "power", "relative", "tuned"]
    assert re.findall(r"^  (\w+)", table, re.MULTILINE) == ["weighting", *names]
    assert "* the one in model.skops" in table
    assert within_80_columns(done.output)


def test_four_files_are_written_and_listed_with_their_sizes(here, done):
    assert listing(here / "weighbridge-out") == FILES
    for name in FILES:
        assert re.search(rf"^  weighbridge-out/{name} .* k?B$", done.stdout, re.MULTILINE)


def test_the_model_predicts_and_the_weights_are_in_the_order_of_the_rows(here, done):
    saved = load_model(here / "weighbridge-out" / "model.skops")
    assert list(saved.features) == COLUMNS
    weights = pd.read_csv(here / "weighbridge-out" / "weights.csv")
    assert list(weights) == ["row", "weight", "log_ratio"]
    assert weights["row"].tolist() == list(range(1, 401))
    assert weights["weight"].mean() == pytest.approx(1)


def test_json_is_one_valid_object_and_the_same_as_the_file(here):
    result = run(*ADAPT, "--json", "--quiet")
    assert result.exit_code == 0
    assert result.stderr == ""
    short = valid(result.stdout)
    stored = valid((here / "weighbridge-out" / "result.json").read_text(encoding="utf-8"))
    assert "pictures" in stored
    assert {name: stored[name] for name in short if name != "timing"} == {
        name: part for name, part in short.items() if name != "timing"
    }
    assert list(short["timing"]) == ["read", "shift", "bridge", "verify", "write"]


def test_conditions_decide_the_exit_code_after_everything_is_written(here):
    words = ("--json=full", "--quiet", "--fail-if", "shift", "--fail-if", "error>0.9")
    result = run(*ADAPT, *words, "--out", "checked")
    assert result.exit_code == 1
    assert result.stderr.startswith("--fail-if shift: shift is ")
    assert "error>0.9" not in result.stderr
    assert "pictures" in valid(result.stdout)
    assert listing(here / "checked") == FILES


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_someone_else_is_never_overwritten(here, name):
    out = here / f"mine {name}"
    out.mkdir()
    (out / name).write_text("mine")
    result = run(*ADAPT, "--out", out.name, "--json")
    assert result.exit_code == 2
    assert valid(result.stdout)["failure"]["findings"][0]["code"] == "WB120"
    assert "--force" in result.stderr
    assert listing(out) == [name]
    assert (out / name).read_text() == "mine"


def test_force_overwrites_what_is_there_and_never_an_input(here):
    out = here / "forced"
    out.mkdir()
    (out / "report.html").write_text("mine")
    (out / "weights.csv").write_bytes((here / "train.csv").read_bytes())
    words = ("adapt", out / "weights.csv", "deploy.csv", "--label", "readmitted", "--out", out)
    result = run(*words, "--force")
    assert result.exit_code == 2
    assert "is read by this run" in " ".join(result.stderr.split())
    assert listing(out) == ["report.html", "weights.csv"]
    assert run(*ADAPT, "--out", out, "--force").exit_code == 0
    assert listing(out) == FILES


@pytest.mark.parametrize(
    ("out", "words"), [("train.csv", "is a file, not a folder"), ("train.csv/deep", "is a file")]
)
def test_a_folder_that_cannot_be_is_refused_before_the_work(here, out, words):
    result = run(*ADAPT, "--out", out)
    assert result.exit_code == 2
    assert "error WB140" in result.stderr
    assert words in result.stderr
    assert result.stdout == ""


def test_a_folder_elsewhere_is_the_users_own_choice(here, tmp_path):
    out = tmp_path / "a" / ".." / "elsewhere"
    (tmp_path / "a").mkdir()
    assert run(*ADAPT, "--out", out).exit_code == 0
    assert listing(tmp_path / "elsewhere") == FILES


def test_labels_of_the_deployment_are_used_for_the_last_lines_only(here, tmp_path):
    data = write_clinic(tmp_path)
    labelled = data.X_target[COLUMNS].assign(readmitted=data.y_target)
    labelled.to_csv(tmp_path / "labelled.csv", index=False)
    words = ("adapt", "train.csv", tmp_path / "labelled.csv", "--label", "readmitted")
    result = run(*words, "--out", tmp_path / "out")
    assert result.exit_code == 0
    assert "The deployment file has labels (set aside until now):" in result.stdout
    shown = dict(re.findall(r"(none|full|power|relative|tuned) ([\d.]+) %", result.stdout))
    stored = json.loads((tmp_path / "out" / "result.json").read_text())
    plain = json.loads((here / "weighbridge-out" / "result.json").read_text())
    for name, actual in stored["expect"]["actual"].items():
        assert float(shown[name]) == pytest.approx(100 * actual, abs=0.05)
    assert stored["verdict"] == plain["verdict"]
    assert stored["expect"]["candidates"] == plain["expect"]["candidates"]


def test_same_files_and_seed_same_bytes(here, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    written = []
    for _ in range(2):
        text = run(*ADAPT, "--out", "same").stdout
        content = {name: (here / "same" / name).read_bytes() for name in FILES}
        # the seconds of each stage are the one thing that changes
        content["result.json"] = {**json.loads(content["result.json"]), "timing": None}
        written.append((text, content))
    assert written[0] == written[1]


def test_numbers_are_regressed_and_that_is_said(here, tmp_path):
    rng = np.random.default_rng(0)
    train = pd.read_csv("train.csv")
    train["cost"] = train["age"] * 1.5 + rng.normal(size=len(train))
    train.drop(columns="readmitted").to_csv(tmp_path / "train.csv", index=False)
    words = ("adapt", tmp_path / "train.csv", "deploy.csv", "--label", "cost", "--lam", "0.5")
    result = run(*words, "--alpha", "3", "--out", tmp_path / "out")
    assert result.exit_code == 0
    assert "label    cost (numbers), model linear" in result.stderr
    assert "RMSE" in result.stdout
    assert within_80_columns(result.stdout.replace(str(tmp_path), ""))
