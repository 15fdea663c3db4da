"""Regret of the searches on surfaces of real problems: how near the best, after how many trials.

    python -m benchmarks.search_regret              # the seed that is reported
    python -m benchmarks.search_regret 1000 2000    # those the search was chosen on

A surface is the importance-weighted error (5 folds, or exact leave-one-out) of weighted least
squares at (lam, alpha). Normalised regret is (best value found - smallest) / (largest - smallest),
both over a grid of 201 lam by 101 alpha; it is below 0 where a search finds something better than
the grid has. The bar is 0.01 within 15 evaluations, on the mean and on each surface, for alpha in
[1, 3] and in [-5, 5]. Where a few points are far worse than all others that makes every regret
small: the second figure takes the 90 % quantile for the largest.

Every search is given the losses row by row, as a criterion gives them; "one unit" has their mean
only, so that there is no standard error. `n` is how many evaluations a search takes until it stops
by itself.

Grids are kept in .cache/search_regret. Data sets other than scikit-learn's own are read from the
folder named by WEIGHBRIDGE_DATA, and left out where there is none.
"""

import hashlib
import os
import sys
import time
from pathlib import Path

import numpy as np
from scipy.special import logsumexp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from benchmarks._record import record
from weighbridge.datasets import (
    fetch_benchmark,
    make_cubic,
    make_gaussian_shift,
    make_quadratic,
    split_by_projection,
)
from weighbridge.geodesic import log_weight
from weighbridge.model_selection import BayesianSearch, Bounds, Evaluation

AFTER = (5, 8, 11, 15)
SIZES = (100, 200, 500, 1000)
SLOPES = (2, 4, 8)
BAR = 0.01
REPORTED = 0
RANDOM_RUNS = 50
BENCHMARKS = ("boston", "california", "australian", "heart", "pima")
BOUNDS = (Bounds(), Bounds(alpha=(-5, 5)))
GRID = 201, 101
CHUNK = 512
CACHE = Path(".cache/search_regret")


def multivariate(n_columns, response):
    """N(0, I) to a mean of length 1 and a spread of .8; a linear model is wrong everywhere."""

    def draw(n, seed):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, n_columns))
        mean = rng.standard_normal(n_columns)
        mean /= np.linalg.norm(mean)
        slope, other = rng.standard_normal((2, n_columns)) / np.sqrt(n_columns)
        y = response(X @ slope, X @ other) + 0.3 * rng.standard_normal(n)
        gap = (X**2 - ((X - mean) / 0.8) ** 2).sum(axis=1) / 2
        return X, y, gap - n_columns * np.log(0.8)

    return draw


def line(maker):
    def draw(n, seed):
        data = maker(n, 10, random_state=seed)
        return data.X, data.y, data.log_ratio

    return draw


def gaussian(**options):
    return line(
        lambda n, m, random_state: make_gaussian_shift(n, m, random_state=random_state, **options)
    )


def quadratic_response(first, second):
    return first + first**2 - second**2 / 2


def sine_response(first, second):
    return np.sin(2 * first) + second


SIMULATED = {
    "quadratic line": line(make_quadratic),
    "cubic line": line(make_cubic),
    "gaussian, 1 column": gaussian(shift=1.5),
    "gaussian, 5 columns, narrower": gaussian(n_features=5, scale=0.7),
    "gaussian, 3 columns, wider": gaussian(n_features=3, scale=1.2),
    "5 columns, quadratic": multivariate(5, quadratic_response),
    "5 columns, sine": multivariate(5, sine_response),
    "10 columns, quadratic": multivariate(10, quadratic_response),
    "10 columns, sine": multivariate(10, sine_response),
}


def real_sets():
    """Name to (X, y); classes are regressed on as numbers."""
    own = {"diabetes": load_diabetes, "iris": load_iris, "wine": load_wine}
    own["breast cancer"] = load_breast_cancer
    sets = {name: load(return_X_y=True) for name, load in own.items()}
    for name in BENCHMARKS if "WEIGHBRIDGE_DATA" in os.environ else ():
        data = fetch_benchmark(name)
        sets[name] = data.data[:2000], data.target[:2000]
    return sets


def problems(seed):
    """Name, X, y and log ratio of every problem."""
    for kind, draw in SIMULATED.items():
        for number, n in enumerate(SIZES):
            yield (kind, f"n {n}", *draw(n, seed + number))
    for kind, (X, y) in real_sets().items():
        for slope in SLOPES:
            data = split_by_projection(X, y, slope=slope, random_state=seed + slope)
            yield kind, f"slope {slope}", data.X, data.y.astype(float), data.log_ratio


class Surface:
    """Row-wise errors of weighted least squares at any (lam, alpha): the objective of a search."""

    def __init__(self, X, y, log_ratio, folds, name, whole=False):
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
        self.A, self.y = np.column_stack([np.ones(len(X)), X]), y
        self.log_ratio, self.name, self.whole = log_ratio, name, whole
        self.importance = np.exp(log_ratio - log_ratio.max())
        self.unit_weights = np.ones(1) if whole else self.importance
        self.folds = folds
        self.fold = np.random.default_rng(0).permutation(len(y)) % (folds or len(y))
        first, second = np.triu_indices(self.A.shape[1])
        self.products = self.A[:, first] * self.A[:, second]
        self.unpack = np.empty((self.A.shape[1],) * 2, dtype=int)
        self.unpack[first, second] = self.unpack[second, first] = np.arange(len(first))

    def losses(self, lam, alpha):
        """Squared errors of every row for each candidate, of shape (candidates, rows)."""
        log_w = log_weight(self.log_ratio, lam[:, None], alpha[:, None])
        weights = np.exp(log_w - logsumexp(log_w, axis=1, keepdims=True)) * len(self.y)
        if self.folds is None:
            beta, inverse = self._solve(weights, slice(None))
            size = (
                inverse.reshape(len(lam), -1)
                @ (self.A[:, :, None] * self.A[:, None, :]).reshape(len(self.y), -1).T
            )
            return ((self.y - beta @ self.A.T) / (1 - weights * size)) ** 2
        found = np.empty_like(weights)
        for number in range(self.folds):
            held = self.fold == number
            beta, _ = self._solve(weights[:, ~held], ~held)
            found[:, held] = (self.y[held] - beta @ self.A[held].T) ** 2
        return found

    def _solve(self, weights, rows):
        """Coefficients and inverse Gram matrices of every candidate."""
        gram = (weights @ self.products[rows])[:, self.unpack]
        # a small ridge, relative to the problem, for weights worth fewer rows than columns
        gram += 1e-6 * weights.sum(axis=1)[:, None, None] * np.eye(len(self.unpack))
        inverse = np.linalg.inv(gram)
        moment = (weights * self.y[rows]) @ self.A[rows]
        return (inverse @ moment[:, :, None])[:, :, 0], inverse

    def evaluate(self, points):
        for point in points:
            lam, alpha = np.array([point]).T
            losses = self.losses(lam, alpha)[0]
            if self.whole:
                losses = np.array([np.average(losses, weights=self.importance)])
            yield Evaluation(point, losses)

    def grid(self, bounds):
        """Values over 201 x 101 points, kept on disk."""
        content = repr((self.name, bounds, GRID)).encode()
        for part in (self.A, self.y, self.log_ratio):
            content += np.ascontiguousarray(part, dtype=float).tobytes()
        file = CACHE / f"{hashlib.sha256(content).hexdigest()[:24]}.npy"
        if not file.exists():
            lam, alpha = (
                axis.ravel()
                for axis in np.meshgrid(
                    np.linspace(*bounds.lam, GRID[0]), np.linspace(*bounds.alpha, GRID[1])
                )
            )
            share = self.importance / self.importance.sum()
            steps = range(0, lam.size, CHUNK)
            values = [self.losses(lam[i : i + CHUNK], alpha[i : i + CHUNK]) @ share for i in steps]
            CACHE.mkdir(parents=True, exist_ok=True)
            part = file.with_suffix(".part.npy")
            np.save(part, np.concatenate(values))
            part.replace(file)
        return np.load(file)


def surfaces(seed, whole=False):
    """Every surface; every other one is that of 5 folds."""
    for number, (kind, detail, X, y, log_ratio) in enumerate(problems(seed)):
        folds = 5 if number % 2 else None
        yield Surface(X, y, log_ratio, folds, f"{kind}, {detail}", whole)


def bayesian(**options):
    def run(surface, bounds, values, rng):
        result = BayesianSearch(max(AFTER), **options)(surface, bounds)
        return np.fmin.accumulate(result.values)[None]

    return run


def at_random(surface, bounds, values, rng):
    """Points of the grid in many orders."""
    return np.minimum.accumulate(rng.choice(values, (RANDOM_RUNS, max(AFTER))), axis=1)


SEARCHES = {
    "default": (bayesian(), False),
    "default, one unit": (bayesian(), True),
    "all 15": (bayesian(tol=0), False),
    "plain": (bayesian(coordinates="plain", tol=0), False),
    "random": (at_random, False),
}


def measure(name, seed, bounds):
    """Regrets of a search over all surfaces."""
    search, whole = SEARCHES[name]
    rng = np.random.default_rng(0)
    after, ninety, number, seconds = [], [], [], 0.0
    names = []
    for surface in surfaces(seed, whole):
        values = surface.grid(bounds)
        start = time.perf_counter()
        path = search(surface, bounds, values, rng)
        seconds += time.perf_counter() - start
        number.append(path.shape[1])
        gap = path[:, np.minimum(AFTER, path.shape[1]) - 1].mean(axis=0) - values.min()
        after.append(gap / np.ptp(values))
        ninety.append(gap[-1] / (np.quantile(values, 0.9) - values.min()))
        names.append(surface.name)
    regrets = np.array(after)
    last = regrets[:, -1]
    print(
        f"{name:>20}  " + "  ".join(f"{value:.5f}" for value in regrets.mean(axis=0)),
        f" se {last.std(ddof=1) / np.sqrt(len(last)):.5f}  within {np.mean(last <= BAR):.3f}",
        f" largest {last.max():.4f}  to the 90 % {np.mean(ninety):.5f}",
        f" n {np.mean(number):.1f} ({min(number)} to {max(number)})",
        f" {seconds / len(last):.2f} s",
        flush=True,
    )
    return {
        "mean": regrets.mean(axis=0).tolist(),
        "standard_error": float(last.std(ddof=1) / np.sqrt(len(last))),
        "share_within_bar": float(np.mean(last <= BAR)),
        "largest": float(last.max()),
        "mean_to_90_percent": float(np.mean(ninety)),
        "evaluations": float(np.mean(number)),
        "most_evaluations": max(number),
        "stopped": float(np.mean(np.array(number) < max(AFTER))),
        "over": {n: float(r) for n, r in zip(names, last, strict=True) if r > BAR},
        "seconds_each": seconds / len(last),
    }


def main():
    seeds = [int(each) for each in sys.argv[1:]] or [REPORTED]
    figures = {}
    for seed in seeds:
        for bounds in BOUNDS:
            print(f"seed {seed}, alpha in {bounds.alpha}: mean regret after {AFTER} evaluations")
            key = f"seed {seed}, alpha {bounds.alpha[0]:g} to {bounds.alpha[1]:g}"
            figures[key] = {name: measure(name, seed, bounds) for name in SEARCHES}
    record("search_regret", {"bar": BAR, "after": AFTER, **figures})


if __name__ == "__main__":
    main()
