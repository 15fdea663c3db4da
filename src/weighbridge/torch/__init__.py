"""Deep networks: weights for batches, weights that follow a network, networks fitted with them.

Needs torch, and skorch for the networks: ``pip install "weighbridge[torch]"``. Nothing else in the
library imports either.
"""

from typing import TYPE_CHECKING, Any

try:
    import torch
except ImportError:
    raise ImportError('Networks need torch: pip install "weighbridge[torch]"') from None

from weighbridge.torch._batch import batch_weights
from weighbridge.torch._dynamic import Beyond, DynamicWeights
from weighbridge.torch._losses import PolynomialLoss

if TYPE_CHECKING:
    from weighbridge.torch._importance_weighted_net import ImportanceWeightedNet, last_layer
    from weighbridge.torch._net import WeightedNetClassifier, WeightedNetRegressor

__all__ = [
    "Beyond",
    "DynamicWeights",
    "ImportanceWeightedNet",
    "PolynomialLoss",
    "WeightedNetClassifier",
    "WeightedNetRegressor",
    "batch_weights",
    "last_layer",
]


def __getattr__(name: str) -> Any:
    """Import what needs skorch when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'weighbridge.torch' has no attribute {name!r}")
    try:
        import skorch
    except ImportError:
        raise ImportError(f'{name} needs skorch: pip install "weighbridge[torch]"') from None
    from weighbridge.torch import _importance_weighted_net, _net

    return getattr(_net, name, None) or getattr(_importance_weighted_net, name)
