"""Figures: error on the target over the whole (lam, alpha) rectangle, for each data set."""

import numpy as np

from experiments import libsvm_models, multiclass, regression
from experiments._split_table import runs_of, split_cells

TITLE = "Error on the target over (lam, alpha)"
GROUPS = {"libsvm": libsvm_models, "regression": regression, "multiclass": multiclass}


def cells(scale):
    """Return the work: the honest splits of all tables, whose grids these are."""
    return [
        cell
        for module in GROUPS.values()
        for cell in split_cells(scale, {name: [_main(of)] for name, of in module.MODELS.items()})
        if cell["reading"] == "honest"
    ]


def values(done):
    """Return for each set the mean error of each point, of the paper's main model."""
    found = {}
    for group, module in GROUPS.items():
        found[group] = {
            name: _surface(runs_of(done, "honest", name, _main(models)), _main(models))
            for name, models in module.MODELS.items()
        }
    return found


def _main(models):
    """The paper does not say which model; a support vector machine is its main one."""
    return next(each for each in ("SVM", "SVR", models[0]) if each in models)


def _surface(runs, model):
    grids = [run["surface"] for run in runs]
    points = [[lam, alpha] for lam, alpha, _ in grids[0]]
    errors = np.array([[np.nan if e is None else e for _, _, e in grid] for grid in grids])
    counted = np.isfinite(errors).sum(axis=0)
    mean = np.where(counted > 0, np.nansum(errors, axis=0) / np.maximum(counted, 1), np.nan)
    error = [None if np.isnan(e) else float(e) for e in mean]
    best = int(np.nanargmin(mean))
    return {"model": model, "points": points, "error": error, "best": points[best]}


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
