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

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log odds at the rows of a feature matrix."""
        return np.asarray(X @ self.coef).ravel() + self.intercept


def fit_logistic_path(
    X: Any, codes: np.ndarray, centre: np.ndarray | None = None
) -> list[LinearLogOdds]:
    """Return a logistic regression for each penalty, on rows with a centre or centred ones."""
    centre = np.zeros(X.shape[1]) if centre is None else centre

    def loss(coef: np.ndarray, strength: float) -> tuple[float, np.ndarray]:
        """Return the mean log loss plus strength |slopes|^2 / 2, and its gradient."""
        slopes = coef[:-1]
        log_odds = np.asarray(X @ slopes).ravel() + (coef[-1] - centre @ slopes)
        residual = (expit(log_odds) - codes) / codes.size
        is_factored = isinstance(X, QuadraticRows)
        gradient = X.moments(residual) if is_factored else np.asarray(X.T @ residual).ravel()
        gradient = gradient - centre * residual.sum() + strength * slopes
        value = np.mean(np.logaddexp(0.0, log_odds) - codes * log_odds)
        value += strength / 2 * (slopes @ slopes)
        return float(value), np.append(gradient, residual.sum())

    fitted = []
    coef = np.zeros(X.shape[1] + 1)  # The intercept is last.
    for C in PENALTIES:
        strength = 1 / (C * codes.size)
        coef = minimize(loss, coef, (strength,), "L-BFGS-B", jac=True, options=_OPTIONS).x
        fitted.append(LinearLogOdds(coef[:-1], float(coef[-1] - centre @ coef[:-1])))
    return fitted
