"""Learning under covariate shift: importance weights for any scikit-learn estimator."""

from weighbridge import datasets, exceptions, geodesic, ratios, scoring, weighting
from weighbridge._importance_weighted import ImportanceWeighted
from weighbridge.ratios import fit_ratio
from weighbridge.scoring import iw_scorer
from weighbridge.weighting import Geodesic

__version__ = "0.1.0"

__all__ = [
    "Geodesic",
    "ImportanceWeighted",
    "datasets",
    "exceptions",
    "fit_ratio",
    "geodesic",
    "iw_scorer",
    "ratios",
    "scoring",
    "weighting",
]
