"""Samples and ratios for the tests of conformal prediction."""

import numpy as np
from sklearn.base import is_regressor

from weighbridge.ratios import KnownRatio


def first_column(X):
    return np.asarray(X)[:, 0]


def zeros(X):
    return np.zeros(len(X))


SHIFT = KnownRatio(first_column)  # N(0, 1) -> N(1, 1), up to a constant
NONE = KnownRatio(zeros)


def regression(n, seed, mean=0.0):
    """Return a noisy parabola."""
    rng = np.random.default_rng(seed)
    X = rng.normal(mean, 1, size=(n, 1))
    return X, X[:, 0] ** 2 + 0.5 * rng.normal(size=n)


def classification(n, seed, mean=0.0):
    """Return three classes, with random labels more often where the target is."""
    rng = np.random.default_rng(seed)
    X = rng.normal(mean, 1, size=(n, 1))
    x = X[:, 0]
    is_random = rng.uniform(size=n) < 0.5 / (1 + np.exp(-3 * (x - 1)))
    y = (x > 0).astype(int) + (x > 1)
    return X, np.where(is_random, rng.integers(0, 3, size=n), y)


def covered_share(model, X, y):
    """Return the share of labels inside their intervals or sets."""
    if is_regressor(model):
        low, high = model.predict_interval(X).T
        return np.mean((low <= y) & (y <= high))
    return model.predict_set(X)[np.arange(y.size), np.searchsorted(model.classes_, y)].mean()
