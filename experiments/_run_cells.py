"""Run cells in parallel; what is finished is kept, and a run that was stopped goes on."""

import hashlib
import json
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
from experiments._warnings import count

# Modules whose code decides what a cell gives, here and (all but a few packages) in the library.
WORKERS = ("_models", "_split_trial", "_splits", "_toy_trials", "_workers")
UNUSED = ("cli", "guarantees", "manifolds", "plotting", "__main__.py")


def versions():
    """Versions of what the figures depend on."""
    return {
        package.__name__: package.__version__ for package in (weighbridge, numpy, scipy, sklearn)
    }


def code_files():
    """Return the source files that decide what a cell gives."""
    library = Path(weighbridge.__file__).parent
    return [Path(__file__).parent / f"{name}.py" for name in WORKERS] + [
        path
        for path in sorted(library.rglob("*.py"))
        if path.relative_to(library).parts[0] not in UNUSED
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


def run_cells(cells, path, jobs, *, fresh=False):
    """Return the outcome of every cell, by key; those in the file at `path` are not run again.

    `fresh` runs the wanted ones again all the same; the later line in the file counts.
    """
    wanted = {key(cell): cell for cell in cells}
    done = _read(path)
    if fresh:
        done = {name: outcome for name, outcome in done.items() if name not in wanted}
    # trial by trial: a run that is stopped has as many trials of every set
    missing = sorted(
        (cell for name, cell in wanted.items() if name not in done),
        key=lambda cell: cell.get("trial", 0),
    )
    progress = _Progress(len(wanted), len(wanted) - len(missing))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as journal:
        runs = Parallel(n_jobs=jobs, return_as="generator_unordered")(
            delayed(run_cell)(cell) for cell in missing
        )
        for cell, outcome in runs:
            done[key(cell)] = outcome
            journal.write(json.dumps({"key": key(cell), "outcome": outcome}) + "\n")
            journal.flush()
            progress.step(cell)
    progress.close()
    return {name: done[name] for name in wanted}


def run_cell(cell):
    """Do one cell; returns it with its values, the warnings it raised, and its seconds."""
    arguments = dict(cell)
    worker = getattr(_workers, arguments.pop("do"))
    begun = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        values = worker(**arguments)
    seconds = time.perf_counter() - begun
    return cell, {"values": values, "warnings": count(caught), "seconds": seconds}


def _read(path):
    """Read finished cells; a last line cut short by a kill does not count."""
    if not path.exists():
        return {}
    done = {}
    text = path.read_text(encoding="utf-8")
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue
        done[entry["key"]] = entry["outcome"]
    if text and not text.endswith("\n"):
        with path.open("a", encoding="utf-8") as journal:
            journal.write("\n")
    return done


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
