"""Tasks under covariate shift: labelled source rows, target rows, and what is known of them.

A task is a function of a seed and returns a Bunch with ``X``, ``y``, ``X_target``, ``y_target``,
``log_ratio`` (the true one at the source rows, or None) and ``kind`` ("regression" or
"classification"). The synthetic regressions also have ``risk``, which takes a prediction function
and returns its mean squared distance from E[y | x] over the target distribution (the excess over
the noise), and ``floor``, the risk of the best linear function.

Columns of real sets are standardised by the source rows. Real sets come from `fetch_benchmark`,
which reads the folder that the environment variable WEIGHBRIDGE_DATA names.
"""

from functools import cache, partial

import numpy as np
from sklearn.utils import Bunch

from weighbridge.datasets import (
    fetch_benchmark,
    make_cubic,
    make_quadratic,
    split_by_projection,
)

# Rows that stand for the target distribution in a population risk.
N_POPULATION = 20_000
# Real sets; all but california and digits are used whole.
SETS = (
    "australian",
    "breast-cancer",
    "heart",
    "pima",
    "digits",
    "iris",
    "madelon",
    "boston",
    "diabetes",
    "california",
)
REGRESSIONS = ("boston", "diabetes", "california")
MAX_ROWS = {"california": 2000, "digits": 1000}
SLOPES = (2, 4, 8)


def line_problem(make, seed, **options):
    """One column, a curved response: the quadratic toy problem and Shimodaira's cubic."""
    data = make(random_state=seed, **options)
    problem = data.problem
    grid = problem.target.ppf((np.arange(N_POPULATION) + 0.5) / N_POPULATION)
    truth = np.polynomial.Polynomial(problem.response)(grid)
    return _regression(data, *_population(grid[:, None], truth))


def mean_shift(truth, n_columns, n, seed, *, length=1.0, noise=0.5):
    """N(0, I) to N(mean, I); the response depends on the coordinate along the mean."""
    rng = np.random.default_rng([seed, n_columns])
    along = np.full(n_columns, n_columns**-0.5)
    X = rng.standard_normal((n, n_columns))
    X_target = length * along + rng.standard_normal((n, n_columns))
    respond = TRUTHS[truth]
    y, y_target = (respond(rows @ along) + noise * rng.standard_normal(n) for rows in (X, X_target))
    fixed = np.random.default_rng(n_columns).standard_normal((N_POPULATION, n_columns))
    fixed += length * along
    data = Bunch(X=X, y=y, X_target=X_target, y_target=y_target)
    data.log_ratio = length * (X @ along) - length**2 / 2
    return _regression(data, *_population(fixed, respond(fixed @ along)))


TRUTHS = {
    "linear": lambda z: z,
    "quadratic": lambda z: z + z**2 / 2,
    "sine": lambda z: 2 * np.sin(1.5 * z),
}


def curved_classes(seed, *, n=400, n_columns=5, length=1.5):
    """Two classes on the sides of a parabola; a straight boundary fits one arm of it."""

    def log_odds(X):
        return 4 * (X[:, 1] + X[:, 0] ** 2 - 1)

    return _classes(seed, log_odds, n, n_columns, length)


def crossed_classes(seed, *, n=400, n_columns=5, length=1.5):
    """Two classes in opposite quadrants: the slope has one sign here and the other there."""

    def log_odds(X):
        return 4 * X[:, 0] * X[:, 1] + X[:, 1]

    return _classes(seed, log_odds, n, n_columns, length)


def projected(name, slope, seed, *, n_rows=None):
    """Split a real set by a random projection; splits that cost a whole class are drawn again."""
    X, y = _read(name)
    rng = np.random.default_rng([seed, int(slope)])
    n_rows = n_rows or MAX_ROWS.get(name)
    if n_rows and n_rows < len(y):
        rows = rng.choice(len(y), n_rows, replace=False)
        X, y = X[rows], y[rows]
    for _ in range(100):
        state = int(rng.integers(2**31))
        try:
            data = split_by_projection(X, y, slope=slope, random_state=state)
        except ValueError:  # a sample without rows, or of one class
            continue
        if name in REGRESSIONS or _enough_of_each_class(data):
            return _real(data, name)
    raise RuntimeError(f"no usable split of {name} at slope {slope}")


def separating_feature(kind, seed, *, n=300, gap=5.0):
    """A mild shift of four columns, and a fifth that tells the samples apart but y not."""
    if kind == "regression":
        data = mean_shift("quadratic", 4, n, seed)
    else:
        data = curved_classes(seed, n=n, n_columns=4, length=1.0)
    rng = np.random.default_rng([seed, 77])
    extra, extra_target = rng.standard_normal((2, n))
    data.X = np.column_stack([data.X, extra])
    data.X_target = np.column_stack([data.X_target, extra_target + gap])
    data.log_ratio = data.log_ratio + gap * extra - gap**2 / 2
    for name in ("risk", "floor"):
        data.pop(name, None)
    return data


def disjoint_clusters(kind, seed, *, n=300, gap=8.0):
    """Two round clusters that do not touch; the response bends between them."""
    rng = np.random.default_rng([seed, 3])
    X, X_target = rng.standard_normal((2, n, 3))
    X_target[:, 0] += gap
    rows = np.vstack([X, X_target])
    signal = np.sin(rows[:, 0]) + rows[:, 1] * np.cos(rows[:, 0] / 2) + 0.3 * rows[:, 0]
    y = signal + 0.5 * rng.standard_normal(2 * n)
    if kind == "classification":
        y = (y > np.where(np.arange(2 * n) < n, 0.0, 2.4)).astype(int)
    data = Bunch(X=X, y=y[:n], X_target=X_target, y_target=y[n:])
    data.log_ratio = gap * X[:, 0] - gap**2 / 2
    data.kind = kind
    return data


def south_to_north(seed, *, n=400, latitude=36.0):
    """California's districts: prices learned in the south, wanted in the north."""
    X, y = _read("california")
    rng = np.random.default_rng([seed, 36])
    south = X[:, 6] < latitude
    source, target = (
        rng.choice(np.flatnonzero(side), n, replace=False) for side in (south, ~south)
    )
    data = Bunch(X=X[source], y=y[source], X_target=X[target], y_target=y[target], log_ratio=None)
    return _real(data, "california")


def other_digits(seed, *, n=400):
    """Odd or even, learned on the digits 0 to 5, wanted on 6 to 9."""
    X, y = _read("digits")
    rng = np.random.default_rng([seed, 10])
    source, target = (rng.choice(np.flatnonzero(side), n, replace=False) for side in (y < 6, y > 5))
    data = Bunch(X=X[source], X_target=X[target], log_ratio=None)
    data.y, data.y_target = (y[rows].astype(int) % 2 for rows in (source, target))
    return _real(data, "digits")


def _classes(seed, log_odds, n, n_columns, length):
    rng = np.random.default_rng([seed, n_columns, 2])
    X, X_target = rng.standard_normal((2, n, n_columns))
    X_target[:, 0] += length
    y, y_target = (
        (rng.random(n) < 1 / (1 + np.exp(-log_odds(rows)))).astype(int) for rows in (X, X_target)
    )
    log_ratio = length * X[:, 0] - length**2 / 2
    return Bunch(
        X=X, y=y, X_target=X_target, y_target=y_target, log_ratio=log_ratio, kind="classification"
    )


def _population(rows, truth):
    """Return the risk function, and the smallest risk of a linear function."""
    design = np.column_stack([np.ones(len(rows)), rows])
    best = design @ np.linalg.lstsq(design, truth, rcond=None)[0]

    def risk(predict):
        return float(np.mean((predict(rows) - truth) ** 2))

    return risk, float(np.mean((best - truth) ** 2))


def _regression(data, risk, floor):
    return Bunch(
        X=data.X,
        y=data.y,
        X_target=data.X_target,
        y_target=data.y_target,
        log_ratio=data.log_ratio,
        kind="regression",
        risk=risk,
        floor=floor,
    )


def _real(data, name):
    """Standardise by the source rows; a column that is constant there counts for nothing."""
    mean, sd = data.X.mean(axis=0), data.X.std(axis=0)
    scale = np.where(sd > 1e-12, sd, np.inf)
    X, X_target = ((rows - mean) / scale for rows in (data.X, data.X_target))
    kind = "regression" if name in REGRESSIONS else "classification"
    y, y_target = data.y, data.y_target
    if kind == "classification":
        y, y_target = y.astype(int), y_target.astype(int)
    return Bunch(
        X=X, y=y, X_target=X_target, y_target=y_target, log_ratio=data.log_ratio, kind=kind
    )


def _enough_of_each_class(data):
    """Every target class has at least five source rows, one for each fold."""
    labels, counts = np.unique(data.y, return_counts=True)
    return counts.min() >= 5 and np.isin(data.y_target, labels).all() and len(data.y_target) >= 20


@cache
def _read(name):
    data = fetch_benchmark(name)
    X = data.data
    if name == "breast-cancer":
        X = X[:, 1:]  # the first column is the patient's number
    if name == "california":
        X[:, 2:6] = np.log(X[:, 2:6])  # rooms and people per household, to some thousands
    if name == "madelon":
        X = np.asfortranarray(X)  # sums in this order gave the last bits of the stored results
    return X, data.target


NINE = {
    "toy, n = 100": partial(line_problem, make_quadratic, n_source=100, reading="noise_sd"),
    "toy, n = 1000": partial(line_problem, make_quadratic, n_source=1000, reading="noise_sd"),
    "cubic": partial(line_problem, make_cubic),
} | {
    f"{truth}, {d} columns": partial(mean_shift, truth, d, n)
    for d, n in ((5, 200), (10, 400))
    for truth in TRUTHS
}
CLASSES = {"curved classes": curved_classes, "crossed classes": crossed_classes}
REAL = {
    f"{name}, slope {slope}": partial(projected, name, slope) for name in SETS for slope in SLOPES
}
BROKEN = {
    "separating feature, regression": partial(separating_feature, "regression"),
    "separating feature, classes": partial(separating_feature, "classification"),
    "disjoint clusters, regression": partial(disjoint_clusters, "regression"),
    "disjoint clusters, classes": partial(disjoint_clusters, "classification"),
    "boston, slope 16": partial(projected, "boston", 16),
    "australian, slope 16": partial(projected, "australian", 16),
    "pima, slope 16": partial(projected, "pima", 16),
    "california, south to north": south_to_north,
    "digits, other digits": other_digits,
}
NO_SHIFT = {
    "no shift, regression": partial(mean_shift, "quadratic", 5, 200, length=0.0),
    "no shift, classes": partial(curved_classes, length=0.0),
    "no shift, australian": partial(projected, "australian", 0),
    "no shift, boston": partial(projected, "boston", 0),
}
TASKS = NINE | CLASSES | REAL | BROKEN | NO_SHIFT
