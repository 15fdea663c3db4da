"""Prediction intervals and sets that hold on the target: weighted split conformal prediction."""

from weighbridge.conformal._classifier import ConformalClassifier
from weighbridge.conformal._regressor import ConformalRegressor
from weighbridge.conformal._report import ConformalReport

__all__ = ["ConformalClassifier", "ConformalRegressor", "ConformalReport"]
