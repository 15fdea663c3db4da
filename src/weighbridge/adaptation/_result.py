"""The result as JSON: one object for the terminal, the file, the report and other programs."""

from __future__ import annotations

import math
import os
import platform
from copy import deepcopy
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from weighbridge import __version__
from weighbridge._estimators import ImportanceWeightedCV
from weighbridge._files import SCHEMA
from weighbridge._findings import Finding
from weighbridge._tables import Pair, Table, as_word
from weighbridge.criteria import default_scoring, respond
from weighbridge.target_risk import NAMES, find_measure
from weighbridge.verdict import Verdict

if TYPE_CHECKING:
    from weighbridge.adaptation._adapt import Settings
    from weighbridge.adaptation._adaptation import Adaptation


_EPOCH = "SOURCE_DATE_EPOCH"
_PACKAGES = ("weighbridge", "numpy", "scipy", "scikit-learn", "pandas", "skops")


def result_dict(result: Adaptation, *, full: bool) -> dict[str, Any]:
    """Return the whole result, ready for JSON."""
    verdict, settings = result.verdict, result.settings
    found = verdict.to_dict()
    criterion, reason = _choice(verdict)
    content = {
        **head(result.command),
        "inputs": inputs_dict(result.tables, result.pair, result.task, settings.label),
        "settings": {
            "seed": settings.seed,
            "model": _model_names(settings)[0],
            "models": _model_names(settings),
            "metric": result.metric,
            "criterion": criterion,
            "reason": reason,
            "ratio": result.ratio,
            **_other_settings(settings),
        },
        "verdict": found["verdict"],
        "answers": found["answers"],
        "shift": found["shift"],
        "overlap": overlap_dict(found["overlap"]),
        "expect": {
            **found["expect"],
            "actual": result.actual,
            "models": [_other(name, each) for name, each in result.others.items()],
        },
        "findings": [each.to_dict() for each in result.findings],
        "files": {},
        # seconds differ from run to run, and would make results differ that are the same
        "timing": {} if _EPOCH in os.environ else result.timing,
        "failure": None,
    }
    pictures = result.pictures.to_dict()
    content["shift"]["features"] = feature_differences(pictures, verdict.use)
    if full:
        content["pictures"] = pictures
    # whoever changes the answer must not change the result
    return deepcopy(content)


def head(command: str) -> dict[str, Any]:
    """Return what every result begins with."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "command": command,
        "date": _date(),
        "versions": {"python": platform.python_version(), **_versions()},
    }


def inputs_dict(
    tables: tuple[Table, Table], pair: Pair, task: str | None, label: str | None
) -> dict[str, Any]:
    """Return what went in, with fingerprints."""
    train, deploy = tables
    classes = None
    if task == "classification":
        classes = [str(each) for each in np.unique(np.asarray(pair.y)).tolist()]
    return {
        "train": _file(train),
        "deploy": _file(deploy),
        "label": label,
        "task": task,
        "classes": classes,
        "features": [
            {"name": here.name, "kind": here.kind, "missing": [here.missing, there.missing]}
            for here, there in pair.features
        ],
        "dropped": [each.to_dict() for each in pair.dropped],
    }


def overlap_dict(overlap: dict[str, Any]) -> dict[str, Any]:
    """Return the overlap with its main numbers at the top."""
    full, used = overlap["full"], overlap["used"]
    return {
        **overlap,
        "worth_full": full["ess"],
        "worth_used": used["ess"],
        "tail_index": full["pareto_k"],
        "outside": overlap["outside"]["share"],
        "outside_rows": overlap["outside"],
        "largest_share": used["largest_share"],
    }


def feature_differences(pictures: dict[str, Any], use: str) -> list[dict[str, Any]]:
    """Return each feature's difference before, and after the weighting in use."""
    return [
        {
            "name": row["name"],
            "before": row["before"],
            "after": row["after"].get(use, row["before"]),
        }
        for row in pictures["balance"]
    ]


def _file(table: Table) -> dict[str, Any]:
    return {
        "file": table.name,
        "rows": table.rows,
        "sampled": table.sampled,
        "sha256": table.sha256,
    }


def _other(name: str, verdict: Verdict) -> dict[str, Any]:
    """Return what is expected of a further model."""
    found = verdict.to_dict()
    return {
        "name": name,
        "sentence": verdict.sentence,
        "use": verdict.use,
        "training": found["expect"]["training"],
        "candidates": found["expect"]["candidates"],
    }


def _choice(verdict: Verdict) -> tuple[str | None, str | None]:
    """Say what the weighting was chosen by, and what spoke for it."""
    tuned = next((each.model for each in verdict.candidates if each.name == "tuned"), None)
    if not isinstance(tuned, ImportanceWeightedCV):
        return None, None
    return f"importance-weighted {NAMES[default_scoring(tuned.estimator)]}", tuned.reason_


def _model_names(settings: Settings) -> list[str]:
    return [each if isinstance(each, str) else type(each).__name__ for each in settings.models]


def _other_settings(settings: Settings) -> dict[str, Any]:
    """Return every setting that has no place of its own in a result."""
    placed = ("label", "task", "seed", "models", "metric", "ratio")
    return {
        "jobs" if name == "n_jobs" else name: list(value) if isinstance(value, tuple) else value
        for name, value in vars(settings).items()
        if name not in placed
    }


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = __version__ if package == "weighbridge" else version(package)
        except PackageNotFoundError:
            continue
    return found


def _date() -> str:
    """Return the day; SOURCE_DATE_EPOCH makes results equal to the byte."""
    epoch = os.environ.get(_EPOCH)
    moment = datetime.now(UTC) if epoch is None else datetime.fromtimestamp(int(epoch), UTC)
    return moment.date().isoformat()


def actual_errors(
    verdict: Verdict, X_target: Any, y_target: Any, scoring: str
) -> dict[str, float] | None:
    """Return the loss of every candidate on the deployment rows whose label is known."""
    if y_target is None:
        return None
    measure = find_measure(scoring, None, verdict.model)
    classes = verdict.model.classes_ if is_classifier(verdict.model) else None
    labels, known = _codes(y_target, classes)
    loss = measure.row_loss
    if loss is None or not known.any():
        return None
    rows, labels = X_target[known], labels[known]
    found = {}
    for each in verdict.candidates:
        mean = float(loss.loss(labels, respond(each.model, rows, loss.response, classes)).mean())
        found[each.name] = math.sqrt(mean) if measure.root else mean
    return found


def _codes(labels: np.ndarray, classes: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return labels as numbers of their class, and which of them the model can know at all."""
    if classes is None:
        numbers = np.asarray(labels, dtype=np.float64)
        return numbers, np.isfinite(numbers)
    numbers_of = {as_word(each): code for code, each in enumerate(classes.tolist())}
    codes = np.array([numbers_of.get(as_word(each), -1) for each in labels.tolist()])
    return codes, codes >= 0


def actual_findings(verdict: Verdict, actual: dict[str, float] | None) -> list[Finding]:
    """Say where the truth lies outside of what was expected of the model in use."""
    if actual is None:
        return []
    used = verdict.candidate(verdict.use)
    estimate, truth = used.risk.estimate, actual[used.name]
    if estimate is None or estimate.low <= truth <= estimate.high:
        return []
    numbers = verdict.numbers
    return [
        Finding(
            "WB604",
            "warning",
            f"The actual error, {numbers.value(truth)}, is outside the interval "
            f"{numbers.interval(estimate)}.",
            "Look for a change in how features relate to the label, which no weights see; or it is "
            f"one of the {100 - 100 * verdict.confidence:g} % of intervals that miss.",
        )
    ]
