"""Charts as SVG: the numbers of a picture in, one ``<svg>`` with words and a table out."""

from weighbridge._svg._bridge import FEW, bridge, frame
from weighbridge._svg._candidates import LEVELS, NO_MAP, are_alike, colour_bar, map_title
from weighbridge._svg._draw import Chart, style_sheet
from weighbridge._svg._feature import feature, feature_key
from weighbridge._svg._forest import expected_error, paired_change
from weighbridge._svg._love import love
from weighbridge._svg._weights import concentration, effective_rows, overlap, reliability, weights
