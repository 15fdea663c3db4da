"""Prediction intervals and sets with nominal coverage on the target."""

from weighbridge.conformal._base import ConformalReport
from weighbridge.conformal._classifier import ConformalClassifier
from weighbridge.conformal._regressor import ConformalRegressor

__all__ = ["ConformalClassifier", "ConformalRegressor", "ConformalReport"]
