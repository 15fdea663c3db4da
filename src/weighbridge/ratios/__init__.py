"""Density ratios: how much likelier a row is in the target than in the source.

Every ratio has ``score_samples(X)``, the log ratio ``log p_target(x) - log p_source(x)``.
"""

from weighbridge.ratios._auto import SEPARABLE_AUC, AutoRatio
from weighbridge.ratios._base import DensityRatioMixin
from weighbridge.ratios._candidates import can_fit_trees, small_trees
from weighbridge.ratios._classifier import ClassifierRatio
from weighbridge.ratios._cross_fit import log_prior_odds, row_log_losses
from weighbridge.ratios._fit_ratio import (
    RATIOS,
    check_ratio,
    fit_ratio,
    is_default,
    is_fitted,
    source_log_ratio,
)
from weighbridge.ratios._gaussian import GaussianRatio
from weighbridge.ratios._kliep import KLIEP
from weighbridge.ratios._kmm import KMM
from weighbridge.ratios._known import KnownRatio
from weighbridge.ratios._nearest_neighbour import NearestNeighbourRatio
from weighbridge.ratios._overlap import (
    OUTSIDE,
    SOME_OUTSIDE,
    OverlapJudgement,
    effective_sample_size,
    judge_overlap,
    judge_weights,
    pareto_k,
    pareto_threshold,
    warn_if_apart,
    warn_if_untrustworthy,
)
from weighbridge.ratios._ulsif import ULSIF

# Public names; the others serve the packages above.
__all__ = [
    "KLIEP",
    "KMM",
    "ULSIF",
    "AutoRatio",
    "ClassifierRatio",
    "DensityRatioMixin",
    "GaussianRatio",
    "KnownRatio",
    "NearestNeighbourRatio",
    "fit_ratio",
]
