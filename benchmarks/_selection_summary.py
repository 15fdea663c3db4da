"""Figures of the selection benchmark, from the losses of its runs."""

import numpy as np

from benchmarks._shift_tasks import REGRESSIONS


def table(runs):
    """Losses by (group, task, model, ratio): a dict of method to an array over seeds."""
    cells = {}
    for one in sorted(runs, key=lambda one: one["seed"]):
        key = (one["group"], one["task"], one["model"], one["ratio"])
        cell = cells.setdefault(key, {"warned": [], "weighted": []})
        losses = {name: value for name, value in one["losses"].items() if name != "fixed"}
        losses["oracle"] = min(one["losses"]["fixed"])
        for name, value in losses.items():
            cell.setdefault(name, []).append(value)
        cell.setdefault("fixed", []).append(one["losses"]["fixed"])
        cell["warned"].append(one["warned"])
        cell["weighted"].append(one["weighted"])
    for cell in cells.values():
        cell.update({name: np.array(each) for name, each in cell.items()})
    return cells


def methods_of(cells):
    """Names of the methods that every cell has."""
    skip = {"warned", "weighted", "fixed"}
    return [
        name
        for name in next(iter(cells.values()))
        if name not in skip and all(name in cell for cell in cells.values())
    ]


def excess(cells):
    """Geometric mean over tasks of the mean excess risk over the oracle's, and the worst task."""
    out = {}
    for name in methods_of(cells):
        ratios = [cell[name].mean() / cell["oracle"].mean() for cell in cells.values()]
        out[name] = {"mean": float(np.exp(np.mean(np.log(ratios)))), "worst": float(max(ratios))}
    return out


def against_erm(cells, scale=None):
    """Mean over tasks, and worst task, of the loss minus ERM's; in points, or as a share of it."""
    out = {}
    for name in methods_of(cells):
        gaps = {
            " ".join(key[1:3]): (cell[name] - cell["ERM"]).mean()
            / (cell["ERM"].mean() if scale is None else scale)
            for key, cell in cells.items()
        }
        worst = max(gaps, key=gaps.get)
        out[name] = {"mean": float(np.mean(list(gaps.values()))), "worst": float(gaps[worst])}
        out[name]["worst task"] = worst
    return out


def pairs(cells):
    """Of all task x model pairs: how many are significantly worse than ERM, and what gain is kept.

    Significant is two standard errors of the paired difference over seeds. The gain kept is that of
    the method over that of the best single weighting of the pair, where that one gains.
    """
    out = {}
    for name in methods_of(cells):
        worse, kept, kept_seed = [], [], []
        for key, cell in cells.items():
            gap = cell[name] - cell["ERM"]
            if gap.mean() > 2 * standard_error(gap) > 0:
                worse.append(" ".join(key[1:3]))
            best = cell["fixed"][:, cell["fixed"].mean(axis=0).argmin()]
            for reference, shares in ((best, kept), (cell["oracle"], kept_seed)):
                gain = cell["ERM"] - reference
                fixed_gain = cell["ERM"] - best
                if fixed_gain.mean() > 2 * standard_error(fixed_gain):
                    shares.append(-gap.mean() / gain.mean())
        out[name] = {
            "pairs": len(cells),
            "worse": len(worse),
            "worse pairs": worse,
            "pairs with a gain": len(kept),
            "gain kept": float(np.mean(kept)) if kept else None,
            "gain kept of the per-seed oracle": float(np.mean(kept_seed)) if kept_seed else None,
        }
    return out


def standard_error(values):
    """Of a mean over seeds."""
    return values.std(ddof=1) / np.sqrt(len(values))


def select(cells, group, ratio="estimated", model=None):
    """Keep the cells of a group, a kind of ratio and a model."""
    return {
        key: cell
        for key, cell in cells.items()
        if key[0] == group and key[3] == ratio and model in (None, key[2])
    }


def by_model(cells, model):
    """Figures of one model on every group but the nine regressions."""
    real, figures = select(cells, "real", model=model), {}
    numbers = {key: real[key] for key in real if key[1].split(",")[0] in REGRESSIONS}
    labels = {key: real[key] for key in real if key not in numbers}
    broken = select(cells, "broken", model=model)
    for name, part, scale in (
        ("real sets, points of error", labels, 0.01),
        ("real sets, share of squared error", numbers, None),
        ("synthetic classes, points of error", select(cells, "classes", model=model), 0.01),
        ("broken overlap, share of the loss", broken, None),
        ("no shift, share of the loss", select(cells, "no shift", model=model), None),
    ):
        if part:
            figures[name] = against_erm(part, scale)
    if broken:
        figures["broken overlap, smallest share of seeds with a warning"] = min(
            float(cell["warned"].mean()) for cell in broken.values()
        )
    return figures


def summary(runs):
    """Every figure of the bars."""
    cells = table(runs)
    figures = {}
    for ratio in ("true", "estimated"):
        if nine := select(cells, "nine", ratio, "linear"):
            figures[f"nine, {ratio} ratio"] = excess(nine)
    for model in sorted({key[2] for key in cells}):
        figures[model] = by_model(cells, model)
    figures["all pairs"] = pairs({key: cells[key] for key in cells if key[3] == "estimated"})
    return figures
