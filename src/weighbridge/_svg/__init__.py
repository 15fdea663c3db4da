"""Charts as SVG: the numbers of a picture in, one ``<svg>`` with words and a table out.

Each chart has a module of its own: `bridge`, `curves`, `feature`, `forest`, `love`, `overlap`,
`weights`.
"""

from weighbridge._svg._bands import LossSteps
from weighbridge._svg._draw import Chart, style_sheet
from weighbridge._svg._map import are_alike, colour_steps, frame

__all__ = ["Chart", "LossSteps", "are_alike", "colour_steps", "frame", "style_sheet"]
