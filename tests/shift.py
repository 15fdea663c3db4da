"""A mean shift with a known ratio, and the error of weights."""

import numpy as np

from weighbridge import fit_ratio


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
