"""Whether there is shift, where, and whether weights can carry it."""

from weighbridge._findings import Estimate, Finding, OverlapJudgement, judge_overlap
from weighbridge.diagnostics._attribution import FeatureAttribution, attribute_shift
from weighbridge.diagnostics._balance import BalanceTable, balance_table
from weighbridge.diagnostics._balance_row import BalanceRow
from weighbridge.diagnostics._calibration import Calibration, calibration
from weighbridge.diagnostics._diagnose import diagnose
from weighbridge.diagnostics._diagnosis import Diagnosis as Diagnosis
from weighbridge.diagnostics._domain import CrossFittedDomain as CrossFittedDomain
from weighbridge.diagnostics._domain import DomainRows as DomainRows
from weighbridge.diagnostics._domain import check_confidence as check_confidence
from weighbridge.diagnostics._domain import domain_auc
from weighbridge.diagnostics._feature_shift import FeatureShift, feature_shift
from weighbridge.diagnostics._features import Feature as Feature
from weighbridge.diagnostics._features import read_features as read_features
from weighbridge.diagnostics._label_shift import LabelShift, label_shift
from weighbridge.diagnostics._shift_report import ShiftReport, shift_word
from weighbridge.diagnostics._two_sample import TwoSampleTest, two_sample_test
from weighbridge.diagnostics._weights import (
    WeightSummary,
    design_effect,
    effective_sample_size,
    pareto_k,
    perplexity,
    summarize_weights,
)
from weighbridge.diagnostics._weights import check_weights as check_weights
from weighbridge.diagnostics._words import notebook_card as notebook_card
from weighbridge.ratios import Support, outside_support

__all__ = [
    "BalanceRow",
    "BalanceTable",
    "Calibration",
    "Estimate",
    "FeatureAttribution",
    "FeatureShift",
    "Finding",
    "LabelShift",
    "OverlapJudgement",
    "ShiftReport",
    "Support",
    "TwoSampleTest",
    "WeightSummary",
    "attribute_shift",
    "balance_table",
    "calibration",
    "design_effect",
    "diagnose",
    "domain_auc",
    "effective_sample_size",
    "feature_shift",
    "judge_overlap",
    "label_shift",
    "outside_support",
    "pareto_k",
    "perplexity",
    "shift_word",
    "summarize_weights",
    "two_sample_test",
]

# for the packages above
from weighbridge._findings import BROKEN as BROKEN
from weighbridge._findings import THIN as THIN
from weighbridge.diagnostics._balance_text import balance_text as balance_text
from weighbridge.diagnostics._shift_findings import DIFFERENT as DIFFERENT
from weighbridge.diagnostics._words import in_a_sentence as in_a_sentence
