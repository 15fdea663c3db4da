"""``weighbridge adapt``: what it prints, what it writes, what it leaves alone."""

import json
import os
import re
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from joblib import cpu_count

from cli_runs import COLUMNS, run, valid, within_80_columns, write_clinic
from weighbridge.adaptation import Settings, load_model
from weighbridge.report import facts_of, snippets

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
    assert narrated == ["weighbridge", "read", "label", "shift", "bridge", "verify", "write"]
    assert "read     400 × 4 and 300 × 3" in done.stderr
    assert re.search(
        r"label    readmitted \(2 classes, \d+ % are 1\), model logistic regression\n", done.stderr
    )
    assert not set(narrated[1:]) & {line.split(" ")[0] for line in done.stdout.splitlines()}
    assert "\r" not in done.stderr
    assert "\x1b" not in done.output


def test_the_sentence_comes_first_then_five_answers_then_the_comparison(here, done):
    text = done.stdout
    result = json.loads((here / "weighbridge-out" / "result.json").read_text())
    sentence, answers, table, *_ = text.strip("\n").split("\n\n")
    assert " ".join(sentence.split()) == result["verdict"]["sentence"]
    words = ["Shift", "Matters", "Overlap", "Weighting", "Expect", "Assumed"]
    assert re.findall(r"^  (\w+)", answers, re.MULTILINE) == words
    rows = [each for each in result["expect"]["candidates"] if each["same_as"] is None]
    names = [*(each["name"] for each in rows), "constant"]
    shown = re.findall(r"^  (\w+)(?: \*)? +(?:[\d–]|mix|lam)", table, re.MULTILINE)
    assert shown == ["weighting", *names]
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
    np.testing.assert_allclose(weights["weight"].mean(), 1)


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


@pytest.mark.more
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


@pytest.mark.more
def test_a_folder_elsewhere_is_the_users_own_choice(here, tmp_path):
    out = tmp_path / "a" / ".." / "elsewhere"
    (tmp_path / "a").mkdir()
    assert run(*ADAPT, "--out", out).exit_code == 0
    assert listing(tmp_path / "elsewhere") == FILES


@pytest.mark.more
def test_labels_of_the_deployment_lead_the_words_and_change_no_figure(here, tmp_path):
    data = write_clinic(tmp_path)
    labelled = data.X_target[COLUMNS].assign(readmitted=data.y_target)
    labelled.to_csv(tmp_path / "labelled.csv", index=False)
    words = ("adapt", "train.csv", tmp_path / "labelled.csv", "--label", "readmitted")
    result = run(*words, "--out", tmp_path / "out")
    assert result.exit_code == 0
    assert "Deployment labels are known (set aside until now):" in result.stdout
    names = "none|full|power|relative|tuned|constant"
    shown = dict(re.findall(rf"({names}) ([\d.]+) %", result.stdout))
    stored = json.loads((tmp_path / "out" / "result.json").read_text())
    plain = json.loads((here / "weighbridge-out" / "result.json").read_text())
    for name, actual in stored["expect"]["actual"].items():
        assert float(shown[name]) == pytest.approx(100 * actual["value"], abs=0.05)
    assert stored["verdict"]["use"] == plain["verdict"]["use"]
    assert " actual error " in stored["verdict"]["sentence"]
    assert stored["expect"]["candidates"] == plain["expect"]["candidates"]


@pytest.mark.more
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


@pytest.mark.more
def test_numbers_are_regressed_and_that_is_said(here, tmp_path):
    rng = np.random.default_rng(0)
    train = pd.read_csv("train.csv")
    train["cost"] = train["age"] * 1.5 + rng.normal(size=len(train))
    train.drop(columns="readmitted").to_csv(tmp_path / "train.csv", index=False)
    words = ("adapt", tmp_path / "train.csv", "deploy.csv", "--label", "cost", "--lam", "0.5")
    result = run(*words, "--alpha", "3", "--out", tmp_path / "out")
    assert result.exit_code == 0
    assert "label    cost (numbers), model ridge regression" in result.stderr
    assert "RMSE" in result.stdout
    assert within_80_columns(result.stdout.replace(str(tmp_path), ""))


@pytest.mark.more
def test_a_run_can_be_repeated_by_what_its_page_says(here, tmp_path, monkeypatch):
    train, deploy = pd.read_csv("train.csv"), pd.read_csv("deploy.csv")
    for frame, name in ((train, "train.csv"), (deploy, "deploy.csv")):
        frame["a,b"] = frame["-c"] = frame["age"]
        frame["own"] = 1.0
        frame.to_csv(tmp_path / name, index=False)
    monkeypatch.chdir(tmp_path)
    given = ("--drop", '-c,"a,b"', "--weight", "own", "--lam", "0.5", "--alpha", "-1")
    assert run(*ADAPT, *given).exit_code == 0
    stored = json.loads((tmp_path / "weighbridge-out" / "result.json").read_text())
    assert stored["settings"]["drop"] == ["-c", "a,b"]
    assert stored["settings"]["keep"] is None
    assert stored["settings"]["weight"] == "own"
    (again,) = (each for each in snippets(facts_of(stored)) if each.id == "use-repeat")
    program, *words = shlex.split(again.text)
    assert program == "weighbridge"
    assert run(*words, "--out", "again").exit_code == 0
    repeated = json.loads((tmp_path / "again" / "result.json").read_text())
    assert repeated["settings"] == stored["settings"]
    assert repeated["expect"] == stored["expect"]


# Models of the user's own, each failing in its own way.
OWN = """
from sklearn.linear_model import LogisticRegression

class Own(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, sample_weight)

class Late(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        if len(y) < 400:
            raise RuntimeError("too few rows")
        return super().fit(X, y, sample_weight)

class Short(LogisticRegression):
    def predict(self, X):
        return super().predict(X)[:3]

def wrong():
    return LogisticRegression(C=-1)

def broken():
    raise KeyError

class Nan(LogisticRegression):
    def predict_proba(self, X):
        return super().predict_proba(X) * float("nan")

class Half(LogisticRegression):
    def predict_proba(self, X):
        return super().predict_proba(X) / 2

class One(LogisticRegression):
    def predict_proba(self, X):
        return super().predict_proba(X)[:, :1]

class LateNan(Nan):
    def predict_proba(self, X):
        return (Nan if self.weighted_ else LogisticRegression).predict_proba(self, X)
    def fit(self, X, y, sample_weight=None):
        self.weighted_ = sample_weight is not None and sample_weight.std() > 1e-9
        return super().fit(X, y, sample_weight)

class Inner(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        if len(y) < 300:
            raise RuntimeError("too few rows")
        return super().fit(X, y, sample_weight)
"""
needs_sigint = pytest.mark.skipif(
    os.name != "posix", reason="Windows has no SIGINT for one process"
)
# Others, which also print, and want to leave or to be interrupted.
LEAVING = """
import os, signal, sys
from sklearn.linear_model import LogisticRegression

print("loud")

def made():
    sys.exit(0)

class Fit(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        sys.exit("enough")

class Late(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        if len(y) < 400:
            sys.exit()
        return super().fit(X, y, sample_weight)

class Predict(LogisticRegression):
    def predict(self, X):
        sys.exit(0)

class Deep(LogisticRegression):
    def predict(self, X):
        return self.predict(X)

def interrupted():
    raise KeyboardInterrupt

def signalled():
    os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.mark.parametrize(
    ("module", "name", "words"),
    [
        ("fails", "x", "fails when it is imported: ZeroDivisionError: division by zero."),
        ("own", "broken", "fails when it is made: KeyError. in own.py line 22, broken help"),
        ("own", "wrong", "fails when it is fitted: InvalidParameterError: The 'C' parameter"),
        ("own", "Short", "Got Short, whose predict has shape (3,), not (20,); correct the model."),
        ("own", "Nan", "Got Nan, whose predict_proba is NaN or infinite in 20 of 20 rows; correct"),
        ("own", "Half", "Got Half, whose predict_proba has rows that are not numbers between 0"),
        ("own", "One", "Got One, whose predict_proba has shape (20, 1), not (20, 2); correct the"),
        pytest.param(
            *("own", "LateNan", "in the middle of the work: AnswerError: Got"),
            marks=pytest.mark.more,
        ),
        pytest.param(
            *(
                "own",
                "Inner",
                "in the middle of the work: AllFailedError: All 4 candidates failed",
            ),
            marks=pytest.mark.more,
        ),
        ("own", "Late", "in the middle of the work: RuntimeError: too few rows. in own.py line 11"),
    ],
)
def test_a_failure_inside_an_own_model_is_not_a_defect_of_ours(
    here, tmp_path, monkeypatch, module, name, words
):
    """Exit 3 names the model, the exception and its message; a traceback comes on demand."""
    (tmp_path / f"{name}_{module}.py").write_text(OWN if module == "own" else "1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    model = f"{name}_{module}:{name}"
    result = run(*ADAPT, "--model", model, "--out", tmp_path / "out", "--json")
    assert result.exit_code == 3
    (finding,) = valid(result.stdout)["failure"]["findings"]
    assert finding["code"] == "WB706"
    text = " ".join(result.stderr.split()).replace(f"{name}_{module}.py", f"{module}.py")
    assert f'"{model}"' in text
    assert words in text
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "out").exists()
    if name == "broken":
        shown = run(*ADAPT, "--model", model, "--out", tmp_path / "out", "--debug").stderr
        assert "Traceback" in shown
        assert "in broken" in shown


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("leave:x", "fails when it is imported: SystemExit: 0. help: correct"),
        ("leaving:made", "fails when it is made: SystemExit: 0. in leaving.py line 8, made"),
        ("leaving:Fit", "fails when it is fitted: SystemExit: enough. in leaving.py line 12"),
        pytest.param(
            "leaving:Late",
            "in the middle of the work: SystemExit. in leaving.py line 17",
            marks=pytest.mark.more,
        ),
        ("leaving:Predict", "fails when it predicts: SystemExit: 0."),
        ("leaving:Deep", "fails when it predicts: RecursionError: maximum recursion"),
    ],
)
def test_an_own_model_that_wants_to_leave_is_blamed_and_what_it_prints_is_no_json(
    here, tmp_path, monkeypatch, name, words
):
    (tmp_path / "leave.py").write_text("raise SystemExit(0)")
    (tmp_path / "leaving.py").write_text(LEAVING)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "leaving", raising=False)
    result = run(*ADAPT, "--model", name, "--out", tmp_path / "out", "--json")
    assert result.exit_code == 3
    assert valid(result.stdout)["failure"]["findings"][0]["code"] == "WB706"
    assert words in " ".join(result.stderr.split())
    assert ("loud\n" in result.stderr) is name.startswith("leaving")
    assert not (tmp_path / "out").exists()


@pytest.mark.more
@pytest.mark.parametrize("name", ["interrupted", pytest.param("signalled", marks=needs_sigint)])
def test_an_own_model_that_interrupts_the_run_ends_it_as_ctrl_c_does(tmp_path, name):
    write_clinic(tmp_path, 100, 100)
    (tmp_path / "leaving.py").write_text(LEAVING)
    done = installed(tmp_path, *ADAPT, "--model", f"leaving:{name}", "--quiet", "--json")
    assert done.returncode == 130
    assert valid(done.stdout)["failure"]["findings"][0]["code"] == "WB902"
    # click writes the empty line
    said = "no file was left half written"
    assert done.stderr == f"loud\n\ninterrupted during read\n  {said}\n"


# A model that prints wherever its code runs, and in other processes may want to leave.
LOUD = """
import os, sys
from multiprocessing import parent_process
from sklearn.linear_model import LogisticRegression

class Loud(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        print("loud")
        os.write(1, b"raw\\n")
        if os.environ.get("LEAVE") and parent_process() is not None:
            sys.exit(0) if os.environ["LEAVE"] == "exit" else os._exit(0)
        return super().fit(X, y, sample_weight)
"""


@pytest.mark.more
@pytest.mark.parametrize(
    ("leave", "words"),
    [
        ("", "write"),
        ("exit", "in the middle of the work: SystemExit: 0"),
        ("kill", "error WB142: a parallel job was killed"),
    ],
)
def test_in_parallel_jobs_too_prints_go_to_standard_error_and_who_leaves_is_blamed(
    tmp_path, monkeypatch, leave, words
):
    write_clinic(tmp_path, 200, 100)
    (tmp_path / "loud_model.py").write_text(LOUD)
    monkeypatch.setenv("LEAVE", leave)
    fixed = ("--lam", "0.5", "--alpha", "1", "--ratio", "gaussian", "--jobs", "9" * 20, "--json")
    done = installed(tmp_path, *ADAPT, "--model", "loud_model:Loud", *fixed)
    assert done.returncode == (3 if leave else 0), done.stderr
    assert bool(valid(done.stdout)["failure"]) is bool(leave)
    assert words in " ".join(done.stderr.split())
    assert "loud\n" in done.stderr
    assert "raw\n" in done.stderr


@pytest.mark.parametrize(("n_jobs", "most"), [(1, 1), (-1, -1), (10**20, cpu_count())])
def test_there_are_never_more_parallel_fits_than_cores(n_jobs, most):
    assert Settings("y", n_jobs=n_jobs).n_parallel == most


def installed(folder, *words):
    """Run the command as an installed program does, whose modules are not the folder's."""
    code = "from weighbridge.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-P", "-c", code, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )


@pytest.mark.more
@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_own_models_are_found_in_the_present_folder_by_jobs_and_predictions_too(tmp_path, jobs):
    write_clinic(tmp_path, 400, 100)
    (tmp_path / "own_here.py").write_text(OWN)
    words = ("--model", "own_here:Own", "--lam", "0.5", "--alpha", "1", "--ratio", "gaussian")
    done = installed(tmp_path, *ADAPT, *words, "--jobs", jobs)
    assert done.returncode == 0, done.stderr
    predict = ("predict", "weighbridge-out/model.skops", "deploy.csv")
    done = installed(tmp_path, *predict, "--trust", "own_here.Own")
    assert done.returncode == 0, done.stderr
    assert len(pd.read_csv(tmp_path / "predictions.csv")) == 100
