"""Positive and unlabelled rows under covariate shift: is the risk unbiased, do weights help?

    python -m benchmarks.positive_unlabeled --part risk | prior | shift | null | learners
        [--half choose | report] [--seeds 30] [--out FOLDER]

`risk`: the error rate of fixed scores by positive and unlabelled rows, and by target labels.
`prior`: the estimated share of positives beside the true one, and how often its interval holds.
`shift`: target errors of PositiveUnlabeled with and without weights, paired by seed; `null` the
same without shift. `learners`: what scikit-learn's classifiers make of the weights of the risk.
Constants were chosen on the half `choose`; `report` is run once. WEIGHBRIDGE_DATA names the folder
of data sets.
"""

import argparse
import os
import warnings
from functools import cache, partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is there
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.special import expit
from scipy.stats import ttest_rel
from sklearn.frozen import FrozenEstimator
from sklearn.utils import all_estimators
from sklearn.utils.validation import has_fit_parameter

from benchmarks._record import RESULTS, record
from weighbridge import fit_ratio
from weighbridge.datasets import fetch_benchmark, split_by_projection
from weighbridge.model_selection import GridSearch
from weighbridge.positive_unlabeled import PositiveUnlabeled
from weighbridge.ratios import KnownRatio
from weighbridge.weighting import ERM


# Chances of the positive class, and by how much the target is moved (features: standard normal)
def _waves(X):
    return expit(4 * np.sin(1.5 * X[:, 0]) + 2 * X[:, 1])


def _ring(X):
    return expit(3 * ((X[:, :2] ** 2).sum(axis=1) - 2))


def _bend(X):
    return expit(3 * (X[:, 1] - X[:, 0] ** 2 / 2 + 0.5))


def _steps(X):
    return expit(5 * np.tanh(3 * X[:, 0]) * np.tanh(3 * X[:, 1]) + 2 * X[:, 2])


SIMULATED = {
    "choose": {"ring": (_ring, [1.0, 0.0, 0.0]), "steps": (_steps, [0.9, 0.5, 0.0])},
    "report": {"waves": (_waves, [1.2, 0.0]), "bend": (_bend, [1.2, 0.0, 0.0, 0.0])},
}
SETS = {"choose": ("california", "australian", "pima"), "report": ("covtype", "digits")}
# By the half `choose`: below these sizes weights cost more than they gain on real sets
POSITIVE, ROWS, MOST, SLOPE = 1000, 3000, 20_000, 2.0


@cache
def _table(name):
    """Return a data set with two classes."""
    data = fetch_benchmark(name)
    X, y = np.asarray(data.data, dtype=float), np.asarray(data.target)
    if name in ("covtype", "digits"):
        return X, y == 2 if name == "covtype" else y >= 5
    return X, y > (np.median(y) if name == "california" else 0)


class Draw:
    """Positive and unlabelled rows, target rows with the truth, and the true prior and ratio."""

    def __init__(self, positive, unlabelled, target, truth, prior, ratio=None):
        self.X = np.vstack([positive, unlabelled])
        self.y = np.repeat([1, 0], [len(positive), len(unlabelled)])
        self.target, self.truth, self.prior, self.ratio = target, truth, prior, ratio


@cache
def _share(chance, d):
    return float(chance(np.random.default_rng(0).standard_normal((1_000_000, d))).mean())


def simulated(name, half, seed, shift=True, positive=300, rows=1000):
    chance, move = SIMULATED[half][name]
    rng, d, move = np.random.default_rng([seed, len(name)]), len(move), np.array(move)
    pool = rng.standard_normal((20 * positive, d))
    A = pool[rng.uniform(size=len(pool)) < chance(pool)][:positive]
    target = rng.standard_normal((rows, d)) + (move if shift else 0)
    truth = rng.uniform(size=rows) < chance(target)
    U = rng.standard_normal((rows, d))
    ratio = KnownRatio(lambda X: X @ move - move @ move / 2)
    return Draw(A, U, target, truth, _share(chance, d), ratio)


def real(name, seed, shift=True):
    X, y = _table(name)
    rng = np.random.default_rng([seed, len(name)])
    rows = rng.permutation(len(y))[:MOST]
    data = split_by_projection(X[rows], y[rows], slope=SLOPE if shift else 0.0, random_state=seed)
    halves = np.array_split(rng.permutation(len(data.y)), 2)
    positive = data.X[halves[0][data.y[halves[0]]]][:POSITIVE]
    unlabelled, prior = data.X[halves[1]][:ROWS], float(data.y.mean())
    return Draw(positive, unlabelled, data.X_target, data.y_target, prior, data.ratio)


def draw(name, half, seed, shift=True):
    if name in SIMULATED[half]:
        return simulated(name, half, seed, shift)
    return real(name, seed, shift)


def risk(options):
    """Compare the weighted risk of a fixed line with its error rate on labelled target rows."""
    found = {}
    for name, (chance, move) in SIMULATED[options.half].items():
        fixed = simulated(name, options.half, 10_000)
        model = PositiveUnlabeled(ratio=fixed.ratio, prior=fixed.prior).fit(fixed.X, fixed.y)
        rng = np.random.default_rng(1)
        many = rng.standard_normal((2_000_000, len(move))) + np.array(move)
        p = chance(many)
        errors = np.where(model.predict(many) == 1, 1 - p, p)
        draws = [simulated(name, options.half, seed) for seed in range(20 * options.seeds)]
        values = np.array([model.risk(each.X, each.y).value for each in draws])
        plain = [_unscaled(model, each) for each in draws]
        found[name] = {"truth": float(errors.mean()), "draws": len(draws)}
        for kind, each in (("risk", values), ("ratio not scaled", np.array(plain))):
            mean, error = float(each.mean()), float(each.std() / len(each) ** 0.5)
            found[name][kind] = mean
            found[name][f"{kind}, off by se"] = (mean - found[name]["truth"]) / error
    return found


def _unscaled(model, each):
    r, said = np.exp(each.ratio.score_samples(each.X)), model.predict(each.X) == 1
    free, losses = each.y == 0, np.where(said, -1.0, 1.0)
    return (r * said)[free].mean() + each.prior * (r * losses)[~free].mean()


def prior(options):
    """Compare estimated with true priors; those of data sets are the shares among the rows."""
    found = {}
    for name in [*SEPARATED[options.half], *SETS[options.half]]:
        rows = []
        for seed in range(options.seeds):
            each = _separated(name, options.half, seed)
            model = PositiveUnlabeled().fit(each.X, each.y)
            low, high = model.prior_interval_
            error = (high - low) / 2 / 1.96
            rows.append([model.prior_ - each.prior, error, low <= each.prior <= high, high - low])
        off, error, holds, length = np.array(rows).T
        found[name] = {
            "mean error": float(off.mean()),
            "root mean square error": float(np.sqrt((off**2).mean())),
            "within 2 se": float(np.mean(np.abs(off) <= 2 * error)),
            "interval holds": float(holds.mean()),
            "length": float(length.mean()),
        }
    return found


# Distance of two normal classes in their first column, and the prior
SEPARATED = {
    "choose": {"2.5 apart": (2.5, 0.4), "4 apart": (4.0, 0.3)},
    "report": {"2 apart": (2.0, 0.4), "3 apart": (3.0, 0.5), "3.5 apart, rare": (3.5, 0.15)},
}


def _separated(name, half, seed):
    if name not in SEPARATED[half]:
        return real(name, seed, shift=False)
    (distance, share), rng = SEPARATED[half][name], np.random.default_rng([seed, len(name)])
    A, U = rng.standard_normal((600, 3)), rng.standard_normal((2500, 3))
    A[:, 0] += distance
    U[:, 0] += distance * (rng.uniform(size=2500) < share)
    return Draw(A, U, None, None, share)


def shift(options, moved=True):
    """Compare target errors with weights and without, paired by seed."""
    found = {}
    for name in [*SIMULATED[options.half], *SETS[options.half]]:
        errors = {}
        for seed in range(options.seeds):
            each = draw(name, options.half, seed, moved)
            known = moved and name in SIMULATED[options.half]
            ratio = (
                each.ratio
                if known
                else FrozenEstimator(fit_ratio(each.X[each.y == 0], each.target))
            )
            for kind, model in _models(each.prior).items():
                model.set_params(ratio=ratio).fit(each.X, each.y)
                wrong = float(np.mean(model.predict(each.target) != each.truth))
                errors.setdefault(kind, []).append(wrong)
        found[name] = _compared(errors)
    return found


def _models(prior):
    return {
        f"{features}{named}": PositiveUnlabeled(weighting=weighting, prior=given, features=features)
        for features in ("linear", "fourier")
        for weighting, given, named in (
            (ERM(), prior, ""),
            (None, prior, ", weighted"),
            (GridSearch([0, 0.5, 1], [3.0]), prior, ", searched"),
            (ERM(), None, ", estimated"),
            (None, None, ", estimated, weighted"),
        )
    }


def _compared(errors):
    found = {}
    for kind, each in errors.items():
        base = kind.removesuffix(", weighted").removesuffix(", searched")
        found[kind] = {"error": float(np.mean(each))}
        if base != kind:
            test = ttest_rel(each, errors[base])
            found[kind]["change"] = float(np.mean(each) - np.mean(errors[base]))
            found[kind]["p"] = 1.0 if np.isnan(test.pvalue) else float(test.pvalue)
    return found


def learners(options):
    """Fit scikit-learn's classifiers with the signed weights of the risk, and with labels."""
    rng, found = np.random.default_rng(0), {}

    def rows(n):
        y = rng.uniform(size=n) < 0.4
        return rng.standard_normal((n, 2)) + np.outer(y, [2.0, 0.0]), y.astype(int)

    (X, y), (A, a), (new, truth) = rows(3000), rows(1500), rows(5000)
    A = A[a == 1]
    stacked = np.vstack([A, X, A])
    marks = np.repeat([1, 0], [len(A), len(X) + len(A)])
    mass = np.repeat([0.4 / len(A), 1 / len(X), -0.4 / len(A)], [len(A), len(X), len(A)])
    for name, kind in all_estimators(type_filter="classifier"):
        try:
            model = kind()
            if not has_fit_parameter(model, "sample_weight"):
                continue
            labelled = float(np.mean(model.fit(X, y).predict(new) != truth))
        except (TypeError, ValueError):  # it takes other data
            continue
        try:
            model.fit(stacked, marks, sample_weight=mass * len(stacked))
            signed = float(np.mean(model.predict(new) != truth))
        except (ValueError, ZeroDivisionError) as error:
            signed = str(error).splitlines()[0]
        found[name] = {"labelled": labelled, "signed weights": signed}
    return found


PARTS = {
    "risk": risk,
    "prior": prior,
    "shift": shift,
    "null": partial(shift, moved=False),
    "learners": learners,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--part", choices=PARTS, required=True)
    parser.add_argument("--half", choices=("choose", "report"), default="choose")
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    figures = PARTS[options.part](options)
    for name, each in figures.items():
        print(name)
        for key, value in each.items():
            print("   ", key, value)
    record(f"positive_unlabeled_{options.part}_{options.half}", figures, folder=options.out)


if __name__ == "__main__":
    main()
