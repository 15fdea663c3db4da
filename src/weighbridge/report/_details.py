"""What the page lists: the numbers behind pictures and words as tables, and code to copy."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from weighbridge._findings import UNKNOWN, number, percent
from weighbridge.pictures import WeightedFeature
from weighbridge.verdict import candidate_cells, metric_table

if TYPE_CHECKING:
    from weighbridge.report._read import Facts

# Rows of a table; the rest are counted.
MOST_ROWS = 400
# Settings that are no options, or written otherwise.
_NO_OPTIONS = ("model", "models", "criterion", "reason", "jobs")
# Options in their order, each with the values that are not written: they are taken anyway.
_USUAL: dict[str, tuple[Any, ...]] = {
    "task": (),
    "drop": ([],),
    "keep": (),
    "weight": (),
    "metric": ("error", "rmse", "RMSE"),
    "ratio": ("auto",),
    "lam": (),
    "alpha": (),
    "confidence": (0.95,),
    "seed": (0,),
    "pool": (False,),
    "max_rows": (100_000,),
}


@dataclass(frozen=True)
class DataTable:
    """Heads and rows of text; the first cell of a row names it."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    n_left_out: int = 0


def table(caption: str, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> DataTable:
    """Return a table of at most 400 rows that counts the others."""
    found = [tuple(row) for row in rows]
    return DataTable(
        caption, tuple(heads), tuple(found[:MOST_ROWS]), max(0, len(found) - MOST_ROWS)
    )


def details(facts: Facts) -> dict[str, Any]:
    """Return everything that is listed on the page, by the name its template knows it by."""
    further = _attribution_table(facts), _column_table(facts)
    return {
        "candidates": _candidate_table(facts) if facts.expect else None,
        "metrics": _metric_table(facts),
        "models": _model_table(facts),
        "feature_tables": [_feature_table(each) for each in facts.pictures.features],
        "use": _use(facts),
        "snippets": snippets(facts),
        "settings": _settings_tables(facts),
        "detail_tables": [each for each in further if each is not None],
    }


def _candidate_table(facts: Facts) -> DataTable:
    """Return the comparison of the weightings."""
    numbers, span = facts.numbers, f"{facts.confidence} interval"
    change = f"change against none{', points' if numbers.is_share else ''}"
    heads = ["weighting", "lam", "alpha", numbers.noun, span, change, span, "effective rows"]
    if facts.actual:
        heads += ["actual error", span, "agrees"]
    rows = [
        [_name(facts, each), *candidate_cells(each, numbers), *_actual(facts, each)]
        for each in facts.rows
        if not each.get("same_as")
    ]
    return table("The weightings compared", heads, rows)


def _name(facts: Facts, each: dict[str, Any]) -> str:
    """Return the name of a row, with those it stands for."""
    same = [other["name"] for other in facts.rows if other.get("same_as") == each["name"]]
    literature = f" ({each['literature']})" if each.get("literature") else ""
    used = ", used" if each["name"] == facts.use else ""
    return f"{' = '.join([each['name'], *same])}{literature}{used}"


def _actual(facts: Facts, each: dict[str, Any]) -> list[str]:
    found, agrees = facts.actual.get(each["name"]), facts.agrees(each["name"])
    if found is None:
        return [UNKNOWN] * 3 if facts.actual else []
    shown = [facts.numbers.value(found.value), facts.numbers.span(found)]
    return [*shown, UNKNOWN if agrees is None else "yes" if agrees else "no"]


def _metric_table(facts: Facts) -> DataTable | None:
    """Return the metrics asked for beside the one the page is about; None if there are none."""
    rows = metric_table(facts.expect, {facts.use or "": ", used"})
    return table("Every metric asked for", rows[0], rows[1:]) if rows else None


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
    heads = ["model", "weighting", "in training", facts.numbers.noun]
    heads.append(f"{facts.confidence} interval")
    rows = [
        [each["name"], *_model(facts, each, candidate)]
        for each in (first, *further)
        for candidate in each["candidates"]
        if candidate["name"] in ("none", each["use"])
    ]
    return table("The models compared: without weights, and as each would be used", heads, rows)


def _model(facts: Facts, model: dict[str, Any], candidate: dict[str, Any]) -> list[str]:
    used = ", used" if candidate["name"] == model["use"] else ""
    training = facts.numbers.value(model["training"]) if candidate["name"] == "none" else UNKNOWN
    return [f"{candidate['name']}{used}", training, *candidate_cells(candidate, facts.numbers)[2:4]]


def _feature_table(feature: WeightedFeature) -> DataTable:
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
    heads = ["feature", "AUC of the feature alone", "AUC lost without it", "standard error"]
    keys = ("alone", "fall", "standard_error")
    cells = [[each["name"], *(number(each[key]) for key in keys)] for each in rows or ()]
    return table("Which features tell the files apart", heads, cells) if cells else None


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
        [each["name"], *[UNKNOWN] * 3, f"left out: {each['reason'].rstrip('.')} ({each['code']})"]
        for each in left_out
    ]
    heads = ["column", "kind", "missing in training", "missing in deployment", "use"]
    return table("Columns", heads, [*dropped, *rows])


def _settings_tables(facts: Facts) -> list[DataTable]:
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
    counts = [UNKNOWN if each is None else f"{each:,}" for each in rows]
    return [str(found.get("file") or UNKNOWN), *counts, str(found.get("sha256") or UNKNOWN)]


def _listed(content: dict[str, Any]) -> list[list[str]]:
    return [[name, _value(each)] for name, each in content.items() if each is not None]


def _value(content: Any) -> str:
    if isinstance(content, list | tuple):
        return ", ".join(map(_value, content)) or UNKNOWN
    if isinstance(content, float):
        return number(content)
    return str(content)


@dataclass(frozen=True)
class Snippet:
    """Some lines to copy, and what they do."""

    id: str
    title: str
    text: str


def snippets(facts: Facts) -> list[Snippet]:
    """Return what there is to copy for a result."""
    model = (facts.result.get("files") or {}).get("model")
    found = []
    if model is not None:
        predict = f"weighbridge predict {shlex.quote(model)} new.csv"
        found += [
            Snippet("use-python", "Load the model in Python", _load(model)),
            Snippet("use-predict", "Predict at the command line", predict),
        ]
    if not _in_memory(facts):
        found.append(Snippet("use-repeat", "Repeat this run", _repeat(facts)))
    if facts.expect:
        found.append(Snippet("use-adapt", "The same run in Python", _adapt(facts)))
    return found


def _use(facts: Facts) -> str:
    """Say what was kept, and where it is."""
    files = facts.result.get("files") or {}
    if not facts.expect:
        return "No model was fitted. With a label, weighbridge adapt fits one and writes it."
    kept = (
        "the unweighted model"
        if facts.use == "none"
        else f"the model with the {facts.use} weighting"
    )
    if files.get("model") is None:
        return f"In Python, result.model is {kept}; result.save(folder) writes it to a file."
    is_pooled = (facts.expect.get("pooled") or {}).get("counts")
    weights = f" The weight of every training row is in {files.get('weights')}."
    weights = weights if files.get("weights") else ""
    also = " and to the labelled deployment rows" if is_pooled else ""
    return f"{files['model']} holds {kept}, fitted to all training rows{also}.{weights}"


def _in_memory(facts: Facts) -> bool:
    """Whether the tables were data frames, which are called by the name of their argument."""
    return _files(facts) == ["train", "deploy"]


def _load(model: str) -> str:
    return (
        "from weighbridge.adaptation import load_model\n\n"
        f"saved = load_model({_quoted(model)})\n"
        "# a data frame with the columns of saved.features\n"
        "saved.model.predict(X_new)"
    )


def _repeat(facts: Facts) -> str:
    command, inputs = facts.result["command"], facts.inputs
    if command == "demo":
        seed = facts.settings.get("seed")
        return "weighbridge demo" + (f" {_option('seed', seed)}" if seed else "")
    parts = ["weighbridge", command, *map(shlex.quote, _files(facts))]
    if inputs.get("label") is not None:
        parts += ["--label", shlex.quote(str(inputs["label"]))]
    for name in _models(facts):
        parts += ["--model", shlex.quote(name)]
    # The command always draws the usual number of rows.
    parts += [_option(name, value) for name, value in _given(facts) if name != "max_rows"]
    return " ".join(parts)


def _option(name: str, value: Any) -> str:
    """Write an option as it is typed."""
    if value is True:
        return f"--{name}"
    if isinstance(value, list):
        value = ",".join(map(_between_commas, value))
    written = shlex.quote(f"{value:g}" if isinstance(value, float) else str(value))
    # what starts with a dash would be taken for another option
    return f"--{name}{'=' if str(value).startswith('-') else ' '}{written}"


def _between_commas(name: str) -> str:
    """Write a name as one of several: one that holds a comma or a quote is put in quotes."""
    if "," in name or '"' in name:
        return '"' + name.replace('"', '""') + '"'
    return name


def _adapt(facts: Facts) -> str:
    files, models = _files(facts), _models(facts)
    lines = [", ".join(files if _in_memory(facts) else map(_quoted, files))]
    lines.append(f"label={_quoted(str(facts.inputs.get('label')))}")
    if models:
        lines.append(f"model={_quoted(models[0] if len(models) == 1 else models)}")
    # a data frame is called by the name of its argument
    lines += [f"{n}={n if value == n else _quoted(value)}" for n, value in _given(facts)]
    inside = "".join(f"    {each},\n" for each in lines)
    return (
        f"import weighbridge\n\nresult = weighbridge.adapt(\n{inside})\nresult.model.predict(X_new)"
    )


def _models(facts: Facts) -> list[str]:
    """Return the models that were asked for; none where that is the default."""
    names = facts.settings.get("models") or [facts.settings.get("model")]
    return [] if names in ([None], ["linear"]) else [str(each) for each in names]


def _given(facts: Facts) -> list[tuple[str, Any]]:
    """Return the settings that are not defaults, and always the task."""
    settings = {"task": facts.inputs.get("task"), **facts.settings}
    names = dict.fromkeys([*_USUAL, *settings])
    found = [(name, settings.get(name)) for name in names if name not in _NO_OPTIONS]
    return [(name, value) for name, value in found if value not in (None, *_USUAL.get(name, ()))]


def _files(facts: Facts) -> list[str]:
    sides = {side: facts.inputs.get(side) or {} for side in ("train", "deploy")}
    return [str(found.get("file") or f"{side}.csv") for side, found in sides.items()]


def _quoted(value: Any) -> str:
    """Write text, a number or a list of them as a literal; the rules of JSON are Python's here."""
    return str(value) if isinstance(value, bool) else json.dumps(value, ensure_ascii=False)
