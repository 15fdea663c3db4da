"""Pictures of what was chosen and why; matplotlib is imported when one is drawn."""

from weighbridge.plotting._balance import BalanceDisplay, LovePlot, compute_love
from weighbridge.plotting._bridge import BridgeDisplay
from weighbridge.plotting._feature_histogram import FeatureHistogram, compute_feature_histogram
from weighbridge.plotting._overlap import OverlapDisplay, OverlapHistogram, compute_overlap
from weighbridge.plotting._risk import Forest, RiskDisplay, compute_forest
from weighbridge.plotting._shift import ShiftDisplay
from weighbridge.plotting._surface import BridgeSurface, compute_surface
from weighbridge.plotting._weight import WeightDisplay
from weighbridge.plotting._weight_curves import (
    LorenzCurve,
    WeightHistogram,
    compute_lorenz,
    compute_weight_histogram,
)

__all__ = [
    "BalanceDisplay",
    "BridgeDisplay",
    "BridgeSurface",
    "FeatureHistogram",
    "Forest",
    "LorenzCurve",
    "LovePlot",
    "OverlapDisplay",
    "OverlapHistogram",
    "RiskDisplay",
    "ShiftDisplay",
    "WeightDisplay",
    "WeightHistogram",
    "compute_feature_histogram",
    "compute_forest",
    "compute_lorenz",
    "compute_love",
    "compute_overlap",
    "compute_surface",
    "compute_weight_histogram",
]
