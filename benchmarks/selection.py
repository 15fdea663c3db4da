"""Does choosing the weighting help, and does it do no harm?

    WEIGHBRIDGE_DATA=... python -m benchmarks.selection [--group nine real ...] [--seeds 20]
        [--models linear ...] [--rivals linear svm] [--skip madelon] [--jobs 2]

Every task of `_shift_tasks` x model x seed: our default, the paper's procedure (hold-out with the
ratio itself, expected improvement in (lam, alpha), 25 evaluations), importance-weighted
cross-validation, the information criterion, the named points, and the oracle: the best of 13 fixed
weightings, judged on the target labels that nobody else sees. Losses on the target: mean squared
error, and for classes the share of errors. Finished runs are kept in results/selection_runs.jsonl
and are not repeated. Madelon, with 500 columns, is left out unless --skip says otherwise.
"""

import argparse
import json
import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is there
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from joblib import Parallel, delayed
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import SVC, SVR

from benchmarks import _shift_tasks as tasks
from benchmarks._record import RESULTS, record
from benchmarks._selection_summary import summary
from weighbridge import Geodesic, ImportanceWeighted, ImportanceWeightedCV
from weighbridge.exceptions import OverlapWarning
from weighbridge.model_selection import (
    BayesianSearch,
    CrossValidation,
    GridSearch,
    HoldOut,
    InformationCriterion,
    LeaveOneOut,
)
from weighbridge.ratios import KnownRatio
from weighbridge.weighting import IWERM

GROUPS = {
    "nine": tasks.NINE,
    "classes": tasks.CLASSES,
    "real": tasks.REAL,
    "broken": tasks.BROKEN,
    "no shift": tasks.NO_SHIFT,
}
MODELS = {
    "linear": (LinearRegression(), LogisticRegression(max_iter=1000)),
    "svm": (SVR(), SVC()),
    "forest": (
        RandomForestRegressor(50, random_state=0),
        RandomForestClassifier(50, random_state=0),
    ),
    "boosting": (
        HistGradientBoostingRegressor(max_iter=50, max_leaf_nodes=15, max_bins=32, random_state=0),
        HistGradientBoostingClassifier(max_iter=50, max_leaf_nodes=15, max_bins=32, random_state=0),
    ),
}
FIXED = (
    [Geodesic(0.0), Geodesic(1.0)]
    + [Geodesic(lam, 1.0) for lam in (0.2, 0.4, 0.6, 0.8)]
    + [Geodesic(lam, 2.0) for lam in (0.5, 0.8)]
    + [Geodesic(lam, 3.0) for lam in (0.2, 0.4, 0.6, 0.8, 0.95)]
)
NAMED = {"ERM": 0, "IWERM": 1, "AIWERM 0.6": 4, "RIWERM 0.8": 11}
RUNS = RESULTS / "selection_runs.jsonl"


class Given:
    """Log ratios that are known at the source rows, in their order."""

    def __init__(self, values):
        self.values = values

    def __call__(self, X):
        """Return them for the same rows."""
        if len(X) != self.values.size:
            raise ValueError("known at the source rows only")
        return self.values


def run(group, task, model, seed, ratio_kind, rivals):
    """All methods on one draw of one task; returns a line of figures."""
    data = GROUPS[group][task](seed)
    estimator = MODELS[model][data.kind == "classification"]
    begun = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if ratio_kind == "true":
            ratio, target = KnownRatio(Given(data.log_ratio)), {}
        else:
            ratio, target = None, {"X_target": data.X_target}
        default = ImportanceWeightedCV(estimator, ratio, random_state=seed)
        default.fit(data.X, data.y, **target)
    figures = {
        "group": group, "task": task, "model": model, "seed": seed, "ratio": ratio_kind,
        "warned": any(issubclass(each.category, OverlapWarning) for each in caught),
        "weighted": bool(default.best_weighting_.lam > 0),
        "seconds": time.perf_counter() - begun,
        "losses": {"default": loss(default, data)},
    }  # fmt: skip
    frozen = ratio if ratio_kind == "true" else FrozenEstimator(default.ratio_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figures["losses"] |= fixed_losses(estimator, data, frozen)
        if rivals:
            figures["losses"] |= rival_losses(estimator, data, frozen, model, seed)
    return figures


def fixed_losses(estimator, data, ratio):
    """Losses of the fixed weightings, and of those that have names."""
    fixed = [
        loss(ImportanceWeighted(estimator, ratio, weighting=each).fit(data.X, data.y), data)
        for each in FIXED
    ]
    return {"fixed": fixed} | {name: fixed[place] for name, place in NAMED.items()}


def rival_losses(estimator, data, ratio, model, seed):
    """Losses of the other ways to choose."""
    losses = {}
    for name, options in chosen_by(model, data.kind).items():
        try:
            chosen = ImportanceWeightedCV(
                estimator, ratio, answer="argmin", random_state=seed, **options
            ).fit(data.X, data.y)
        except ValueError:  # three classes and more have no information criterion
            continue
        losses[name] = loss(chosen, data)
    return losses


def chosen_by(model, kind):
    """Return the other procedures that are affordable with this model."""
    paper = {
        "criterion": HoldOut(validation=IWERM()),
        "search": BayesianSearch(25, coordinates="plain", tol=0),
    }
    if model == "linear":
        binary = kind == "classification"
        iwcv = CrossValidation(validation=IWERM()) if binary else LeaveOneOut(validation=IWERM())
        grid = GridSearch(6, 3) if binary else GridSearch(21, 5)
        return {
            "paper": paper,
            "IWCV": {"criterion": iwcv, "search": grid},
            "IC": {"criterion": InformationCriterion(), "search": GridSearch(21, 5)},
        }
    return {"paper": paper, "IWCV": {"criterion": CrossValidation(validation=IWERM())}}


def loss(model, data):
    """Mean squared error, or share of errors, on the target; excess over the noise where known."""
    if "risk" in data:
        return data.risk(model.predict)
    error = model.predict(data.X_target) - data.y_target
    return float(np.mean(error**2 if data.kind == "regression" else error != 0))


def finished():
    """Runs that are on file; an unfinished last line is left out."""
    if not RUNS.exists():
        return []
    lines = RUNS.read_text().split("\n")[:-1]
    return [json.loads(line) for line in lines]


def wanted(options):
    """Every run that was asked for, as arguments of `run`."""
    for group in options.group:
        for task in GROUPS[group]:
            if any(name in task for name in options.skip):
                continue
            for model in options.models:
                for seed in range(options.seeds):
                    yield group, task, model, seed, "estimated"
                    if group == "nine" and model == "linear":
                        yield group, task, model, seed, "true"


def main():
    """Run what is not yet on file, then print and record the summary."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--group", nargs="+", default=list(GROUPS), choices=list(GROUPS))
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--rivals", nargs="*", default=["linear", "svm"], choices=list(MODELS))
    parser.add_argument("--skip", nargs="*", default=["madelon"], help="tasks to leave out")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    keys = ("group", "task", "model", "seed", "ratio")
    done = {tuple(one[key] for key in keys) for one in finished()}
    jobs = [job for job in wanted(options) if job not in done]
    RESULTS.mkdir(exist_ok=True)
    results = Parallel(n_jobs=options.jobs, return_as="generator_unordered")(
        delayed(run)(*job, job[2] in options.rivals) for job in jobs
    )
    with RUNS.open("a") as file:
        for number, one in enumerate(results, 1):
            file.write(json.dumps(one) + "\n")
            file.flush()
            if number % 50 == 0 or number == len(jobs):
                print(f"{number} of {len(jobs)}", flush=True)
    figures = summary(finished())
    print(json.dumps(figures, indent=1))
    record("selection", figures)


if __name__ == "__main__":
    main()
