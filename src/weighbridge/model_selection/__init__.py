"""The choice of a weighting: criteria judge weightings, and searches propose them.

Criteria estimate the loss on the target from labelled source rows. All are lower-is-better and
give one loss for each row or fold, so that two weightings can be compared in pairs with a standard
error. Searches see points (lam, alpha) and their losses. They try the named points (ERM, IWERM,
...) first, and no weights twice.
"""

from weighbridge.model_selection._bayesian import (
    MIN_DISTANCE,
    BayesianSearch,
    expected_improvement,
    group_rows,
)
from weighbridge.model_selection._cross_validation import CrossValidation, HoldOut
from weighbridge.model_selection._information_criterion import (
    InformationCriterion,
    information_criterion,
)
from weighbridge.model_selection._leave_one_out import DefaultCriterion, LeaveOneOut
from weighbridge.model_selection._linear_models import (
    fixed_steps,
    has_closed_form,
    is_linear_model,
)
from weighbridge.model_selection._losses import ROW_LOSSES, RowLoss, default_scoring, respond
from weighbridge.model_selection._objective import Criterion
from weighbridge.model_selection._points import Bounds, Point, few_points, named_points
from weighbridge.model_selection._result import Evaluation, Scores, SearchResult
from weighbridge.model_selection._rows import SourceRows, Tempered, source_rows, table_rows
from weighbridge.model_selection._search import (
    AllFailedError,
    GridSearch,
    Search,
    evaluate_points,
)

# Public names; the others serve the packages above.
__all__ = [
    "BayesianSearch",
    "Bounds",
    "Criterion",
    "CrossValidation",
    "Evaluation",
    "GridSearch",
    "HoldOut",
    "InformationCriterion",
    "LeaveOneOut",
    "Point",
    "Scores",
    "Search",
    "SearchResult",
    "Tempered",
    "expected_improvement",
    "information_criterion",
    "named_points",
]
