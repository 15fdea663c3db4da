"""What a model will lose on the target, estimated without target labels."""

from weighbridge.target_risk._compare_risks import compare_risks
from weighbridge.target_risk._estimate_risk import estimate_risk
from weighbridge.target_risk._measure import NAMES as NAMES
from weighbridge.target_risk._risk_estimate import RiskComparison, RiskEstimate

__all__ = ["RiskComparison", "RiskEstimate", "compare_risks", "estimate_risk"]
