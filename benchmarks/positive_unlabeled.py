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
from functools import cache
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is there
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.special import expit
from scipy.stats import ttest_rel

from benchmarks._record import RESULTS, record
from weighbridge.datasets import fetch_benchmark, split_by_projection
from weighbridge.positive_unlabeled import PositiveUnlabeled
from weighbridge.ratios import KnownRatio

ROWS = 1000  # unlabelled, and target; positives: 300
POSITIVE = 300


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
SLOPE, MOST = 3.0, 6000


@cache
def _table(name):
    """Return a data set with two classes."""
    data = fetch_benchmark(name)
    X, y = np.asarray(data.data, dtype=float), np.asarray(data.target)
    if name in ("covtype", "digits"):
        return X, y == 2 if name == "covtype" else y >= 5
    return X, y > (np.median(y) if name == "california" else 0)


class Draw:
    """Positive rows, unlabelled rows, target rows with the truth, and the true prior and ratio."""

    def __init__(self, positive, unlabelled, target, truth, prior, ratio=None):
        self.X = np.vstack([positive, unlabelled])
        self.y = np.repeat([1, 0], [len(positive), len(unlabelled)])
        self.target, self.truth, self.prior, self.ratio = target, truth, prior, ratio


def simulated(name, half, seed, shift=True):
    chance, move = SIMULATED[half][name]
    rng, d = np.random.default_rng([seed, len(name)]), len(move)
    pool = rng.standard_normal((20 * POSITIVE, d))
    positive = pool[rng.uniform(size=len(pool)) < chance(pool)][:POSITIVE]
    many = np.random.default_rng(0).standard_normal((400_000, d))
    target = rng.standard_normal((ROWS, d)) + (np.array(move) if shift else 0)
    truth = rng.uniform(size=ROWS) < chance(target)
    move = np.array(move)
    ratio = KnownRatio(lambda X: X @ move - move @ move / 2)
    unlabelled = rng.standard_normal((ROWS, d))
    return Draw(positive, unlabelled, target, truth, float(chance(many).mean()), ratio)


def real(name, seed, shift=True):
    X, y = _table(name)
    rng = np.random.default_rng([seed, len(name)])
    rows = rng.permutation(len(y))[:MOST]
    data = split_by_projection(X[rows], y[rows], slope=SLOPE if shift else 0.0, random_state=seed)
    order = rng.permutation(len(data.y))
    half = np.array_split(order, 2)
    positive = data.X[half[0][data.y[half[0]]]][:POSITIVE]
    unlabelled = data.X[half[1]][:ROWS]
    return Draw(positive, unlabelled, data.X_target, data.y_target, float(data.y.mean()), data.ratio)


def draw(name, half, seed, shift=True):
    if name in SIMULATED[half]:
        return simulated(name, half, seed, shift)
    return real(name, seed, shift)
