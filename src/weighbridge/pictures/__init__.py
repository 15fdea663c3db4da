"""The numbers of each picture, apart from how it is drawn: to JSON and back, and to any drawer."""

from weighbridge.pictures._arches import RootWeights as RootWeights
from weighbridge.pictures._balance import MOST_ROWS as MOST_ROWS
from weighbridge.pictures._balance import FeatureDifference as FeatureDifference
from weighbridge.pictures._balance import LovePlot, compute_love
from weighbridge.pictures._bridge import CURVES as CURVES
from weighbridge.pictures._bridge import BridgeSurface, Mesh, compute_surface
from weighbridge.pictures._features import FeatureHistogram, compute_feature_histogram
from weighbridge.pictures._features import WeightedFeature as WeightedFeature
from weighbridge.pictures._features import histogram_of as histogram_of
from weighbridge.pictures._forest import Forest, compute_forest
from weighbridge.pictures._forest import read_forest as read_forest
from weighbridge.pictures._half_plane import ALPHAS as ALPHAS
from weighbridge.pictures._half_plane import HalfPlane, compute_half_plane
from weighbridge.pictures._overlap import (
    OverlapHistogram,
    ReliabilityCurve,
    compute_overlap,
    compute_reliability,
)
from weighbridge.pictures._picture import check_made as check_made
from weighbridge.pictures._picture import rounded as rounded
from weighbridge.pictures._pictures import Pictures
from weighbridge.pictures._pictures import compute_pictures as compute_pictures
from weighbridge.pictures._pictures import compute_shift_pictures as compute_shift_pictures
from weighbridge.pictures._weights import (
    LorenzCurve,
    WeightHistogram,
    compute_lorenz,
    compute_weight_histogram,
)
from weighbridge.pictures._weights import WeightCurves as WeightCurves

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
