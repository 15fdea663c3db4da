"""Penalised linear models with a smooth loss, fitted under any weights by Newton's method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.linalg import helmert
from scipy.special import boxcox, expit, gammaln, logsumexp, softmax

# Losses of shape (n,), slopes (n, k) and curvatures (n, k, k) in k predictors.
Terms: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
# Losses and gradients of the rows, and the weighted sum of their Hessians, in all parameters.
Derivatives: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
# exp overflows beyond; a Newton step that lands there is damped.
_MAX_EXPONENT = 700.0
# Eigenvalues below this share of the largest are rounding errors.
ROUNDING = 1e-12
# Largest squared Newton decrement of a solution, relative to its value, and number of steps.
_TOLERANCE, _MAX_STEPS = 1e-18, 200


@dataclass(frozen=True)
class Likelihood:
    """The losses of rows with labels y, as a function of predictors of shape (n, k).

    The first `n_linear` predictors are linear in the features, and the other `n_scales` constant.
    """

    terms: Callable[[np.ndarray], Terms]
    y: np.ndarray
    n_linear: int = 1
    n_scales: int = 0
    # The scorer with the same minimum, and predictions at one predictor, for leave-one-out.
    scoring: str = ""
    response: Callable[[np.ndarray], np.ndarray] = np.asarray
    # Linear predictor of a fit to start from.
    level: np.ndarray | float = 0.0

    @property
    def is_quadratic(self) -> bool:
        """Whether one Newton step from any point is exact."""
        return self.scoring == "neg_mean_squared_error"


def normal(y: np.ndarray) -> Likelihood:
    """Return ``(y - eta)^2 / 2``."""

    def terms(eta: np.ndarray) -> Terms:
        error = eta - y[:, None]
        return np.square(error[:, 0]) / 2, error, np.ones((y.size, 1, 1))

    return Likelihood(terms, y, scoring="neg_mean_squared_error")


def logistic(y: np.ndarray) -> Likelihood:
    """Return ``log(1 + exp(eta)) - y eta`` of classes 0 and 1; see `multinomial` for more."""
    if y.max() > 1:
        return multinomial(y)

    def terms(eta: np.ndarray) -> Terms:
        eta, mean = eta[:, 0], expit(eta)
        loss = np.logaddexp(0.0, eta) - y * eta
        return loss, mean - y[:, None], (mean * (1 - mean))[:, :, None]

    def response(eta: np.ndarray) -> np.ndarray:
        return np.stack([expit(-eta), expit(eta)], axis=-1)

    return Likelihood(terms, y, scoring="neg_log_loss", response=response)


def multinomial(y: np.ndarray) -> Likelihood:
    """Return the negative log likelihood of classes, in orthonormal contrasts of their scores.

    The contrasts leave no redundant parameter, and keep the squared norm of the coefficients,
    which scikit-learn penalises.
    """
    n_classes = int(y.max()) + 1
    indicators, contrasts = np.eye(n_classes)[y.astype(int)], helmert(n_classes).T

    def terms(eta: np.ndarray) -> Terms:
        scores = eta @ contrasts.T
        probabilities = softmax(scores, axis=1)
        loss = logsumexp(scores, axis=1) - (scores * indicators).sum(axis=1)
        mean = probabilities @ contrasts
        second = np.einsum("ka,nk,kb->nab", contrasts, probabilities, contrasts, optimize=True)
        curvature = second - mean[:, :, None] * mean[:, None, :]
        return loss, (probabilities - indicators) @ contrasts, curvature

    return Likelihood(terms, y, n_linear=n_classes - 1)


def poisson(y: np.ndarray) -> Likelihood:
    """Return ``exp(eta) - y eta + log(y!)`` of counts."""
    if (y < 0).any():
        raise ValueError(
            f"Got a negative label ({y.min():g}). PoissonRegressor needs labels of 0 or more."
        )

    def response(eta: np.ndarray) -> np.ndarray:
        return np.asarray(np.exp(np.minimum(eta, _MAX_EXPONENT)))

    def terms(eta: np.ndarray) -> Terms:
        mean = response(eta)
        loss = mean[:, 0] - y * eta[:, 0] + gammaln(y + 1)
        return loss, mean - y[:, None], mean[:, :, None]

    level, scoring = float(np.log(y.mean() or 1.0)), "neg_mean_poisson_deviance"
    return Likelihood(terms, y, scoring=scoring, response=response, level=level)


def tweedie(y: np.ndarray, power: float, has_log_link: bool) -> Likelihood:
    """Return half the unit deviance of a power."""

    def terms(eta: np.ndarray) -> Terms:
        mean = np.exp(eta[:, 0]) if has_log_link else eta[:, 0]
        slope = (mean - y) * mean**-power  # in the mean
        curvature = mean**-power - power * (mean - y) * mean ** (-power - 1)
        if has_log_link:
            slope, curvature = slope * mean, curvature * mean**2 + slope * mean
        if power == 0:
            loss = np.square(y - mean) / 2
        else:
            saturated = np.where(y == 0, 0.0, y * boxcox(y, 1 - power)) - boxcox(y, 2 - power)
            loss = saturated - y * boxcox(mean, 1 - power) + boxcox(mean, 2 - power)
            loss = np.where(mean > 0, loss, np.inf)
        return loss, slope[:, None], curvature[:, None, None]

    level = np.log(np.abs(y).mean() or 1.0) if has_log_link else y.mean()
    return Likelihood(terms, y, level=float(level))


def huber(y: np.ndarray, epsilon: float) -> Likelihood:
    """Return ``sigma + H((y - eta) / sigma) sigma``; the scale sigma is the second predictor.

    H is a square up to epsilon, and a line beyond.
    """

    def terms(eta: np.ndarray) -> Terms:
        residual, sigma = (y - eta[:, 0]) / eta[:, 1], eta[:, 1]
        clipped = np.clip(residual, -epsilon, epsilon)
        loss = np.where(sigma > 0, sigma * (1 + clipped * (2 * residual - clipped)), np.inf)
        along = np.column_stack([np.ones_like(residual), residual])
        curvature = np.where(clipped == residual, 2 / sigma, 0.0)
        outer = curvature[:, None, None] * along[:, :, None] * along[:, None, :]
        return loss, np.column_stack([-2 * clipped, 1 - clipped**2]), outer

    return Likelihood(terms, y, n_scales=1, level=y)


def scaled_eigen(hessian: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scales of the parameters, and in these units eigenvalues and eigenvectors.

    Eigenvalues that are rounding errors become 0.
    """
    diagonal = np.abs(np.diag(hessian))
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(scale[:, None] * hessian * scale)
    values[np.abs(values) <= ROUNDING * np.abs(values).max()] = 0.0
    return scale, values, vectors


def pseudo_inverse(hessian: np.ndarray) -> np.ndarray:
    """Invert a symmetric matrix; directions of eigenvalue 0 are left out."""
    scale, values, vectors = scaled_eigen(hessian)
    reciprocal = np.divide(1.0, values, out=np.zeros_like(values), where=values != 0)
    basis = scale[:, None] * vectors
    return np.asarray((basis * reciprocal) @ basis.T)


class LinearFit:
    """Minimises ``sum w l(Z theta) + c theta' P theta / 2`` for a diagonal P.

    The factor c is 1, or the sum of the weights if `is_mean` (scikit-learn then penalises the mean
    of the losses). There is one table Z for each predictor of the likelihood, and theta holds the
    coefficients of all of them.
    """

    def __init__(
        self, likelihood: Likelihood, features: np.ndarray, penalty: np.ndarray, *, is_mean: bool
    ) -> None:
        n_linear, n_scales = likelihood.n_linear, likelihood.n_scales
        self.likelihood, self.is_mean = likelihood, is_mean
        self.tables = [features] * n_linear + [np.ones((len(features), 1))] * n_scales
        self.diagonal = np.append(np.tile(penalty, n_linear), np.zeros(n_scales))
        coef = np.linalg.lstsq(features, np.full(len(features), likelihood.level))[0]
        scale = np.std(likelihood.y - features @ coef)
        # Parameters to start from.
        self.start = np.append(np.tile(coef, n_linear), np.full(n_scales, scale))

    def penalty(self, weights: np.ndarray) -> np.ndarray:
        """Return the diagonal of the penalty."""
        return self.diagonal * (weights.sum() if self.is_mean else 1.0)

    def predictors(self, theta: np.ndarray) -> np.ndarray:
        """Return the predictors of the rows, of shape (n, k)."""
        sizes = np.cumsum([Z.shape[1] for Z in self.tables])[:-1]
        pairs = zip(self.tables, np.split(theta, sizes), strict=True)
        return np.column_stack([Z @ coef for Z, coef in pairs])

    def _sums(
        self, slope: np.ndarray, curvature: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return weighted sums of the gradients and Hessians in theta, without the penalty."""
        pairs = list(enumerate(self.tables))
        gradient = np.concatenate([Z.T @ (weights * slope[:, a]) for a, Z in pairs])
        rows = [[(Z.T * (weights * curvature[:, a, b])) @ V for b, V in pairs] for a, Z in pairs]
        return gradient, np.block(rows)

    @np.errstate(all="ignore")  # steps that go too far are damped
    def derivatives(self, theta: np.ndarray, weights: np.ndarray) -> Derivatives:
        """Return losses and gradients of the rows, and the weighted sum of their Hessians."""
        losses, slope, curvature = self.likelihood.terms(self.predictors(theta))
        gradients = [slope[:, [a]] * Z for a, Z in enumerate(self.tables)]
        return losses, np.hstack(gradients), self._sums(slope, curvature, weights)[1]

    @np.errstate(all="ignore")
    def solve(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the minimum and the Hessian there; raise ValueError if none is found."""
        penalty = self.penalty(weights)

        def evaluate(theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
            losses, slope, curvature = self.likelihood.terms(self.predictors(theta))
            gradient, hessian = self._sums(slope, curvature, weights)
            value = float(weights @ losses + penalty @ theta**2 / 2)
            return value, gradient + penalty * theta, hessian + np.diag(penalty)

        theta, damping = self.start, 0.0
        value, gradient, hessian = evaluate(theta)
        if self.likelihood.is_quadratic:
            return np.asarray(theta - pseudo_inverse(hessian) @ gradient), hessian
        for _ in range(_MAX_STEPS):
            scale, values, vectors = scaled_eigen(hessian)
            # Absolute eigenvalues make every step a descent.
            along, size = vectors.T @ (scale * gradient), np.abs(values) + (values == 0)
            is_minimum = along**2 @ (1 / size) <= _TOLERANCE * (1 + abs(value))
            old, before, rounding = theta, value, 1e-14 * (1 + abs(value))
            damping /= 10
            while damping < 1 / ROUNDING:
                theta = old - scale * (vectors @ (along / (size + damping)))
                value, gradient, hessian = evaluate(theta)
                if before - value >= 1e-4 * (along**2 @ (1 / (size + damping))) - rounding:
                    break
                damping = max(4 * damping, 1e-3)
            if is_minimum and damping < 1:
                return theta, hessian
        raise ValueError(
            f"no fit under these weights was found in {_MAX_STEPS} Newton steps; it may have none. "
            "Add a penalty or an intercept, or use a log link"
        )
