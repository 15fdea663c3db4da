"""The path of a search: numbered points on the map, and the best loss so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weighbridge._findings import number
from weighbridge._svg._bands import loss_steps
from weighbridge._svg._chart import Chart, Table
from weighbridge._svg._draw import (
    WIDTH,
    Svg,
    bottom_axis,
    circle,
    left_axis,
    path,
    scale,
    steps,
    text,
)
from weighbridge._svg._losses import are_alike, loss_without_weights, points, sentence, widened
from weighbridge._svg._map import Words, curve_lines, frame, star

_LEFT, _RIGHT = 52.0, WIDTH - 14.0


def search_path(bridge: Mapping[str, Any], *, id: str) -> Chart:
    """Draw the evaluated points, numbered in their order, and the best loss so far below them.

    Parameters
    ----------
    bridge : dict
        ``pictures.bridge`` of a result.
    id : str
        Starts the ids in the drawing; unique in a page.

    Returns
    -------
    Chart
        The path on the map, and the best loss after each evaluation; the latter alone where all
        weightings are alike.
    """
    title = "Path of the search"
    losses = bridge["loss"]
    known = [(loss, place) for place, loss in enumerate(losses, 1) if loss is not None]
    table = _path_table(bridge)
    if not known:
        return sentence(id, title, "No evaluation of the search succeeded.", table)
    desc = f"Best found at evaluation {min(known)[1]} of {len(losses)}."
    top, parts = 0.0, []
    if not are_alike(bridge):
        to_units = frame(bridge)
        top = to_units.bottom
        parts = _numbered_map(bridge)
    y = scale(widened(min(known)[0], max(known)[0]), (top + 112, top + 30))
    x = scale((1, max(2, len(losses))), (_LEFT, _RIGHT - 4))
    best = _best_so_far(losses)
    svg = Svg(id, title, desc, top + 152)
    svg.add(*parts, text(14, top + 16, f"{bridge['loss_name']}: line, best so far"))
    svg.add(left_axis(y, _LEFT, n=3, grid=_RIGHT))
    svg.add(bottom_axis(x, top + 112, name="evaluation"))
    svg.add(*(circle(x(place), y(loss), 3, "wb-other-fill") for loss, place in known))
    line_places = [(x(place), y(loss)) for place, loss in best]
    edges = [each for each, _ in line_places]
    heights = [height for _, height in line_places]
    svg.add(path([*steps(edges, heights[:-1]), line_places[-1]], "wb-weighted"))
    return Chart(svg.render(), title, desc, table)


def _numbered_map(bridge: Mapping[str, Any]) -> list[str]:
    to_units = frame(bridge)
    colours = loss_steps(bridge["loss"], loss_without_weights(bridge))
    places = [to_units(place) for place in zip(bridge["x"], bridge["y"], strict=True)]
    words = Words()
    # the ends alone are named: names of curves would stand among the numbers
    for name, end in bridge["ends"].items():
        x, y = to_units(end)
        words.put(name, [(x, y + 20)], "wb-strong wb-halo", 13)
    for place in places:
        words.keep_free(*place, 4)
    # later ones first: they are where the search went
    for number_, (x, y) in reversed(list(enumerate(places, 1))):
        around = [(x, y - 7), (x, y + 16), (x + 12, y + 4), (x - 12, y + 4)]
        around += [(x + 11, y - 5), (x - 11, y - 5), (x + 11, y + 14), (x - 11, y + 14)]
        words.put(str(number_), around, "wb-halo")
    chosen = bridge["chosen"]
    return [
        curve_lines(bridge, to_units, hangers=False),
        path(places, "wb-hatch"),
        points(bridge, to_units, colours),
        star(*to_units((chosen["x"], chosen["y"]))),
        *words.parts,
    ]


def _best_so_far(losses: Sequence[float | None]) -> list[tuple[int, float]]:
    best: list[tuple[int, float]] = []
    for place, loss in enumerate(losses, 1):
        if loss is not None:
            best.append((place, min(loss, best[-1][1]) if best else loss))
        elif best:
            best.append((place, best[-1][1]))
    return best


def _path_table(bridge: Mapping[str, Any]) -> Table:
    best = dict(_best_so_far(bridge["loss"]))
    rows = zip(bridge["lam"], bridge["alpha"], bridge["loss"], strict=True)
    heads = ("evaluation", "lam", "alpha", str(bridge["loss_name"]), "best so far")
    return heads, tuple(
        (
            str(place),
            number(lam),
            number(alpha),
            "failed" if loss is None else number(loss, 4),
            number(best.get(place), 4),
        )
        for place, (lam, alpha, loss) in enumerate(rows, 1)
    )
