"""Penalised linear models with a smooth loss, fitted under any weights by Newton's method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import expit, gammaln

# Losses of the rows, and their first and second derivatives in the linear predictor.
Terms: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
# exp overflows beyond; a Newton step that lands there is halved.
_MAX_EXPONENT = 700.0
# Eigenvalues below this share of the largest are rounding errors.
ROUNDING = 1e-12
# Largest squared Newton decrement of a solution, relative to its value, and number of steps.
_TOLERANCE, _MAX_STEPS = 1e-18, 200


@dataclass(frozen=True)
class Likelihood:
    """A convex loss of a label and a linear predictor, and the scorer with the same minimum."""

    scoring: str
    terms: Callable[[np.ndarray, np.ndarray], Terms]
    # Predictions at linear predictors, as scikit-learn makes them.
    response: Callable[[np.ndarray], np.ndarray]


def _normal_terms(y: np.ndarray, eta: np.ndarray) -> Terms:
    """Return ``(y - eta)^2 / 2`` and its derivatives."""
    error = eta - y
    return np.square(error) / 2, error, np.ones(y.size)


def _logistic_terms(y: np.ndarray, eta: np.ndarray) -> Terms:
    """Return ``log(1 + exp(eta)) - y eta`` of classes 0 and 1, and its derivatives."""
    mean = expit(eta)
    return np.logaddexp(0.0, eta) - y * eta, mean - y, mean * (1 - mean)


def _class_probabilities(eta: np.ndarray) -> np.ndarray:
    return np.stack([expit(-eta), expit(eta)], axis=-1)


def _poisson_terms(y: np.ndarray, eta: np.ndarray) -> Terms:
    """Return ``exp(eta) - y eta + log(y!)`` of counts, and its derivatives."""
    mean = _poisson_mean(eta)
    return mean - y * eta + gammaln(y + 1), mean - y, mean


def _poisson_mean(eta: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(np.minimum(eta, _MAX_EXPONENT)))


NORMAL = Likelihood("neg_mean_squared_error", _normal_terms, np.asarray)
LOGISTIC = Likelihood("neg_log_loss", _logistic_terms, _class_probabilities)
POISSON = Likelihood("neg_mean_poisson_deviance", _poisson_terms, _poisson_mean)


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
    """Minimises ``sum w l(y, Z theta) + c theta' P theta / 2`` for a diagonal P.

    The factor c is 1, or the sum of the weights if `is_mean` (scikit-learn then penalises the mean
    of the losses).
    """

    def __init__(
        self,
        likelihood: Likelihood,
        features: np.ndarray,
        y: np.ndarray,
        diagonal: np.ndarray,
        *,
        is_mean: bool,
    ) -> None:
        self.likelihood, self.features, self.y = likelihood, features, y
        self.diagonal, self.is_mean = diagonal, is_mean
        # Counts may be large, and Newton's method is slow if the first step goes far beyond.
        level = np.log(y.mean() or 1.0) if likelihood == POISSON else 0.0
        self.start = np.linalg.lstsq(features, np.full(y.size, level))[0]

    def penalty(self, weights: np.ndarray) -> np.ndarray:
        """Return the diagonal of the penalty."""
        return self.diagonal * (weights.sum() if self.is_mean else 1.0)

    def terms(self, theta: np.ndarray) -> Terms:
        """Return the losses of the rows and their derivatives in the linear predictor."""
        return self.likelihood.terms(self.y, self.features @ theta)

    @np.errstate(all="ignore")  # steps that go too far are halved
    def solve(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the minimum, and the Hessian with the penalty there."""
        penalty = self.penalty(weights)

        def evaluate(theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
            losses, slope, curvature = self.terms(theta)
            gradient = self.features.T @ (weights * slope) + penalty * theta
            hessian = (self.features.T * (weights * curvature)) @ self.features
            value = float(weights @ losses + penalty @ theta**2 / 2)
            return value, gradient, hessian + np.diag(penalty)

        theta = self.start
        value, gradient, hessian = evaluate(theta)
        if self.likelihood == NORMAL:
            return np.asarray(theta - pseudo_inverse(hessian) @ gradient), hessian
        for _ in range(_MAX_STEPS):
            scale, values, vectors = scaled_eigen(hessian)
            along = vectors.T @ (scale * gradient)
            # A direction without curvature gets a step of unit size.
            newton = along / np.where(values > 0, values, 1.0)
            step, decrement = scale * (vectors @ newton), float(along @ newton)
            is_minimum = decrement <= _TOLERANCE * (1 + abs(value))
            least = value + 1e-14 * (1 + abs(value))
            size = 1.0
            while True:
                value, gradient, hessian = evaluate(theta - size * step)
                if value <= least - 1e-4 * size * decrement or size < ROUNDING:
                    break
                size /= 2
            theta = theta - size * step
            if is_minimum and size == 1:
                return theta, hessian
        raise ValueError(
            f"no fit under these weights was found in {_MAX_STEPS} Newton steps; it may have none. "
            "Add a penalty or an intercept"
        )
