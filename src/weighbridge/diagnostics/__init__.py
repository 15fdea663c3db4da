"""Whether there is shift, where, and whether weights can carry it."""

from weighbridge._domain import CrossFittedDomain, DomainRows, check_confidence, domain_auc
from weighbridge._findings import Estimate, Finding
from weighbridge._support import Support, outside_support
from weighbridge.diagnostics._attribution import FeatureAttribution, attribute_shift
from weighbridge.diagnostics._balance import BalanceRow, BalanceTable, balance_table, balance_text
from weighbridge.diagnostics._diagnosis import Diagnosis, diagnose, weighting_name
from weighbridge.diagnostics._features import Feature, read_features
from weighbridge.diagnostics._findings import DIFFERENT, TELLS_APART, mostly_shared
from weighbridge.diagnostics._samples import in_a_sentence, read_samples
from weighbridge.diagnostics._shift_report import ShiftReport, shift_word
from weighbridge.diagnostics._weights import (
    WeightSummary,
    check_weights,
    effective_sample_size,
    pareto_k,
    summarize_weights,
)
from weighbridge.ratios import OverlapJudgement, judge_overlap

# Public names; the others serve the packages above.
__all__ = [
    "BalanceRow",
    "BalanceTable",
    "Estimate",
    "FeatureAttribution",
    "Finding",
    "OverlapJudgement",
    "ShiftReport",
    "Support",
    "WeightSummary",
    "attribute_shift",
    "balance_table",
    "diagnose",
    "domain_auc",
    "effective_sample_size",
    "judge_overlap",
    "outside_support",
    "pareto_k",
    "summarize_weights",
]
