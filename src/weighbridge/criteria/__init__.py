"""Criteria: what a weighting is worth on the target, judged on labelled source rows.

All are lower-is-better and give one loss for each row or fold, so that two weightings can be
compared in pairs with a standard error.
"""

from weighbridge.criteria._criterion import Criterion
from weighbridge.criteria._cross_validation import CrossValidation
from weighbridge.criteria._hold_out import HoldOut
from weighbridge.criteria._information_criterion import InformationCriterion
from weighbridge.criteria._leave_one_out import LeaveOneOut
from weighbridge.criteria._row_loss import default_scoring as default_scoring
from weighbridge.criteria._scores import Scores
from weighbridge.criteria._tempered import Tempered

__all__ = [
    "Criterion",
    "CrossValidation",
    "HoldOut",
    "InformationCriterion",
    "LeaveOneOut",
    "Scores",
    "Tempered",
]
