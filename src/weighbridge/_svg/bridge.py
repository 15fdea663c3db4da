"""The bridge: the map of all weightings, with their losses and the choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weighbridge._findings import number, percent
from weighbridge._svg._bands import LossSteps, loss_steps
from weighbridge._svg._chart import Chart
from weighbridge._svg._draw import WIDTH, Svg, text
from weighbridge._svg._losses import (
    are_alike,
    candidates_table,
    choice_words,
    colour_legend,
    describe,
    filled,
    loss_without_weights,
    points,
)
from weighbridge._svg._map import Frame, Words, cursor, curve_lines, frame, name_curves, star
from weighbridge._svg._width import text_width, wrap
from weighbridge._svg.curves import rectangle

# With less of the differences kept than this, a map would show what is not there.
_LEAST_KEPT = 0.85
_TITLE = "Map of all weightings"


def bridge(bridge: Mapping[str, Any], *, id: str) -> Chart:
    """Draw the map: none left, full right, losses in steps, named curves, a star at the choice.

    Parameters
    ----------
    bridge : dict
        ``pictures.bridge`` of a result.
    id : str
        Starts the ids in the drawing; unique in a page.

    Returns
    -------
    Chart
        The map; where two coordinates keep too little, the rectangle of lam and alpha; where all
        weightings are alike, a sentence. The ``<svg>`` of a map has ``data-x0``, ``data-x1``,
        ``data-y0`` and ``data-y1``: a place (x, y) of the result is drawn at
        ``(x0 + x1 * x, y0 + y1 * y)``, and an element of class ``wb-cursor`` waits there for a
        script.
    """
    if are_alike(bridge):
        return _nothing_to_map(bridge, id)
    if bridge["kept"] < _LEAST_KEPT:
        note = (
            f"A map would keep only {percent(bridge['kept'])} of the differences between "
            "weightings, so lam and alpha are shown as they are."
        )
        return rectangle(bridge, id=id, note=note)
    to_units = frame(bridge)
    steps = loss_steps(bridge["loss"], loss_without_weights(bridge))
    words = Words()
    at = to_units((bridge["chosen"]["x"], bridge["chosen"]["y"]))
    words.keep_free(*at, 8)
    name_curves(bridge, to_units, words)
    legend = _Legend(bridge, steps, to_units)
    desc = describe(bridge)
    svg = Svg(id, _TITLE, desc, to_units.bottom + legend.height, data=to_units.data)
    svg.add(filled(bridge, to_units, steps), curve_lines(bridge, to_units))
    if not bridge.get("mesh"):
        svg.add(points(bridge, to_units, steps))
    svg.add(*words.parts, star(*at), cursor(), *legend.parts)
    return Chart(svg.render(), _TITLE, desc, candidates_table(bridge))


class _Legend:
    """What the colours and marks mean, below the map."""

    def __init__(self, bridge: Mapping[str, Any], steps: LossSteps, to_units: Frame) -> None:
        y = to_units.bottom + 16
        self.parts = [colour_legend(bridge, steps, y)]
        choice = f"chosen: {choice_words(bridge)}"
        self.parts += [star(22, y + 17, 7), text(33, y + 21, choice)]
        key = "on the deck: lam"
        if 33 + text_width(choice) + text_width(key) + 12 < WIDTH:
            self.parts.append(text(WIDTH - 14, y + 21, key, "wb-muted", anchor="end"))
        notes = f"The map keeps {percent(bridge['kept'])} of all differences"
        if to_units.stretch > 1.05:
            notes += f"; heights are drawn {number(to_units.stretch, 2)} times larger"
        for line in wrap(notes + ".", WIDTH - 28):
            y += 16
            self.parts.append(text(14, y + 23, line, "wb-muted"))
        self.height = y + 30 - to_units.bottom


def _nothing_to_map(bridge: Mapping[str, Any], id: str) -> Chart:
    words = (
        "The ratio is nearly the same for all training rows, so every weighting gives nearly the "
        "same weights: there is no map to draw."
    )
    lines = wrap(words, WIDTH - 28, 13)
    svg = Svg(id, _TITLE, words, 24 + 18 * len(lines))
    for place, line in enumerate(lines):
        svg.add(text(14, 26 + 18 * place, line, size=13))
    return Chart(svg.render(), _TITLE, words, candidates_table(bridge))
