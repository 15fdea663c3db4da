"""Pairs of samples whose log density ratio is known exactly.

Each problem is a function of (n, rng) and returns n source rows, n target rows, and the true log
ratio at the source rows.
"""

import numpy as np
from scipy.special import logsumexp


def mean_shift(n_columns, length=1.0):
    """N(0, I) to N(mean, I), the mean of the given length with equal entries."""
    mean = np.full(n_columns, length / np.sqrt(n_columns))

    def draw(n, rng):
        X = rng.standard_normal((n, n_columns))
        X_target = mean + rng.standard_normal((n, n_columns))
        return X, X_target, X @ mean - mean @ mean / 2

    return draw


def scale_shift(n, rng, n_columns=2, scale=0.6):
    """N(0, I) to N(0, scale**2 I)."""
    X = rng.standard_normal((n, n_columns))
    X_target = scale * rng.standard_normal((n, n_columns))
    return X, X_target, _log_normal(X, 0, scale) - _log_normal(X, 0, 1)


def mixture(n, rng, wide=2.0, narrow=0.7):
    """One wide bump to two narrow ones; the ratio is bounded."""
    centres = np.array([[-1.5, 0.0], [1.5, 0.5]])
    X = wide * rng.standard_normal((n, 2))
    X_target = centres[rng.integers(2, size=n)] + narrow * rng.standard_normal((n, 2))
    bumps = [_log_normal(X, centre, narrow) for centre in centres]
    return X, X_target, logsumexp(bumps, axis=0) - np.log(2) - _log_normal(X, 0, wide)


def heavy_tails(n, rng, freedom=3):
    """Student t of two columns, shifted by one; the ratio is bounded."""
    mean = np.array([1.0, 0.0])
    X, X_target = (
        rng.standard_normal((n, 2)) / np.sqrt(rng.chisquare(freedom, (n, 1)) / freedom)
        for _ in range(2)
    )
    near, far = (1 + ((X - centre) ** 2).sum(axis=1) / freedom for centre in (mean, 0))
    return X, X_target + mean, (freedom + 2) / 2 * (np.log(far) - np.log(near))


def categorical(n, rng):
    """One column of three categories, coded 0, 1, 2."""
    source, target = np.array([[252, 232, 516], [351, 339, 310]]) / 1000
    X = rng.choice(3, size=n, p=source)
    X_target = rng.choice(3, size=n, p=target)
    log_ratio = np.log(target / source)[X]
    return X[:, None].astype(float), X_target[:, None].astype(float), log_ratio


def noise_columns(n, rng, correlation=0.5):
    """5 correlated columns shift, by one standard distance; 15 correlated columns do not."""
    roots = [np.linalg.cholesky(_equal_correlation(k, correlation)) for k in (5, 15)]

    def rows():
        return np.hstack([rng.standard_normal((n, len(root))) @ root.T for root in roots])

    precision = np.linalg.inv(_equal_correlation(5, correlation))
    mean = np.ones(5) / np.sqrt(precision.sum())
    X, X_target = rows(), rows()
    X_target[:, :5] += mean
    return X, X_target, (X[:, :5] - mean / 2) @ precision @ mean


def no_shift(n, rng, n_columns=5):
    """Both samples N(0, I): every weight should be 1."""
    X, X_target = rng.standard_normal((2, n, n_columns))
    return X, X_target, np.zeros(n)


def steps(n_columns, high=1.8):
    """Uniform; the ratio is `high` or 2 - `high`, in blocks.

    It is high where either column 0 is in its middle half or column 1 in its upper half, not both.
    No column by itself, no square and no product of two columns tells the samples apart. With 4
    columns trees, neighbours and narrow kernels can; with 8 hardly any but trees.
    """

    def draw(n, rng):
        X = rng.random((n, n_columns))
        proposals = rng.random((8 * n, n_columns))
        kept = rng.random(8 * n) * high < np.exp(_log_steps(proposals, high))
        X_target = proposals[kept][:n]  # 8 n proposals leave fewer than n once in an eternity
        return X, X_target, _log_steps(X, high)

    return draw


def one_hot(codes, n_categories=3):
    """Turn a column of codes into indicator columns, for packages that know numbers only."""
    return np.eye(n_categories)[codes[:, 0].astype(int)]


def _log_steps(X, high):
    is_high = (np.abs(X[:, 0] - 0.5) < 0.25) ^ (X[:, 1] > 0.5)
    return np.log(np.where(is_high, high, 2 - high))


def _log_normal(X, mean, scale):
    """Return the log density of N(mean, scale**2 I), without the constant of 2 pi."""
    return -(((X - mean) / scale) ** 2).sum(axis=1) / 2 - X.shape[1] * np.log(scale)


def _equal_correlation(size, correlation):
    return (1 - correlation) * np.eye(size) + correlation


PROBLEMS = {
    "mean shift, 1 column": mean_shift(1),
    "mean shift, 8 columns": mean_shift(8),
    "mean shift, 50 columns": mean_shift(50),
    "scale shift": scale_shift,
    "mixture": mixture,
    "heavy tails": heavy_tails,
    "categorical": categorical,
    "noise columns": noise_columns,
    "no shift": no_shift,
    "nearly separable": mean_shift(5, length=3.0),
    "steps, 4 columns": steps(4),
    "steps, 8 columns": steps(8),
}
