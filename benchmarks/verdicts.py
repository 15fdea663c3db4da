"""Do verdicts, risks and intervals hold? Repetitions on problems whose answers are known.

    python -m benchmarks.verdicts [PART ...] [--seeds N] [--jobs 2]

Parts: `gaussian` (intervals, N(0, 1) to N(1, 1), 500 rows), `clinic` (every weighting of the clinic
simulator, estimated ratio: does the interval hold the actual error), `words` (verdicts on problems
with a known answer), `labels` (label shift recognised, covariate shift not), `learners` (what the
full ratio does to models that bend by themselves). Finished repetitions are kept in
results/verdict_runs.jsonl and are not repeated.
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
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from benchmarks._record import RESULTS, record
from weighbridge import ImportanceWeighted, assess, fit_ratio
from weighbridge.datasets import make_clinic, make_gaussian_shift, make_quadratic
from weighbridge.exceptions import OverlapWarning
from weighbridge.label_shift import kind_of_shift
from weighbridge.target_risk import (
    Question,
    RiskProblem,
    assess_procedures,
    estimate_risk,
    find_measure,
    paired_change,
)
from weighbridge.verdict._candidates import CHEAP, make_candidates

RUNS = RESULTS / "verdict_runs.jsonl"
SEEDS = {"gaussian": 1000, "clinic": 200, "words": 100, "labels": 50, "learners": 20}


def clinic_model():
    """Return logistic regression on standardised numbers and one-hot categories."""
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(columns, LogisticRegression(max_iter=1000))


def gaussian(seed):
    """Squared loss of a known line and of a fitted one, with the true and an estimated ratio."""
    many = make_gaussian_shift(10, 200_000, random_state=99_999)
    data = make_gaussian_shift(500, 500, random_state=seed)
    known = FrozenEstimator(LinearRegression().fit([[0.0], [1.0]], [0.5, 1.5]))
    fitted = LinearRegression()
    found = {}
    for name, model, ratio in (
        ("known line", known, data.ratio),
        ("fitted line", fitted, data.ratio),
        ("fitted line, estimated ratio", fitted, None),
    ):
        if ratio is None and seed >= 300:  # slower by a factor of a hundred
            continue
        risk = estimate_risk(
            model, data.X, data.y, data.X_target, ratio=ratio, random_state=seed,
            scoring="neg_mean_squared_error",
        )  # fmt: skip
        line = known if model is known else LinearRegression().fit(data.X, data.y)
        truth = np.mean((many.y_target - line.predict(many.X_target)) ** 2)
        found[name] = {
            "held": bool(risk.interval[0] <= truth <= risk.interval[1]),
            "flagged": risk.state == "flagged",
        }
    return found


def clinic(seed):
    """Expected and actual error of every weighting, as a verdict finds them."""
    data = make_clinic(random_state=seed)
    base = clinic_model()
    problem = RiskProblem(base, data.X, data.y, data.X_target, question=Question(random_state=seed))
    measure = find_measure(None, None, base)
    procedures = make_candidates(base, CHEAP, None, problem.seed)
    assessed = dict(zip(CHEAP, assess_procedures(procedures, problem, measure), strict=True))
    change = paired_change(assessed["tuned"], assessed["none"])
    found = {"helps": change.value < -change.standard_error, "surely": change.high < 0}
    for name, each in assessed.items():
        actual = np.mean(each.model.predict(data.X_target) != data.y_target)
        found[name] = {
            "actual": float(actual),
            "expected": each.risk.value,
            "error": each.risk.estimate.standard_error,
            "held": bool(each.risk.interval[0] <= actual <= each.risk.interval[1]),
            "flagged": each.risk.state == "flagged",
        }
    return found


def words(seed):
    """Verdicts where the answer is known."""
    rng = np.random.default_rng(seed)
    found = {}
    line = LinearRegression()
    X, X_target = rng.normal(size=(500, 3)), rng.normal(0.5, 1, size=(500, 3))
    y = X @ [1.0, -1.0, 0.5] + rng.normal(size=500)
    found["well specified"] = assess(line, X, y, X_target, random_state=seed).weighting
    data = make_quadratic(random_state=seed)
    toy = assess(line, data.X, data.y, data.X_target, random_state=seed)
    found["toy"], found["toy overlap"] = toy.weighting, toy.overlap
    found["identical"] = assess(line, X, y, X, random_state=seed).sentence[:14]
    data = make_clinic(1000, 10, random_state=seed)
    rows = rng.permutation(1000)
    halves = data.X.iloc[rows[:500]], data.y[rows[:500]], data.X.iloc[rows[500:]]
    found["halves"] = assess(clinic_model(), *halves, random_state=seed).sentence[:14]
    data = make_gaussian_shift(500, 500, n_features=3, shift=10.0, random_state=seed)
    apart = assess(line, data.X, data.y, data.X_target, random_state=seed)
    found["apart"] = f"{apart.overlap}, {'withheld' if apart.expect is None else 'shown'}"
    return found


def labels(seed):
    """Share of the ratio that class frequencies explain, estimated ratio, 3,000 rows."""
    rng = np.random.default_rng(seed)
    found = {}
    y, y_target = rng.integers(0, 2, 3000), (rng.uniform(size=3000) < 0.8).astype(int)
    X, X_target = (rng.normal(size=(3000, 3)) + 1.2 * each[:, None] for each in (y, y_target))
    found["label shift"] = _explained(X, y, X_target)
    X, X_target = rng.normal(size=(3000, 3)), rng.normal([1.0, 0.0, 0.0], size=(3000, 3))
    y = (X[:, 1] + rng.logistic(size=3000) > 0).astype(int)
    found["covariate shift across the rule"] = _explained(X, y, X_target)
    y = (X.sum(axis=1) + rng.logistic(size=3000) > 0).astype(int)
    found["covariate shift oblique to the rule"] = _explained(X, y, X_target)
    y = (X[:, 0] ** 2 + rng.logistic(size=3000) > 1).astype(int)
    found["covariate shift, bent rule"] = _explained(X, y, X_target)
    return found


def learners(seed):
    """Actual error of the clinic without weights and with the full ratio."""
    data = make_clinic(1500, 4000, random_state=seed)
    ratio = FrozenEstimator(fit_ratio(data.X, data.X_target.iloc[:800]))
    found = {}
    for name, last in (
        ("logistic regression", LogisticRegression(max_iter=1000)),
        ("decision tree", DecisionTreeClassifier(random_state=0)),
        ("forest", RandomForestClassifier(100, random_state=0)),
    ):
        model = make_pipeline(clinic_model()[0], last)
        fits = clone(model), ImportanceWeighted(model, ratio)
        none, full = (
            np.mean(each.fit(data.X, data.y).predict(data.X_target) != data.y_target)
            for each in fits
        )
        found[name] = {"none": float(none), "full": float(full)}
    return found


def _explained(X, y, X_target):
    return kind_of_shift(X, y, X_target).against


PARTS = {
    "gaussian": gaussian,
    "clinic": clinic,
    "words": words,
    "labels": labels,
    "learners": learners,
}


def run(part, seed):
    """Run one repetition and keep it."""
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverlapWarning)
        found = PARTS[part](seed)
    row = {"part": part, "seed": seed, "found": found, "seconds": time.perf_counter() - started}
    with RUNS.open("a") as file:
        file.write(json.dumps(row) + "\n")


def finished():
    """Return the repetitions that are there already."""
    if not RUNS.exists():
        return {}
    rows = [json.loads(line) for line in RUNS.read_text().splitlines()]
    return {(row["part"], row["seed"]): row for row in rows}


def share(values):
    """Return a share with its standard error."""
    values = np.asarray(list(values), dtype=float)
    mean = values.mean()
    return {
        "share": mean,
        "error": float(np.sqrt(mean * (1 - mean) / values.size)),
        "n": values.size,
    }


def summary(part, rows):
    """Return the figures of one part."""
    found = [row["found"] for row in rows]
    if part == "gaussian":
        names = sorted({name for each in found for name in each})
        return {
            name: {
                key: share(each[name][key] for each in found if name in each)
                for key in ("held", "flagged")
            }
            for name in names
        }
    if part == "clinic":
        figures = {key: share(each[key] for each in found) for key in ("helps", "surely")}
        for name in CHEAP:
            figures[name] = {
                "held": share(each[name]["held"] for each in found),
                "flagged": share(each[name]["flagged"] for each in found),
                **{
                    key: float(np.mean([each[name][key] for each in found]))
                    for key in ("actual", "expected", "error")
                },
            }
        return figures
    if part == "words":
        return {
            name: {
                word: share(each[name] == word for each in found)["share"]
                for word in sorted({each[name] for each in found})
            }
            for name in found[0]
        }
    if part == "learners":
        return {name: _errors([each[name] for each in found]) for name in found[0]}
    return {
        name: np.quantile([each[name] for each in found], [0, 0.05, 0.5, 0.95, 1]).tolist()
        for name in found[0]
    }


def _errors(pairs):
    change = np.array([each["full"] - each["none"] for each in pairs])
    return {
        "none": float(np.mean([each["none"] for each in pairs])),
        "full": float(np.mean([each["full"] for each in pairs])),
        "change": float(change.mean()),
        "error": float(change.std(ddof=1) / np.sqrt(change.size)),
    }


def main():
    """Run what is missing, print and record the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    figures = {}
    for part in options.parts:
        seeds = range(options.seeds or SEEDS[part])
        done = finished()
        missing = [seed for seed in seeds if (part, seed) not in done]
        Parallel(n_jobs=options.jobs)(delayed(run)(part, seed) for seed in missing)
        done = finished()
        rows = [done[part, seed] for seed in seeds]
        figures[part] = summary(part, rows)
        figures[part]["seconds each"] = float(np.mean([row["seconds"] for row in rows]))
        print(part, json.dumps(figures[part], indent=1), flush=True)
        record(f"verdicts_{part}", figures[part])


if __name__ == "__main__":
    main()
