"""Simulated regressions with a known ratio: a line problem with exact limits, Gaussian shift."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from scipy import stats
from sklearn.utils import Bunch, check_random_state

from weighbridge.geodesic import log_weight
from weighbridge.ratios import KnownRatio

# Source, target and noise of each reading.
_QUADRATIC = {
    "variances": (stats.norm(0, 5**0.5), stats.norm(-5, 0.5**0.5), stats.norm(0, 5**0.5)),
    "noise_sd": (stats.norm(0, 5**0.5), stats.norm(-5, 0.5**0.5), stats.norm(0, 5)),
    "all_sd": (stats.norm(0, 5), stats.norm(-5, 0.5), stats.norm(0, 5)),
    "script": (stats.uniform(-6, 11), stats.uniform(-6, 2), stats.uniform(-5, 10)),
}


@dataclass(frozen=True)
class LineProblem:
    """A regression problem whose best weighted straight line is known for every weighting.

    Parameters
    ----------
    response : tuple of float
        Coefficients of the polynomial ``E[y | x]``, constant first.
    source, target : frozen scipy.stats distribution
        Distributions of the feature.
    noise : frozen scipy.stats distribution
        Distribution of ``y - E[y | x]``, with mean 0.

    Examples
    --------
    >>> from weighbridge.datasets import make_quadratic
    >>> problem = make_quadratic(random_state=0).problem
    >>> round(problem.limit(lam=0), 1), round(problem.limit(lam=1), 1)  # ERM, IWERM
    (475.8, 5.5)
    """

    response: tuple[float, ...]
    source: Any
    target: Any
    noise: Any

    def mse(self, line: Any) -> float:
        """Mean squared error of a line on the target, ``E[(y - a - b x)**2]``, in closed form.

        The line is a pair (intercept a, slope b), or a fitted linear model.
        """
        if hasattr(line, "coef_"):
            line = (np.ravel(line.intercept_)[0], np.ravel(line.coef_)[0])
        squared = (Polynomial(self.response) - Polynomial(line)) ** 2
        moments = [1.0] + [self.target.moment(order) for order in range(1, squared.degree() + 1)]
        return float(squared.coef @ moments + self.noise.var())

    def line(self, lam: float, alpha: float = 1.0) -> tuple[float, float]:
        """Intercept a and slope b that a weighted fit tends to as the source sample grows.

        They minimise ``E[w (y - a - b x)**2]`` under the source, w being the weights
        ``Geodesic(lam, alpha)``. The integrals are computed by Gauss-Legendre quadrature.
        """
        # The integrals end at the supports, or at 12 standard deviations.
        both, reach = (self.source, self.target), np.array([-12, 12])
        edges = np.unique([np.clip(d.mean() + reach * d.std(), *d.support()) for d in both])
        node, weight = np.polynomial.legendre.leggauss(600)
        centre, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
        x, step = (centre[:, None] + half[:, None] * node).ravel(), (half[:, None] * weight).ravel()
        log_source = self.source.logpdf(x)
        inside = np.isfinite(log_source)
        x, step, log_source = x[inside], step[inside], log_source[inside]
        log_ratio = self.target.logpdf(x) - log_source
        mass = step * np.exp(log_source + log_weight(log_ratio, lam, alpha))
        mass /= mass.sum()
        mean = mass @ x
        response = Polynomial(self.response)(x)
        slope = (mass * (x - mean)) @ response / (mass @ (x - mean) ** 2)
        return float(mass @ response - slope * mean), float(slope)

    def limit(self, lam: float, alpha: float = 1.0) -> float:
        """Target mean squared error of ``line(lam, alpha)``, the limit of a weighted fit."""
        return self.mse(self.line(lam, alpha))

    def sample(self, n_source: int, n_target: int, random_state: Any = None) -> Bunch:
        """Draw source and target rows; return what `make_quadratic` returns."""
        rng = check_random_state(random_state)
        X = self.source.rvs(size=(n_source, 1), random_state=rng)
        X_target = self.target.rvs(size=(n_target, 1), random_state=rng)
        y, y_target = (
            Polynomial(self.response)(sample[:, 0]) + self.noise.rvs(len(sample), random_state=rng)
            for sample in (X, X_target)
        )
        ratio = KnownRatio(source=self.source, target=self.target)
        samples = {"X": X, "y": y, "X_target": X_target, "y_target": y_target}
        return Bunch(**samples, ratio=ratio, log_ratio=ratio.score_samples(X), problem=self)


def make_quadratic(
    n_source: int | None = None,
    n_target: int | None = None,
    *,
    reading: str = "variances",
    random_state: Any = None,
) -> Bunch:
    """The paper's illustrative example: ``y = x**2 + noise``, fitted by a straight line.

    The paper gives N(0, 5), N(-5, 0.5) and N(0, 5) for source, target and noise, and says that the
    second number is a variance. None of the readings reproduces its printed table.

    Parameters
    ----------
    n_source, n_target : int, optional
        Numbers of rows. Default: 1000 and 300 as in the paper (400 and 200 for "script").
    reading : {"variances", "noise_sd", "all_sd", "script"}
        "variances": as the text says. "noise_sd": the noise has standard deviation 5.
        "all_sd": all three are standard deviations. "script": the authors' example script, uniform
        on (-6, 5), (-6, -4) and (-5, 5).
    random_state : int, RandomState instance or None
        Seed.

    Returns
    -------
    Bunch
        ``X``, ``y``, ``X_target``, ``y_target``, the true ``ratio`` (a `KnownRatio`) and
        ``log_ratio`` at the source rows, and ``problem`` (a `LineProblem`) with every limit.

    Examples
    --------
    >>> from weighbridge.datasets import make_quadratic
    >>> data = make_quadratic(random_state=0)
    >>> data.X.shape, data.X_target.shape
    ((1000, 1), (300, 1))
    """
    if reading not in _QUADRATIC:
        raise ValueError(f"Got reading={reading!r}, but expected one of {sorted(_QUADRATIC)}.")
    rows = (400, 200) if reading == "script" else (1000, 300)
    n_source = rows[0] if n_source is None else n_source
    n_target = rows[1] if n_target is None else n_target
    problem = LineProblem((0.0, 0.0, 1.0), *_QUADRATIC[reading])
    return problem.sample(n_source, n_target, random_state)


def make_cubic(n_source: int = 100, n_target: int = 100, *, random_state: Any = None) -> Bunch:
    """Shimodaira's (2000) example: ``y = x**3 - x + noise``, fitted by a straight line.

    Source N(0.5, 0.5**2), target N(0, 0.3**2), noise N(0, 0.3**2).

    Parameters
    ----------
    n_source, n_target : int, default=100
        Numbers of rows.
    random_state : int, RandomState instance or None
        Seed.

    Returns
    -------
    Bunch
        As in `make_quadratic`.

    Examples
    --------
    >>> from weighbridge.datasets import make_cubic
    >>> problem = make_cubic(random_state=0).problem
    >>> problem.limit(lam=1) < problem.limit(lam=0)
    True
    """
    problem = LineProblem(
        (0.0, -1.0, 0.0, 1.0), stats.norm(0.5, 0.5), stats.norm(0, 0.3), stats.norm(0, 0.3)
    )
    return problem.sample(n_source, n_target, random_state)


def make_gaussian_shift(
    n_source: int = 1000,
    n_target: int = 1000,
    *,
    n_features: int = 1,
    shift: float = 1.0,
    scale: float = 1.0,
    noise: float = 0.5,
    random_state: Any = None,
) -> Bunch:
    """Source N(0, I), target N(mean, scale**2 I), and a response that bends along the shift.

    Parameters
    ----------
    n_source, n_target : int, default=1000
        Numbers of rows.
    n_features : int, default=1
        Number of columns.
    shift : float, default=1.0
        Length of the mean, which has equal entries.
    scale : float, default=1.0
        Standard deviation of every target column. Above sqrt(2) the ratio's variance is infinite.
    noise : float, default=0.5
        Standard deviation of ``y - E[y | x]``; ``E[y | x] = z + z**2 / 2``, z being the
        coordinate along the shift.
    random_state : int, RandomState instance or None
        Seed.

    Returns
    -------
    Bunch
        ``X``, ``y``, ``X_target``, ``y_target``, the true ``ratio`` (a `KnownRatio`) and
        ``log_ratio`` at the source rows.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge.datasets import make_gaussian_shift
    >>> data = make_gaussian_shift(shift=1.0, random_state=0)
    >>> np.allclose(data.log_ratio, data.X[:, 0] - 0.5)
    True
    """
    for name, value in (("n_features", n_features), ("scale", scale)):
        if not value > 0:
            raise ValueError(f"Got {name}={value}, but it must be positive.")
    rng = check_random_state(random_state)
    direction = np.full(n_features, n_features**-0.5)
    mean = shift * direction
    X = rng.standard_normal((n_source, n_features))
    X_target = mean + scale * rng.standard_normal((n_target, n_features))
    y, y_target = (
        z + z**2 / 2 + noise * rng.standard_normal(z.size)
        for z in (X @ direction, X_target @ direction)
    )
    ratio = KnownRatio(partial(_log_ratio, mean=mean, scale=scale))
    samples = {"X": X, "y": y, "X_target": X_target, "y_target": y_target}
    return Bunch(**samples, ratio=ratio, log_ratio=ratio.score_samples(X))


def _log_ratio(X: Any, mean: np.ndarray, scale: float) -> np.ndarray:
    """Return the log ratio of N(mean, scale**2 I) to N(0, I)."""
    X = np.asarray(X, dtype=float)
    deviations = (X - mean) / scale
    return (X**2 - deviations**2).sum(axis=1) / 2 - mean.size * np.log(scale)
