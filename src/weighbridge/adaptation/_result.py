"""The result as JSON: one object for the terminal, the file, the report and other programs."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit
from sklearn.base import is_classifier

from weighbridge import __version__
from weighbridge._files import SCHEMA
from weighbridge._findings import Finding, listed
from weighbridge._tables import Pair, Table, as_word
from weighbridge.criteria import respond
from weighbridge.target_risk import NAMES, Measure, find_measure, value_of
from weighbridge.verdict import Actual, Verdict

EPOCH = "SOURCE_DATE_EPOCH"
_PACKAGES = ("weighbridge", "numpy", "scipy", "scikit-learn", "pandas", "skops")


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
    epoch = os.environ.get(EPOCH)
    moment = datetime.now(UTC) if epoch is None else datetime.fromtimestamp(int(epoch), UTC)
    return moment.date().isoformat()


def actual_errors(
    verdict: Verdict, X_target: Any, y_target: Any, scoring: str, stands_for: Any = None
) -> dict[str, Actual] | None:
    """Return the loss of every candidate on deployment rows whose label is known, if any is."""
    if y_target is None:
        return None
    measure = find_measure(scoring, None, verdict.model)
    classes = verdict.model.classes_ if is_classifier(verdict.model) else None
    labels, known = _codes(y_target, classes)
    loss = measure.row_loss
    if loss is None or known.sum() < 2:  # one label tells nothing
        return None
    rows, labels = X_target[known], labels[known]
    design = _design(np.ones(known.size) if stands_for is None else stands_for, known)
    found = {}
    for each in filter(None, (*verdict.candidates, verdict.constant)):
        losses = loss.loss(labels, respond(each.model, rows, loss.response, classes))
        found[each.name] = _actual(losses, measure, verdict.confidence, design)
    return found


def metrics_dict(
    verdict: Verdict, X_target: Any, labels: Any, scorers: dict[str, str], stands_for: Any = None
) -> list[dict[str, Any]]:
    """Return every metric asked for: in training, expected and actual, without weights and used."""
    found = []
    for name, risks in verdict._metrics({"none", verdict.use}).items():
        is_gain = name == "accuracy"  # as it was asked for, not as a loss
        candidates: list[dict[str, Any]] = [
            {"name": each, "state": risk.state, "method": risk.method, "expected": None}
            for each, risk in risks.items()
        ]
        for each, risk in zip(candidates, risks.values(), strict=True):
            each["training"] = _turned(is_gain, risk.training.value)[0]
            if risk.estimate is not None:
                ends = _turned(is_gain, *risk.estimate.to_dict().values())
                each["expected"] = dict(zip(("value", "low", "high"), ends, strict=True))
            model = verdict.candidate(each["name"]).model
            value = _actual_metric(model, X_target, labels, scorers[name], stands_for)
            each["actual"] = None if math.isnan(value) else _turned(is_gain, value)[0]
        measure = "accuracy" if is_gain else NAMES[scorers[name]]
        found.append({"name": name, "measure": measure, "candidates": candidates})
    return found


def _actual_metric(model: Any, X_target: Any, labels: Any, scoring: str, stands_for: Any) -> float:
    """Return a metric on the deployment rows whose label is known; NaN without any."""
    if labels is None:
        return math.nan
    classes = model.classes_ if is_classifier(model) else None
    codes, known = _codes(labels, classes)
    if not known.any():
        return math.nan
    weights = np.ones(known.sum()) if stands_for is None else stands_for[known]
    measure = find_measure(scoring, None, model)
    return value_of(measure, model, X_target[known], codes[known], classes, weights)


def _turned(is_gain: bool, value: float, *ends: float) -> list[float]:
    """Return a loss, and the ends of its interval, as the gain that it leaves."""
    return [1 - value, *(1 - each for each in ends[::-1])] if is_gain else [value, *ends]


def _design(stands_for: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return share and stratum of each labelled row; rows that stand for as many are a stratum."""
    values, strata = np.unique(stands_for, return_inverse=True)
    stratum, weights = strata[known], stands_for[known]
    labelled = np.bincount(stratum, minlength=values.size)
    if labelled.min() > 1:  # those without a label are like the others of their stratum
        weights = weights * (np.bincount(strata) / labelled)[stratum]
    else:
        stratum = np.zeros_like(stratum)
    return weights / weights.sum(), stratum


def _actual(losses: np.ndarray, measure: Measure, confidence: float, design: Any = None) -> Actual:
    """Return a mean loss with its interval: Wilson's for a share of errors, else Student's."""
    n, level = losses.size, (1 + confidence) / 2
    shares, stratum = design or _design(np.ones(n), np.ones(n, dtype=bool))
    sizes = np.bincount(stratum)
    mean = min(float(shares @ losses), measure.bounds[1])
    if measure.bounds[1] == 1:
        # a plain sample of so many rows has the same variance; no stratum is taken to be pure
        chance = (np.bincount(stratum, losses) + 0.5) / (sizes + 1)
        middle, z = float(shares @ chance[stratum]), float(ndtri(level))
        n_eff = middle * (1 - middle) / float(shares**2 @ (chance * (1 - chance))[stratum])
        error, scale = math.sqrt(mean * (1 - mean) / n_eff), 1 / (1 + z * z / n_eff)
        middle = scale * (mean + z * z / (2 * n_eff))
        half = scale * z * math.hypot(error, z / (2 * n_eff))
        return Actual(mean, error, middle - half, middle + half, n)
    off = shares * (losses - mean)
    off -= (np.bincount(stratum, off) / sizes)[stratum]
    parts = sizes * np.bincount(stratum, off**2) / (sizes - 1)
    freedom = parts.sum() ** 2 / max((parts**2 / (sizes - 1)).sum(), 1e-300)
    error = math.sqrt(parts.sum())
    half = error * float(stdtrit(freedom, level)) if error else 0.0
    low, high = max(measure.bounds[0], mean - half), mean + half
    if not measure.root:
        return Actual(mean, error, low, high, n)
    root = math.sqrt(mean)
    return Actual(root, error / (2 * root) if root else 0.0, math.sqrt(low), math.sqrt(high), n)


def _codes(labels: np.ndarray, classes: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return labels as numbers of their class, and which of them the model can know at all."""
    if classes is None:
        numbers = np.asarray(labels, dtype=np.float64)
        return numbers, np.isfinite(numbers)
    numbers_of = {as_word(each): code for code, each in enumerate(classes.tolist())}
    # a whole number may be a class among decimals
    codes = [numbers_of.get(as_word(v), numbers_of.get(str(v), -1)) for v in labels.tolist()]
    return np.array(codes), np.array(codes) >= 0


def unseen_classes(values: np.ndarray, pair: Pair) -> Iterator[Finding]:
    """Yield a finding where labelled deployment rows have classes that training does not have."""
    if pair.task == "classification":
        _, known = _codes(values, np.unique(np.asarray(pair.y)))
        unseen = [str(as_word(each)) for each in values[~known].tolist() if as_word(each)]
        if unseen:
            yield Finding(
                "WB152",
                "warning",
                f"{len(unseen):,} labelled deployment rows are of classes that training does not "
                f"have: {listed(sorted({*unseen}))}. The actual error leaves them out.",
                "Correct what is misspelt; of a class that is new, add rows to the training data.",
            )
