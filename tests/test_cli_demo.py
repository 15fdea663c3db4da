"""``weighbridge demo``: the job on made-up data, and the truth at the end."""

import re

import pytest

from cli_runs import run, valid, within_80_columns
from weighbridge._files import is_ours
from weighbridge.cli._demo import is_clinic
from weighbridge.datasets import make_clinic

NAMES = ["none", "full", "power", "relative", "tuned"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def done(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return run("demo")


@pytest.fixture
def here(folder, done, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.more
def test_the_demo_answers_without_any_data(here, done):
    assert done.exit_code == 0
    assert done.stderr.startswith("weighbridge demo: 4,000 labelled clinic visits")
    assert done.stdout.startswith("\nWeighting helps: ")
    assert "weighbridge-demo/report.html" in done.stdout
    *_, how_to_open, now = done.stdout.splitlines()
    assert how_to_open == "  Open it:    weighbridge demo --open"
    assert now == "  Now yours:  weighbridge adapt train.csv deploy.csv --label y"
    assert within_80_columns(done.output)


def test_it_says_of_every_weighting_whether_the_truth_agrees_with_what_was_expected(here, done):
    result = valid((here / "weighbridge-demo" / "result.json").read_text(encoding="utf-8"))
    assert result["command"] == "demo"
    actual = result["expect"]["actual"]
    assert list(actual) == [*NAMES, "constant"]
    block = done.stdout.partition("The deployment labels are known here")[2]
    shown = dict(re.findall(rf"({'|'.join(NAMES)}) ([\d.]+) %", block))
    agree = []
    for candidate in result["expect"]["candidates"]:
        truth, expected = actual[candidate["name"]], candidate["error"]
        # one decimal is shown; a truth in the middle may be rounded either way
        value = 100 * truth["value"]
        assert float(shown[candidate["name"]]) == pytest.approx(value, abs=0.05 + 1e-9)
        agree.append(truth["low"] <= expected["high"] and expected["low"] <= truth["high"])
    assert ("each agrees with the expected one" in block) == all(agree)


def test_the_files_are_the_clinic_and_the_deployment_has_no_labels(here):
    data = make_clinic(random_state=0)
    train = (here / "weighbridge-demo" / "train.csv").read_text()
    deploy = (here / "weighbridge-demo" / "deploy.csv").read_text()
    assert train == data.X.assign(readmitted=data.y).to_csv(index=False)
    assert deploy == data.X_target.to_csv(index=False)


def test_other_tables_of_the_same_names_are_left_alone(here, tmp_path):
    (tmp_path / "train.csv").write_text("a,b\n1,2\n")
    result = run("demo", "--out", tmp_path)
    assert result.exit_code == 2
    assert "was not written by weighbridge" in " ".join(result.stderr.split())
    assert [each.name for each in tmp_path.iterdir()] == ["train.csv"]


def test_a_second_demo_may_write_over_the_first(here):
    for each in (here / "weighbridge-demo").iterdir():
        assert is_clinic(each) if each.name in ("train.csv", "deploy.csv") else is_ours(each)
