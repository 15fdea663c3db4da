"""Logistic regression over a path of penalties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from weighbridge.tables import QuadraticRows

# Inverse penalties, strongest penalty first; each fit starts from the one before.
PENALTIES = tuple(10.0**power for power in range(-4, 4))
# Where scikit-learn's LogisticRegression stops.
_OPTIONS = {"maxiter": 1000, "maxls": 50, "gtol": 1e-4, "ftol": 64 * np.finfo(float).eps}


@dataclass(frozen=True)
class LinearLogOdds:
    """Log odds that are linear in the features."""

    coef: np.ndarray
    intercept: float
    C: float

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log odds at the rows of a feature matrix."""
        return np.asarray(X @ self.coef).ravel() + self.intercept


def fit_logistic_path(
    X: Any, codes: np.ndarray, centre: np.ndarray | None = None
) -> list[LinearLogOdds]:
    """Return a logistic regression for each penalty, on rows with a centre or centred ones."""
    fitted = []
    coef = np.zeros(X.shape[1] + 1)  # The intercept is last.
    for C in PENALTIES:
        loss = _PenalisedLoss(X, codes, 1 / (C * codes.size), centre)
        coef = minimize(loss, coef, method="L-BFGS-B", jac=True, options=_OPTIONS).x
        fitted.append(LinearLogOdds(coef[:-1].copy(), loss.intercept(coef), C))
    return fitted


@dataclass(frozen=True)
class _PenalisedLoss:
    """Mean log loss plus half the squared norm of the coefficients times `strength`."""

    X: Any
    codes: np.ndarray
    strength: float
    centre: np.ndarray | None

    def intercept(self, coef: np.ndarray) -> float:
        """Return the intercept for rows that are not centred."""
        return float(coef[-1] if self.centre is None else coef[-1] - self.centre @ coef[:-1])

    def __call__(self, coef: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and gradient."""
        slopes = coef[:-1]
        log_odds = np.asarray(self.X @ slopes).ravel() + self.intercept(coef)
        loss = np.mean(np.logaddexp(0.0, log_odds) - self.codes * log_odds)
        residual = (expit(log_odds) - self.codes) / self.codes.size
        if isinstance(self.X, QuadraticRows):
            gradient = self.X.moments(residual)
        else:
            gradient = np.asarray(self.X.T @ residual).ravel()
        if self.centre is not None:
            gradient -= self.centre * residual.sum()
        gradient = gradient + self.strength * slopes
        value = float(loss + self.strength / 2 * (slopes @ slopes))
        return value, np.append(gradient, residual.sum())
