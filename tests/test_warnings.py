"""Good tables cause no warning of numpy, pandas, scipy or scikit-learn, and no odd number."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

from cli_runs import run, write_clinic
from weighbridge import adapt, diagnose, fit_ratio
from weighbridge.adaptation import load_model
from weighbridge.exceptions import OverlapWarning

RATIOS = ["auto", "classifier", "gaussian", "ulsif", "rulsif", "kliep", "kmm", "nearest"]
MODELS = ["linear", "boosting", "forest", "svm"]


def strict(*words):
    """Run a command where every warning and every odd number raises."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        done = run(*words, "--quiet", "--debug")
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    write_clinic(folder, 120, 100)
    return folder


@pytest.fixture
def here(clinic, monkeypatch):
    monkeypatch.chdir(clinic)
    return clinic


TWO = ("train.csv", "deploy.csv", "--label", "readmitted")


FIXED = ("--ratio", "gaussian", "--lam", "0.5", "--alpha", "3")


@pytest.mark.parametrize(
    "model", ["linear", *(pytest.param(each, marks=pytest.mark.more) for each in MODELS[1:])]
)
def test_adapt_and_what_follows_it_cause_no_warning(here, model):
    strict("adapt", *TWO, *FIXED, "--model", model, "--out", model)
    strict("predict", f"{model}/model.skops", "deploy.csv", "--out", f"{model}.csv")
    strict("report", f"{model}/result.json", "--out", f"{model}.html")


@pytest.mark.more
@pytest.mark.parametrize("ratio", RATIOS)
def test_no_ratio_causes_a_warning(here, ratio):
    strict("weights", *TWO, "--ratio", ratio, "--out", f"weights-{ratio}.csv")
    strict("diagnose", *TWO, "--ratio", ratio)


@pytest.mark.more
def test_a_search_causes_no_warning(here):
    strict("adapt", *TWO, "--ratio", "gaussian", "--out", "tuned")


@pytest.mark.more
def test_a_program_started_with_warnings_as_errors_says_nothing(here):
    """Imports too cause no warning."""
    words = ("adapt", *TWO, *FIXED, "--out", "started", "--quiet", "--debug")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "weighbridge", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.stderr == ""
    assert done.returncode == 0


def test_python_causes_no_warning(here, tmp_path):
    """The package's own warnings of overlap may be given."""
    fixed = {"ratio": "gaussian", "lam": 0.5, "alpha": 3}
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", OverlapWarning)
        found = adapt("train.csv", "deploy.csv", label="readmitted", **fixed)
        found.save(tmp_path)
        X, X_target = found.pair.X, found.pair.X_target
        diagnose(X, X_target)
        assert np.isfinite(fit_ratio(X, X_target).score_samples(X)).all()
        model = load_model(tmp_path / "model.skops").model
        assert np.isfinite(model.predict_proba(X_target)).all()
