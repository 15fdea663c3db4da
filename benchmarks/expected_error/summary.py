"""Figures of expected errors beside actual ones.

Errors and scores between 0 and 1 are compared in points, root mean squared errors in per cent of
the actual one. Cells that we withhold are looked at apart. An alarm says that the loss rose by more
than 3 points (3 per cent) over that of the reference; it is judged where nothing was withheld.
"""

from collections import defaultdict

import numpy as np

RISE = 3.0
LOSSES = ("error", "RMSE")
# Y|X parts below so many standard errors are within noise.
WITHIN_NOISE = 2.0


def summary(rows, parts):
    """Return figures for each measure and kind, {measure: {kind: {method: figures}}}."""
    cells = defaultdict(list)
    for row in rows:
        kinds = [row["kind"], "natural + induced"] if row["kind"] in ("natural", "induced") else []
        for kind in kinds or [row["kind"]]:
            cells[row["measure"], kind].append(row)
    found = defaultdict(dict)
    for (measure, kind), some in cells.items():
        found[measure][kind] = _figures(some, measure)
    return dict(found) | {"coverage": _coverage(rows, parts), "seconds": _seconds(rows)}


def _error(guess, row):
    actual = row["actual"]
    if row["measure"] == "RMSE":
        return 100 * np.log(max(guess, 1e-12) / actual)
    return 100 * (guess - actual)


def _guesses(row):
    """Return all guesses of a cell by method; none of ours where it is withheld."""
    estimate = row["ours"]["estimate"]
    return row["others"] | ({"ours": estimate[0]} if estimate else {})


def _figures(rows, measure):
    answered = [row for row in rows if row["ours"]["state"] != "withheld"]
    withheld = [row for row in rows if row["ours"]["state"] == "withheld"]
    out = {"cells": len(answered), "withheld": len(withheld), "methods": {}}
    for name in {name: 0 for row in answered for name in _guesses(row)}:
        if not all(name in _guesses(row) for row in answered):
            continue
        errors = [_error(_guesses(row)[name], row) for row in answered]
        figures = {
            "absolute": float(np.mean(np.abs(errors))),
            "bias": float(np.mean(errors)),
            "se": _clustered([abs(each) for each in errors], answered),
        }
        if withheld and name in withheld[0]["others"]:
            figures["where withheld"] = float(
                np.mean([abs(_error(row["others"][name], row)) for row in withheld])
            )
        if measure in LOSSES:
            figures |= _alarms(name, answered)
        out["methods"][name] = figures
    return out


def _clustered(values, rows):
    """Return the standard error of a mean, tasks taken as the units."""
    by_task = defaultdict(list)
    for value, row in zip(values, rows, strict=True):
        by_task[row["task"]].append(value)
    means = [np.mean(each) for each in by_task.values()]
    return float(np.std(means, ddof=1) / np.sqrt(len(means))) if len(means) > 1 else None


def _alarms(name, rows):
    """Return precision, recall and F1 of the alarm that the loss has risen."""
    said, true = [], []
    for row in rows:
        rise = _error(_guesses(row)[name], row) - _error(row["others"]["reference"], row)
        said.append(rise > RISE)
        true.append(-_error(row["others"]["reference"], row) > RISE)
    said, true = np.array(said), np.array(true)
    hits = (said & true).sum()
    precision, recall = hits / max(said.sum(), 1), hits / max(true.sum(), 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-12)
    return {"precision": float(precision), "recall": float(recall), "F1": float(f1)}


def _coverage(rows, parts):
    """Return how often our intervals held where the relation did not change, and their length."""
    groups = defaultdict(list)
    for row in rows:
        if row["ours"]["state"] == "withheld" or row["kind"] == "label":
            continue
        kind = row["kind"]
        if kind == "natural":
            kind = "natural, same relation" if _same(row, parts) else "natural, other relation"
        _, low, high = row["ours"]["estimate"]
        length = (high - low) / (row["actual"] if row["measure"] == "RMSE" else 1)
        groups[f"{row['measure']}, {kind}"].append((low <= row["actual"] <= high, 100 * length))
    return {
        name: {
            "held": float(np.mean([each[0] for each in some])),
            "length": float(np.mean([each[1] for each in some])),
            "cells": len(some),
        }
        for name, some in sorted(groups.items())
    }


def _same(row, parts):
    """Return whether the Y|X part of the task's change is within noise for every model measured."""
    of_task = next(part for name, part in parts.items() if name == row["file"])
    return all(
        abs(each["Y|X"]["value"]) < WITHIN_NOISE * each["Y|X"]["se"] for each in of_task.values()
    )


def _seconds(rows):
    return {
        measure: float(np.median([r["ours"]["seconds"] for r in rows if r["measure"] == measure]))
        for measure in sorted({row["measure"] for row in rows})
    }


def as_text(figures):
    """Return the figures as a text."""
    lines = []
    for measure, kinds in figures.items():
        if measure in ("coverage", "seconds"):
            continue
        for kind, found in kinds.items():
            lines.append(
                f"\n{measure}, {kind}: {found['cells']} cells, {found['withheld']} withheld"
            )
            order = sorted(found["methods"].items(), key=lambda each: each[1]["absolute"])
            for name, each in order:
                told = "  ".join(
                    f"{key} {value:.2f}" for key, value in each.items() if value is not None
                )
                lines.append(f"  {name:<22}{told}")
    lines.append("\nintervals")
    for name, each in figures["coverage"].items():
        told = f"held {each['held']:.3f}  length {each['length']:.1f}  cells {each['cells']}"
        lines.append(f"  {name:<45}{told}")
    return "\n".join([*lines, f"\nCPU seconds {figures['seconds']}"])
