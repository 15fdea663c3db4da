"""Ctrl-C in the middle of a search: nothing half written, and the same command goes on."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from cli_runs import run

needs_sigint = pytest.mark.skipif(
    os.name != "posix", reason="Windows has no SIGINT for one process"
)
# A learner that a search can only try out: it lists its weighted fits, and can be slow.
MODEL = """
import hashlib, os, time
import numpy as np
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline

class Slow(GaussianNB):
    def fit(self, X, y, sample_weight=None):
        time.sleep(float(os.environ.get("PAUSE", "0")))
        if sample_weight is not None and np.ptp(sample_weight) > 0:
            with open(os.environ["FITS"], "a") as file:
                weights = np.round(sample_weight, 9).tobytes()
                file.write(hashlib.sha256(weights).hexdigest() + "\\n")
        return super().fit(X, y, sample_weight)

def make():
    return Pipeline([("nothing", "passthrough"), ("model", Slow())])
"""
WORDS = ["adapt", "train.csv", "deploy.csv", "--label", "y", "--alpha", "1", "--ratio", "gaussian"]
WORDS += ["--model", "slow_model:make"]
# Inner folds: fits of one evaluation.
N_FOLDS = 5


def write_tables(folder):
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, 120)
    y = np.where(rng.random(120) < 1 / (1 + np.exp(-np.sin(2 * x))), "yes", "no")
    pd.DataFrame({"x": x, "y": y}).to_csv(folder / "train.csv", index=False)
    pd.DataFrame({"x": rng.normal(0.8, 0.8, 100)}).to_csv(folder / "deploy.csv", index=False)


def evaluations(folder):
    """Return how many lines the journals of an unfinished run hold."""
    journals = folder.glob("weighbridge-out/unfinished-*/*.jsonl")
    return sum(max(0, each.read_bytes().count(b"\n") - 1) for each in journals)


def interrupted_run(folder, fits, n_evaluations):
    """Start the command, interrupt it once so many evaluations are kept; return how it ended."""
    process = subprocess.Popen(
        [sys.executable, "-m", "weighbridge", *WORDS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "PAUSE": "0.02", "FITS": fits},
    )
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        if evaluations(folder) >= n_evaluations:
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    started = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - started < 6  # one second; the rest is for a busy machine
    assert process.returncode == 130
    assert out == ""
    assert "interrupted during" in err
    assert "the same command continues from there" in err
    assert "Traceback" not in err
    left = [each.name for each in (folder / "weighbridge-out").iterdir()]
    assert len(left) == 1
    assert left[0].startswith("unfinished-")
    return evaluations(folder)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path)
    (tmp_path / "slow_model.py").write_text(MODEL)
    return tmp_path


@needs_sigint
@pytest.mark.more
def test_an_interrupted_run_leaves_its_search_and_the_same_command_goes_on(here):
    kept = interrupted_run(here, "first", 6)
    assert kept >= 6
    assert interrupted_run(here, "second", kept + 1) > kept
    first, second = ({*(here / name).read_text().split()} for name in ("first", "second"))
    # of three evaluations in a journal, no weights are not listed, and the full ratio is fitted
    # elsewhere too; the third is not fitted again
    assert len(first - second) >= N_FOLDS * (kept // 3)


@needs_sigint
@pytest.mark.slow
def test_a_run_that_goes_on_ends_with_its_files_and_without_its_journals(here, monkeypatch):
    interrupted_run(here, "first", 6)
    monkeypatch.syspath_prepend(here)
    monkeypatch.setenv("FITS", "second")
    assert run(*WORDS).exit_code == 0
    files = {each.name for each in (here / "weighbridge-out").iterdir()}
    assert files == {"report.html", "model.skops", "weights.csv", "result.json"}
