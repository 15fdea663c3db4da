"""A mean shift with a known ratio, and the error of weights."""

import numpy as np

from weighbridge import fit_ratio
from weighbridge.tables import shuffled


def mean_shift(n, d=8, norm=1.0, seed=0):
    """Return N(0, I) and N(mu, I) samples and the log ratio, up to a constant, as a function."""
    rng = np.random.default_rng(seed)
    mu = np.full(d, norm / np.sqrt(d))
    return rng.normal(size=(n, d)), rng.normal(size=(n, d)) + mu, lambda X: X @ mu


def weight_error(log_ratio, true):
    """Return the squared error of mean-one weights, as a share of the mean square of the true."""
    weights, true = np.exp(log_ratio - log_ratio.max()), np.exp(true - true.max())
    weights, true = weights / weights.mean(), true / true.mean()
    return np.mean((weights - true) ** 2) / np.mean(true**2)


def mean_error(ratio, n, draws=10):
    """Return the mean error over draws of a mean shift of one standard deviation, 8 columns."""
    errors = []
    for seed in range(draws):
        X, X_target, true = mean_shift(n, seed=seed)
        errors.append(weight_error(fit_ratio(X, X_target, ratio).score_samples(X), true(X)))
    return np.mean(errors)


def two_normals(n_source=300, n_target=200, d=2, seed=0):
    """Return N(0, I) rows and N(0.4, 0.64 I) rows."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_source, d)), rng.normal(size=(n_target, d)) * 0.8 + 0.4


def gaussian_kernel(rows, centres, bandwidth):
    """Return the kernel between standardised rows and centres, term by term."""
    distances = ((rows[:, None, :] - centres) ** 2).sum(axis=2)
    return np.exp(-distances / (2 * bandwidth**2))


def standardised(ratio, X, X_target):
    """Return the standardised rows of both samples, in the random order that a fit sees."""
    both, codes = np.vstack([X, X_target]), np.repeat([0, 1], [len(X), len(X_target)])
    places = shuffled(both, codes, np.random.RandomState(0))
    return [ratio.encoder_.numbers(both[rows]) for rows in places]
