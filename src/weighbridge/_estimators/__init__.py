"""Estimators that weight their rows: by a weighting you give, or by one chosen for you."""

from weighbridge._estimators.base import (
    JudgedRatio,
    WeightedEstimator,
    is_estimated,
    refuse_text,
    share_beyond,
)
from weighbridge._estimators.fitted_rows import FittedRows, check_unseen, rows_told
from weighbridge._estimators.guard import check_answer, choose
from weighbridge._estimators.importance_weighted import ImportanceWeighted
from weighbridge._estimators.importance_weighted_cv import ImportanceWeightedCV
