"""``weighbridge weights`` and ``weighbridge predict``."""

import re
import subprocess
import sys
import tracemalloc
from functools import partial
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from cli_runs import COLUMNS, run, valid, within_80_columns, write_clinic
from weighbridge import Geodesic, fit_ratio
from weighbridge._tables import _model_columns, defused
from weighbridge.adaptation import load_model, read_inputs
from weighbridge.adaptation._saved_model import SavedModel, model_bytes
from weighbridge.cli import _two_tables
from weighbridge.cli._two_tables import fitted_ratio, read_two
from weighbridge.cli._weights import log_ratio_blocks

OPTIONS = {"label": None, "drop": (), "keep": (), "ratio": "auto", "seed": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("weights")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_clinic(folder)
        run("adapt", "train.csv", "deploy.csv", "--label", "readmitted")
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(params=[None, 300])
def sampled(request, monkeypatch):
    if request.param:  # only a sample of each table is read into memory
        reader = partial(read_inputs, max_rows=request.param)
        monkeypatch.setattr(_two_tables, "read_inputs", reader)
    return request.param


def test_what_a_ratio_warns_of_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    train = pd.DataFrame(rng.normal(size=(100, 2)), columns=["a", "b"])
    train.loc[0, "a"] = 1000
    train.to_csv("train.csv", index=False)
    pd.DataFrame(rng.normal(0.5, 1, (80, 2)), columns=["a", "b"]).to_csv("deploy.csv", index=False)
    result = run("weights", "train.csv", "deploy.csv", "--ratio", "gaussian")
    assert result.exit_code == 0
    assert "would set the variance" in " ".join(result.stderr.split())


def test_a_weight_for_each_row_is_written_and_shown(here):
    result = run("weights", "train.csv", "deploy.csv")
    assert result.exit_code == 0
    assert within_80_columns(result.output)
    table = pd.read_csv("weights.csv")
    assert list(table) == ["row", "weight", "log_ratio"]
    assert table["row"].tolist() == list(range(1, 401))
    worth = table["weight"].sum() ** 2 / (table["weight"] ** 2).sum()
    head = f"400 weights, mean 1, {worth:,.0f} effective rows   (relative, lam 0.80, alpha 3)"
    assert result.stdout.startswith(f"\n{head}\n")
    found = re.findall(r"^  (?:\d|above).*? ([\d.]+) %", result.stdout, re.M)
    shares = [float(each) for each in found]
    assert len(shares) == 6
    assert sum(shares) == pytest.approx(100, abs=3)  # six rounded numbers
    assert "wrote weights.csv" in result.stdout


def test_weights_are_those_of_python(here):
    run("weights", "train.csv", "deploy.csv", "--lam", "0.5", "--alpha", "1", "--out", "own.csv")
    table = pd.read_csv("own.csv")
    X, X_target = pd.read_csv("train.csv")[COLUMNS], pd.read_csv("deploy.csv")
    log_ratio = fit_ratio(X, X_target).score_samples(X)
    log_ratio -= np.log(np.mean(np.exp(log_ratio)))
    assert table["log_ratio"].to_numpy() == pytest.approx(log_ratio, abs=1e-10)
    weights = Geodesic(0.5, 1.0).weights(log_ratio)
    assert table["weight"].to_numpy() == pytest.approx(weights, rel=1e-10)


def test_json_and_parquet(here):
    result = run("weights", "train.csv", "deploy.csv", "--out", "w.parquet", "--json")
    found = valid(result.stdout)
    assert found["files"] == {"weights": "w.parquet"}
    table = pd.read_parquet("w.parquet")
    assert list(table) == ["row", "weight", "log_ratio"]
    assert sum(found["weights"]["counts"]) == 400
    # what was written by this command may be written again, what was not may not
    assert run("weights", "train.csv", "deploy.csv", "--out", "w.parquet").exit_code == 0
    pd.DataFrame({"a": [1]}).to_parquet("mine.parquet")
    assert run("weights", "train.csv", "deploy.csv", "--out", "mine.parquet").exit_code == 2


def test_no_weights_are_all_one(here):
    result = run("weights", "train.csv", "deploy.csv", "--lam", "0", "--out", "one.csv")
    assert "400 effective rows   (none)" in result.stdout
    assert (pd.read_csv("one.csv")["weight"] == 1).all()


def test_rows_beyond_memory_get_the_weights_of_the_others(here, monkeypatch):
    # a ratio fitted to a sample scores all rows, block by block, as it would at once
    monkeypatch.setattr(_two_tables, "read_inputs", partial(read_inputs, max_rows=300))
    two = read_two(here / "train.csv", here / "deploy.csv", OPTIONS)
    assert two.tables[0].sampled == 300
    assert "WB139" in {note.code for note in two.notes}
    ratio = fitted_ratio(two)
    in_blocks = np.concatenate(list(log_ratio_blocks(two, ratio, here / "train.csv")))
    at_once = ratio.score_samples(pd.read_csv("train.csv")[COLUMNS])
    assert in_blocks == pytest.approx(at_once, abs=1e-12)


@pytest.mark.usefixtures("here", "sampled")
def test_a_column_that_holds_the_ratio_is_taken_as_it_is(tmp_path):
    for name in ("train.csv", "deploy.csv"):
        table = pd.read_csv(name)
        table.assign(r=np.exp(table["age"] / 50)).to_csv(tmp_path / name, index=False)
    options = {**OPTIONS, "ratio": "r"}
    expected = pd.read_csv("train.csv")["age"] / 50
    two = read_two(tmp_path / "train.csv", tmp_path / "deploy.csv", options)
    parts = log_ratio_blocks(two, fitted_ratio(two), tmp_path / "train.csv")
    assert np.concatenate(list(parts)) == pytest.approx(expected.to_numpy(), abs=1e-12)


@pytest.mark.usefixtures("here", "sampled")
def test_a_feature_that_is_called_like_a_ratio_is_not_taken_for_it(tmp_path):
    for name in ("train.csv", "deploy.csv"):
        pd.read_csv(name).rename(columns={"age": "gaussian"}).to_csv(tmp_path / name, index=False)
    options, path = {**OPTIONS, "ratio": "gaussian"}, tmp_path / "train.csv"
    two = read_two(path, tmp_path / "deploy.csv", options)
    ratio = fitted_ratio(two)
    expected = ratio.score_samples(pd.read_csv(path)[list(two.X)])
    found = np.concatenate(list(log_ratio_blocks(two, ratio, path)))
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.more
def test_files_that_hardly_overlap_have_no_useful_weights_and_that_is_said(here, tmp_path):
    far = pd.read_csv("deploy.csv")
    far.assign(age=far["age"] + 500).to_csv(tmp_path / "far.csv", index=False)
    result = run("weights", "train.csv", tmp_path / "far.csv", "--out", tmp_path / "w.csv")
    assert result.exit_code == 0
    assert "warning WB302" in result.stdout
    assert "WB305" not in result.stdout


@pytest.mark.parametrize("command", [("weights", "train.csv"), ("predict", "train.csv")])
def test_a_table_ends_in_csv_or_parquet(here, command):
    result = run(*command, "deploy.csv", "--out", "table.xlsx", "--json")
    assert result.exit_code == 2
    assert valid(result.stdout)["failure"]["findings"][0]["code"] == "WB145"
    assert "--out table.csv" in result.stderr


def test_parquet_needs_its_package_and_says_so_before_the_work(here):
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "sys.argv[1:] = ['weights', 'train.csv', 'deploy.csv', '--out', 'w.parquet']\n"
        "from weighbridge.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=here
    )
    assert done.returncode == 2
    assert 'pip install "weighbridge[cli]", or --out w.csv' in done.stderr


def test_predictions_are_those_of_the_model(here):
    # far more jobs than cores are as many as there are cores
    result = run("predict", "weighbridge-out/model.skops", "deploy.csv", "--jobs", 10**20)
    assert result.exit_code == 0
    assert within_80_columns(result.output)
    assert "300 predictions of readmitted" in result.stdout
    table = pd.read_csv("predictions.csv")
    assert list(table) == ["row", "prediction", "probability_0", "probability_1"]
    model = load_model("weighbridge-out/model.skops").model
    X = pd.read_csv("deploy.csv")
    assert table["prediction"].tolist() == model.predict(X).tolist()
    chances = model.predict_proba(X)
    assert table[["probability_0", "probability_1"]].to_numpy() == pytest.approx(chances, abs=1e-12)
    again = run("predict", "weighbridge-out/model.skops", "deploy.csv", "--json", "--quiet")
    assert valid(again.stdout)["predictions"]["n"] == 300


# A model of the user's own, which is trusted, and fails when it predicts or when it is loaded.
OWN = """
import os, sys
from sklearn.linear_model import LogisticRegression

if os.environ.get("FAIL") == "import":
    sys.exit(0)

class Own(LogisticRegression):
    def predict(self, X):
        print("loud")
        if os.environ["FAIL"] == "predict":
            raise ValueError("too hot")
        if os.environ["FAIL"] == "leave":
            sys.exit(0)
        return super().predict(X)
"""


@pytest.mark.parametrize(
    ("fail", "code", "words"),
    [
        ("predict", "WB706", "fails when it predicts: ValueError: too hot. help: correct"),
        ("leave", "WB706", "fails when it predicts: SystemExit: 0. help: correct"),
        ("import", "WB710", "SystemExit: 0 help: name the model.skops"),
        ("", None, "loud"),
    ],
)
def test_an_own_model_that_fails_or_leaves_in_predictions_is_blamed(
    tmp_path, monkeypatch, fail, code, words
):
    (tmp_path / "own_predict.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    X = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0]})
    X.to_csv("data.csv", index=False)
    model = import_module("own_predict").Own().fit(X, [0, 0, 1, 1])
    saved = SavedModel(model, {"age": "numeric"}, "y", "classification", "none", "0.1")
    (tmp_path / "own.skops").write_bytes(model_bytes(saved))
    monkeypatch.delitem(sys.modules, "own_predict")
    monkeypatch.setenv("FAIL", fail)
    result = run("predict", "own.skops", "data.csv", "--trust", "own_predict.Own", "--json")
    assert result.exit_code == {"WB706": 3, "WB710": 2, None: 0}[code]
    found = valid(result.stdout)
    assert words in " ".join(result.stderr.split())
    assert (tmp_path / "predictions.csv").exists() is (code is None)
    if code:
        assert found["failure"]["findings"][0]["code"] == code


def test_columns_may_be_more_and_in_any_order_but_none_may_be_missing(here, tmp_path):
    X = pd.read_csv("deploy.csv")
    X[COLUMNS[::-1]].assign(extra="x").to_csv(tmp_path / "more.csv", index=False)
    X.drop(columns="site").to_csv(tmp_path / "less.csv", index=False)
    model = "weighbridge-out/model.skops"
    for name, out in (("deploy.csv", "a.csv"), (tmp_path / "more.csv", "b.csv")):
        result = run("predict", model, name, "--out", tmp_path / out)
        assert result.exit_code == 0
        assert ('also has "extra"' in result.stdout) == (out == "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    result = run("predict", model, tmp_path / "less.csv", "--out", tmp_path / "c.csv", "--json")
    assert result.exit_code == 3
    assert valid(result.stdout)["failure"]["findings"][0]["code"] == "WB103"
    assert '"site"' in result.stderr
    assert not (tmp_path / "c.csv").exists()


@pytest.mark.parametrize("content", [b"", b"no model", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_model_is_refused(here, tmp_path, content):
    (tmp_path / "model.skops").write_bytes(content)
    result = run("predict", tmp_path / "model.skops", "deploy.csv", "--out", tmp_path / "p.csv")
    assert result.exit_code == 2
    assert "error WB710" in result.stderr
    assert not (tmp_path / "p.csv").exists()


@pytest.mark.more
def test_predictions_take_memory_for_blocks_and_not_for_rows(here, tmp_path):
    text = (here / "deploy.csv").read_text()
    head, _, rows = text.partition("\n")
    peaks = []
    for times in (170, 340):
        path = tmp_path / "large.csv"
        path.write_text(head + "\n" + rows * times)
        tracemalloc.start()
        words = (path, "--out", tmp_path / "p.csv", "--force", "--quiet")
        assert run("predict", "weighbridge-out/model.skops", *words).exit_code == 0
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert (tmp_path / "p.csv").read_bytes().count(b"\n") == 300 * times + 1
    # twice the rows, and about the same memory: two blocks are as large as one
    assert peaks[1] < 1.3 * peaks[0]


@pytest.mark.more
def test_a_full_disk_is_named_and_leaves_nothing(here, tmp_path):
    resource = pytest.importorskip("resource", reason="needs a limit on the size of files")
    # a limit on the size of files stands in for a disk without room
    model, data = here / "weighbridge-out" / "model.skops", here / "deploy.csv"
    code = (
        "import signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"sys.argv[1:] = ['predict', {str(model)!r}, {str(data)!r}, '--json']\n"
        "from weighbridge.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
    )
    assert done.returncode == 3
    assert "error WB141: predictions.csv: File too large." in done.stderr
    assert valid(done.stdout)["failure"]["exit_code"] == 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1"])
def test_text_that_a_spreadsheet_would_run_is_text(text):
    assert defused(text) == f"'{text}"


@pytest.mark.parametrize("value", [-1.5, -1, "-1.5", "+3", "yes", "", "a=b", None])
def test_numbers_and_other_text_stay_as_they_are(value):
    assert defused(value) == value


@pytest.fixture
def long(here, tmp_path):
    """A table of more than one batch of Parquet, in files of several batches."""
    train = pd.read_csv("train.csv")
    rows = np.random.default_rng(0).integers(0, len(train), 60_000)
    (tmp_path / "long").mkdir()
    table = train.iloc[rows].drop(columns="readmitted")
    for number, start in enumerate((0, 55_000)):
        part = table.iloc[start : start + 55_000]
        part.to_parquet(tmp_path / "long" / f"part-{number}.parquet", index=False)
    return tmp_path / "long"


def test_predictions_do_not_depend_on_the_size_of_blocks(long, tmp_path, monkeypatch):
    tables = []
    for number, rows in enumerate((50_000, 7_001)):
        monkeypatch.setattr(_model_columns, "BLOCK_ROWS", rows)
        out = tmp_path / f"{number}.csv"
        done = run("predict", "weighbridge-out/model.skops", long, "--out", out)
        assert done.exit_code == 0
        tables.append(pd.read_csv(out))
    pd.testing.assert_frame_equal(*tables, rtol=1e-12)
    assert len(tables[0]) == 60_000


def test_a_table_too_long_to_be_fitted_as_a_whole_has_a_weight_for_each_row(
    long, tmp_path, monkeypatch
):
    monkeypatch.setattr(_two_tables, "read_inputs", partial(read_inputs, max_rows=5_000))
    monkeypatch.setattr(_model_columns, "BLOCK_CELLS", 21_000)  # 7,000 rows of 3 columns
    words = ("--ratio", "gaussian", "--out", tmp_path / "w.csv")
    assert run("weights", long, "deploy.csv", *words).exit_code == 0
    table = pd.read_csv(tmp_path / "w.csv")
    assert table["row"].tolist() == list(range(1, 60_001))
    same = pd.concat(pd.read_parquet(each) for each in sorted(long.iterdir()))
    # Equal rows get equal weights, in whichever block they are.
    spread = table.groupby(pd.factorize(pd.MultiIndex.from_frame(same))[0])["log_ratio"].std()
    assert spread.max() < 1e-10
