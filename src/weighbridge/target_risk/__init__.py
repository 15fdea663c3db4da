"""What a model will lose on the target, estimated without target labels."""

from weighbridge.target_risk._assessed import (
    Assessed,
    assess_again,
    assess_metrics,
    assess_procedures,
    paired_change,
)
from weighbridge.target_risk._few_labels import (
    Relation,
    Sample,
    by_labels,
    compare_relation,
    forecast_labels,
    forecast_losses,
    label_values,
    with_forecast,
)
from weighbridge.target_risk._held_out import base_of
from weighbridge.target_risk._problem import RiskProblem
from weighbridge.target_risk._question import (
    NAMES,
    Measure,
    Question,
    check_arguments,
    find_measure,
)
from weighbridge.target_risk._risk_estimate import RiskComparison, RiskEstimate
from weighbridge.target_risk._risks import compare_risks, estimate_risk
from weighbridge.target_risk._whole import value_of

# Public names; the others serve the packages above.
__all__ = ["RiskComparison", "RiskEstimate", "compare_risks", "estimate_risk"]
