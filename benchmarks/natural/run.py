"""All methods on the tasks of natural shift, a file for each piece of work, and a summary.

    python -m benchmarks.natural.run --tasks FOLDER --half choose --out FOLDER [--jobs 2]
        [--draws 10] [--rows 1000] [--models linear svm ...] [--methods fixed default ...]
        [--label default]

FOLDER of tasks: written by `benchmarks.natural.tasks`. A draw has up to 1,000 source rows, as many
target rows without labels (at most half of them), and up to 4,000 other target rows for the loss:
the share of errors, or the squared error over the variance of the target's labels. Columns (and
labels of regressions) are standardised by the source rows of the draw. Methods: `fixed` (ERM,
IWERM, RIWERM(.5) and the grid of the oracle, with the weights of AutoRatio), `default`
(ImportanceWeightedCV), `paper` (hold-out with the ratio, 25 evaluations), `IWCV`, `peers` (full
weights that `benchmarks.natural.peers` has put into OUT/weights). Finished pieces are not repeated;
with --label NAME another version of `default` stands beside those that are there. Fits are calls of
the estimator's `fit`, the ratio not counted; CPU includes it.
"""

import argparse
import json
import os
import time
import warnings
import zlib
from contextlib import contextmanager
from functools import wraps
from itertools import product
from pathlib import Path
from types import SimpleNamespace

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is there
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge

from benchmarks._record import record
from benchmarks.natural.decompose import decompose
from benchmarks.natural.summary import as_text, pairs, summary
from benchmarks.selection import FIXED, chosen_by
from benchmarks.selection import MODELS as OTHERS
from weighbridge import Geodesic, ImportanceWeighted, ImportanceWeightedCV
from weighbridge.ratios import fit_ratio
from weighbridge.weighting import RIWERM

MODELS = OTHERS | {"linear": (Ridge(), LogisticRegression(max_iter=1000))}
GRID = [*FIXED, Geodesic(0.5), RIWERM(0.5)]
NAMED = {"ERM": 0, "IWERM": 1, "RIWERM 0.5": len(GRID) - 1}
CHANGE_OF = ("linear", "boosting")
METHODS = ("fixed", "default", "paper", "IWCV", "peers")


def load(path):
    """Return a task, all columns standardised by its source rows."""
    with np.load(path) as data:
        arrays = {name: data[name].astype(float) for name in ("Xs", "ys", "Xt", "yt")}
        about = json.loads(str(data["about"]))
    return _standardised(SimpleNamespace(file=path.stem, **about, **arrays))


def _standardised(task):
    sd = task.Xs.std(axis=0)
    mean, scale = task.Xs.mean(axis=0), np.where(sd > 0, sd, 1.0)
    for name in ("Xs", "Xt", "Xu"):
        if hasattr(task, name):
            setattr(task, name, (getattr(task, name) - mean) / scale)
    if task.kind == "regression":
        task.variance = getattr(task, "variance", task.yt.var()) / task.ys.var()
        center, spread = task.ys.mean(), task.ys.std()
        task.ys, task.yt = (task.ys - center) / spread, (task.yt - center) / spread
    else:
        task.ys, task.yt = task.ys.astype(int), task.yt.astype(int)
    return task


def draw(task, seed, rows=1000):
    """Return a draw: source rows, unlabelled target rows Xu, other target rows for the loss."""
    rng = np.random.default_rng([seed, zlib.crc32(task.name.encode())])
    source = rng.permutation(len(task.ys))[:rows]
    target = rng.permutation(len(task.yt))
    n_free = min(rows, len(target) // 2)
    judged = target[n_free : n_free + 4000]
    one = SimpleNamespace(**vars(task))
    one.Xs, one.ys = task.Xs[source], task.ys[source]
    one.Xu, one.Xt, one.yt = task.Xt[target[:n_free]], task.Xt[judged], task.yt[judged]
    return _standardised(one)


def piece(path, model, seed, method, options):
    """Work on one piece: losses, CPU seconds and fits of a method on a draw."""
    task = draw(load(path), seed, options.rows)
    estimator = MODELS[model][task.kind == "classification"]
    work = {"fixed": _fixed, "peers": _peers}.get(method, _chosen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work(task, estimator, model, seed, method, options)


def loss(model, task):
    """Share of errors, or squared error over the variance of the target's labels."""
    error = model.predict(task.Xt) - task.yt
    if task.kind == "classification":
        return float(np.mean(error != 0))
    return float(np.mean(error**2) / task.variance)


def _fixed(task, estimator, *_):
    cost, out = {}, {}
    with _cost(cost, "ERM", estimator):
        plain = clone(estimator).fit(task.Xs, task.ys)
    with _cost(cost, "ratio", estimator):
        ratio = FrozenEstimator(fit_ratio(task.Xs, task.Xu))
    weighted = [
        _fit(ImportanceWeighted(estimator, ratio, weighting=each), task, plain) for each in GRID[1:]
    ]
    out["fixed"] = [loss(each, task) for each in (plain, *weighted)]
    out |= {name: out["fixed"][place] for name, place in NAMED.items()}
    for name in (*NAMED,)[1:]:
        cost[name] = [1, cost["ERM"][1] + cost["ratio"][1]]
    return {"losses": out, "cost": cost, "ess": float(getattr(weighted[0], "ess_", np.nan))}


def _fit(model, task, plain):
    """Fit; where weights leave too little to fit on (one class), keep the model without any."""
    try:
        return model.fit(task.Xs, task.ys)
    except ValueError:
        return plain


def _chosen(task, estimator, model, seed, method, options):
    settings, name = {}, options.label
    if method != "default":
        settings, name = chosen_by(model, task.kind)[method] | {"answer": "argmin"}, method
    cost = {}
    with _cost(cost, name, estimator):
        chosen = ImportanceWeightedCV(estimator, random_state=seed, **settings)
        chosen.fit(task.Xs, task.ys, X_target=task.Xu)
    best = chosen.best_weighting_
    about = {"overlap": chosen.overlap_, "reason": chosen.reason_, "best": [best.lam, best.alpha]}
    return {"losses": {name: loss(chosen, task)}, "cost": cost, **about}


def _peers(task, estimator, _model, seed, _method, options):
    out, cost = {}, {}
    files = sorted((options.out / "weights").glob(f"*/{task.file}--{seed}.npz"))
    if not files:
        raise FileNotFoundError("no weights; run benchmarks.natural.peers first")
    for file in files:
        with np.load(file) as saved:
            weights, seconds = saved["weights"], float(saved["seconds"])
        name = file.parent.name
        with _cost(cost, name, estimator):
            fitted = clone(estimator)
            if np.isfinite(weights).all() and weights.min() >= 0 and weights.any():
                weights = np.maximum(weights / weights.mean(), 1e-9)  # libsvm drops rows of 0
                fitted.fit(task.Xs, task.ys, sample_weight=weights)
            else:  # no usable weights: what a user would fall back to
                fitted.fit(task.Xs, task.ys)
        cost[name][1] += seconds
        out[name] = loss(fitted, task)
    return {"losses": out, "cost": cost}


@contextmanager
def _cost(cost, name, estimator):
    """Note the number of fits and the CPU seconds of what is inside."""
    kind, count = type(estimator), 0
    own, fit = kind.__dict__.get("fit"), kind.fit

    @wraps(fit)
    def counted(self, *args, **kwargs):
        nonlocal count
        count += 1
        return fit(self, *args, **kwargs)

    begun = time.process_time()
    kind.fit = counted
    try:
        yield
    finally:
        if own is None:
            del kind.fit
        else:
            kind.fit = own
        cost[name] = [count, time.process_time() - begun]


def finish(job, path, options):
    """Do a piece that is not on file, and write it whole or not at all."""
    file = place(job, options)
    if file.exists():
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    try:
        part.write_text(json.dumps(piece(path, *job[1:], options)))
    except Exception as error:  # noqa: BLE001 - the others go on, and the next run tries again
        print("failed:", *job, repr(error)[:300], flush=True)
        return
    part.replace(file)


def place(job, options):
    """Return the file of a piece."""
    task, model, seed, method = job
    folder = options.label if method == "default" else method
    return options.out / "pieces" / folder / f"{task}--{model}--{seed}.json"


def read(jobs, options):
    """Return losses and costs, {(task, model): {method: values over draws}}, of whole draws."""
    losses, costs, draws = {}, {}, {}
    for task, model, seed, method in jobs:
        draws.setdefault((task, model, seed), []).append(method)
    for (task, model, seed), methods in draws.items():
        files = [place((task, model, seed, method), options) for method in methods]
        files += _other_labels(task, model, seed, options)
        if not all(file.exists() for file in files):
            continue
        for one in (json.loads(file.read_text()) for file in files):
            for whole, part in ((losses, one["losses"]), (costs, one["cost"])):
                pair = whole.setdefault((task, model), {})
                for name, value in part.items():
                    pair.setdefault(name, []).append(value)
    return {key: {n: np.array(v) for n, v in pair.items()} for key, pair in losses.items()}, costs


def _other_labels(task, model, seed, options):
    """Return the files of other versions of the default."""
    folders = {*METHODS, options.label}
    files = (options.out / "pieces").glob(f"*/{task}--{model}--{seed}.json")
    return [file for file in sorted(files) if file.parent.name not in folders]


def price(costs):
    """Return, for each method, the median over pairs of its fits and of its CPU over one fit's."""
    out = {}
    for name in {name for pair in costs.values() for name in pair} - {"ratio"}:
        found = [
            (np.mean(pair[name], axis=0), np.mean(pair["ERM"], axis=0)[1])
            for pair in costs.values()
            if name in pair
        ]
        out[name] = [
            float(np.median([mean[0] for mean, _ in found])),
            float(np.median([mean[1] / one for mean, one in found])),
        ]
    return out


def parts(paths, options):
    """Return the change of loss of each task in parts, by X and by Y|X, for two models."""
    file = options.out / "parts.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    todo = [path for path in paths if path.stem not in known]
    found = Parallel(n_jobs=options.jobs)(delayed(_parts)(path) for path in todo)
    known |= dict(zip((path.stem for path in todo), found, strict=True))
    file.write_text(json.dumps(known, indent=1))
    return {path.stem: known[path.stem] for path in paths}


def _parts(path):
    task = load(path)
    estimators = {name: MODELS[name][task.kind == "classification"] for name in CHANGE_OF}
    return {name: decompose(task, each) for name, each in estimators.items()}


def arguments(about):
    """Return a parser of what every command of the suite takes."""
    parser = argparse.ArgumentParser(description=about.split("\n")[0])
    parser.add_argument("--tasks", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--half", choices=["choose", "report", "both"], default="choose")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--rows", type=int, default=1000)
    return parser


def main():
    """Do what is not on file, then print and record the summary."""
    parser = arguments(__doc__)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--methods", nargs="*", default=list(METHODS[:3]), choices=METHODS)
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of tasks")
    parser.add_argument("--label", default="default")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    paths = {
        path.stem: path for path in sorted(options.tasks.glob("*.npz")) if _wanted(path, options)
    }
    changes = parts(list(paths.values()), options)
    jobs = list(product(paths, options.models, range(options.draws), options.methods))
    jobs.sort(key=lambda job: job[2])
    todo = [job for job in jobs if not place(job, options).exists()]
    print(f"{len(paths)} tasks, {len(todo)} of {len(jobs)} pieces to do", flush=True)
    done = Parallel(n_jobs=options.jobs, return_as="generator_unordered")(
        delayed(finish)(job, paths[job[0]], options) for job in todo
    )
    for number, _ in enumerate(done, 1):
        if number % 100 == 0:
            print(f"{number} of {len(todo)}", flush=True)
    losses, costs = read(jobs, options)
    if not losses or "fixed" not in options.methods:
        return
    figures = summary({key: pairs(pair) for key, pair in losses.items()})
    cost = price(costs)
    print(as_text(figures, cost))
    effects = {
        " | ".join(key): {name: float(values.mean()) for name, values in pairs(pair).items()}
        for key, pair in losses.items()
    }
    content = {"half": options.half, "draws": options.draws, "summary": figures, "cost": cost}
    record(
        f"natural_{options.half}",
        content | {"effects": effects, "parts": changes},
        peers={
            file.parent.name: json.loads(file.read_text())
            for file in sorted((options.out / "weights").glob("*/versions.json"))
        },
        folder=options.out,
    )


def _wanted(path, options):
    task = load(path)
    chosen = options.half in ("both", task.half)
    return chosen and (not options.only or any(each in task.name for each in options.only))


if __name__ == "__main__":
    main()
