"""Draws on which the expected error of a model is compared with the error that came.

A draw has rows that the models are fitted to, other labelled rows of the same domain (the
reference), and target rows whose labels are known only to the judge. Kinds: `natural` (the two
domains of a task), and on the larger domain of a task alone, where the relation between features
and label cannot differ: `induced` (a row belongs to the target with chance expit(2 z), z its
standardised place along a random direction), `null` (chance 1/2) and `label` (by a chance for each
class). Half of the source rows fit the models, the other half is the reference, 2,000 at most.
"""

import zlib
from types import SimpleNamespace

import numpy as np
from scipy.special import expit
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression

from benchmarks.natural.run import load

KINDS = ("natural", "induced", "null", "label")
MODELS = {
    "linear": (LinearRegression(), LogisticRegression(max_iter=1000)),
    "boosting": (
        HistGradientBoostingRegressor(max_iter=100, random_state=0),
        HistGradientBoostingClassifier(max_iter=100, random_state=0),
    ),
    "forest": (
        RandomForestRegressor(100, min_samples_leaf=3, random_state=0),
        RandomForestClassifier(100, min_samples_leaf=3, random_state=0),
    ),
}
STRENGTH = 2.0


def cell(path, kind, seed, rows=2000):
    """Return a draw of a task, or None where the kind needs classes and there are none."""
    task = load(path)
    rng = np.random.default_rng([seed, KINDS.index(kind), zlib.crc32(task.name.encode())])
    if kind == "natural":
        source, target = (task.Xs, task.ys), (task.Xt, task.yt)
    elif kind == "label" and task.kind != "classification":
        return None
    else:
        larger = len(task.ys) >= len(task.yt)
        X, y = (task.Xs, task.ys) if larger else (task.Xt, task.yt)
        chosen = rng.uniform(size=len(y)) < _chance(X, y, kind, rng)
        source, target = (X[~chosen], y[~chosen]), (X[chosen], y[chosen])
    return _draw(task, source, target, rng, rows)


def _chance(X, y, kind, rng):
    """Return each row's chance to be in the target."""
    if kind == "null":
        return np.full(len(y), 0.5)
    if kind == "label":
        classes, codes = np.unique(y, return_inverse=True)
        return rng.permutation(np.linspace(0.25, 0.75, len(classes)))[codes]
    spread = X.std(axis=0)
    z = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1) @ rng.normal(size=X.shape[1])
    return expit(STRENGTH * (z - z.mean()) / z.std())


def _draw(task, source, target, rng, rows):
    order, other = rng.permutation(len(source[1])), rng.permutation(len(target[1]))
    half = min(rows, len(order) // 2)
    fitted, reference, target_rows = order[:half], order[half : 2 * half], other[:rows]
    return SimpleNamespace(
        name=task.name,
        half=task.half,
        is_classes=task.kind == "classification",
        fit=(source[0][fitted], source[1][fitted]),
        reference=(source[0][reference], source[1][reference]),
        target=(target[0][target_rows], target[1][target_rows]),
    )
