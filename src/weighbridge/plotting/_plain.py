"""Between the arrays of a picture and the lists that a drawing is made from."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from weighbridge._svg import Chart, style_sheet

_BOX = re.compile(r'viewBox="0 0 (\S+) (\S+)"')
_GAP = 14.0


def plain(content: Any) -> Any:
    """Return lists and numbers for arrays and records; None for what is not finite."""
    if is_dataclass(content):
        return {field.name: plain(getattr(content, field.name)) for field in fields(content)}
    if isinstance(content, np.ndarray | np.generic):
        return plain(content.tolist())
    if isinstance(content, dict):
        return {name: plain(each) for name, each in content.items()}
    if isinstance(content, list | tuple):
        return [plain(each) for each in content]
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    return content


def array(values: Any) -> np.ndarray:
    """Return numbers as an array; NaN for None."""
    return np.array(values, dtype=np.float64)


def together(charts: Sequence[Chart], *, columns: int = 1) -> str:
    """Return one ``<svg>`` that holds several drawings, with their style."""
    if len(charts) == 1:
        return charts[0].standalone()
    sizes = [tuple(map(float, _size(chart))) for chart in charts]
    width = max(size[0] for size in sizes)
    parts, top = [], 0.0
    for first in range(0, len(charts), columns):
        row = range(first, min(first + columns, len(charts)))
        for column, place in enumerate(row):
            left = column * (width + _GAP)
            box = (
                f'x="{left:g}" y="{top:g}" width="{sizes[place][0]:g}" height="{sizes[place][1]:g}"'
            )
            # the style of a whole chart would stretch a part
            parts.append(charts[place].svg.replace('class="wb-chart"', box, 1))
        top += max(sizes[place][1] for place in row) + _GAP
    whole = min(columns, len(charts)) * (width + _GAP) - _GAP
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" class="wb wb-chart" '
        f'viewBox="0 0 {whole:g} {top - _GAP:g}"><style>{style_sheet()}</style>'
        f"{''.join(parts)}</svg>"
    )


def _size(chart: Chart) -> tuple[str, str]:
    found = _BOX.search(chart.svg)
    assert found is not None  # every drawing has one
    return found[1], found[2]
