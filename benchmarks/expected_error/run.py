"""The error that was expected beside the one that came, ours and others', on tasks of two halves.

    python -m benchmarks.expected_error.run --tasks FOLDER --half choose --out FOLDER [--jobs 2]
        [--seeds 4] [--kinds natural induced null label] [--measures error Brier AUC F1 RMSE]
        [--rows 2000] [--only PART-OF-A-NAME ...]

FOLDER of tasks: written by `benchmarks.natural.tasks`. Draws as in `cells`; a model is taken as it
is (FrozenEstimator), and `estimate_risk` and the `rivals` see the reference and the target rows.
Errors, AUC, F1 and Brier scores are compared in points, root mean squared errors in per cent.
Finished draws are kept in OUT/pieces and are not repeated. The half `report` is run once.
"""

import json
import os
import time
from itertools import product

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is there
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import f1_score, roc_auc_score

from benchmarks._record import kept, record
from benchmarks.expected_error import rivals
from benchmarks.expected_error.cells import KINDS, MODELS, cell
from benchmarks.expected_error.summary import as_text, summary
from benchmarks.natural.run import arguments, load, parts
from weighbridge import fit_ratio
from weighbridge.target_risk import estimate_risk

MEASURES = ["error", "Brier", "AUC", "F1", "RMSE"]
SEEDS = {"natural": 4, "induced": 5, "null": 3, "label": 2}


def piece(path, kind, seed, options):
    """Return what was expected and what came, for every model and measure of a draw."""
    draw = cell(path, kind, seed, options.rows)
    if draw is None:
        return []
    started = time.process_time()
    ratio = FrozenEstimator(fit_ratio(draw.reference[0], draw.target[0]))
    of_ratio = time.process_time() - started
    weights = rivals.boosted_ratio(draw.reference[0], draw.target[0])
    rows = []
    for name in options.models:
        pair = MODELS[name]
        model = clone(pair[draw.is_classes]).fit(*draw.fit)
        said = f"{stem(path, kind, seed, options)}--{name}"
        if options.export:
            _export(options.out / "said" / said, draw, model)
        about = {
            "task": draw.name,
            "file": path.stem,
            "half": draw.half,
            "kind": kind,
            "seed": seed,
            "model": name,
            "said": said,
        }
        for measure, found in _measures(draw, model, ratio, weights, options.measures).items():
            found["ours"]["seconds"] += of_ratio
            rows.append(about | {"measure": measure} | found)
    return rows


def stem(path, kind, seed, options):
    """Return the name of a draw."""
    return f"{path.stem}--{kind}--{seed}--{options.rows}"


def _export(path, draw, model):
    """Write what others need to guess the loss of a model."""
    path.parent.mkdir(exist_ok=True)
    ask = model.predict_proba if draw.is_classes else model.predict
    (X, y), X_target = draw.reference, draw.target[0]
    np.savez_compressed(
        f"{path}.npz", X=X, y=y, X_target=X_target, said=ask(X), said_target=ask(X_target)
    )


def with_nannyml(rows, out):
    """Put NannyML's guesses, where `run_nannyml` has made any, beside the others."""
    file = out / "nannyml.json"
    found = json.loads(file.read_text()) if file.exists() else {}
    for row in rows:
        guess = found.get(row["said"], {}).get(row["measure"])
        if guess is not None:
            row["others"]["NannyML's DLE" if row["measure"] == "RMSE" else "NannyML's CBPE"] = guess
    return rows


def _measures(draw, model, ratio, weights, asked):
    y = draw.target[1]
    if not draw.is_classes:
        said = tuple(model.predict(each[0]) for each in (draw.reference, draw.target))
        actual = np.sqrt(np.mean((y - said[1]) ** 2))
        found = {"RMSE": (actual, rivals.squares(draw, said, weights), None)}
    else:
        said = tuple(model.predict_proba(each[0]) for each in (draw.reference, draw.target))
        right = np.mean(said[1].argmax(axis=1) != y)
        found = {"error": (right, rivals.errors(draw, said, weights), "accuracy")}
        if said[0].shape[1] == 2:
            chance, whole = said[1][:, 1], rivals.metrics(draw, said, weights)
            brier = rivals.brier(draw, said, weights)
            found["Brier"] = np.mean((y - chance) ** 2), brier, "neg_brier_score"
            found["AUC"] = roc_auc_score(y, chance), whole["AUC"], "roc_auc"
            found["F1"] = f1_score(y, chance > 0.5), whole["F1"], "f1"
    return {
        name: {
            "actual": float(actual),
            "others": {key: float(each) for key, each in others.items()},
            "ours": _ours(draw, model, ratio, scoring),
        }
        for name, (actual, others, scoring) in found.items()
        if name in asked
    }


def _ours(draw, model, ratio, scoring):
    started = time.process_time()
    risk = estimate_risk(
        FrozenEstimator(model),
        *draw.reference,
        draw.target[0],
        ratio=ratio,
        scoring=scoring,
        random_state=0,
    )
    return {
        "state": risk.state,
        "estimate": None if risk.estimate is None else [risk.value, *risk.interval],
        "seconds": time.process_time() - started,
    }


def finish(path, kind, seed, options):
    """Do one draw and keep it, whole or not at all."""
    file = options.out / "pieces" / f"{stem(path, kind, seed, options)}.json"
    return kept(file, lambda: piece(path, kind, seed, options))


def main():
    """Do what is not on file, then print and record the summary."""
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=int, help="the same number for every kind")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--measures", nargs="+", default=MEASURES, choices=MEASURES)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--export", action="store_true", help="write what run_nannyml reads")
    parser.add_argument("--only", nargs="*", default=[""], help="parts of the names of tasks")
    parser.set_defaults(rows=2000)
    options = parser.parse_args()
    (options.out / "pieces").mkdir(parents=True, exist_ok=True)
    paths = [
        path
        for path in sorted(options.tasks.glob("*.npz"))
        if options.half in ("both", load(path).half)
        and any(each in path.stem for each in options.only)
    ]
    jobs = [
        (path, kind, seed)
        for path, kind in product(paths, options.kinds)
        for seed in range(options.seeds or SEEDS[kind])
    ]
    changes = parts(paths, options)
    done = Parallel(n_jobs=options.jobs)(delayed(finish)(*job, options) for job in jobs)
    figures = summary(with_nannyml([row for rows in done for row in rows], options.out), changes)
    print(as_text(figures))
    record(f"expected_error_{options.half}", figures, folder=options.out)


if __name__ == "__main__":
    main()
