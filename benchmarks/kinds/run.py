"""Our answers to each kind of shift beside those of others, a file for each piece of work.

    python -m benchmarks.kinds.run PART --half choose --out OUT [--sets SETS] [--tasks TASKS]
        [--draws 10] [--models linear svm ...] [--only NAMES]

Parts: `frequencies` (class frequencies of 100 draws on four sets, beside QuaPy's), `skada` (SKADA-
Bench's simulated shifts, an SVC), `told` (simulated problems of a known kind: what was said, and
what was acted on), `natural` (`shift="auto"` beside `shift="covariate"` on natural, induced and null
cells, and beside the prototype on label cells; the error at target rows that nobody saw), or `all`.
Finished pieces are not repeated. The prototype: sigmoid-calibrated probabilities of the model,
expectation maximisation for the class frequencies, and a refit with weights by class.
"""

import argparse
import json
import os
import time
import warnings
from itertools import product
from pathlib import Path
from types import SimpleNamespace

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is there
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks._record import record
from benchmarks.expected_error.cells import cell
from benchmarks.kinds import problems, sets
from benchmarks.kinds.summary import SUMMARIES, as_text
from benchmarks.natural.run import MODELS
from benchmarks.natural.run import load as load_task
from benchmarks.natural.tasks import file_name

PARTS = ("frequencies", "skada", "told", "natural")
SHIFTS = ("covariate_shift", "target_shift", "conditional_shift")
SEEDS = {"report": range(50), "choose": range(100, 150)}
CELLS = ("natural", "induced", "null", "label")
DRAWS = 100


# What others, and a short version of ours, would do


def expectation_maximisation(chances, before, steps=1000):
    """Return the class frequencies that make calibrated chances most likely."""
    after = before
    for _ in range(steps):
        shares = chances * (after / before)
        new = np.mean(shares / shares.sum(axis=1, keepdims=True), axis=0)
        if np.abs(new - after).max() < 1e-8:
            break
        after = new
    return after


def prototype(model, X, y, X_target):
    """Return the model refitted with weights by class."""
    classes, codes = np.unique(y, return_inverse=True)
    folds = min(5, np.bincount(codes).min())
    said = CalibratedClassifierCV(clone(model), method="sigmoid", cv=folds).fit(X, y)
    before = np.bincount(codes) / len(y)
    after = expectation_maximisation(said.predict_proba(X_target), before)
    weights = np.maximum((after / before)[codes], 1e-9)  # libsvm drops rows of 0
    return clone(model).fit(X, y, sample_weight=weights)


# Ours


def chosen(model, X, y, X_target, shift):
    """Return our model, with the weighting that cross-validation has chosen."""
    from weighbridge import ImportanceWeightedCV

    return ImportanceWeightedCV(model, shift=shift, random_state=0).fit(X, y, X_target=X_target)


def said(model):
    """Return the kind that a model of `shift="auto"` tells, and the one that it acts on."""
    return {"kind": model.shift_, "acted": model.shift_}


# The parts: names of pieces, and the work on each


def frequencies(options):
    """Yield the sets of the half."""
    from weighbridge.label_shift import class_frequencies

    def work(name):
        base = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        draws = [sets.draw(data := _set(name, options), seed) for seed in range(DRAWS)]
        if options.export:
            _export(data, draws, options)
        rows = {"frequencies": [each.frequencies.tolist() for each in draws]}
        rows["found"] = [
            np.bincount(each.yu, minlength=data.y.max() + 1) / len(each.yu) for each in draws
        ]
        rows["found"] = [each.tolist() for each in rows["found"]]
        for method in ("em", "bbse", "rlls"):
            started = time.process_time()
            ours = [
                class_frequencies(d.Xs, d.ys, d.Xu, method=method, classifier=base) for d in draws
            ]
            rows[method] = {
                "estimates": [np.asarray(each.target).tolist() for each in ours],
                "low": [np.asarray(each.low).tolist() for each in ours],
                "high": [np.asarray(each.high).tolist() for each in ours],
                "seconds": (time.process_time() - started) / DRAWS,
            }
        return rows

    for name in sets.FREQUENCIES[options.half]:
        yield file_name(name), lambda name=name: {"set": name} | work(name)


def _set(name, options):
    return sets.load(options.sets / f"{file_name(name)}.npz")


def _export(data, draws, options):
    """Write what run_quapy reads."""
    arrays = {"X": data.X.astype("f4"), "y": data.y}
    for number, each in enumerate(draws):
        arrays |= {f"source{number}": each.source, f"free{number}": each.free}
    folder = options.out / "frequencies"
    folder.mkdir(exist_ok=True)
    np.savez_compressed(
        folder / f"{file_name(data.name)}.npz",
        frequencies=np.array([each.frequencies for each in draws]),
        **arrays,
    )


def skada(options):
    """Yield the problems that run_skada has written."""

    def work(path):
        from weighbridge import ImportanceWeighted
        from weighbridge.label_shift import LabelRatio

        with np.load(path) as data:
            X, y, X_target, y_target = (data[key] for key in ("X", "y", "X_target", "y_target"))
        auto = chosen(SVC(), X, y, X_target, "auto")
        full, label = ImportanceWeighted(SVC()), ImportanceWeighted(SVC(), ratio=LabelRatio())
        models = {
            "none": SVC().fit(X, y),
            "full ratio": full.fit(X, y, X_target=X_target),
            "label": label.fit(X, y, X_target=X_target),
            "covariate": chosen(SVC(), X, y, X_target, "covariate"),
            "auto": auto,
            "prototype": prototype(SVC(), X, y, X_target),
        }
        rows = {name: float(np.mean(m.predict(X_target) == y_target)) for name, m in models.items()}
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        own = cross_val_predict(SVC(), X_target, y_target, cv=folds)
        return {"accuracy": rows | {"trained on target": float(np.mean(own == y_target))}} | said(
            auto
        )

    for seed, shift in product(SEEDS[options.half], SHIFTS):
        path = options.out / "skada" / f"{shift}--{seed}.npz"
        about = {"shift": shift, "seed": seed}
        yield path.stem, lambda path=path, about=about: about | work(path)


def told(options):
    """Yield the simulated problems."""

    def work(kind, number, n):
        one = problems.problem(kind, number, n)
        base = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        started = time.process_time()
        auto = chosen(base, one.X, one.y, one.X_target, "auto")
        seconds = time.process_time() - started
        about = {"truth": kind, "number": number, "n": n, "about": one.about}
        return about | {"seconds": seconds} | said(auto)

    for n, number, kind in product(problems.ROWS, problems.NUMBERS, problems.KINDS):
        if problems.half(number) == options.half:
            yield f"{kind}--{n}--{number:02d}", lambda job=(kind, number, n): work(*job)


def natural(options):
    """Yield the cells of tasks and sets, a piece for each cell, model and draw."""
    tasks = [path for path in sorted(options.tasks.glob("*.npz")) if _wanted(path, options)]
    paths = [path for path in sorted(options.sets.glob("*.npz")) if _of_half(path, options)]
    cells = [*product(CELLS[:3], tasks), *product(CELLS[3:], paths)]
    for seed, (kind, path), model in product(range(options.draws), cells, options.models):
        name = f"{kind}--{path.stem}--{model}--{seed}"
        yield name, lambda job=(path, kind, seed, model): _cell(*job)


def _wanted(path, options):
    task = load_task(path)
    return task.half == options.half and task.kind == "classification"


def _of_half(path, options):
    return sets.load(path).half == options.half


def _cell(path, kind, seed, model):
    one = sets.draw(sets.load(path), seed) if kind == "label" else _halved(path, kind, seed)
    estimator = MODELS[model][1]
    scale = StandardScaler().fit(one.Xs)
    X, X_target, X_judged = (scale.transform(each) for each in (one.Xs, one.Xu, one.Xt))
    auto = chosen(estimator, X, one.ys, X_target, "auto")
    models = {
        "none": clone(estimator).fit(X, one.ys),
        "covariate": chosen(estimator, X, one.ys, X_target, "covariate"),
        "auto": auto,
    }
    if kind == "label":
        models["prototype"] = prototype(estimator, X, one.ys, X_target)
    losses = {name: float(np.mean(m.predict(X_judged) != one.yt)) for name, m in models.items()}
    about = {"cell": kind, "task": one.name, "model": model, "seed": seed}
    return about | {"losses": losses} | said(auto)


def _halved(path, kind, seed, rows=1000):
    """Return a draw of a task: source rows, unlabelled target rows, and others for the loss."""
    one = cell(path, kind, seed, 2 * rows)
    (X, y), (X_target, y_target) = one.fit, one.target
    half = len(y_target) // 2
    return SimpleNamespace(
        name=one.name,
        Xs=X[:rows],
        ys=y[:rows],
        Xu=X_target[:half],
        Xt=X_target[half:],
        yt=y_target[half:],
    )


# Running


def finish(file, work):
    """Do a piece that is not on file, and write it whole or not at all."""
    if file.exists():
        return
    part = file.with_suffix(".part")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            part.write_text(json.dumps(work()))
    except Exception as error:  # noqa: BLE001 - the others go on, and the next run tries again
        print("failed:", file.stem, repr(error)[:300], flush=True)
        return
    part.replace(file)


def rivals(part, options):
    """Return what peers have found, by the names of their files."""
    folder = {"frequencies": "quapy", "skada": "skada/peers"}.get(part)
    files = sorted((options.out / folder).glob("*.json")) if folder else ()
    return {file.stem: json.loads(file.read_text()) for file in files}


def run(part, options):
    """Do what is not on file of a part, then print and record its summary."""
    folder = options.out / "pieces" / part
    folder.mkdir(parents=True, exist_ok=True)
    jobs = {
        name: work
        for name, work in {
            "frequencies": frequencies,
            "skada": skada,
            "told": told,
            "natural": natural,
        }[part](options)
        if not options.only or any(each in name for each in options.only)
    }
    todo = [name for name in jobs if not (folder / f"{name}.json").exists()]
    print(f"{part}: {len(todo)} of {len(jobs)} pieces to do", flush=True)
    for number, name in enumerate(todo, 1):
        finish(folder / f"{name}.json", jobs[name])
        if number % 50 == 0:
            print(f"{number} of {len(todo)}", flush=True)
    files = [folder / f"{name}.json" for name in jobs]
    rows = {file.stem: json.loads(file.read_text()) for file in files if file.exists()}
    if rows:
        figures = SUMMARIES[part](rows, rivals(part, options))
        print(as_text(figures))
        record(f"kinds_{part}_{options.half}", figures, folder=options.out)


def main():
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=[*PARTS, "all"])
    parser.add_argument("--half", choices=["choose", "report"], default="choose")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", type=Path, help="folder of benchmarks.kinds.sets")
    parser.add_argument("--tasks", type=Path, help="folder of benchmarks.natural.tasks")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of pieces")
    parser.add_argument("--export", action="store_true", help="write what run_quapy reads")
    options = parser.parse_args()
    for part in PARTS if options.part == "all" else [options.part]:
        run(part, options)


if __name__ == "__main__":
    main()
