"""Pictures of what was chosen and why; matplotlib is imported when one is drawn."""

from weighbridge.pictures import (
    BridgeSurface,
    FeatureHistogram,
    Forest,
    LorenzCurve,
    LovePlot,
    Mesh,
    OverlapHistogram,
    ReliabilityCurve,
    WeightHistogram,
    compute_feature_histogram,
    compute_lorenz,
    compute_love,
    compute_overlap,
    compute_reliability,
    compute_surface,
    compute_weight_histogram,
)
from weighbridge.plotting._balance import BalanceDisplay
from weighbridge.plotting._bridge import BridgeDisplay
from weighbridge.plotting._geodesic import GeodesicDisplay, HalfPlane, compute_half_plane
from weighbridge.plotting._overlap import OverlapDisplay, ReliabilityDisplay
from weighbridge.plotting._risk import RiskDisplay, compute_forest
from weighbridge.plotting._shift import ShiftDisplay
from weighbridge.plotting._weight import WeightDisplay

__all__ = [
    "BalanceDisplay",
    "BridgeDisplay",
    "BridgeSurface",
    "FeatureHistogram",
    "Forest",
    "GeodesicDisplay",
    "HalfPlane",
    "LorenzCurve",
    "LovePlot",
    "Mesh",
    "OverlapDisplay",
    "OverlapHistogram",
    "ReliabilityCurve",
    "ReliabilityDisplay",
    "RiskDisplay",
    "ShiftDisplay",
    "WeightDisplay",
    "WeightHistogram",
    "compute_feature_histogram",
    "compute_forest",
    "compute_half_plane",
    "compute_lorenz",
    "compute_love",
    "compute_overlap",
    "compute_reliability",
    "compute_surface",
    "compute_weight_histogram",
]
