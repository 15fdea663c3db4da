"""Ctrl-C in the middle of `adapt`: the run ends at once and leaves no file."""

import os
import signal
import subprocess
import sys
import time

import pytest

from cli_runs import write_clinic

# A model that reports its first weighted fit, which then takes a minute.
MODEL = """
import time
from pathlib import Path
import numpy as np
from sklearn.naive_bayes import GaussianNB

class Slow(GaussianNB):
    def fit(self, X, y, sample_weight=None):
        if sample_weight is not None and np.ptp(sample_weight) > 0:
            Path("fitted").touch()
            time.sleep(60)
        return super().fit(X, y, sample_weight)
"""
WORDS = ["adapt", "train.csv", "deploy.csv", "--label", "readmitted", "--ratio", "gaussian"]
WORDS += ["--keep", "age,bmi", "--model", "slow_model:Slow"]


@pytest.mark.more
@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_ends_a_run_at_once_and_leaves_no_file(tmp_path, jobs):
    write_clinic(tmp_path, 200, 200)
    (tmp_path / "slow_model.py").write_text(MODEL)
    process = subprocess.Popen(
        [sys.executable, "-m", "weighbridge", *WORDS, "--jobs", jobs],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    deadline = time.monotonic() + 120
    while not (tmp_path / "fitted").exists() and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    started = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - started < 30  # long before the fit ends; a busy machine is slow
    assert process.returncode == 130
    assert out == ""
    assert "interrupted during" in err
    assert "Traceback" not in err
    assert not (tmp_path / "weighbridge-out").exists()
