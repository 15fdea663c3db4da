"""kill -9 at any moment of `adapt`: the next run ends with the bytes of an undisturbed one."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

# The model is searched by folds; few rows keep a run within seconds.
WORDS = ["adapt", "train.csv", "deploy.csv", "--label", "y", "--model", "svm", "--alpha", "1"]
WORDS += ["--ratio", "gaussian", "--quiet"]
FILES = ["model.skops", "report.html", "result.json", "weights.csv"]


def write_tables(folder):
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, 60)
    y = np.where(rng.random(60) < 1 / (1 + np.exp(-2 * x)), "yes", "no")
    pd.DataFrame({"x": x, "y": y}).to_csv(folder / "train.csv", index=False)
    pd.DataFrame({"x": rng.normal(0.5, 1, 40)}).to_csv(folder / "deploy.csv", index=False)


def started(folder):
    # dates and times of the work are part of the files
    fixed = {"SOURCE_DATE_EPOCH": "1700000000", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "weighbridge", *WORDS],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, **fixed},
    )


def finished(folder):
    """Run to the end; return the content of all files."""
    process = started(folder)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    out = folder / "weighbridge-out"
    assert sorted(each.name for each in out.iterdir()) == FILES
    return {name: (out / name).read_bytes() for name in FILES}


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL elsewhere")
@pytest.mark.parametrize(
    "kills",
    [pytest.param(3, marks=pytest.mark.more), pytest.param(40, marks=pytest.mark.slow)],
)
def test_a_run_after_kill_9_ends_as_if_nothing_had_happened(tmp_path, kills):
    write_tables(tmp_path)
    begun = time.monotonic()
    undisturbed = finished(tmp_path)
    seconds = time.monotonic() - begun
    moments = random.Random(kills)
    hit = 0
    for _ in range(4 * kills):
        shutil.rmtree(tmp_path / "weighbridge-out")
        process = started(tmp_path)
        time.sleep(moments.uniform(0.1, 1) * seconds)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if process.returncode == 0:  # too late: the machine has become faster
            seconds *= 0.7
            continue
        hit += process.returncode == -signal.SIGKILL
        for name in FILES:  # what is there is whole
            path = tmp_path / "weighbridge-out" / name
            assert not path.exists() or path.read_bytes() == undisturbed[name]
        assert finished(tmp_path) == undisturbed
        if hit == kills:
            return
    pytest.fail(f"only {hit} of {kills} runs were killed")
