"""Figure: the points that Bayesian optimisation tried, in circles of radius 1 / MSE."""

import numpy as np

TITLE = "Path of the Bayesian search"


def cells(scale):
    """Return the work: the paper's procedure on the first draw."""
    return [
        {
            "do": "toy_search",
            "reading": "variances",
            "trial": 0,
            "evaluations": scale.toy_evaluations,
        }
    ]


def values(done):
    """Return lam, alpha and validation error of every point, in the order they were tried."""
    return {"path": done[0][1]["values"]["path"], "chosen": done[0][1]["values"]["chosen"]}


def draw(found, folder):
    """Draw the square with its two named curves; returns the file's name."""
    import matplotlib.pyplot as plt

    lam, alpha, error = np.array(found["path"]).T
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    ax.axhline(1, color="gray", lw=1, ls="--")
    ax.axhline(3, color="gray", lw=1, ls=":")
    ax.text(0.02, 1.04, "AIWERM", color="gray")
    ax.text(0.02, 2.9, "RIWERM", color="gray")
    ax.plot(lam, alpha, color="purple", lw=0.5, alpha=0.4)
    ax.scatter(lam, alpha, s=500 * (error.min() / error) ** 2, color="purple", alpha=0.4, lw=0)
    for number, place in enumerate(zip(lam, alpha, strict=True)):
        ax.annotate(str(number + 1), place, fontsize=7, ha="center", va="center")
    ax.set(xlabel="lam", ylabel="alpha", xlim=(-0.07, 1.07), ylim=(0.8, 3.2),
           title="Radius of a circle: 1 / validation error")  # fmt: skip
    figure.savefig(folder / "figure-search.png", dpi=120)
    plt.close(figure)
    return ["figure-search.png"]
