"""Code to copy: load the model, predict at the command line, repeat the run."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Any

from weighbridge.report._read import Facts

# Settings that are no options, or written otherwise.
_NO_OPTIONS = ("model", "models", "criterion", "reason", "jobs")
# Options are written only where they differ from their defaults: None unless it is here.
_DEFAULTS: dict[str, Any] = {
    "task": None,
    "drop": [],
    "keep": None,
    "weight": None,
    "metric": None,
    "ratio": "auto",
    "lam": None,
    "alpha": None,
    "confidence": 0.95,
    "seed": 0,
}

# Metrics that are taken where none is named.
_USUAL = {"metric": ("error", "rmse", "RMSE")}


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
        found += [
            Snippet("use-python", "Load the model in Python", _load(model)),
            Snippet("use-predict", "Predict at the command line", _predict(model)),
        ]
    if not _in_memory(facts):
        found.append(Snippet("use-repeat", "Repeat this run", _repeat(facts)))
    if facts.expect:
        found.append(Snippet("use-adapt", "The same run in Python", _adapt(facts)))
    return found


def _in_memory(facts: Facts) -> bool:
    """Whether the tables were data frames, which are called by the name of their argument."""
    return all(_file(facts.inputs, side) == side for side in ("train", "deploy"))


def _load(model: str) -> str:
    return (
        "from weighbridge.adaptation import load_model\n\n"
        f"saved = load_model({_text(model)})\n"
        "# a data frame with the columns of saved.features\n"
        "saved.model.predict(X_new)"
    )


def _predict(model: str) -> str:
    return f"weighbridge predict {shlex.quote(model)} new.csv"


def _repeat(facts: Facts) -> str:
    command, inputs = facts.result["command"], facts.inputs
    if command == "demo":
        seed = facts.settings.get("seed")
        return "weighbridge demo" + (f" {_option('seed', seed)}" if seed else "")
    files = [shlex.quote(_file(inputs, side)) for side in ("train", "deploy")]
    parts = ["weighbridge", command, *files]
    if inputs.get("label") is not None:
        parts += ["--label", shlex.quote(str(inputs["label"]))]
    for name in _models(facts):
        parts += ["--model", shlex.quote(name)]
    parts += [_option(name, value) for name, value in _given(facts)]
    return " ".join(parts)


def _option(name: str, value: Any) -> str:
    """Write an option as it is typed."""
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
    inputs, models = facts.inputs, _models(facts)
    files = [_file(inputs, side) for side in ("train", "deploy")]
    lines = [", ".join(files if _in_memory(facts) else map(_text, files))]
    lines.append(f"label={_text(str(inputs.get('label')))}")
    if models:
        named = [_text(each) for each in models]
        lines.append(f"model={named[0] if len(named) == 1 else '[' + ', '.join(named) + ']'}")
    lines += [f"{name}={_literal(value)}" for name, value in _given(facts)]
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
    names = dict.fromkeys([*_DEFAULTS, *settings])
    found = []
    for name in names:
        value = settings.get(name)
        if name in _NO_OPTIONS or value is None:
            continue
        if value not in _USUAL.get(name, (_DEFAULTS.get(name),)):
            found.append((name, value))
    return found


def _file(inputs: dict[str, Any], side: str) -> str:
    return str((inputs.get(side) or {}).get("file") or f"{side}.csv")


def _text(value: str) -> str:
    """Write a string literal; the rules of JSON are Python's here."""
    return json.dumps(value, ensure_ascii=False)


def _literal(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return _text(value) if isinstance(value, str) else repr(value)
