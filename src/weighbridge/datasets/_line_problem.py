"""One feature, a curved response, a straight line to fit it with: every limit is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from scipy import stats
from sklearn.utils import Bunch, check_random_state

from weighbridge.geodesic import log_weight
from weighbridge.ratios import KnownRatio

# name: (source, target, noise, default numbers of rows)
_QUADRATIC = {
    "variances": (stats.norm(0, 5**0.5), stats.norm(-5, 0.5**0.5), stats.norm(0, 5**0.5)),
    "noise_sd": (stats.norm(0, 5**0.5), stats.norm(-5, 0.5**0.5), stats.norm(0, 5)),
    "all_sd": (stats.norm(0, 5), stats.norm(-5, 0.5), stats.norm(0, 5)),
    "script": (stats.uniform(-6, 11), stats.uniform(-6, 2), stats.uniform(-5, 10)),
}
_ROWS = {"script": (400, 200)}


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
        """Mean squared error of a straight line on the target, in closed form.

        Parameters
        ----------
        line : (intercept, slope), or a fitted linear model
            The line.

        Returns
        -------
        float
            ``E[(y - intercept - slope * x)**2]`` under the target.
        """
        if hasattr(line, "coef_"):
            line = (np.ravel(line.intercept_)[0], np.ravel(line.coef_)[0])
        intercept, slope = line
        gap = Polynomial(self.response) - Polynomial((intercept, slope))
        squared = gap**2
        moments = [1.0] + [self.target.moment(order) for order in range(1, squared.degree() + 1)]
        return float(squared.coef @ moments + self.noise.var())

    def line(self, lam: float, alpha: float = 1.0) -> tuple[float, float]:
        """Intercept and slope that a weighted fit tends to as the source sample grows.

        Parameters
        ----------
        lam, alpha : float
            The weighting.

        Returns
        -------
        intercept, slope : float
            Minimiser of ``E[w (y - a - b x)**2]`` under the source, by Gauss-Legendre quadrature.
        """
        x, step = self._nodes()
        log_source = self.source.logpdf(x)
        inside = np.isfinite(log_source)
        x, step, log_source = x[inside], step[inside], log_source[inside]
        log_ratio = self.target.logpdf(x) - log_source
        mass = step * np.exp(log_source + log_weight(log_ratio, lam, alpha))
        mass /= mass.sum()
        mean = mass @ x
        value = Polynomial(self.response)(x)
        slope = (mass * (x - mean)) @ value / (mass @ (x - mean) ** 2)
        return float(mass @ value - slope * mean), float(slope)

    def limit(self, lam: float, alpha: float = 1.0) -> float:
        """Target mean squared error that a weighted fit tends to as the source sample grows.

        Parameters
        ----------
        lam, alpha : float
            The weighting.

        Returns
        -------
        float
            ``mse(line(lam, alpha))``.
        """
        return self.mse(self.line(lam, alpha))

    def sample(self, n_source: int, n_target: int, random_state: Any = None) -> Bunch:
        """Draw labelled source rows and target rows (their labels kept apart).

        Parameters
        ----------
        n_source, n_target : int
            Numbers of rows.
        random_state : int, RandomState instance or None
            Seed.

        Returns
        -------
        Bunch
            ``X``, ``y``, ``X_target``, ``y_target``, ``ratio`` (a `KnownRatio`), ``log_ratio`` (at
            the source rows) and ``problem``.
        """
        rng = check_random_state(random_state)
        x, x_target = (
            dist.rvs(size=size, random_state=rng)
            for dist, size in ((self.source, n_source), (self.target, n_target))
        )
        respond = Polynomial(self.response)
        y, y_target = (
            respond(z) + self.noise.rvs(size=z.size, random_state=rng) for z in (x, x_target)
        )
        ratio = KnownRatio(source=self.source, target=self.target)
        X = x[:, None]
        samples = {"X": X, "y": y, "X_target": x_target[:, None], "y_target": y_target}
        return Bunch(**samples, ratio=ratio, log_ratio=ratio.score_samples(X), problem=self)

    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Gauss-Legendre nodes and weights between the edges of the two distributions."""
        node, weight = np.polynomial.legendre.leggauss(600)
        edges = np.unique(np.concatenate([_edges(self.source), _edges(self.target)]))
        centre, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
        return (centre[:, None] + half[:, None] * node).ravel(), (half[:, None] * weight).ravel()


def _edges(dist: Any) -> list[float]:
    """Ends of the support, or 12 standard deviations where there are none."""
    low, high = dist.support()
    mean, sd = dist.mean(), dist.std()
    return [max(low, mean - 12 * sd), min(high, mean + 12 * sd)]


def make_quadratic(
    n_source: int | None = None,
    n_target: int | None = None,
    *,
    reading: str = "variances",
    random_state: Any = None,
) -> Bunch:
    """The paper's illustrative example: ``y = x**2 + noise``, fitted by a straight line.

    The paper gives N(0, 5), N(-5, 0.5) and N(0, 5) for source, target and noise, and says that the
    second number is a variance; its printed table follows from none of the readings.

    Parameters
    ----------
    n_source, n_target : int, optional
        Numbers of rows; default 1000 and 300 as in the paper (400 and 200 for "script").
    reading : {"variances", "noise_sd", "all_sd", "script"}
        "variances": the text to the letter. "noise_sd": the noise has standard deviation 5.
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
    source, target, noise = _QUADRATIC[reading]
    rows = _ROWS.get(reading, (1000, 300))
    return LineProblem((0.0, 0.0, 1.0), source, target, noise).sample(
        rows[0] if n_source is None else n_source,
        rows[1] if n_target is None else n_target,
        random_state,
    )


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
