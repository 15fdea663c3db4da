"""The numbers of each picture, apart from how it is drawn: to JSON and back, and to any drawer."""

from weighbridge.pictures._arches import RootWeights
from weighbridge.pictures._balance import MOST_ROWS, FeatureDifference, LovePlot, compute_love
from weighbridge.pictures._bridge import CURVES, BridgeSurface, Mesh, compute_surface
from weighbridge.pictures._features import (
    FeatureHistogram,
    WeightedFeature,
    compute_feature_histogram,
    histogram_of,
)
from weighbridge.pictures._forest import Forest, compute_forest, forest_numbers, read_forest
from weighbridge.pictures._half_plane import ALPHAS, HalfPlane, compute_half_plane
from weighbridge.pictures._overlap import (
    OverlapHistogram,
    ReliabilityCurve,
    compute_overlap,
    compute_reliability,
)
from weighbridge.pictures._picture import check_made, rounded
from weighbridge.pictures._pictures import Pictures, compute_pictures, compute_shift_pictures
from weighbridge.pictures._weights import (
    LorenzCurve,
    WeightCurves,
    WeightHistogram,
    compute_lorenz,
    compute_weight_histogram,
)

# Public names; the others serve the packages above.
__all__ = [
    "BridgeSurface",
    "FeatureHistogram",
    "Forest",
    "HalfPlane",
    "LorenzCurve",
    "LovePlot",
    "Mesh",
    "OverlapHistogram",
    "Pictures",
    "ReliabilityCurve",
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
