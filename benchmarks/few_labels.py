"""The error by a few labels of the target: coverage, length, and a test of the relation.

    python -m benchmarks.few_labels --tasks FOLDER --half choose --out FOLDER [--jobs 2]
        [--seeds 3] [--repeats 8] [--kinds natural induced null] [--only PART-OF-A-NAME ...]

FOLDER of tasks: written by `benchmarks.natural.tasks`. Draws as in `expected_error.cells`; of the
target rows 50, 100 and 200 are drawn at random and labelled, REPEATS times. The truth is the mean
loss of all target rows. Beside ours: labels alone (Wilson's interval, for squared errors
Student's). `equal` is the ratio of lengths after both were stretched to hold in 95 %. The part of
the relation is the truth less what the source forecasts; a change is worth 5 points of error or
more. Finished draws are kept in OUT/pieces. The half `report` is run once.
"""

import os
from itertools import product

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is there
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from benchmarks._record import kept, record
from benchmarks.expected_error.cells import MODELS, cell
from benchmarks.natural.run import arguments, load
from weighbridge import fit_ratio
from weighbridge.model_selection import respond
from weighbridge.target_risk import (
    Question,
    RiskProblem,
    Sample,
    assess_procedures,
    by_labels,
    compare_relation,
    find_measure,
    forecast_labels,
    forecast_losses,
    label_values,
    with_forecast,
)

KINDS = ("natural", "induced", "null")
SIZES = (50, 100, 200)
WORTH, LEVEL = 0.05, 0.05


def piece(path, kind, seed, options):
    """Return truth, intervals and p-values for every model, number of labels and repeat."""
    draw = cell(path, kind, seed, options.rows)
    ratio = FrozenEstimator(fit_ratio(draw.reference[0], draw.target[0]))
    rows = []
    for name, pair in MODELS.items():
        model = FrozenEstimator(clone(pair[draw.is_classes]).fit(*draw.fit))
        scoring = "accuracy" if draw.is_classes else "neg_mean_squared_error"
        measure = find_measure(scoring, None, model)
        question = Question(ratio=ratio, scoring=scoring, random_state=0)
        problem = RiskProblem(model, *draw.reference, draw.target[0], None, question)
        (assessed,) = assess_procedures([model], problem, measure)
        if assessed.risk.estimate is None:  # labels alone count there
            continue
        about = {"task": draw.name, "kind": kind, "model": name, "classes": draw.is_classes}
        found = _repeats(problem, assessed.held_out, measure, draw.target[1], seed, options.repeats)
        rows += [about | each for each in found]
    return rows


def _repeats(problem, held_out, measure, y, seed, repeats):
    loss, classes = measure.row_loss, problem.rows.classes
    codes = y if classes is None else np.searchsorted(classes, y)
    predictions = respond(held_out.model, problem.X_target, loss.response, classes)
    losses, values = loss.loss(codes, predictions), label_values(problem, codes)
    forecasts = forecast_losses(problem, loss, held_out)[0], forecast_labels(problem, held_out)
    truth, rng = float(losses.mean()), np.random.default_rng([seed, losses.size])
    for n, _ in product(SIZES, range(repeats)):
        rows = rng.permutation(losses.size)[:n]
        sample = Sample.drawn(rows, np.ones(n), np.ones(n, dtype=bool))
        known = losses[rows]
        ours = with_forecast(known, sample, forecasts[0], measure, 0.95)
        plain = by_labels(known, sample, measure, 0.95)
        relation = compare_relation(known, values[rows], sample, forecasts, 0.95)
        yield {
            "n": n,
            "truth": truth,
            "change": truth - forecasts[0].value,
            "ours": [ours.low, ours.value, ours.high],
            "labels": [plain.low, plain.value, plain.high],
            "part": [relation.part.low, relation.part.value, relation.part.high],
            "p_value": relation.p_value,
        }


def summary(rows):
    """Return figures by loss, kind and number of labels."""
    found = {}
    for classes, kind, n in product((True, False), KINDS, SIZES):
        some = [r for r in rows if (r["classes"], r["kind"], r["n"]) == (classes, kind, n)]
        if some:
            found[f"{'errors' if classes else 'squares'}, {kind}, {n} labels"] = _figures(some)
    return found


def _figures(rows):
    truth, change, p = (np.array([r[k] for r in rows]) for k in ("truth", "change", "p_value"))
    ours, plain = (np.array([r[k] for r in rows]) for k in ("ours", "labels"))
    if not rows[0]["classes"]:  # as the root of the mean squared error
        ours, plain, truth = (np.sqrt(np.maximum(each, 0)) for each in (ours, plain, truth))
    part = np.array([r["part"] for r in rows])
    ratio = float(np.mean((ours[:, 2] - ours[:, 0]) / (plain[:, 2] - plain[:, 0])))
    equal = ratio * _stretch(ours, truth) / _stretch(plain, truth)
    found = {
        "coverage": float(np.mean((ours[:, 0] <= truth) & (truth <= ours[:, 2]))),
        "coverage of labels alone": float(np.mean((plain[:, 0] <= truth) & (truth <= plain[:, 2]))),
        "ratio of lengths": ratio,
        "ratio at equal coverage": float(equal),
        "relation found": float(np.mean(p < LEVEL)),
    }
    worth = np.abs(change) >= WORTH
    if rows[0]["classes"] and worth.any():
        found["relation found, worth 5 points"] = float(np.mean(p[worth] < LEVEL))
        found["draws worth 5 points"] = int(worth.sum())
    if rows[0]["kind"] == "null":
        found["part of the relation holds 0"] = float(
            np.mean((part[:, 0] <= 0) & (part[:, 2] >= 0))
        )
    return found


def _stretch(ends, truth):
    """Return by how much intervals must be stretched to hold in 95 %."""
    low, middle, high = ends.T
    sizes = np.where(truth >= middle, high - middle, middle - low)
    return np.quantile(np.abs(truth - middle) / np.maximum(sizes, 1e-12), 0.95)


def finish(path, kind, seed, options):
    """Do one draw and keep it, whole or not at all."""
    file = options.out / "pieces" / f"{path.stem}--{kind}--{seed}--{options.rows}.json"
    return kept(file, lambda: piece(path, kind, seed, options))


def main():
    """Do what is not on file, then print and record the summary."""
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--jobs", type=int, default=2)
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
    jobs = list(product(paths, options.kinds, range(options.seeds)))
    done = Parallel(n_jobs=options.jobs)(delayed(finish)(*job, options) for job in jobs)
    figures = summary([row for rows in done for row in rows])
    for name, each in figures.items():
        print(name, {key: round(value, 3) for key, value in each.items()})
    record(f"few_labels_{options.half}", figures, folder=options.out)


if __name__ == "__main__":
    main()
