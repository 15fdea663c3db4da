"""Diagnose the shift between two samples: whether, where, and whether weights can correct it."""

from weighbridge._findings import Estimate, Finding
from weighbridge.diagnosis._attribution import attribute_domain
from weighbridge.diagnosis._balance import BalanceTable, balance_table
from weighbridge.diagnosis._diagnose import diagnose
from weighbridge.diagnosis._diagnosis import Diagnosis
from weighbridge.diagnosis._findings import (
    DIFFERENT,
    SEPARATING_AUC,
    in_a_sentence,
    mostly_shared,
)
from weighbridge.diagnosis._report import ShiftReport, WeightSummary, summarize_weights
from weighbridge.diagnosis._samples import read_samples
from weighbridge.ratios import effective_sample_size, pareto_k

# Public names; the others serve the packages above.
__all__ = [
    "Estimate",
    "Finding",
    "ShiftReport",
    "balance_table",
    "diagnose",
    "effective_sample_size",
    "pareto_k",
]
