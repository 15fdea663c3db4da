"""Run cells in parallel; what is finished is kept, and a run that was stopped goes on."""

import hashlib
import json
import os
import platform
import sys
import time
import warnings
from functools import cache
from pathlib import Path

import numpy
import scipy
import sklearn
from joblib import Parallel, delayed

import weighbridge
from experiments import _workers
from experiments._models import SLOW
from experiments._warnings import count

# Modules whose code decides what a cell gives, here and in the library: a test runs cells and
# looks which they enter.
WORKERS = ("_models", "_split_trial", "_splits", "_toy_trials", "_workers")
LIBRARY = (
    "_arrays.py", "_estimators", "_findings", "_folds.py", "_pass_weights.py", "datasets",
    "engines", "geodesic/_log_weight.py", "label_shift", "model_selection", "ratios", "tables",
    "weighting.py",
)  # fmt: skip


def versions():
    """Versions of what the figures depend on."""
    return {
        package.__name__: package.__version__ for package in (weighbridge, numpy, scipy, sklearn)
    }


def made_here():
    """By which code and on what machine cells are run here."""
    return {
        "versions": versions(),
        "code": code_digest(),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }


def code_files():
    """Return the source files that decide what a cell gives."""
    library = Path(weighbridge.__file__).parent
    return [Path(__file__).parent / f"{name}.py" for name in WORKERS] + [
        path
        for path in sorted(library.rglob("*.py"))
        if any(path.is_relative_to(library / name) for name in LIBRARY)
    ]


@cache
def code_digest():
    """SHA-256 of the source that computes cells: results of other code are not reused."""
    digest = hashlib.sha256()
    for path in code_files():
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def key(cell):
    """Identify a cell: its arguments, and the code and versions that compute it."""
    return json.dumps({**cell, "versions": versions(), "code": code_digest()}, sort_keys=True)


def run_cells(cells, path, jobs, *, fresh=False, minutes=None):
    """Return the outcome of every cell, by key; those in the file at `path` are not run again.

    `fresh` runs the wanted ones again all the same; the later line in the file counts. After
    `minutes` no cell is begun, and the outcomes of those that are left are missing.
    """
    wanted = {key(cell): cell for cell in cells}
    done = {entry["key"]: entry["outcome"] for entry in _entries(path)}
    if fresh:
        done = {name: outcome for name, outcome in done.items() if name not in wanted}
    missing = [cell for name, cell in wanted.items() if name not in done]
    progress = _Progress(len(wanted), len(wanted) - len(missing))
    path.parent.mkdir(parents=True, exist_ok=True)
    stop = numpy.inf if minutes is None else time.monotonic() + 60 * minutes
    tasks = (
        delayed(_run_batch)(batch) for batch in _batches(missing) if time.monotonic() < stop
    )  # fmt: skip
    runs = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1, pre_dispatch=jobs)
    with path.open("a", encoding="utf-8") as journal:
        for batch in runs(tasks):
            for cell, outcome in batch:
                done[key(cell)] = outcome
                entry = {"key": key(cell), "outcome": outcome, "made": made_here()}
                journal.write(json.dumps(entry) + "\n")
                progress.step(cell)
            journal.flush()
    progress.close()
    return {name: done[name] for name in wanted if name in done}


def finished_elsewhere(cells, path):
    """Return the outcomes of a journal by key, and what made them: one code, the same versions."""
    runs = {}
    for entry in _entries(path):
        arguments = json.loads(entry["key"])
        made = entry["made"]
        by = json.dumps([arguments.pop("code"), arguments.pop("versions")])
        outcomes, _ = runs.setdefault(by, ({}, made))
        outcomes[json.dumps(arguments, sort_keys=True)] = entry["outcome"]
    wanted = {json.dumps(cell, sort_keys=True): key(cell) for cell in cells}
    for outcomes, made in reversed(runs.values()):
        if wanted.keys() <= outcomes.keys():
            return {name: outcomes[plain] for plain, name in wanted.items()}, made
    most = max((len(wanted.keys() & run[0].keys()) for run in runs.values()), default=0)
    raise OSError(
        f"got {path} with {most} of the {len(wanted)} cells by one code and the same versions of "
        "libraries; it needs all of them, so let the run that wrote it go on to its end"
    )


def _batches(cells):
    """Lists of cells for one process each, the longest first.

    The ratio of the released procedure takes seconds, so that models fitted in less share it.
    """
    batches = {}
    for cell in cells:
        shares = cell.get("reading") == "as released" and cell["model"] not in SLOW
        name = (cell["name"], cell["trial"]) if shares else key(cell)
        batches.setdefault(name, []).append(cell)
    return sorted(batches.values(), key=lambda batch: -sum(map(rough_seconds, batch)))


# Seconds of one fit and its predictions, by set and model, where these are many; else by model.
FIT = {"Logistic Regression": 0.006, "SVM": 0.01, "SVR": 0.008, "AdaBoost": 0.1,
       "Naive Bayes": 0.003, "Random Forest": 0.2}  # fmt: skip
LONG_FIT = {
    ("madelon", "AdaBoost"): 2.0, ("madelon", "Random Forest"): 0.9, ("madelon", "SVM"): 0.12,
    ("digits", "AdaBoost"): 0.2, ("digits", "Random Forest"): 0.35, ("digits", "SVM"): 0.08,
    ("california housing", "SVR"): 1.5, ("covtype", "Logistic Regression"): 0.05,
}  # fmt: skip
FOREST_RATIO = {"madelon": 15.0, "california housing": 40.0}


def rough_seconds(cell):
    """How long a cell takes, roughly: enough to begin with the longest."""
    if "model" not in cell:
        return {"toy_folds": 0.7, "toy_trials": 0.06}.get(cell["do"], 2.0) * cell.get("count", 1)
    name, model, reading = cell["name"], cell["model"], cell.get("reading")
    alphas = {"as released": 6, "honest": 3, None: len(cell["alphas"])}.get(reading, 2)
    fits = len(cell["lams"]) * alphas + (30 if reading == "honest" and model in SLOW else 10)
    seconds = fits * LONG_FIT.get((name, model), FIT[model]) * (1 if reading is None else 1.2)
    return seconds + (FOREST_RATIO.get(name, 3.0) if reading == "as released" else 0.0)


def _run_batch(batch):
    return [run_cell(cell) for cell in batch]


def run_cell(cell):
    """Do one cell; returns it with its values, the warnings it raised, and its CPU seconds."""
    arguments = dict(cell)
    worker = getattr(_workers, arguments.pop("do"))
    begun = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        values = worker(**arguments)
    seconds = time.process_time() - begun
    return cell, {"values": values, "warnings": count(caught), "seconds": seconds}


def _entries(path):
    """Read the lines of a journal; a last one cut short by a kill does not count."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    entries = []
    for line in text.splitlines():
        try:
            entries.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    if text and not text.endswith("\n"):
        with path.open("a", encoding="utf-8") as journal:
            journal.write("\n")
    return entries


class _Progress:
    """One line on a terminal; elsewhere a line a minute."""

    def __init__(self, total, done):
        self.total, self.done = total, done
        self.begun = self.shown = time.monotonic()
        if done:
            print(f"{done} of {total} cells were already done", file=sys.stderr)

    def step(self, cell):
        self.done += 1
        now = time.monotonic()
        tty = sys.stderr.isatty()
        if tty or now - self.shown > 60 or self.done == self.total:
            self.shown = now
            what = " ".join(str(cell[name]) for name in ("do", "reading", "name") if name in cell)
            line = f"{self.done} of {self.total} cells, {now - self.begun:.0f} s, last: {what}"
            print(f"\r\033[K{line}" if tty else line, end="" if tty else "\n", file=sys.stderr)

    def close(self):
        if sys.stderr.isatty() and self.total:
            print(file=sys.stderr)
