"""Pictures of what was chosen and why; matplotlib is imported when one is drawn."""

from weighbridge.plotting._balance import BalanceDisplay
from weighbridge.plotting._bridge import BridgeDisplay
from weighbridge.plotting._feature_histogram import FeatureHistogram, compute_feature_histogram
from weighbridge.plotting._forest import Forest, compute_forest
from weighbridge.plotting._geodesic import GeodesicDisplay
from weighbridge.plotting._half_plane import HalfPlane, compute_half_plane
from weighbridge.plotting._love import LovePlot, compute_love
from weighbridge.plotting._overlap import OverlapDisplay
from weighbridge.plotting._overlap_histogram import OverlapHistogram, compute_overlap
from weighbridge.plotting._reliability import ReliabilityDisplay
from weighbridge.plotting._reliability_curve import ReliabilityCurve, compute_reliability
from weighbridge.plotting._risk import RiskDisplay
from weighbridge.plotting._shift import ShiftDisplay
from weighbridge.plotting._surface import BridgeSurface, Mesh, compute_surface
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
