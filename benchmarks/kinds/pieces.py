"""The pieces of each part of the benchmark, and the work on them.

A part is a function of the options that yields names of pieces and functions without arguments,
whose values are kept as JSON. Every one names what it looked at, and what came out.
"""

import time
from itertools import product
from types import SimpleNamespace

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.expected_error.cells import cell
from benchmarks.kinds import problems, sets
from benchmarks.kinds.summary import UNSURE
from benchmarks.natural.run import MODELS
from benchmarks.natural.run import load as load_task
from benchmarks.natural.tasks import file_name
from weighbridge import ImportanceWeighted, ImportanceWeightedCV
from weighbridge.label_shift import LabelRatio

SHIFTS = ("covariate_shift", "target_shift", "conditional_shift")
SEEDS = {"report": range(50), "choose": range(100, 150)}
CELLS = ("natural", "induced", "null", "label")
DRAWS = 100


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
    codes = np.unique(y, return_inverse=True)[1]
    folds = min(5, np.bincount(codes).min())
    said = CalibratedClassifierCV(clone(model), method="sigmoid", cv=folds).fit(X, y)
    before = np.bincount(codes) / len(y)
    after = expectation_maximisation(said.predict_proba(X_target), before)
    weights = np.maximum((after / before)[codes], 1e-9)  # libsvm drops rows of 0
    return clone(model).fit(X, y, sample_weight=weights)


def chosen(model, X, y, X_target, shift):
    """Return our model, with the weighting that cross-validation has chosen."""
    return ImportanceWeightedCV(model, shift=shift, random_state=0).fit(X, y, X_target=X_target)


def said(model):
    """Return the kind that a model of `shift="auto"` tells, on what evidence, and what it did."""
    kind, is_weighted = model.shift_, model.best_weighting_.lam > 0
    by = "label" if hasattr(model.ratio_, "score_labels") else "covariate"
    out = {"kind": getattr(kind, "kind", UNSURE), "acted": by if is_weighted else "none"}
    return out | {name: getattr(kind, name, None) for name in ("gain", "against", "rival")}


def frequencies(options):
    """Yield the sets of the half."""
    for name in sets.FREQUENCIES[options.half]:
        yield file_name(name), lambda name=name: _frequencies(*draws_of(name, options))


def draws_of(name, options):
    """Return a set and the draws of it."""
    data = sets.load(options.sets / f"{file_name(name)}.npz")
    return data, [sets.draw(data, seed) for seed in range(DRAWS)]


def _frequencies(data, draws):
    base = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    rows = {"set": data.name, "frequencies": [each.frequencies.tolist() for each in draws]}
    for method in ("em", "bbse", "rlls"):
        started = time.process_time()
        ratios = [LabelRatio(method, classifier=base).fit(d.Xs, d.ys, d.Xu) for d in draws]
        ours = [ratio.frequencies_ for ratio in ratios]
        rows[method] = {
            "estimates": [np.asarray(each.target).tolist() for each in ours],
            "low": [np.asarray(each.low).tolist() for each in ours],
            "high": [np.asarray(each.high).tolist() for each in ours],
            "seconds": (time.process_time() - started) / DRAWS,
        }
    return rows


def export(options):
    """Write what run_quapy reads: a set, the rows of each draw, and the frequencies there."""
    folder = options.out / "frequencies"
    folder.mkdir(parents=True, exist_ok=True)
    for name in sets.FREQUENCIES[options.half]:
        data, draws = draws_of(name, options)
        arrays = {"X": data.X.astype("f4"), "y": data.y}
        for number, each in enumerate(draws):
            arrays |= {f"source{number}": each.source, f"free{number}": each.free}
        arrays["frequencies"] = np.array([each.frequencies for each in draws])
        np.savez_compressed(folder / f"{file_name(name)}.npz", **arrays)


def skada(options):
    """Yield the problems that run_skada has written."""
    for seed, shift in product(SEEDS[options.half], SHIFTS):
        path = options.out / "skada" / f"{shift}--{seed}.npz"
        about = {"shift": shift, "seed": seed}
        yield path.stem, lambda path=path, about=about: about | _skada(path)


def _skada(path):
    with np.load(path) as data:
        X, y, X_target, y_target = (data[key] for key in ("X", "y", "X_target", "y_target"))
    full, label = ImportanceWeighted(SVC()), ImportanceWeighted(SVC(), ratio=LabelRatio())
    models = {
        "none": SVC().fit(X, y),
        "full ratio": full.fit(X, y, X_target=X_target),
        "label": label.fit(X, y, X_target=X_target),
        "covariate": chosen(SVC(), X, y, X_target, "covariate"),
        "auto": chosen(SVC(), X, y, X_target, "auto"),
        "prototype": prototype(SVC(), X, y, X_target),
    }
    found = {name: float(np.mean(m.predict(X_target) == y_target)) for name, m in models.items()}
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    own = cross_val_predict(SVC(), X_target, y_target, cv=folds)
    found["trained on target"] = float(np.mean(own == y_target))
    return {"accuracy": found} | said(models["auto"])


def told(options):
    """Yield the simulated problems."""
    for n, number, kind in product(problems.ROWS, problems.NUMBERS, problems.KINDS):
        if problems.half(number) == options.half:
            yield f"{kind}--{n}--{number:02d}", lambda job=(kind, number, n): _told(*job)


def _told(kind, number, n):
    one = problems.problem(kind, number, n)
    base = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    started = time.process_time()
    auto = chosen(base, one.X, one.y, one.X_target, "auto")
    seconds = time.process_time() - started
    about = {"truth": kind, "number": number, "n": n, "about": one.about}
    return about | {"seconds": seconds} | said(auto)


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
    models = {"none": clone(estimator).fit(X, one.ys), "auto": auto, "covariate": auto}
    if hasattr(auto.ratio_, "score_labels"):  # else the two do the same, by the same seed
        models["covariate"] = chosen(estimator, X, one.ys, X_target, "covariate")
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
