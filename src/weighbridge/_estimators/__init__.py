"""The estimators that weight their rows: with a weighting you give, or with one chosen for you."""

from weighbridge._estimators.base import (
    FittedRows,
    WeightedEstimator,
    column_names,
    is_estimated,
    refuse_text,
    rows_told,
    share_beyond,
)
from weighbridge._estimators.choice import AverageModel, SharedFits, check_answer, form_answer
from weighbridge._estimators.importance_weighted import ImportanceWeighted
from weighbridge._estimators.importance_weighted_cv import ImportanceWeightedCV
