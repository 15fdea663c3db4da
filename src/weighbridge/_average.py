"""The old place of `AverageModel`, which models saved by version 0.1.0 name."""

from weighbridge._estimators import AverageModel

__all__ = ["AverageModel"]
