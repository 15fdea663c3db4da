"""The charts of reports: plain numbers in, one ``<svg>`` with words and a table out."""

from weighbridge._svg._chart import Chart, style_sheet
from weighbridge._svg._feature import feature, feature_key
from weighbridge._svg._forest import expected_error, paired_change
from weighbridge._svg._love import love
from weighbridge._svg._overlap import overlap
from weighbridge._svg._reliability import reliability
from weighbridge._svg._weights import concentration, weights, worth

__all__ = [
    "Chart",
    "concentration",
    "expected_error",
    "feature",
    "feature_key",
    "love",
    "overlap",
    "paired_change",
    "reliability",
    "style_sheet",
    "weights",
    "worth",
]
