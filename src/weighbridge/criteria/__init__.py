"""Criteria: what a weighting is worth on the target, judged on labelled source rows.

All are lower-is-better and give one loss for each row or fold, so that two weightings can be
compared in pairs with a standard error.
"""

from weighbridge.criteria._criterion import CandidateObjective, Criterion, Scores, Tempered
from weighbridge.criteria._fold_objective import FoldObjective
from weighbridge.criteria._folds import CrossValidation, HoldOut
from weighbridge.criteria._information_criterion import InformationCriterion, information_criterion
from weighbridge.criteria._leave_one_out import LeaveOneOut
from weighbridge.criteria._linear_design import (
    closed_form_family,
    coded_texts,
    fixed_steps,
    is_solved_together,
)
from weighbridge.criteria._rows import (
    ROW_LOSSES,
    RowLoss,
    SourceRows,
    default_scoring,
    respond,
    source_rows,
    table_rows,
)

# Public names; the others serve the packages above.
__all__ = [
    "Criterion",
    "CrossValidation",
    "HoldOut",
    "InformationCriterion",
    "LeaveOneOut",
    "Scores",
    "Tempered",
    "information_criterion",
]
