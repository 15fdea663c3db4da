"""Charts as SVG: the numbers of a picture in, one ``<svg>`` with words and a table out."""

from weighbridge._svg._bands import LossSteps, colour_steps
from weighbridge._svg._bridge import bridge, rectangle
from weighbridge._svg._curves import loss_along_curves, search_path
from weighbridge._svg._draw import Chart, style_sheet
from weighbridge._svg._feature import feature, feature_key
from weighbridge._svg._forest import expected_error, paired_change
from weighbridge._svg._love import love
from weighbridge._svg._map import are_alike, frame
from weighbridge._svg._overlap import overlap, reliability
from weighbridge._svg._weights import concentration, effective_rows, weights
