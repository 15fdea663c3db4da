"""The numbers behind the pictures and the words, as tables."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from weighbridge._findings import number, percent
from weighbridge.pictures import WeightedFeature
from weighbridge.report._read import DataTable, Facts, table
from weighbridge.verdict import stored_estimate

_DASH = "–"


def expect_tables(facts: Facts) -> dict[str, DataTable | None]:
    """Return the weightings and the models that were compared; None where nothing was."""
    if not facts.expect:
        return {"candidates": None, "models": None}
    return {"candidates": _candidate_table(facts), "models": _model_table(facts)}


def detail_tables(facts: Facts) -> list[DataTable]:
    """Return what only some readers want to see, feature by feature and column by column."""
    found = _attribution_table(facts), _feature_test_table(facts), _column_table(facts)
    return [each for each in found if each is not None]


def _candidate_table(facts: Facts) -> DataTable:
    """Return the comparison of the weightings."""
    numbers, interval = facts.numbers, f"{facts.confidence} interval"
    heads = ["weighting", "lam", "alpha", numbers.noun, interval]
    heads += [
        f"change against none{', points' if numbers.is_share else ''}",
        interval,
        "effective rows",
    ]
    known = bool(facts.expect.get("actual"))
    if known:
        heads += ["actual error", "inside its interval"]
    rows = [[*_candidate(facts, each), *_actual(facts, each, known)] for each in facts.candidates]
    return table("The weightings compared", heads, rows)


def _candidate(facts: Facts, each: dict[str, Any]) -> list[str]:
    numbers, change = facts.numbers, each["change"]
    literature = f" ({each['literature']})" if each.get("literature") else ""
    used = ", used" if each["name"] == facts.use else ""
    mixed = len(each.get("mixture") or []) > 1
    alpha = _DASH if each["alpha"] is None or mixed else f"{each['alpha']:.2f}"
    cells = [f"{each['name']}{literature}{used}", "mix" if mixed else f"{each['lam']:.2f}", alpha]
    cells += _error(facts, each)
    if change is None:
        cells += [_DASH, _DASH]
    else:
        cells += [numbers.change(change["value"]), numbers.change_span(stored_estimate(change))]
    return [*cells, _DASH if each["worth"] is None else f"{each['worth']:,.0f}"]


def _error(facts: Facts, candidate: dict[str, Any]) -> list[str]:
    error = candidate["error"]
    if error is None:
        return ["withheld", _DASH]
    return [facts.numbers.value(error["value"]), facts.numbers.span(stored_estimate(error))]


def _actual(facts: Facts, each: dict[str, Any], known: bool) -> list[str]:
    if not known:
        return []
    value = facts.expect["actual"].get(each["name"])
    inside = facts.is_inside(each["name"])
    shown = _DASH if value is None else facts.numbers.value(value)
    return [shown, _DASH if inside is None else "yes" if inside else "no"]


def _model_table(facts: Facts) -> DataTable | None:
    """Return every weighting of every model; None where there is one model only."""
    further = facts.expect.get("models") or []
    if not further:
        return None
    first = {
        "name": facts.settings.get("model") or "model",
        "use": facts.use,
        "training": facts.expect["training"],
        "candidates": facts.candidates,
    }
    heads = [
        "model",
        "weighting",
        "in training",
        facts.numbers.noun,
        f"{facts.confidence} interval",
    ]
    rows = [
        [each["name"], *_model(facts, each, candidate)]
        for each in (first, *further)
        for candidate in each["candidates"]
        if candidate["name"] in ("none", each["use"])
    ]
    return table("The models compared: without weights, and as each would be used", heads, rows)


def _model(facts: Facts, model: dict[str, Any], candidate: dict[str, Any]) -> list[str]:
    used = ", used" if candidate["name"] == model["use"] else ""
    training = facts.numbers.value(model["training"]) if candidate["name"] == "none" else _DASH
    return [f"{candidate['name']}{used}", training, *_error(facts, candidate)]


def feature_table(feature: WeightedFeature) -> DataTable:
    """Return the shares of one feature's values or bins, every weighting in its own column."""
    columns = [feature.training, feature.deployment, *feature.weighted.values()]
    heads = ["training", "deployment", *feature.weighted]
    values, edges = feature.values, feature.edges
    if values is not None:
        write = str if values.dtype == object else number
        labels = [write(each) for each in values.tolist()]
        widths = [1.0] * len(labels)
    else:
        bins = list(pairwise([] if edges is None else edges.tolist()))
        labels = [f"{number(low)} – {number(high)}" for low, high in bins]
        widths = [high - low for low, high in bins]
    rows = [
        [label, *(percent(cell * width, 1) for cell in cells)]
        for label, width, *cells in zip(labels, widths, *columns, strict=True)
    ]
    caption = f"{feature.name}: share of rows in training and deployment, and after weighting"
    return table(caption, ["value" if edges is None else "range", *heads], rows)


def _attribution_table(facts: Facts) -> DataTable | None:
    """Return where the shift is, feature by feature."""
    rows = facts.shift.get("attribution")
    if not rows:
        return None
    return table(
        "Which features tell the files apart",
        ["feature", "AUC of the feature alone", "AUC lost without it", "standard error"],
        (
            [each["name"], *(number(each[key]) for key in ("alone", "fall", "standard_error"))]
            for each in rows
        ),
    )


def _feature_test_table(facts: Facts) -> DataTable | None:
    """Return the test of every feature."""
    rows = [each for each in facts.shift.get("features") or [] if "p_adjusted" in each]
    if not rows:
        return None
    return table(
        "A test of each feature, corrected for their number",
        ["feature", "test", "distance", "p", "p corrected"],
        (
            [
                each["name"],
                each["test"],
                number(each["distance"]),
                number(each["p_value"], 2),
                number(each["p_adjusted"], 2),
            ]
            for each in rows
        ),
    )


def _column_table(facts: Facts) -> DataTable | None:
    """Return the columns that were used and those that were left out."""
    used = facts.inputs.get("features") or []
    left_out = facts.inputs.get("dropped") or []
    if not used and not left_out:
        return None
    rows = [
        [each["name"], each["kind"], *(percent(share) for share in each["missing"]), "used"]
        for each in used
    ]
    dropped = [
        [each["name"], *[_DASH] * 3, f"left out: {each['reason'].rstrip('.')} ({each['code']})"]
        for each in left_out
    ]
    heads = ["column", "kind", "missing in training", "missing in deployment", "use"]
    return table("Columns", heads, [*dropped, *rows])


def settings_tables(facts: Facts) -> list[DataTable]:
    """Return what was read and how the run was made, so that it can be repeated."""
    result = facts.result
    files = [
        [side, *_file(facts.inputs.get(key) or {})]
        for key, side in (("train", "training"), ("deploy", "deployment"))
    ]
    settings = {
        "command": result["command"],
        "task": facts.inputs.get("task"),
        "classes": facts.inputs.get("classes"),
        **{name: each for name, each in facts.settings.items() if name != "models"},
        "further models": (facts.settings.get("models") or [])[1:] or None,
        "date": result.get("date"),
    }
    versions = {"weighbridge": result.get("version"), **(result.get("versions") or {})}
    return [
        table("Files", ["sample", "file", "rows", "rows used", "SHA-256"], files),
        table("Settings", ["setting", "value"], _listed(settings)),
        table("Versions", ["package", "version"], _listed(versions)),
    ]


def _file(found: dict[str, Any]) -> list[str]:
    rows = [found.get("rows"), found.get("sampled", found.get("rows"))]
    counts = [_DASH if each is None else f"{each:,}" for each in rows]
    return [str(found.get("file") or _DASH), *counts, str(found.get("sha256") or _DASH)]


def _listed(content: dict[str, Any]) -> list[list[str]]:
    return [[name, _value(each)] for name, each in content.items() if each is not None]


def _value(content: Any) -> str:
    if isinstance(content, list | tuple):
        return ", ".join(map(_value, content)) or _DASH
    if isinstance(content, float):
        return number(content)
    return str(content)
