"""Figure: the shift that the projection induces, in two principal components of each set."""

from experiments._split_trial import first_split
from experiments._splits import SETS

TITLE = "Induced shift, first two principal components"
DRAWN = 800


def cells(scale):
    """Return the work: the first split of each set."""
    return [
        {"do": "shift_summary", "name": name, "max_rows": scale.max_rows(name)} for name in SETS
    ]  # fmt: skip


def values(done):
    """Return size, effective sample size and explained variance of the first split of each set."""
    return {cell["name"]: {"max_rows": cell["max_rows"]} | out["values"] for cell, out in done}


def draw(found, folder):
    """Draw all sets; returns the file's name."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 4, figsize=(13, 9), layout="constrained")
    for ax in axes.ravel()[len(found) :]:
        ax.set_visible(False)
    for ax, (name, about) in zip(axes.ravel(), found.items(), strict=False):
        data, pca = first_split(name, about["max_rows"])
        for X, colour, label in (
            (data.X, "tab:blue", "source"), (data.X_target, "tab:orange", "target"),
        ):  # fmt: skip
            ax.scatter(*pca.transform(X[:DRAWN]).T, s=5, alpha=0.5, color=colour, label=label)
        ax.set_title(f"{name} (effective source rows: {about['ess']:.1f})", fontsize=9)
        ax.set_xticks([])
        ax.set_yticks([])
    axes[0, 0].legend()
    figure.savefig(folder / "figure-shift.png", dpi=110)
    plt.close(figure)
    return ["figure-shift.png"]
