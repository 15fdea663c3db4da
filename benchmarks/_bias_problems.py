"""Forty problems whose statistical bias is known, and the fits of linear models under many weights.

The source is N(0, I). The target has mean `mean` and standard deviation `sd` along the first column
z, and standard deviation `others` along all others; so the covariates are normal and the log ratio
is known. What y depends on lies in z and the second column u: by symmetry every other column has
coefficient 0 in the infinite sample, and integrals over z, u and the squared length of the rest are
all there is to a population fit. No model is right: with a right one every weighting has the same
limit and there is no bias to rank.
"""

from dataclasses import dataclass
from hashlib import sha256
from itertools import product

import numpy as np
from scipy.special import expit, roots_genlaguerre
from scipy.stats import norm, qmc

# E[y | x] of the regressions and log odds of the classes, as functions of z and u.
REGRESSIONS = {
    "quadratic": lambda z, u: z + z**2 / 2,
    "sine": lambda z, u: 2 * np.sin(1.5 * z),
    "step": lambda z, u: 2 * np.tanh(3 * z) - z / 2,
    "product": lambda z, u: z * u + u,
}
CLASSES = {
    "curved": lambda z, u: 4 * (u + z**2 - 1),
    "crossed": lambda z, u: 4 * z * u + u,
    "bump": lambda z, u: 3 - 2 * z**2 + u,
    "wave": lambda z, u: 3 * np.sin(2 * z) + u,
}
# (mean, sd, others): weak, middle, strong, far, narrower, the paper's Figure 1, wider, all columns.
SHIFTS = {
    "weak": (0.5, 1.0, 1.0),
    "middle": (1.0, 1.0, 1.0),
    "strong": (1.5, 1.0, 1.0),
    "far": (2.0, 1.0, 1.0),
    "narrow": (1.0, 0.7, 1.0),
    "figure 1": (2.0, 0.5, 1.0),
    "wide": (0.5, 1.2, 1.0),
    "all columns": (1.0, 0.8, 0.8),
}
N_TARGET = 1024


@dataclass(frozen=True)
class BiasProblem:
    """One of the forty: what y depends on, where the target is, how many columns there are."""

    name: str
    truth: object
    shift: tuple
    d: int
    classes: bool = False
    noise: float = 0.5

    def log_ratio(self, z, rest):
        """Log ratio at z and at the squared length of all other columns."""
        mean, sd, others = self.shift
        gap = (z**2 - ((z - mean) / sd) ** 2) / 2 - np.log(sd)
        return gap + (rest - rest / others**2) / 2 - (self.d - 1) * np.log(others)

    def respond(self, z, u):
        """E[y | x]: a mean, or the probability of class 1."""
        value = self.truth(z, u) + 0.0 * z
        return expit(value) if self.classes else value

    def nodes(self, finer=1.0):
        """Quadrature of the source: design, E[y | x], log ratio and mass at the nodes."""
        mean, sd, others = self.shift
        rest = self.d > 2 and others != 1
        steps = [int(finer * k) for k in ((101, 61, 12) if rest else (201, 81, 1))]
        # on smooth functions that fade out the trapezoidal rule is as good as Gauss
        low, high = min(-7.0, mean - 7 * sd), max(7.0, mean + 7 * sd)
        z, u = np.linspace(low, high, steps[0]), np.linspace(-7, 7, steps[1])
        rho, share = np.zeros(1), np.ones(1)
        if rest:  # squared length of d - 2 columns: chi-squared
            rho, share = roots_genlaguerre(steps[2], (self.d - 2) / 2 - 1)
            rho, share = 2 * rho, share / share.sum()
        if self.d == 1:
            u, u_mass = np.zeros(1), np.ones(1)
        else:
            u_mass = norm.pdf(u) / norm.pdf(u).sum()
        z_mass = norm.pdf(z) / norm.pdf(z).sum()
        mass = (z_mass[:, None, None] * u_mass[:, None] * share).ravel()
        z, u, rho = (each.ravel() for each in np.meshgrid(z, u, rho, indexing="ij"))
        design = np.column_stack([np.ones_like(z), z, u][: 2 + (self.d > 1)])
        return design, self.respond(z, u), self.log_ratio(z, u**2 + rho), mass

    def draw(self, n, rng):
        """A labelled source sample: design, y and log ratio."""
        X = rng.standard_normal((n, self.d))
        expected = self.respond(X[:, 0], X[:, min(1, self.d - 1)])
        if self.classes:
            y = (rng.random(n) < expected).astype(float)
        else:
            y = expected + self.noise * rng.standard_normal(n)
        return with_constant(X), y, self.log_ratio(X[:, 0], (X[:, 1:] ** 2).sum(axis=1))

    def target_rows(self):
        """Rows that stand for the target (a Sobol sequence), and E[y | x] there."""
        mean, sd, others = self.shift
        X = norm.ppf(qmc.Sobol(self.d, rng=0).random(N_TARGET))
        X *= np.append(sd, np.full(self.d - 1, others))
        X[:, 0] += mean
        return with_constant(X), self.respond(X[:, 0], X[:, min(1, self.d - 1)])


def forty():
    """The problems by name: 26 regressions (a straight line) and 14 classifications (logistic)."""
    found = [
        BiasProblem(
            "toy, quadratic", lambda z, u: 5 * z**2, (-(5**0.5), 0.1**0.5, 1.0), 1, noise=5
        ),
        BiasProblem("toy, cubic", _cubic, (-1.0, 0.6, 1.0), 1, noise=0.3),
    ]
    dims = {"quadratic": (2, 5, 10, 1), "sine": (1, 5, 10, 2), "step": (5, 1, 2), "product": (2, 5)}
    shifts = ("middle", "strong", "far", "narrow", "figure 1")
    pairs = list(product(REGRESSIONS, shifts))
    pairs += [("quadratic", "all columns"), ("sine", "all columns")]
    pairs += [("step", "wide"), ("product", "weak")]
    for place, (truth, shift) in enumerate(pairs):
        d = dims[truth][place % len(dims[truth])]
        found.append(BiasProblem(f"{truth}, {shift}", REGRESSIONS[truth], SHIFTS[shift], d))
    pairs = [(truth, shift) for truth in CLASSES for shift in ("middle", "strong", "narrow")]
    pairs += [("curved", "weak"), ("crossed", "all columns")]
    for place, (truth, shift) in enumerate(pairs):
        d = (2, 3, 5)[place % 3]
        found.append(BiasProblem(f"{truth}, {shift}", CLASSES[truth], SHIFTS[shift], d, True))
    return {each.name: each for each in found}


def _cubic(z, u):
    """Shimodaira's cubic, -x + x**3 at x = (1 + z)/2."""
    x = (1 + z) / 2
    return x**3 - x


def name_half(name):
    """The half a problem or set belongs to, by the parity of the hash of its name."""
    return "report" if int(sha256(name.encode()).hexdigest(), 16) % 2 else "choose"


def with_constant(X):
    return np.column_stack([np.ones(len(X)), X])


def fit(A, y, weights, classes, penalty=0.0):
    """Coefficients (k, p) and inverse Hessians (k, p, p) of linear models under weights (k, n)."""
    p = A.shape[1]
    pairs = (A[:, :, None] * A[:, None, :]).reshape(len(A), -1)
    ridge = penalty * np.diag(np.append(0.0, np.ones(p - 1)))
    if not classes:
        inverse = np.linalg.inv((weights @ pairs).reshape(-1, p, p) + ridge)
        return np.einsum("kij,kj->ki", inverse, (weights * y) @ A), inverse
    beta = np.zeros((len(weights), p))
    value = _penalised(A, y, weights, beta, ridge)
    for _ in range(60):
        chance = expit(beta @ A.T)
        gradient = (weights * (chance - y)) @ A + beta @ ridge
        hessian = ((weights * chance * (1 - chance)) @ pairs).reshape(-1, p, p) + ridge
        inverse = np.linalg.inv(hessian)
        step = np.einsum("kij,kj->ki", inverse, gradient)
        size = np.ones(len(weights))
        for _ in range(30):  # halve the steps that do not lower the loss
            new = beta - size[:, None] * step
            now = _penalised(A, y, weights, new, ridge)
            bad = now > value + 1e-13 * np.abs(value)
            if not bad.any():
                break
            size[bad] /= 2
        beta, value = new, now
        if np.abs(step).max() < 1e-7:
            return beta, inverse
    raise ArithmeticError("logistic regression did not converge")


def _penalised(A, y, weights, beta, ridge):
    return (weights * log_loss(beta @ A.T, y)).sum(axis=1) + np.einsum(
        "ki,ij,kj->k", beta, ridge, beta
    ) / 2


def log_loss(eta, y):
    """Negative log likelihood of log odds `eta`, for labels or probabilities of class 1."""
    # logaddexp, three times as fast
    return np.maximum(eta, 0) + np.log1p(np.exp(-np.abs(eta))) - y * eta
