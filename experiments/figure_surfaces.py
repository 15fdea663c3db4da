"""Figures: error on the target over the whole (lam, alpha) rectangle, for each data set."""

import numpy as np
from scipy.stats import t as t_distribution

from experiments import libsvm_models, multiclass, regression
from experiments._table import Table

TITLE = "Error on the target over (lam, alpha)"
GROUPS = {"libsvm": libsvm_models, "regression": regression, "multiclass": multiclass}
# AIWERM and RIWERM; the ends of lam are on both
CURVES = (1.0, 3.0)


def cells(scale):
    """Return the work: honest splits of every set, with the paper's main model."""
    return [
        {
            "do": "surface_trial", "name": name, "model": _main(models), "trial": trial,
            "lams": list(scale.lams), "alphas": list(scale.alphas),
            "max_rows": scale.max_rows(name),
        }
        for module in GROUPS.values()
        for name, models in module.MODELS.items()
        for trial in range(scale.long_surface_trials if name == "california housing"
                           else scale.surface_trials)
    ]  # fmt: skip


def values(done):
    """Return for each set the mean error of each point, and what is gained off the two curves."""
    runs = {}
    for cell, outcome in done:
        runs.setdefault(cell["name"], []).append(outcome["values"]["surface"])
    return {
        group: {name: _surface(runs[name], _main(models)) for name, models in module.MODELS.items()}
        for group, module in GROUPS.items()
    }


def _main(models):
    """The paper does not say which model; a support vector machine is its main one."""
    return next(each for each in ("SVM", "SVR", models[0]) if each in models)


def _surface(grids, model):
    points = [[lam, alpha] for lam, alpha, _ in grids[0]]
    errors = np.array([[np.nan if e is None else e for _, _, e in grid] for grid in grids])
    mean = errors.mean(axis=0)  # a point that failed on one split has none
    return {
        "model": model,
        "splits": len(grids),
        "points": points,
        "error": [None if np.isnan(e) else float(e) for e in mean],
        # of equal ones a point on the curves
        "best": min(
            (e, off, point)
            for e, off, point in zip(mean, ~_on(points), points, strict=True)
            if not np.isnan(e)
        )[-1],
        "off the curves": off_the_curves(points, errors),
    }


def _on(points):
    """Which points are on one of the two curves."""
    return np.array([alpha in CURVES or lam in (0.0, 1.0) for lam, alpha in points])


def off_the_curves(points, errors):
    """Test whether the best point off the two curves beats the best on them, in pairs of errors.

    Both points are chosen by their mean over half of the splits (every other one) and compared on
    the other half, and the reverse, so that the more numerous points off the curves have no
    advantage from being picked by the errors that they are judged by. `gain` is error on minus
    error off, its standard error is that of two means of independent halves, and `p` is two-sided
    by Student's t.
    """
    on = _on(points)
    halves, chosen = [], []
    for first in (0, 1):
        mean = errors[1 - first :: 2].mean(axis=0)
        pair = [int(np.nanargmin(np.where(kind, mean, np.nan))) for kind in (on, ~on)]
        gains = errors[first::2, pair[0]] - errors[first::2, pair[1]]
        halves.append(gains[np.isfinite(gains)])
        chosen.append([points[place] for place in pair])
    gain = float(np.mean([half.mean() for half in halves]))
    error = float(np.sqrt(sum(half.var(ddof=1) / len(half) for half in halves)) / 2)
    freedom = sum(len(half) - 1 for half in halves)
    p = 2 * float(t_distribution.sf(abs(gain) / error, freedom)) if error > 0 else 1.0
    best_on = float(np.nanmin(errors.mean(axis=0)[on]))
    return {"gain": gain, "se": error, "p": p, "best on": best_on, "chosen": chosen}


def holm(ps):
    """Adjust p-values for their number, as Holm does."""
    order = np.argsort(ps)
    steps = np.array(ps)[order] * np.arange(len(ps), 0, -1)
    adjusted = np.empty(len(ps))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted.tolist()


def by_set(found):
    """Return the surfaces of all groups by set, each with its p-value adjusted by Holm."""
    sets = {name: surface for group in found.values() for name, surface in group.items()}
    adjusted = holm([surface["off the curves"]["p"] for surface in sets.values()])
    return {
        name: surface | {"adjusted p": p}
        for (name, surface), p in zip(sets.items(), adjusted, strict=True)
    }


def tables(found):
    """Return where the best point is, and what is gained off the two curves."""
    rows = []
    for name, surface in by_set(found).items():
        off = surface["off the curves"]
        rows.append([
            name, surface["model"], str(surface["splits"]),
            "({:g}, {:g})".format(*surface["best"]), f"{off['best on']:.3g}",
            f"{off['gain']:.3f} ± {off['se']:.3f}", f"{surface['adjusted p']:.2g}",
        ])  # fmt: skip
    alphas = sorted({alpha for s in by_set(found).values() for _, alpha in s["points"]})
    lams = {lam for s in by_set(found).values() for lam, _ in s["points"]}
    note = (
        f"{len(lams)} values of lam, {len(alphas)} of alpha from {alphas[0]:g} to {alphas[-1]:g}. "
        "Best point: of the mean over all splits, on the test labels. Gain: error of the best "
        "point on the two curves (alpha 1 or 3, ends included) less that of the best point off "
        "them, ± standard error; both points are chosen on every other split and compared on the "
        "rest, and the reverse. p: two-sided, Student's t on the differences, adjusted by Holm for "
        "the number of sets."
    )
    header = ["set", "model", "splits", "best (lam, alpha)", "error on the curves",
              "gain off the curves", "p"]  # fmt: skip
    return [Table("What the points off the two curves gain", header, rows, note)]


def draw(found, folder):
    """Draw one file for each group of sets; returns their names."""
    import matplotlib.pyplot as plt

    files = []
    for group, sets in found.items():
        columns = min(len(sets), 3)
        rows = -(-len(sets) // columns)
        figure, axes = plt.subplots(rows, columns, figsize=(4 * columns, 3.2 * rows),
                                    layout="constrained", squeeze=False)  # fmt: skip
        for ax in axes.ravel()[len(sets) :]:
            ax.set_visible(False)
        for ax, (name, surface) in zip(axes.ravel(), sets.items(), strict=False):
            _draw_surface(figure, ax, name, surface)
        files.append(f"figure-surfaces-{group}.png")
        figure.savefig(folder / files[-1], dpi=120)
        plt.close(figure)
    return files


def _draw_surface(figure, ax, name, surface):
    lams, alphas = (sorted({point[i] for point in surface["points"]}) for i in (0, 1))
    grid = np.full((len(alphas), len(lams)), np.nan)
    for (lam, alpha), error in zip(surface["points"], surface["error"], strict=True):
        grid[alphas.index(alpha), lams.index(lam)] = np.nan if error is None else error
    image = ax.pcolormesh(lams, range(len(alphas)), grid, cmap="viridis", shading="nearest")
    figure.colorbar(image, ax=ax)
    best = surface["best"]
    ax.plot(best[0], alphas.index(best[1]), "*", color="white", markersize=12, mec="black")
    ax.set(title=f"{name}, {surface['model']}", xlabel="lam", ylabel="alpha")
    ax.set_yticks(range(len(alphas)), [f"{alpha:g}" for alpha in alphas])
