"""Density ratios: how much likelier a row is in the target than in the source.

Every ratio has ``score_samples(X)``, the log ratio ``log p_target(x) - log p_source(x)``.
"""

from weighbridge.ratios._auto import AutoRatio
from weighbridge.ratios._base import DensityRatioMixin
from weighbridge.ratios._candidates import CandidateTable
from weighbridge.ratios._classifier import ClassifierRatio
from weighbridge.ratios._columns import gap_name as gap_name
from weighbridge.ratios._columns import read_columns as read_columns
from weighbridge.ratios._fit_ratio import check_ratio as check_ratio
from weighbridge.ratios._fit_ratio import fit_ratio
from weighbridge.ratios._fit_ratio import is_fitted as is_fitted
from weighbridge.ratios._fit_ratio import target_like_source as target_like_source
from weighbridge.ratios._gaussian import GaussianRatio
from weighbridge.ratios._kliep import KLIEP
from weighbridge.ratios._kmm import KMM
from weighbridge.ratios._known import KnownRatio
from weighbridge.ratios._nearest_neighbour import NearestNeighbourRatio
from weighbridge.ratios._parameters import check_count as check_count
from weighbridge.ratios._support import FEW_TO_NAME as FEW_TO_NAME
from weighbridge.ratios._support import Support as Support
from weighbridge.ratios._support import check_rows as check_rows
from weighbridge.ratios._support import outside_support as outside_support
from weighbridge.ratios._support import share_outside as share_outside
from weighbridge.ratios._support import stacked_table as stacked_table
from weighbridge.ratios._ulsif import ULSIF

__all__ = [
    "KLIEP",
    "KMM",
    "ULSIF",
    "AutoRatio",
    "CandidateTable",
    "ClassifierRatio",
    "DensityRatioMixin",
    "GaussianRatio",
    "KnownRatio",
    "NearestNeighbourRatio",
    "fit_ratio",
]

# for the packages above
