"""Density ratios: how much likelier a row is in the target than in the source.

Every ratio has ``score_samples(X)``, the log ratio ``log p_target(x) - log p_source(x)``.
"""

from weighbridge.ratios._base import DensityRatioMixin
from weighbridge.ratios._classifier import ClassifierRatio
from weighbridge.ratios._fit_ratio import fit_ratio
from weighbridge.ratios._known import KnownRatio

__all__ = ["ClassifierRatio", "DensityRatioMixin", "KnownRatio", "fit_ratio"]
