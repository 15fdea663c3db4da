"""Ctrl-C in the middle of a search: nothing half written, and the same command goes on."""

import os
import signal
import subprocess
import sys
import time

from cli_runs import run, write_clinic

# A learner that the search can only try out, and slow enough to be interrupted.
MODEL = """
import os, time
from sklearn.linear_model import LogisticRegression

class Slow(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        time.sleep(float(os.environ.get("PAUSE", "0")))
        return super().fit(X, y, sample_weight)
"""
WORDS = ["adapt", "train.csv", "deploy.csv", "--label", "readmitted", "--alpha", "1"]
WORDS += ["--model", "slow_model:Slow"]


def evaluations(folder):
    """Return how many lines the journals of an unfinished run hold."""
    journals = folder.glob("weighbridge-out/unfinished-*/*.jsonl")
    return sum(max(0, each.read_bytes().count(b"\n") - 1) for each in journals)


def interrupted_run(folder):
    """Start the command, interrupt it once a search has found something; return how it ended."""
    process = subprocess.Popen(
        [sys.executable, "-m", "weighbridge", *WORDS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "PAUSE": "0.05"},
    )
    deadline = time.monotonic() + 120
    while evaluations(folder) < 3 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_an_interrupted_run_keeps_its_search_and_the_same_command_goes_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    write_clinic(tmp_path, 120, 80)
    (tmp_path / "slow_model.py").write_text(MODEL)
    exit_code, out, err = interrupted_run(tmp_path)
    assert exit_code == 130
    assert out == ""
    assert "interrupted during" in err
    assert "the same command goes on from there" in err
    assert "Traceback" not in err
    left = [each.name for each in (tmp_path / "weighbridge-out").iterdir()]
    assert len(left) == 1
    assert left[0].startswith("unfinished-")
    assert evaluations(tmp_path) >= 3
    result = run(*WORDS)
    assert result.exit_code == 0
    files = {each.name for each in (tmp_path / "weighbridge-out").iterdir()}
    assert files == {"report.html", "model.skops", "weights.csv", "result.json"}
