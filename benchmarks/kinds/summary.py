"""Figures of the kinds of shift, from the pieces of `run`.

Class frequencies: the mean absolute error is over draws and classes, against the frequencies that
target rows were drawn with; intervals are to hold these. SKADA: mean accuracy over seeds, and the
paired difference from `auto` with its standard error. Told: shares of problems of a kind and size;
`acted wrongly` is the share in which weights of another kind were used although the kind was told
with certainty. A relation that changed is wrongly told where it is called a change of class
frequencies. Natural: effects are 100 log((loss + .01) / (that of no weights + .01)), a cell's being
the mean over draws, and significant by a paired t test over them at 1 %.
"""

from collections import defaultdict

import numpy as np

from benchmarks.natural.summary import effects, significant

UNSURE = "unclear"
FINE = ("right", "cannot tell", "no claim of label")


def frequencies(rows, rivals):
    """Return errors and coverage by set and method, and over all sets."""
    found = defaultdict(dict)
    for name, row in rows.items():
        truth = np.array(row["frequencies"])
        methods = {key: row[key] for key in ("em", "bbse", "rlls")}
        methods |= {"QuaPy": rivals[name]} if name in rivals else {}
        for key, each in methods.items():
            error = np.abs(np.array(each["estimates"]) - truth)
            figures = {"error": float(error.mean()), "se": _se(error.mean(axis=1))}
            if "low" in each:
                held = (np.array(each["low"]) <= truth) & (truth <= np.array(each["high"]))
                figures |= {"held": float(held.mean()), "se held": _se(held.mean(axis=1))}
                lengths = np.subtract(each["high"], each["low"])
                figures["length"] = float(lengths.mean())
            found[row["set"]][key] = figures | {"seconds": each["seconds"]}
    found["all sets"] = _over_sets(found)
    return dict(found)


def _over_sets(found):
    """Return means over sets; the error also over QuaPy's, set by set."""
    methods = {key for each in found.values() for key in each}
    out = {}
    for key in sorted(methods):
        whole = [each[key] for each in found.values() if key in each]
        out[key] = {
            name: float(np.mean([each[name] for each in whole]))
            for name in ("error", "held", "length")
            if name in whole[0]
        }
        over = [e[key]["error"] / e["QuaPy"]["error"] for e in found.values() if "QuaPy" in e]
        if over:
            out[key] |= {"over QuaPy": float(np.mean(over)), "worst over QuaPy": float(max(over))}
    if "QuaPy" in out:
        for each in out.values():
            each["ratio of means"] = each["error"] / out["QuaPy"]["error"]
    return out


def skada(rows, rivals):
    """Return mean accuracies by shift and method, and what was told."""
    found = {}
    for shift in dict.fromkeys(row["shift"] for row in rows.values()):
        some = {name: row for name, row in rows.items() if row["shift"] == shift}
        columns = defaultdict(list)
        for row in some.values():
            for method, value in row["accuracy"].items():
                columns[method].append(value)
        auto = np.array(columns["auto"])
        found[shift] = {
            method: {
                "accuracy": float(np.mean(values)),
                "auto - this": float(np.mean(auto - values)),
                "se": _se(auto - values),
            }
            for method, values in columns.items()
        }
        found[shift] |= _peers(some, rivals)
        kinds = [row["kind"] for row in some.values()]
        found[shift]["told"] = {kind: kinds.count(kind) / len(kinds) for kind in sorted({*kinds})}
    return found


def _peers(rows, rivals):
    """Return mean accuracies of peers on the seeds that they have, and that of ours there."""
    columns, ours = defaultdict(list), []
    for name in rows.keys() & rivals.keys():
        ours.append(rows[name]["accuracy"]["auto"])
        for method, by_scorer in rivals[name]["accuracy"].items():
            for scorer, value in by_scorer.items():
                columns[f"skada {method}, {scorer}"].append(value)
    return {
        method: {
            "accuracy": float(np.mean(values)),
            "auto - this": float(np.mean(np.subtract(ours, values))),
            "se": _se(np.subtract(ours, values)),
            "seeds": len(values),
        }
        for method, values in sorted(columns.items())
    }


def judged(truth, kind):
    """Return how a kind that was told stands to the truth."""
    if truth == "relation":
        return "wrong kind" if kind == "label" else "no claim of label"
    if kind == truth:
        return "right"
    if kind == UNSURE:
        return "cannot tell"
    return "missed" if kind == "none" else "wrong kind"


def told(rows, _rivals):
    """Return shares by size and kind, and over the kinds but the relation."""
    groups = defaultdict(list)
    for row in rows.values():
        groups[f"n = {row['n']}, {row['truth']}"].append(row)
        if row["truth"] != "relation":
            groups[f"n = {row['n']}, all kinds"].append(row)
            groups["all"].append(row)
    found = {}
    for name, some in sorted(groups.items()):
        verdicts = [judged(row["truth"], row["kind"]) for row in some]
        figures = {each: verdicts.count(each) / len(some) for each in sorted({*verdicts})}
        fine = sum(figures.get(each, 0.0) for each in FINE)
        found[name] = figures | {
            "right or cannot tell": fine,
            "acted wrongly": float(np.mean([_acted_wrongly(row) for row in some])),
            "problems": len(some),
            "seconds": float(np.median([row["seconds"] for row in some])),
        }
    wrong = [
        name for name, row in rows.items() if judged(row["truth"], row["kind"]) == "wrong kind"
    ]
    return found | {"wrong": {name: rows[name]["kind"] for name in wrong}}


def _acted_wrongly(row):
    is_sure = row["kind"] not in (UNSURE, "none")
    return is_sure and judged(row["truth"], row["acted"]) == "wrong kind"


def natural(rows, _rivals):
    """Return effects by kind of cell, and the cells where auto is significantly worse or better."""
    cells = defaultdict(lambda: defaultdict(list))
    kinds = defaultdict(list)
    for row in rows.values():
        for method, loss in row["losses"].items():
            cells[row["cell"], row["task"], row["model"]][method].append(loss)
        kinds[row["cell"]].append(row["kind"])
    found = {}
    for kind in dict.fromkeys(key[0] for key in cells):
        some = {key: each for key, each in cells.items() if key[0] == kind}
        found[kind] = _against(some, "covariate") | {
            "told": {each: kinds[kind].count(each) / len(kinds[kind]) for each in {*kinds[kind]}}
        }
        if kind == "label":
            found["label, beside the prototype"] = _against(some, "prototype")
            found["label, by model"] = _by_model(some)
            found["label, draws told"] = _draws_told(rows)
    return found


def _against(cells, other):
    """Return what auto gains over another method."""
    gains = {" | ".join(key[1:]): effects(each["auto"], each[other]) for key, each in cells.items()}
    sure = {name: values for name, values in gains.items() if significant(values)}
    means = {name: round(float(np.mean(values)), 2) for name, values in sure.items()}
    by_task = defaultdict(list)
    for key, each in cells.items():
        by_task[key[1]].append(np.mean(effects(each["auto"], each[other])))
    return {
        "cells": len(gains),
        "mean effect": float(np.mean([values.mean() for values in gains.values()])),
        "se": _se([np.mean(values) for values in by_task.values()]),
        "significantly better": sum(mean < 0 for mean in means.values()),
        "significantly worse": sum(mean > 0 for mean in means.values()),
        "worse cells": {name: mean for name, mean in means.items() if mean > 0},
    }


def _by_model(cells):
    """Return effects against no weights, by model and task."""
    groups = defaultdict(lambda: defaultdict(list))
    for (_, task, model), each in cells.items():
        for method in ("covariate", "auto", "prototype"):
            effect = float(np.mean(effects(each[method], each["none"])))
            for group in (model, task):
                groups[group][method].append(effect)
    return {
        group: {method: float(np.mean(values)) for method, values in each.items()}
        for group, each in groups.items()
    }


def _draws_told(rows):
    """Return effects against no weights over single draws of label cells, by what was told."""
    groups = defaultdict(lambda: defaultdict(list))
    for row in rows.values():
        if row["cell"] == "label":
            for method, loss in row["losses"].items():
                effect = effects(loss, row["losses"]["none"])
                groups[f"told {row['kind']}"][method].append(float(effect))
    return {
        group: {"draws": len(each["auto"])} | {name: float(np.mean(v)) for name, v in each.items()}
        for group, each in sorted(groups.items())
    }


def _se(values):
    """Return the standard error of a mean."""
    values = np.asarray(values, dtype=float)
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def as_text(figures):
    """Return the figures as a text: a block for each group, a line for each method."""
    lines = []
    for group, found in figures.items():
        lines.append(f"\n{group}")
        plain = {key: each for key, each in found.items() if not isinstance(each, dict)}
        if plain:
            lines.append("  " + _line(plain))
        for key, each in found.items():
            if isinstance(each, dict) and each:
                lines.append(f"  {key:<36}{_line(each)}")
    return "\n".join(lines)


def _line(values):
    return "  ".join(
        f"{key} {value:.4f}" if isinstance(value, float) else f"{key} {value}"
        for key, value in values.items()
    )


SUMMARIES = {"frequencies": frequencies, "skada": skada, "told": told, "natural": natural}
