"""What all pictures of a search share: its losses in words, colours, marks and a table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from weighbridge._findings import number
from weighbridge._svg._bands import LossSteps, outlines
from weighbridge._svg._chart import Chart, Table
from weighbridge._svg._draw import WIDTH, Point, Svg, circle, element, rect, simplify, text, trace
from weighbridge._svg._map import Frame
from weighbridge._svg._width import text_width

# Distance of the ends, as Hellinger measures it, below which all weightings are alike.
_ALIKE = 0.04
_TABLE_ROWS = 20
_SWATCH = 13


def are_alike(bridge: Mapping[str, Any]) -> bool:
    """True where the two ends are nearly one point: there is no shift to map."""
    return math.dist(bridge["ends"]["none"], bridge["ends"]["full"]) < _ALIKE


def loss_without_weights(bridge: Mapping[str, Any]) -> float | None:
    """Return the loss at lam = 0, where it was evaluated."""
    return next(
        (loss for lam, loss in zip(bridge["lam"], bridge["loss"], strict=True) if lam == 0), None
    )


def filled(bridge: Mapping[str, Any], to_units: Frame, steps: LossSteps) -> str:
    """Return the surface in steps of colour, the best on top."""
    mesh = bridge.get("mesh")
    if not mesh:
        return ""
    colours = steps.classes
    layers = [(math.inf, colours[-1])]
    layers += list(zip(steps.levels[-2:0:-1], colours[-2::-1], strict=True))
    parts = []
    for level, colour in layers:
        lines = outlines(mesh["x"], mesh["y"], mesh["loss"], level)
        shapes = [simplify([*map(to_units, line), to_units(line[0])]) for line in lines]
        outline = "".join(trace(shape[:-1], closed=True) for shape in shapes if len(shape) > 3)
        if outline:
            edge = " wb-grid" if level == math.inf else ""
            parts.append(element("path", d=outline, class_=f"wb-step-{colour}{edge}"))
    return "".join(parts)


def points(bridge: Mapping[str, Any], to_units: Frame, steps: LossSteps) -> str:
    """Return a mark for each candidate; hollow where it failed."""
    parts = []
    for x, y, loss in zip(bridge["x"], bridge["y"], bridge["loss"], strict=True):
        cls = "wb-training-fill" if loss is None else f"wb-step-{steps.of(loss)} wb-axis"
        parts.append(circle(*to_units((x, y)), 4.5 if loss is not None else 3, cls))
    return "".join(parts)


def describe(bridge: Mapping[str, Any]) -> str:
    """Say what was chosen, where that is, and what it gains."""
    chosen = bridge["chosen"]
    words = f"Selected: {choice_words(bridge)}"
    if chosen["lam"] not in (0, 1):
        words += f", {_whereabouts(bridge)}"
    words += "."
    none, own = loss_without_weights(bridge), _loss_of_choice(bridge)
    if none is not None and own is not None and chosen["lam"] != 0:
        name = str(bridge["loss_name"])
        words += f" {name[:1].upper()}{name[1:]} {number(own)}, without weights {number(none)}."
    return words


def choice_words(bridge: Mapping[str, Any]) -> str:
    """Return what was chosen; at the ends alpha means nothing."""
    lam, alpha = bridge["chosen"]["lam"], bridge["chosen"]["alpha"]
    if lam in (0, 1):
        return "no weights (lam 0)" if lam == 0 else "the full ratio (lam 1)"
    return f"lam {number(lam)}, alpha {number(alpha)}"


def _whereabouts(bridge: Mapping[str, Any]) -> str:
    chosen, ends = bridge["chosen"], bridge["ends"]
    length = math.dist(ends["none"], ends["full"])
    for name, words in (("none", "near no weights"), ("full", "near the full ratio")):
        if math.dist((chosen["x"], chosen["y"]), ends[name]) < 0.3 * length:
            return words
    return "between no weights and the full ratio"


def _loss_of_choice(bridge: Mapping[str, Any]) -> float | None:
    chosen = bridge["chosen"]
    for lam, alpha, loss in zip(bridge["lam"], bridge["alpha"], bridge["loss"], strict=True):
        if lam == chosen["lam"] and (lam in (0, 1) or alpha == chosen["alpha"]):
            return loss
    return None


def candidates_table(bridge: Mapping[str, Any]) -> Table:
    """Return the best candidates and both ends, the best first."""
    columns = (bridge[name] for name in ("lam", "alpha", "loss", "standard_error"))
    rows = sorted(zip(*columns, strict=True), key=lambda row: (row[2] is None, row[2] or 0.0))
    kept = rows[:_TABLE_ROWS] + [row for row in rows[_TABLE_ROWS:] if row[0] in (0, 1)]
    shown = [
        (
            number(lam),
            "any" if lam in (0, 1) else number(alpha),
            "failed" if loss is None else number(loss, 4),
            number(error, 2),
        )
        for lam, alpha, loss, error in kept
    ]
    return ("lam", "alpha", str(bridge["loss_name"]), "standard error"), tuple(shown)


def colour_legend(bridge: Mapping[str, Any], steps: LossSteps, y: float) -> str:
    """Return the steps of colour with words at both ends."""
    none = loss_without_weights(bridge)
    best, last = steps.levels[0], steps.levels[-1]
    if all(loss is None for loss in bridge["loss"]):
        return text(14, y, "no weighting could be evaluated")
    if len(steps.levels) == 1:
        return text(14, y, f"all alike: {bridge['loss_name']} {number(best)}")
    low, high = _apart(best, last)
    left = f"best {low}" if none is None or none > best else f"best, none {low}"
    right = f"{'as none' if steps.against_none else 'worst'} {high}"
    colours = steps.classes
    wide = _SWATCH * len(colours)
    widths = text_width(left), text_width(right)
    x = (WIDTH - wide) / 2 + (widths[0] - widths[1]) / 2
    x = min(max(x, 14 + widths[0] + 7), WIDTH - 14 - widths[1] - 7 - wide)
    parts = [text(x - 7, y, left, anchor="end"), text(x + wide + 7, y, right)]
    for place, colour in enumerate(colours):
        parts.append(rect(x + _SWATCH * place, y - 10, _SWATCH, 11, f"wb-step-{colour} wb-grid"))
    return "".join(parts)


def _apart(low: float, high: float) -> tuple[str, str]:
    """Write two numbers with as many digits as it takes to tell them apart."""
    for digits in range(3, 7):
        if number(low, digits) != number(high, digits):
            break
    return number(low, digits), number(high, digits)


def sentence(id: str, title: str, words: str, table: Table) -> Chart:
    """Return words where there is nothing to draw."""
    svg = Svg(id, title, words, 44)
    svg.add(text(14, 26, words, room=WIDTH - 28))
    return Chart(svg.render(), title, words, table)


def widened(low: float, high: float, share: float = 0.08) -> Point:
    """Return the ends of an axis beyond the smallest and largest number."""
    room = share * (high - low) if high > low else (abs(low) or 1.0) * 0.1
    return low - room, high + room
