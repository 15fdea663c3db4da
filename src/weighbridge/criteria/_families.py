"""Canonical families of generalised linear models: negative log likelihoods of eta = x'beta."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit, gammaln

FloatArray = npt.NDArray[np.float64]

# exp overflows beyond; a Newton step that lands there is halved
_LARGEST = 700.0


@dataclass(frozen=True)
class Normal:
    """Squared error: ``(y - eta)**2 / 2``. Its leave-one-out formula is exact."""

    scoring: str = "neg_mean_squared_error"

    def loss(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """Negative log likelihood, up to its scale and constant."""
        return np.square(y - eta) / 2

    def derivatives(self, y: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        """First and second derivative of the loss in eta."""
        return eta - y, 1.0

    def response(self, eta: FloatArray) -> FloatArray:
        """What the estimator predicts."""
        return eta


@dataclass(frozen=True)
class Logistic:
    """Two classes, y in {0, 1}: ``log(1 + exp(eta)) - y eta``."""

    scoring: str = "neg_log_loss"

    def loss(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """Negative log likelihood."""
        return np.logaddexp(0.0, eta) - y * eta

    def derivatives(self, y: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        """First and second derivative of the loss in eta."""
        mean = expit(eta)
        return mean - y, mean * (1 - mean)

    def response(self, eta: FloatArray) -> FloatArray:
        """Probabilities of the two classes."""
        return np.stack([expit(-eta), expit(eta)], axis=-1)


@dataclass(frozen=True)
class Poisson:
    """Counts: ``exp(eta) - y eta + log(y!)``."""

    scoring: str = "neg_mean_poisson_deviance"

    def loss(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """Negative log likelihood."""
        return np.asarray(np.exp(np.minimum(eta, _LARGEST)) - y * eta + gammaln(y + 1))

    def derivatives(self, y: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        """First and second derivative of the loss in eta."""
        mean = np.exp(np.minimum(eta, _LARGEST))
        return mean - y, mean

    def response(self, eta: FloatArray) -> FloatArray:
        """Expected counts."""
        return np.exp(np.minimum(eta, _LARGEST))


Family = Normal | Logistic | Poisson
