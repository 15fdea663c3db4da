"""Deep networks."""

from weighbridge.torch._batch import batch_weights
from weighbridge.torch._dynamic import Beyond, DynamicWeights
from weighbridge.torch._losses import PolynomialLoss

__all__ = ["Beyond", "DynamicWeights", "PolynomialLoss", "batch_weights"]
