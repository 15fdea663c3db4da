"""The numbers of each picture, apart from how it is drawn: to JSON and back, and to any drawer."""

from weighbridge.pictures._bridge import (
    AS_GOOD,
    CURVES,
    Arch,
    BridgeSurface,
    Mesh,
    RootWeights,
    compute_surface,
)
from weighbridge.pictures._features import (
    BALANCED,
    MOST_ROWS,
    FeatureHistogram,
    LovePlot,
    compute_feature_histogram,
    compute_love,
    histogram_of,
)
from weighbridge.pictures._forest import Forest, forest_numbers, read_forest
from weighbridge.pictures._picture import Picture, check_made, rounded
from weighbridge.pictures._pictures import (
    FeatureDifference,
    Pictures,
    WeightCurves,
    WeightedFeature,
    compute_pictures,
    compute_shift_pictures,
)
from weighbridge.pictures._weights import (
    LorenzCurve,
    OverlapHistogram,
    ReliabilityCurve,
    WeightHistogram,
    compute_lorenz,
    compute_overlap,
    compute_reliability,
    compute_weight_histogram,
)

# The numbers of single pictures are public in weighbridge.plotting; they serve the packages above.
__all__ = ["Pictures"]
