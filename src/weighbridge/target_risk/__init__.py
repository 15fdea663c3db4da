"""Expected loss of a model on the target, estimated without target labels."""

from weighbridge.target_risk._few_labels import (
    Relation,
    Sample,
    by_labels,
    compare_relation,
    forecast_labels,
    label_values,
    value_of,
    with_forecast,
)
from weighbridge.target_risk._forecast import forecast_losses
from weighbridge.target_risk._interval import (
    RiskComparison,
    RiskEstimate,
    judge_overlap,
    mean_interval,
)
from weighbridge.target_risk._problem import NAMES, Measure, Question, RiskProblem, find_measure
from weighbridge.target_risk._procedures import base_of, check_arguments
from weighbridge.target_risk._risks import (
    Assessed,
    assess_held_out,
    assess_metrics,
    assess_procedures,
    compare_risks,
    estimate_risk,
    paired_change,
)

# Public names; the others serve the packages above.
__all__ = ["RiskComparison", "RiskEstimate", "compare_risks", "estimate_risk"]
